"""Question sets about graphs with something wrong in them: what is lost is told, and the rest is read."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.graphqa.questions import read_graphqa
from conspectus.storage.errors import InputError

from tests.conftest import write_rows

STANCE = "A{0} is good.\tA{0} is bad.\tcounter\t(a{0}; is not a; thing)"


def stances(folder: Path, *wrong: str, right: int = 60) -> Path:
    file = folder / "stances.tsv"
    file.write_text("\n".join([*(STANCE.format(each) for each in range(right)), *wrong]), "utf-8")
    return file


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a\tb\tagree\t(a; b; c)", "the stance is 'agree'"),
        ("a\tb\tsupport\t(a; b)", "the graph is no row of triples"),
        ("a\tb\tsupport\t" + "(" * 100_000, "the graph is no row of triples"),
        ("a\tb\tsupport", "3 fields"),
    ],
)
def test_a_line_of_explagraphs_that_is_wrong_is_lost(tmp_path: Path, line: str, said: str) -> None:
    found = read_graphqa(stances(tmp_path, line))
    assert len(found.questions) == 60
    assert [each.item_id for each in found.failures] == [f"{tmp_path / 'stances.tsv'}:61"]
    assert said in found.failures[0].reason
    assert len(found.failures[0].reason) < 200
    with pytest.raises(InputError, match=r"stances.tsv:61: .* \(and 3 more of 64 questions cannot be read\)"):
        read_graphqa(stances(tmp_path, *[line] * 4))


def rog(number: int) -> dict[str, object]:
    graph = [[f"A{number}", "made_by", f"B{number}"]]
    return {"id": str(number), "question": f"Who made A{number}?", "answer": [f"B{number}"], "graph": graph}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"graph": [["a", "b"]]}, "graph.0"),
        ({"graph": None}, "graph"),
        ({"answer": "Belgium"}, "answer"),
        ({"question": ["who"]}, "question"),
    ],
)
def test_a_question_of_rog_that_is_wrong_is_lost(tmp_path: Path, row: dict[str, object], said: str) -> None:
    write_rows(tmp_path / "one.jsonl", [*map(rog, range(40)), rog(40) | row])
    found = read_graphqa(tmp_path)
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert found.failures[0].item_id.endswith("one.jsonl:41")
    assert f"not a question like RoG's: {said}" in found.failures[0].reason


@pytest.mark.parametrize("line", [b"[" * 200_000, b"\xff\xfe", b"null"])
def test_a_line_that_is_no_question_at_all_is_lost(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "one.jsonl"
    write_rows(file, [*map(rog, range(40))])
    file.write_bytes(file.read_bytes() + line + b"\n")
    found = read_graphqa(file)
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert "\n" not in found.failures[0].reason


def test_a_question_without_graph_or_answer_is_left_out(tmp_path: Path) -> None:
    nothing = [rog(50) | {"graph": []}, rog(51) | {"answer": []}, rog(52) | {"answer": [" "]}]
    write_rows(tmp_path / "one.jsonl", [*map(rog, range(10)), *nothing])
    found = read_graphqa(tmp_path)
    assert (len(found.questions), found.left_out, found.failures) == (10, 3, ())


SCENE = {"objects": {"1": {"name": "owl", "x": 1, "y": 2, "w": 3, "h": 4}}}


def scenes(folder: Path, **odd: object) -> Path:
    graphs = {f"i{each}": SCENE for each in range(40)} | odd
    (folder / "all_sceneGraphs.json").write_text(json.dumps(graphs), "utf-8")
    asked = {f"q{image}": {"imageId": image, "question": "What is it?", "answer": "owl"} for image in graphs}
    (folder / "all_questions.json").write_text(json.dumps(asked), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (None, ""),
        ({"objects": []}, "objects"),
        ({"objects": {"1": {"name": "owl", "x": 1e300, "y": 2, "w": 3, "h": 4}}}, "objects.1.x"),
        ({"objects": {"1": SCENE["objects"]["1"] | {"relations": [{"name": "on", "object": "9"}]}}}, "names '9'"),
    ],
)
def test_a_scene_that_is_wrong_is_lost(tmp_path: Path, scene: object, said: str) -> None:
    found = read_graphqa(scenes(tmp_path, odd=scene))
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert found.failures[0].item_id.endswith("all_sceneGraphs.json: scene odd")
    assert said in found.failures[0].reason


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 200_000])
def test_a_file_of_scenes_that_is_none_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    scenes(tmp_path)
    (tmp_path / "all_sceneGraphs.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"all_sceneGraphs.json") as caught:
        read_graphqa(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_lines_of_a_suites_graph_do_not_count_as_questions(tmp_path: Path) -> None:
    triples = [f"a{each}\tmade by\tm.0{each}_x" for each in range(10)]
    (tmp_path / "kg.tsv").write_text("\n".join([*triples, "one\ttwo", "one"]), "utf-8")
    rows = [{"id": str(n), "question": f"Who made a{n}?", "answers": ["b"], "entities": [f"a{n}"]} for n in range(10)]
    write_rows(tmp_path / "questions.jsonl", rows)
    found = read_graphqa(tmp_path)
    assert (len(found.questions), len(found.failures)) == (10, 2)
    assert {each.stage for each in found.failures} == {"kg"}
    ids = {each.graph.nodes[1] for each in found.questions}
    assert ids == {f"m.0{each}_x" for each in range(10)}, "an id stands as in an index, with its underscore"
