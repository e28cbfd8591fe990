"""The first explorer of chapter `tiling`: one access to a tile in shared memory -> banks, collisions, wavefronts."""

from __future__ import annotations

from typing import Literal

from course.explorers.controls import Choice, Control, Dropdown, Number
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, start, still
from course.explorers.predict import Prediction, folded
from course.explorers.profile_button import Comparison
from course.explorers.shared_accesses import PATTERNS, PRESETS, TYPES, SharedAccess
from course.explorers.shared_profile import compare
from course.figures import banks as figure
from course.figures.parts import count, table
from course.figures.svg import clean, element
from course.models import banks as model
from course.models.coalescing import ACCESS_BYTES, WARP_LANES

__all__ = ["BanksExplorer", "banks", "predict_wavefronts"]


def banks(preset: str = "column of [32][32]") -> None:
    """Play with one access to a tile in shared memory: which banks its words lie in, and how many wavefronts it takes.

    preset: the access to start from, by its name in the explorer ("column of [32][33]", "broadcast", ...).
    """
    explorer = BanksExplorer(start(PRESETS, preset))
    show(_still(explorer.settings), explorer.parts)


def predict_wavefronts(
    rows: int = 32,
    columns: int = 32,
    pad: int = 0,
    pattern: str = "column",
    *,
    element_bytes: int = 4,
    step: int = 1,
    kind: Literal["load", "store"] = "load",
) -> None:
    """Ask how many wavefronts one shared access takes; the picture shows after the student's number.

    The tile is ``[rows][columns + pad]``, and the pattern "row", "column", "diagonal" or "stride": the last one
    takes element ``step * i`` of a tile with one long row. kind: "load" or "store".
    """
    access = SharedAccess(pattern, rows, columns, pad, element_bytes, step, kind)
    question = _question(access)
    prediction = Prediction(question, lambda number: _reveal(number, access), high=9999)
    show(folded(question, _still(access)), prediction.parts)


class BanksExplorer(Explorer[SharedAccess]):
    """Tile and access on top; the tile and the 32 banks below."""

    table_name = "Show the word and bank of every lane"

    def __init__(self, start: SharedAccess) -> None:
        sizes = [(f"{size} B", size) for size in ACCESS_BYTES]
        self.numbers = {
            "rows": Number("Rows", start.rows, 1, 64),
            "columns": Number("Columns", start.columns, 1, 64),
            "pad": Number("Pad", start.pad, 0, 8),
            "step": Number("Stride", start.step, 0, 64),
        }
        controls: dict[str, Control] = {
            "pattern": Dropdown("Access", [(shown, name) for name, shown in PATTERNS.items()], start.pattern),
            **self.numbers,
            "element_bytes": Choice("Element size", sizes, start.element_bytes),
            "kind": Choice("Kind", [("load", "load"), ("store", "store")], start.kind),
            "active": Number("Active lanes", start.active, 0, WARP_LANES),
        }
        columns = [["pattern", "rows", "columns", "pad"], ["element_bytes", "kind", "step", "active"]]
        super().__init__(PRESETS, start, controls, columns)

    def enable(self, settings: SharedAccess) -> None:
        """A custom stride has a tile of its own; the other patterns have no stride."""
        strided = settings.pattern == "stride"
        for name, number in self.numbers.items():
            number.enable((name == "step") == strided)

    def draw(self, settings: SharedAccess) -> Drawing:
        """The banks, the counts and the line of code."""
        return Drawing(_picture(settings), _sentence(settings), _notes(settings))

    def table(self, settings: SharedAccess) -> str:
        """Row, column, word and bank of every lane."""
        words = settings.wanted // model.BANK_BYTES
        groups = model.lane_groups(settings.addresses, settings.element_bytes, settings.kind, settings.lanes)[0]
        rows, columns = settings.places
        cells = [
            (lane, *(int(number) for number in each))
            for lane, each in enumerate(
                zip(rows, columns, settings.wanted, words, model.bank_of(settings.wanted), groups, strict=False)
            )
        ]
        idle = [(lane, "inactive", *["–"] * 5) for lane in range(settings.lanes, WARP_LANES)]
        heads = ("Lane", "Row", "Column", "Address", "First word", "Its bank", "Group")
        return table(heads, [*cells, *idle], name="Word and bank of every lane")

    def compare(self, settings: SharedAccess) -> Comparison:
        """Run the access as a kernel."""
        return compare(settings)


def _picture(access: SharedAccess) -> str:
    svg = figure.access_svg(access.tile, access.wanted, access.result, access.deliveries, access.kind)
    return svg + figure.numbers(access.result, access.tile, access.deliveries)


def _sentence(access: SharedAccess) -> str:
    return figure.sentence(access.result, access.tile, access.element_bytes, access.kind)


def _still(access: SharedAccess) -> str:
    image = figure.access_image(access.tile, access.wanted, access.result, access.deliveries, access.kind)
    return still(image, element("code", clean(access.expression)), clean(_sentence(access)))


def _notes(access: SharedAccess) -> str:
    code = element("code", clean(access.declaration)) + " " + element("code", clean(access.expression))
    lane = ""
    if access.lanes > 1:
        word = int(access.wanted[1]) // model.BANK_BYTES
        lane = f" Lane 1 wants word {word}, and {word} % {model.BANKS} = {word % model.BANKS} is its bank."
    small = (
        "i is the lane. The number of wavefronts is measured on an H200; in which order they come is not known, so the "
        "picture takes the lanes in order. It leaves out other warps, time, and what a compiler may merge."
    )
    if access.element_bytes == 2:
        small += " For 2-byte elements the rule is that of the other small sizes; it was not measured."
    return element("p", "In a kernel: " + code + clean(lane)) + element("p", small, class_="small quiet")


def _question(access: SharedAccess) -> str:
    size = count(access.element_bytes, "byte")
    return (
        f"A kernel has {access.declaration}. In one warp, {count(access.lanes, 'lane')} run {access.expression}, where "
        f"i is the lane. An element of type {TYPES[access.element_bytes]} has {size}. How many wavefronts does this "
        f"{access.kind} take?"
    )


def _reveal(number: int, access: SharedAccess) -> str:
    truth = int(access.result.wavefronts[0])
    words = clean(difference(number, access))
    return element("p", words, role="status", data_prediction=number, data_truth=truth) + _picture(access)


def difference(number: int, access: SharedAccess) -> str:
    """One sentence about a prediction of the wavefronts of one access, beside the truth."""
    result = access.result
    truth, degree, ideal = (int(n[0]) for n in (result.wavefronts, result.degree, result.ideal_wavefronts))
    if number == truth:
        return f"You said {number}, and it is {truth}: right."
    both = f"You said {number}, and it is {truth}: "
    banks_used = len({delivery.bank for delivery in access.deliveries})
    if number == 0:
        return both + "every access takes a wavefront, also one without conflicts."
    if number == degree and ideal > 1:
        return both + f"{number} is what one group of lanes takes, and this access is served in {ideal} groups."
    if number == ideal:
        return both + f"{number} would do without conflicts, but one bank must deliver {degree} different words."
    if number == access.lanes:
        return both + f"{number} lanes take part, but different banks deliver at the same time."
    if number == banks_used:
        return both + f"{number} banks are at work, but all at once; the bank with the most words decides."
    if number == truth - ideal:
        return both + f"{number} are extra, and without conflicts it would still take {ideal}."
    way = f"{truth - number} more than you said" if number < truth else f"{number - truth} fewer than you said"
    return both + f"{way}; count the different words in the bank that has the most of them."
