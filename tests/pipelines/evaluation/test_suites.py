from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.suites import SuiteQuestion, read_suite, sampled, suite_index
from conspectus.storage.errors import InputError
from conspectus.storage.settings import load_settings

from tests.conftest import ISLES, write_rows

CORPUS = [{"id": "d", "title": "t", "text": "x"}]


def suite(folder: Path, *lines: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    write_rows(folder / "corpus.jsonl", CORPUS)
    (folder / "questions.jsonl").write_bytes(b"\n".join(lines))
    return folder


def test_the_example_is_a_suite() -> None:
    found = read_suite(ISLES)
    assert found.name == "isles"
    assert found.corpus == ISLES / "corpus.jsonl"
    assert len(found.questions) == 12
    assert all(each.question and each.answers and each.supporting for each in found.questions)


def test_fields_that_may_be_left_out_and_lines_that_are_blank(tmp_path: Path) -> None:
    lines = (
        b"\xef\xbb\xbf" + '{"id": 7, "question": "北京在哪里？", "answers": [1984], "label": "x"}'.encode(),
        b"",
        b"  ",
        b'{"id": "b", "question": "Why?", "supporting": [3]}\r',
    )
    assert read_suite(suite(tmp_path / "s", *lines)).questions == (
        SuiteQuestion("7", "北京在哪里？", ("1984",), (), label="x"),
        SuiteQuestion("b", "Why?", (), ("3",)),
    )


@pytest.mark.parametrize("missing", ["corpus.jsonl", "questions.jsonl"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    folder = suite(tmp_path / "s", b'{"id": 1, "question": "Who?"}')
    (folder / missing).unlink()
    with pytest.raises(InputError, match=f"is not a question set: it has no {missing}"):
        read_suite(folder)


@pytest.mark.parametrize("lines", [[], [b"", b"   "]])
def test_no_questions(lines: list[bytes], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"questions\.jsonl contains no question"):
        read_suite(suite(tmp_path / "s", *lines))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b'{"id": 1}', "an id and a question"),
        (b'{"id": 1, "question": ["Who?"]}', "an id and a question"),
        (b'{"id": 1, "question": "Who?", "answers": "me"}', "answers must be a list, not 'me'"),
        (b'{"id": 1, "question": "Who?", "entities": "x"}', "entities must be a list, not 'x'"),
        (b'{"id": 1, "question": "Who?", "label": ["x"]}', "label must be a text"),
        (b'{"id": 1, "question": "Who?", "hops": "two"}', "hops must be a whole number, not 'two'"),
    ],
)
def test_a_wrong_line_is_named(line: bytes, reason: str, tmp_path: Path) -> None:
    good = b'{"id": 1, "question": "Who?"}'
    with pytest.raises(InputError, match=rf"questions\.jsonl:3: .*{reason}"):
        read_suite(suite(tmp_path / "s", good, b"", line, good))


def test_an_index_belongs_to_its_corpus_and_settings(tmp_path: Path) -> None:
    plain, coarse = load_settings(), load_settings(overrides={"chunks": {"chunk_size": 300}})
    one = read_suite(suite(tmp_path / "one", b'{"id": 1, "question": "Who?"}'))
    path = suite_index(one, plain)
    assert path.parts[:2] == (".conspectus", "suites")
    assert path == suite_index(one, load_settings(overrides={"ppr": {"damping": 0.6}}))  # no setting of the index
    assert path != suite_index(one, coarse)
    write_rows(one.corpus, [{**CORPUS[0], "text": "y"}])
    assert path != suite_index(one, plain)


GRAPH = "Heat\tdirected_by\tMichael Mann\n"


def test_a_suite_over_a_graph_needs_no_corpus(tmp_path: Path) -> None:
    line = b'{"id": 1, "question": "Who?", "answers": ["me"], "entities": ["Heat"], "label": true, "hops": 2}'
    folder = suite(tmp_path / "s", line)
    (folder / "corpus.jsonl").unlink()
    (folder / "kg.tsv").write_text(GRAPH, "utf-8")
    found = read_suite(folder)
    assert (found.corpus, found.kg, found.inputs) == (None, folder / "kg.tsv", ())
    assert found.questions == (SuiteQuestion("1", "Who?", ("me",), (), ("Heat",), "true", 2),)
    chosen = found.settings(load_settings())
    assert chosen.kg.files == (str(folder / "kg.tsv"),)
    mine = load_settings(overrides={"kg": {"files": ["other.tsv"]}})
    assert found.settings(mine) == mine
    path = suite_index(found, chosen)
    (folder / "kg.tsv").write_text(GRAPH * 2, "utf-8")
    assert suite_index(found, chosen) != path


def test_questions_may_stand_in_a_file_of_another_name(tmp_path: Path) -> None:
    folder = suite(tmp_path / "s", b"")
    (folder / "questions.jsonl").unlink()
    (folder / "qa_test.txt").write_text("who made [Heat]\tMichael Mann|nobody\n", "utf-8")
    asked = (SuiteQuestion("qa_test-1", "who made Heat", ("Michael Mann", "nobody"), (), ("Heat",)),)
    assert read_suite(folder).questions == asked
    (folder / "qa_dev.txt").write_text("who made [Ali]\tMichael Mann\n", "utf-8")
    with pytest.raises(InputError, match=r"several files that may be its questions \(qa_dev.txt, qa_test.txt\)"):
        read_suite(folder)
    assert read_suite(folder / "qa_test.txt").questions == asked


def test_questions_that_bring_their_graphs_need_no_other(tmp_path: Path) -> None:
    row = {"id": "r", "question": "Who?", "answer": ["Mann"], "q_entity": ["Heat"], "graph": [["Heat", "by", "Mann"]]}
    write_rows(tmp_path / "RoG-webqsp.jsonl", [row])
    found = read_suite(tmp_path)
    assert (found.kg, found.questions[0].answers) == (tmp_path / "RoG-webqsp.jsonl", ("Mann",))


def test_a_sample_is_the_same_each_time_and_in_order(tmp_path: Path) -> None:
    lines = [b'{"id": %d, "question": "Who?"}' % number for number in range(30)]
    whole = read_suite(suite(tmp_path / "s", *lines))
    some = sampled(whole, 7)
    assert some == sampled(whole, 7)
    places = [int(each.id) for each in some.questions]
    assert len(places) == 7
    assert places == sorted(places)
    assert sampled(whole, 30) == sampled(whole, None) == whole
