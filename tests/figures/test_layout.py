"""The picture of a layout, held to bytes that these tests place themselves."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.figures import layout as figure
from course.models.layout import Records, struct

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"u1": 1, "i2": 2, "f4": 4, "f8": 8}


def placed(kinds, layout, tile):
    """Byte address of every field of 32 records, by (field, record): C's rules, written down once more."""
    sizes = {name: SIZES[kind] for name, kind in kinds.items()}

    def up(value, multiple):
        return -(-value // multiple) * multiple

    found = {}
    if layout == "aos":
        offsets, end = {}, 0
        for name, size in sizes.items():
            offsets[name] = up(end, size)
            end = offsets[name] + size
        pitch = up(end, max(sizes.values()))
        return {(name, i): i * pitch + offsets[name] for name in sizes for i in range(32)}
    count = 32 if layout == "soa" else tile
    align = 256 if layout == "soa" else 1
    starts, end = {}, 0
    for name, size in sizes.items():
        starts[name] = up(end, max(align, size))
        end = starts[name] + count * size
    pitch = up(end, max(sizes.values()))
    for name, size in sizes.items():
        for i in range(32):
            found[name, i] = i // count * pitch + starts[name] + i % count * size
    return found


cases = st.fixed_dictionaries(
    {
        "kinds": st.lists(st.sampled_from(list(SIZES)), min_size=1, max_size=6).map(
            lambda kinds: dict(zip("xyzwuv", kinds, strict=False))
        ),
        "layout": st.sampled_from(("aos", "soa", "aosoa")),
        "tile": st.sampled_from((4, 8, 16, 32)),
        "reads": st.sets(st.sampled_from("xyzwuv")),
    }
)


def drawn(kinds, layout, tile, reads):
    records = Records(struct(kinds), layout, 32, tile)
    chosen = [name for name in kinds if name in reads]
    traffic = records.traffic(chosen) if chosen else None
    return ElementTree.fromstring(figure.layout_svg(records, traffic)), chosen


@settings(max_examples=60, deadline=None)
@given(cases)
def test_the_sectors_drawn_as_moved_are_those_of_the_bytes_that_are_read(case):
    tree, chosen = drawn(**case)
    places = placed(case["kinds"], case["layout"], case["tile"])
    read = {places[name, i] + b for name in chosen for i in range(32) for b in range(SIZES[case["kinds"][name]])}
    moved = {int(r.get("data-sector")) for r in tree.iter(f"{SVG}rect") if r.get("data-sector")}
    assert moved == {byte // 32 for byte in read}
    every = {at + b for (name, _), at in places.items() for b in range(SIZES[case["kinds"][name]])}
    drawn_sectors = moved | {int(r.get("data-untouched")) for r in tree.iter(f"{SVG}rect") if r.get("data-untouched")}
    assert drawn_sectors == {4 * (byte // 128) + n for byte in every for n in range(4)}


@settings(max_examples=60, deadline=None)
@given(cases)
def test_a_box_lies_at_the_byte_of_its_field(case):
    tree, chosen = drawn(**case)
    places = placed(case["kinds"], case["layout"], case["tile"])
    found = {}
    for rect in tree.iter(f"{SVG}rect"):
        if rect.get("data-field"):
            name, record = rect.get("data-field")[0], int(rect.get("data-field")[1:])
            found[name, record] = int(rect.get("data-byte"))
            assert float(rect.get("x")) == pytest.approx(90 + found[name, record] % 128 * 5.5, abs=0.01)
            assert float(rect.get("width")) == pytest.approx(5.5 * SIZES[case["kinds"][name]], abs=0.01)
    assert found == {(name, i): places[name, i] for name in chosen for i in range(32)}


@settings(max_examples=40, deadline=None)
@given(cases)
def test_everything_stays_inside_a_frame_that_never_changes(case):
    tree, _ = drawn(**case)
    assert tree.get("viewBox") == f"0 0 {figure.WIDTH} {figure.HEIGHT}"
    for rect in tree.iter(f"{SVG}rect"):
        assert float(rect.get("x")) + float(rect.get("width")) <= figure.WIDTH
        assert float(rect.get("y")) + float(rect.get("height")) <= figure.HEIGHT


def test_a_packed_field_across_two_lines_has_two_boxes():
    record = struct({"x": "u1", "y": "f8"}, align=False)  # y of record 14 begins at byte 127
    tree = ElementTree.fromstring(
        figure.layout_svg(Records(record, "aos", 32), Records(record, "aos", 32).traffic(["y"], bytewise=True))
    )
    pieces = [r for r in tree.iter(f"{SVG}rect") if r.get("data-field") == "y14"]
    assert [(int(r.get("data-byte")), float(r.get("width"))) for r in pieces] == [(127, 5.5), (128, 38.5)]


def test_fields_have_their_names_where_there_is_room():
    def words(kinds):
        tree, _ = drawn(kinds, "aos", 32, {"x"})
        return {t.text for t in tree.iter(f"{SVG}text")}

    assert {"x0", "x31", "y31"} <= words({"x": "f4", "y": "f8"})
    assert "x0" not in words({"x": "i2", "y": "i2"})


def test_left_out_lines_are_marked():
    def gaps(layout):
        tree, _ = drawn({"x": "f4", "y": "f4"}, layout, 32, {"x"})
        return [p for p in tree.iter(f"{SVG}path") if p.get("class") == "gap"]

    assert (len(gaps("aos")), len(gaps("soa"))) == (0, 1)


def test_dead_bytes_are_hatched_and_not_only_coloured():
    tree, _ = drawn(dict.fromkeys("xyzw", "f4"), "aos", 32, {"x"})
    (hatch,) = (p for p in tree.iter(f"{SVG}path") if p.get("class") == "hatch thin")
    assert len(re.findall("M", hatch.get("d"))) == 16


def test_more_records_than_the_frame_holds_are_refused():
    records = Records(struct(dict.fromkeys("xyzwuv", "f8")), "aos", 64)
    with pytest.raises(ValueError, match="expected at most 12"):
        figure.layout_svg(records, None)


def test_the_sentence_tells_one_request_from_several():
    records = Records(struct(dict.fromkeys("xyzw", "f4")), "aos", 32)
    assert figure.sentence(records, records.traffic(["x"])) == (
        "32 lanes read field x of their records (array of structs): 1 request with 16 sectors, 512\xa0B transferred at "
        "L1, and 512\xa0B from DRAM for 128\xa0B that are used."
    )
    assert "4 requests with 16 sectors each, 2048\xa0B transferred" in figure.sentence(records, records.traffic())
    assert "reads no field, so no request is issued" in figure.sentence(records, None)


def test_the_picture_that_stands_alone_is_an_svg_image_with_alt_text():
    records = Records(struct(dict.fromkeys("xyzw", "f4")), "soa", 32)
    image = ElementTree.fromstring(figure.layout_image(records, records.traffic(["x"])))
    assert "struct of arrays" in image.get("alt")
    inside = ElementTree.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert "@media" not in inside.find(f"{SVG}style").text
