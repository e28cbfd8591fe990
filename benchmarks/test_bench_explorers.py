"""How long a key press takes to become another picture, in a real JupyterLab in a real Chromium.

The peer is what everybody writes first: `interactive_output` around a plain pyplot picture, shown inline. All of them
stand in one notebook and take turns, press by press, so a busy moment hits them alike. The medians are printed beside
the targets of issue 4/7 (80 ms for SVG, 130 ms for matplotlib on a 2-core machine); held are the ratios to the peer.
"""

from __future__ import annotations

import statistics

import nbformat
import pytest

from tools.in_browser import chromium, jupyterlab, open_notebook, run_all

PRESSES, WARM_UP = 20, 4

PEER = """\
%matplotlib inline
import ipywidgets as widgets, matplotlib.pyplot as plt, numpy as np
number = widgets.BoundedIntText(value=1, min=1, max=64, description="Peer")
strides = np.arange(1, 65)

def draw(stride):
    figure, axes = plt.subplots(figsize=(8, 3))
    axes.plot(strides, np.minimum(4 * strides, 32), "o-")
    axes.plot(stride, min(4 * stride, 32), "D", markersize=10)
    axes.set(xlabel="stride", ylabel="sectors per request", title=f"stride {stride}", ylim=(0, 34))
    axes.grid(True)
    plt.show()

display(number, widgets.interactive_output(draw, {"stride": number}))"""

# name: (cell, label of its number box, what is drawn, target in ms, largest ratio to the peer)
CASES = {
    "coalescing, SVG": ("explore.coalescing()", "Stride", "svg[role=img]", 80, 0.5),
    "pipeline, SVG": ("explore.pipeline('one tile')", "Compute time", "svg[role=img]", 80, 0.5),
    "occupancy, matplotlib": ("explore.occupancy()", "Regs/thread", "img", 130, 0.9),
    "roofline, matplotlib": ("explore.roofline()", "FLOP", "img", 130, 0.9),
    "peer": (PEER, "Peer", "img", None, 1.0),
}

FRAME = "box => box.closest('.gmc') ?? box.closest('.jp-Cell-outputWrapper')"

# A new picture is a new element, or an image with another source; it counts when it is decoded and about to be shown.
WATCH = """
([frame, drawn]) => {
    const picture = () => frame.querySelector(drawn);
    const before = picture(), source = before.src;
    let pressed;
    frame.addEventListener('keydown', () => { pressed = performance.now(); }, {capture: true, once: true});
    window.changed = new Promise(resolve => {
        const look = async () => {
            const now = picture();
            if (!now || (now === before && now.src === source)) return;
            observer.disconnect();
            if (now.decode) await now.decode();
            requestAnimationFrame(() => resolve(performance.now() - pressed));
        };
        const observer = new MutationObserver(look);
        observer.observe(frame, {childList: true, subtree: true, attributes: true, attributeFilter: ['src']});
    });
}"""


@pytest.fixture(scope="module")
def milliseconds(tmp_path_factory):
    """Time of every press, by case."""
    folder = tmp_path_factory.mktemp("bench")
    cells = ["from course import explore", *(cell for cell, *_ in CASES.values())]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells], metadata=kernel)
    nbformat.write(notebook, folder / "bench.ipynb")
    with jupyterlab(folder) as lab, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        open_notebook(page, lab, "bench.ipynb")
        run_all(page)
        boxes = {name: page.get_by_label(label, exact=True) for name, (_, label, *_) in CASES.items()}
        # An explorer's still picture, hidden beside it, must not be taken for the one that changes.
        frames = {name: box.evaluate_handle(FRAME) for name, box in boxes.items()}
        taken = {name: [] for name in CASES}
        for n in range(WARM_UP + PRESSES):
            for name, (_, _, drawn, *_) in CASES.items():
                boxes[name].focus()
                page.wait_for_function("([frame, drawn]) => frame.querySelector(drawn)", arg=[frames[name], drawn])
                page.evaluate(WATCH, [frames[name], drawn])
                page.wait_for_timeout(150)  # nothing of the press before is still on its way
                # There and back: every press changes the picture, however small the range of the number is.
                boxes[name].press("ArrowUp" if n % 2 == 0 else "ArrowDown")
                taken[name].append(page.evaluate("() => window.changed"))
    return {name: times[WARM_UP:] for name, times in taken.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "peer"])
def test_a_key_press_becomes_a_picture_sooner_than_with_plain_interactive_output(name, milliseconds):
    *_, target, at_most = CASES[name]
    mine, peers = statistics.median(milliseconds[name]), statistics.median(milliseconds["peer"])
    print(
        f"\n{name}: {mine:.0f} ms (target {target} ms), plain interactive_output {peers:.0f} ms, "
        f"ratio {mine / peers:.2f} (median of {PRESSES})"
    )
    assert mine / peers <= at_most
