"""The one visual language of the course: colours, fonts and the CSS that every picture shares.

Colours are the Okabe-Ito palette, which the common kinds of colour blindness can tell apart (Okabe and Ito,
"Color Universal Design", 2008). Colour is never the only cue: dead bytes are also hatched, what takes no part
is also dashed.

A picture always paints its own background, so it stays readable on any page. In JupyterLab it follows the
chosen theme; elsewhere it follows the reader's system.
"""

from __future__ import annotations

import base64
import io
from dataclasses import asdict, dataclass
from typing import Any

from course.figures.svg import element

__all__ = ["CSS", "DARK", "FIGURE_STYLE", "LIGHT", "LIGHT_CSS", "OKABE_ITO", "Theme", "dark_css", "image"]

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
}


@dataclass(frozen=True)
class Theme:
    """The colours of one theme, by what they mean."""

    ink: str
    quiet: str
    """Secondary text; still at least 4.5 : 1 against the paper."""
    rule: str
    """Thin lines and frames."""
    paper: str
    panel: str
    used: str
    """Bytes that some lane asked for, and everything that leads to them."""
    used_tint: str
    dead: str
    """Bytes that are moved though no lane asked for them."""
    dead_tint: str


LIGHT = Theme(
    ink="#1b1f24",
    quiet="#57606a",
    rule="#8c959f",
    paper="#ffffff",
    panel="#f4f6f8",
    used=OKABE_ITO["blue"],
    used_tint="#d6e9f5",
    dead=OKABE_ITO["orange"],
    dead_tint="#fdf3dc",
)
DARK = Theme(
    ink="#e8eaed",
    quiet="#a9b1ba",
    rule="#6e7781",
    paper="#16191d",
    panel="#22272e",
    used=OKABE_ITO["sky"],
    used_tint="#1d3a4f",
    dead=OKABE_ITO["orange"],
    dead_tint="#33280f",
)

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"


def _variables(theme: Theme) -> str:
    return "".join(f"--{name.replace('_', '-')}:{value};" for name, value in asdict(theme).items())


_RULES = f"""\
.gmc{{font-family:{FONT};font-size:14px;line-height:1.45;color:var(--ink);background:var(--paper)}}
div.gmc{{max-width:836px;box-sizing:border-box;padding:10px 16px;border:1px solid var(--rule);border-radius:8px}}
.gmc svg{{display:block;width:100%;max-width:800px;height:auto}}
.gmc text{{fill:var(--ink);font:12px {FONT}}}
.gmc .quiet,.gmc text.quiet{{fill:var(--quiet);color:var(--quiet)}}
.gmc text.tier{{font-weight:600;font-size:13px}}
.gmc text.num{{font-size:11px;text-anchor:middle;font-variant-numeric:tabular-nums}}
.gmc .box{{fill:var(--used-tint);stroke:var(--used);stroke-width:1}}
.gmc .odd .box{{fill:var(--paper)}}
.gmc .shelf{{fill:var(--panel)}}
.gmc text.tight{{font-size:9.5px}}
.gmc .idle .box{{fill:none;stroke:var(--rule);stroke-dasharray:3 2}}
.gmc .idle text{{fill:var(--quiet)}}
.gmc .link{{fill:none;stroke:var(--used);stroke-width:1.1;opacity:.75}}
.gmc .unit{{fill:var(--dead-tint);stroke:var(--ink);stroke-width:1}}
.gmc .hatch{{fill:none;stroke:var(--dead);stroke-width:1.6}}
.gmc .used{{fill:var(--used);stroke:var(--paper);stroke-width:.5}}
.gmc .lane:hover .box{{stroke-width:2.5}}
.gmc .lane:hover .link{{stroke-width:3;opacity:1}}
.gmc .lane:hover .used{{stroke:var(--ink);stroke-width:1.5}}
.gmc .moved{{fill:var(--quiet);stroke:var(--ink);stroke-width:.8}}
.gmc .unmoved{{fill:none;stroke:var(--rule);stroke-width:.8;stroke-dasharray:2 1.5}}
.gmc .field{{fill:none;stroke:var(--ink);stroke-width:.6}}
.gmc .thin{{stroke-width:.7}}
.gmc text.end{{text-anchor:end}}
.gmc text.off{{paint-order:stroke;stroke:var(--paper);stroke-width:3px}}
.gmc .gap{{fill:none;stroke:var(--ink);stroke-width:2.8;stroke-linecap:round}}
.gmc text.on{{fill:var(--paper);font-weight:600}}
.gmc .late{{fill:var(--dead-tint);stroke:var(--dead);stroke-width:2}}
.gmc .band{{fill:var(--used-tint)}}
.gmc .faint{{fill:var(--used-tint);stroke:var(--used);stroke-width:1}}
.gmc .outline{{fill:none;stroke:var(--ink);stroke-width:1}}
.gmc .result{{fill:var(--quiet);stroke:var(--ink);stroke-width:1}}
.gmc .reads{{fill:var(--ink)}}
.gmc text.tight.on{{font-weight:400}}
.gmc .bare{{stroke:none}}
.gmc .ground{{fill:var(--panel);stroke:var(--ink);stroke-width:1}}
.gmc path.split{{fill:none;stroke:var(--ink);stroke-width:1.4;stroke-dasharray:6 3}}
.gmc path.bracket{{fill:none;stroke:var(--dead);stroke-width:2}}
.gmc text.middle{{text-anchor:middle}}
.gmc path.grid{{fill:none;stroke:var(--rule);stroke-width:.6;opacity:.45}}
.gmc path.axis{{fill:none;stroke:var(--ink);stroke-width:1}}
.gmc path.arrow{{fill:none;stroke:var(--ink);stroke-width:1.4}}
.gmc path.end{{fill:none;stroke:var(--ink);stroke-width:2}}
.gmc dl.numbers{{display:flex;flex-wrap:wrap;gap:6px;margin:10px 0 4px}}
.gmc dl.numbers>div{{flex:1 1 88px;background:var(--panel);border-radius:6px;padding:4px 10px}}
.gmc dl.fours>div{{flex-basis:21%}}
.gmc dl.numbers :is(dt,dd){{float:none;clear:none;width:auto;margin:0;padding:0;white-space:nowrap}}
.gmc dl.numbers dt{{font-size:12px;font-weight:400;color:var(--quiet)}}
.gmc dl.numbers dd{{font-size:18px;font-weight:600;font-variant-numeric:tabular-nums}}
.gmc dl.numbers .key{{box-shadow:inset 0 -3px var(--used)}}
.gmc .widget-html,.gmc .widget-html-content{{min-width:0;max-width:100%}}
.gmc .widget-html-content{{font-size:14px;line-height:1.45;color:var(--ink);white-space:normal}}
.gmc .widget-toggle-buttons{{margin:3px 2px}}
.gmc .widget-toggle-buttons>.widget-label{{text-align:right;flex:none;margin-right:8px}}
.gmc p{{margin:6px 0}}
.gmc code{{font:13px {MONO};color:var(--ink);background:var(--panel);padding:1px 5px;border-radius:4px}}
.gmc pre{{margin:6px 0;padding:6px 10px;background:var(--panel);border-radius:6px;overflow-x:auto;color:var(--ink)}}
.gmc pre code{{padding:0;white-space:pre}}
.gmc table.beside td:last-child{{text-align:left}}
.gmc .small{{font-size:12.5px}}
.gmc table{{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;color:var(--ink);margin:0}}
.gmc th,.gmc td{{text-align:right;padding:2px 14px;border:0;background:var(--paper);color:var(--ink)}}
.gmc .words :is(th,td){{text-align:left;font-weight:400}}
.gmc .words thead th{{font-weight:600}}
.gmc thead th{{position:sticky;top:0;border-bottom:1px solid var(--rule);font-weight:600}}
.gmc .scroll{{max-height:260px;overflow:auto}}
.gmc :is(.scroll,.course-profile,pre):focus-visible{{outline:2px solid var(--used)}}
.gmc img{{max-width:100%;height:auto}}
"""

