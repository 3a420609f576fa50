import re
import xml.etree.ElementTree as ET
from typing import Any

from conspectus.render.sweep_svg import sweep_svg


def scores(mean: float) -> dict[str, Any]:
    return {"hits@1": {"mean": mean, "low": mean / 2, "high": mean}, "median_seconds": mean / 10, "failures": 0}


def result(*means: float) -> dict[str, Any]:
    values = {
        str(2**place): {"methods": {"a<b": scores(mean), "c": scores(mean / 2)}} for place, mean in enumerate(means)
    }
    return {"suite": "films & more", "sweep": {"key": "max_size", "values": values}}


def test_a_panel_for_each_metric_and_a_line_for_each_method() -> None:
    picture = sweep_svg(result(0.4, 0.8, 0.6))
    assert picture == sweep_svg(result(0.4, 0.8, 0.6))
    root = ET.fromstring(picture)  # noqa: S314  # our own
    tag = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f"{tag}polyline")
    assert len(lines) == 4, "two metrics, two methods"
    points = [tuple(map(float, each.split(","))) for each in lines[0].attrib["points"].split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert points[1][1] < points[2][1] < points[0][1], "more stands higher"
    words = {each.text for each in root.findall(f"{tag}text")}
    assert {"a<b", "c", "hits@1", "median seconds", "1", "2", "4", "films & more: max_size"} <= words
    width, height = (float(root.attrib[each]) for each in ("width", "height"))
    for x, y in re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)"', picture):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_values_of_nothing_and_methods_that_lack_a_metric() -> None:
    found = result(0.0, 0.0)
    del found["sweep"]["values"]["1"]["methods"]["c"]["hits@1"]
    assert ET.fromstring(sweep_svg(found)) is not None  # noqa: S314


def test_lines_of_one_colour_are_told_apart() -> None:
    values = {each: {"methods": {f"m{number}": scores(0.5) for number in range(8)}} for each in ("1", "2")}
    picture = sweep_svg({"suite": "films", "sweep": {"key": "size", "values": values}})
    root = ET.fromstring(picture)  # noqa: S314
    tag = "{http://www.w3.org/2000/svg}"
    looks = [(each.attrib["stroke"], each.get("stroke-dasharray")) for each in root.findall(f"{tag}polyline")[:8]]
    assert len(set(looks)) == 8
    legend = [each for each in root.findall(f"{tag}line") if each.attrib["x1"] != each.attrib["x2"]][:8]
    assert [(each.attrib["stroke"], each.get("stroke-dasharray")) for each in legend] == looks


def test_axes_have_round_numbers() -> None:
    for highest in (0.03, 0.11, 0.37, 0.46, 0.9, 1.7, 3.1, 45.0):
        picture = sweep_svg(result(highest))
        told = re.findall(r'text-anchor="end"[^>]*>([^<]+)</text>', picture)
        assert told
        assert all(len(each.replace(".", "").strip("0")) <= 2 for each in told), told
