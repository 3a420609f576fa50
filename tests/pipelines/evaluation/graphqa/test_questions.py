"""GraphQA's three sets, read in one form, and what is wrong in them."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.graphqa.read import read_graphqa
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.errors import InputError

from tests.conftest import write_rows

EXPLAGRAPHS = Path(__file__).parents[2] / "data" / "explagraphs"


def test_explagraphs_is_pooled_and_divided() -> None:
    found = read_graphqa(EXPLAGRAPHS)
    assert (found.name, found.metric) == ("explagraphs", "accuracy")
    assert [len(part) for part in (found.training, found.validation, found.test)] == [12, 4, 4]
    assert len({each.id for each in found.questions}) == 20
    assert {answer for each in found.questions for answer in each.answers} == {"support", "counter"}
    first = min(found.questions, key=lambda each: int(each.id.rpartition("-")[2]))
    line = (EXPLAGRAPHS / "sample.tsv").read_text("utf-8").splitlines()[1].split("\t")
    assert line[0] in first.question
    assert line[1] in first.question
    assert first.answers == (line[2],)
    told = "".join(
        f"({first.graph.nodes[each.source]}; {each.text}; {first.graph.nodes[each.target]})"
        for each in first.graph.edges
    )
    assert told == line[3]
    assert read_graphqa(EXPLAGRAPHS) == found


SCENE = {
    "width": 500,
    "height": 375,
    "objects": {
        "15": {"name": "banana", "x": 248, "y": 55, "w": 64, "h": 34, "attributes": ["small", "yellow"],
               "relations": [{"name": "to the left of", "object": "7"}]},
        "7": {"name": "straw", "x": 402, "y": 55, "w": 15, "h": 95, "attributes": [], "relations": []},
    },
}  # fmt: skip


def scenes(folder: Path, images: int = 10) -> Path:
    (folder / "train_sceneGraphs.json").write_text(json.dumps({f"i{n}": SCENE for n in range(images)}), "utf-8")
    asked = {
        f"q{n}": {"imageId": f"i{n // 2}", "question": f"Is it {n}?", "answer": "yes", "isBalanced": True}
        for n in range(2 * images + 4)
    }
    (folder / "train_balanced_questions.json").write_text(json.dumps(asked), "utf-8")
    return folder


def test_scenes_are_told_as_in_the_paper_and_stay_together(tmp_path: Path) -> None:
    found = read_graphqa(scenes(tmp_path))
    assert (found.name, found.metric, found.left_out) == ("scenegraphs", "accuracy", 4)
    assert (found.before.nodes, found.before.edges) == (2, 1)
    assert found.before == found.after
    assert found.training[0].graph == TextualGraph(
        (
            "name: banana; attribute: small, yellow; (x,y,w,h): (248, 55, 64, 34)",
            "name: straw; (x,y,w,h): (402, 55, 15, 95)",
        ),
        (TextualEdge(0, "to the left of", 1),),
    )
    parts = [{int(each.id[1:]) // 2 for each in part} for part in (found.training, found.validation, found.test)]
    assert [len(each) for each in parts] == [6, 2, 2]
    assert len(set().union(*parts)) == 10, "no image is on two sides, and images without a graph are left out"
    (tmp_path / "train_sceneGraphs.json").write_text(
        json.dumps({"i0": {"objects": {"1": SCENE["objects"]["15"]}}}),  # type: ignore[index]
        "utf-8",
    )
    with pytest.raises(InputError, match="scene i0: a relation of object 1 names '7'"):
        read_graphqa(tmp_path)
    (tmp_path / "train_sceneGraphs.json").write_text('{"i0": {"objects": {"1": {"name": 3}}}}', "utf-8")
    with pytest.raises(InputError, match=r"train_sceneGraphs.json: scene i0: objects.1.name"):
        read_graphqa(tmp_path)


def rog(number: int, part: str = "train") -> dict[str, object]:
    return {
        "id": f"{part}-{number}",
        "question": "Who was the Sister of Bram Tolliver",
        "answer": ["Rosa Tolliver", "Rosa Tolliver", "Rose"],
        "q_entity": ["Bram Tolliver"],
        "graph": [
            ["Bram Tolliver", "people.person.Sibling", f"m.{number}"],
            [f"m.{number}", "sibling", "Rosa Tolliver"],
        ],
    }


def test_rog_keeps_its_division_and_small_letters(tmp_path: Path) -> None:
    for part, many in (("train", 3), ("validation", 2), ("test", 1)):
        write_rows(tmp_path / f"{part}.jsonl", [rog(number, part) for number in range(many)])
    seen: list[str] = []

    def first_edge(graph: TextualGraph, question: str) -> TextualGraph:
        seen.append(question)
        return graph.part([0, 1], [0])

    found = read_graphqa(tmp_path, first_edge)
    assert [len(part) for part in (found.training, found.validation, found.test)] == [3, 2, 1]
    assert seen == ["who was the sister of bram tolliver"] * 6
    one = found.training[1]
    assert one.graph == TextualGraph(("bram tolliver", "m.1"), (TextualEdge(0, "people.person.sibling", 1),))
    assert one.answers == ("rosa tolliver", "rose")
    assert (found.metric, found.before.nodes, found.before.edges) == ("hit@1", 3, 2)
    assert (found.after.nodes, found.after.edges) == (2, 1)
    assert found.after.tokens < found.before.tokens
    assert found.target(one) == "rosa tolliver|rose"
    assert [found.score(text, one) for text in ("Rose|nobody", "nobody|rose", "")] == [1, 0, 0]
    write_rows(tmp_path / "test.jsonl", [rog(0) | {"graph": [["a", "b"]]}])
    with pytest.raises(InputError, match=r"test.jsonl:1: not a question like RoG's"):
        read_graphqa(tmp_path)


def test_a_suite_gives_each_question_what_is_near(tmp_path: Path) -> None:
    triples = [(f"a{n}", "made_by", f"b{n}") for n in range(6)] + [(f"b{n}", "born in", f"c{n}") for n in range(6)]
    triples += [(f"c{n}", "in", "Far Land") for n in range(6)]
    (tmp_path / "kg.tsv").write_text("".join("\t".join(each) + "\n" for each in triples), "utf-8")
    rows = [
        {"id": f"q{n}", "question": f"Where is A{n}?", "answers": [f"C{n}"], "entities": [f"A{n}"]} for n in range(6)
    ]
    write_rows(tmp_path / "questions.jsonl", [*rows, rows[0] | {"id": "x", "entities": ["nothing"]}])
    found = read_graphqa(tmp_path)
    assert {each.id for each in found.questions} == {f"q{n}" for n in range(6)}
    one = next(each for each in found.questions if each.id == "q4")
    assert one.graph == TextualGraph(("a4", "b4", "c4"), (TextualEdge(0, "made by", 1), TextualEdge(1, "born in", 2)))
    assert one.question == "Where is A4?"


def test_what_is_no_set_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a set of questions about graphs"):
        read_graphqa(tmp_path)
    write_rows(tmp_path / "few.jsonl", [rog(0)])
    with pytest.raises(InputError, match=r"few.jsonl: 1 different graphs are too few"):
        read_graphqa(tmp_path / "few.jsonl")


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


def rog_row(number: int) -> dict[str, object]:
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
    write_rows(tmp_path / "one.jsonl", [*map(rog_row, range(40)), rog_row(40) | row])
    found = read_graphqa(tmp_path)
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert found.failures[0].item_id.endswith("one.jsonl:41")
    assert f"not a question like RoG's: {said}" in found.failures[0].reason


@pytest.mark.parametrize("line", [b"[" * 200_000, b"\xff\xfe", b"null"])
def test_a_line_that_is_no_question_at_all_is_lost(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "one.jsonl"
    write_rows(file, [*map(rog_row, range(40))])
    file.write_bytes(file.read_bytes() + line + b"\n")
    found = read_graphqa(file)
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert "\n" not in found.failures[0].reason


def test_a_question_without_graph_or_answer_is_left_out(tmp_path: Path) -> None:
    nothing = [rog_row(50) | {"graph": []}, rog_row(51) | {"answer": []}, rog_row(52) | {"answer": [" "]}]
    write_rows(tmp_path / "one.jsonl", [*map(rog_row, range(10)), *nothing])
    found = read_graphqa(tmp_path)
    assert (len(found.questions), found.left_out, found.failures) == (10, 3, ())


OWL = {"objects": {"1": {"name": "owl", "x": 1, "y": 2, "w": 3, "h": 4}}}


def owl_scenes(folder: Path, **odd: object) -> Path:
    graphs = {f"i{each}": OWL for each in range(40)} | odd
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
        ({"objects": {"1": OWL["objects"]["1"] | {"relations": [{"name": "on", "object": "9"}]}}}, "names '9'"),
    ],
)
def test_a_scene_that_is_wrong_is_lost(tmp_path: Path, scene: object, said: str) -> None:
    found = read_graphqa(owl_scenes(tmp_path, odd=scene))
    assert (len(found.questions), len(found.failures)) == (40, 1)
    assert found.failures[0].item_id.endswith("all_sceneGraphs.json: scene odd")
    assert said in found.failures[0].reason


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 200_000])
def test_a_file_of_scenes_that_is_none_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    owl_scenes(tmp_path)
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