_DARK_PAGES = ("body[data-jp-theme-light='false'] .gmc", "body.vscode-dark .gmc", "html[theme='dark'] .gmc")
# A page that names its theme is believed; only a page that does not follows the reader's system.
_DARK_SYSTEM = ("body:not([data-jp-theme-light]):not(.vscode-light) .gmc",)


def dark_css(pages: tuple[str, ...]) -> str:
    """The dark theme where one of these selectors holds; a plot's light is turned round and its hues turned back."""
    plots = ",".join(f"{page} img.plot" for page in pages)
    return f"{','.join(pages)}{{{_variables(DARK)}}}{plots}{{filter:invert(.91) hue-rotate(180deg)}}"


LIGHT_CSS = f".gmc{{{_variables(LIGHT)}}}\n{_RULES}"
"""For a picture that stands alone (a file, a printed page, a sanitizing viewer): always light."""

CSS = (
    LIGHT_CSS
    + f"@media screen{{{dark_css(_DARK_PAGES)}}}\n"
    + f"@media screen and (prefers-color-scheme:dark){{{dark_css(_DARK_SYSTEM)}}}\n"
)
"""For pictures embedded in a page: light, or dark where the page is, and light on paper."""


FIGURE_STYLE: dict[str, Any] = {
    "figure.facecolor": LIGHT.paper,
    "axes.facecolor": LIGHT.paper,
    "axes.edgecolor": LIGHT.rule,
    "axes.labelcolor": LIGHT.ink,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d8dee4",
    "grid.linewidth": 0.8,
    "text.color": LIGHT.ink,
    "xtick.color": LIGHT.quiet,
    "ytick.color": LIGHT.quiet,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "font.family": ["DejaVu Sans"],
    "lines.linewidth": 2,
}
"""matplotlib settings; use as ``with matplotlib.rc_context(FIGURE_STYLE):`` around drawing."""


def image(figure: Any, alt: str, *, dpi: int = 144) -> str:
    """A matplotlib Figure as ``<img alt>``: notebook front ends drop the alt text of plain PNG outputs.

    `dpi` sets the sharpness; the picture is shown at 96 dots per inch whatever it is.
    """
    from PIL import Image

    drawn, png = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    # A plot has few colours: a palette makes the file, and so the notebook, three times smaller.
    Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(png, format="png", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
    return element("img", src=source, alt=alt, width=round(figure.get_figwidth() * 96), class_="plot")
