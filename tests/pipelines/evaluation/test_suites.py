from pathlib import Path

import pytest

from pipelines.evaluation.suites import Question, read_suite, suite_index
from storage.errors import InputError
from storage.settings import load_settings
from tests.conftest import ENCYCLOPEDIA, write_rows

CORPUS = [{"id": "d", "title": "t", "text": "x"}]
QUESTION = {"id": "q", "question": "Who?", "answers": ["me"], "supporting": ["d"]}


def suite(folder: Path, *lines: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    write_rows(folder / "corpus.jsonl", CORPUS)
    (folder / "questions.jsonl").write_bytes(b"\n".join(lines))
    return folder


def test_the_example_is_a_suite() -> None:
    found = read_suite(ENCYCLOPEDIA)
    assert found.name == "encyclopedia"
    assert found.corpus == ENCYCLOPEDIA / "corpus.jsonl"
    assert len(found.questions) == 20
    assert all(each.question and each.answers and each.supporting for each in found.questions)


def test_fields_that_may_be_left_out_and_lines_that_are_blank(tmp_path: Path) -> None:
    lines = (
        b"\xef\xbb\xbf" + '{"id": 7, "question": "北京在哪里？", "answers": [1984], "label": "x"}'.encode(),
        b"",
        b"  ",
        b'{"id": "b", "question": "Why?", "supporting": [3]}\r',
    )
    assert read_suite(suite(tmp_path / "s", *lines)).questions == (
        Question("7", "北京在哪里？", ("1984",), ()),
        Question("b", "Why?", (), ("3",)),
    )


@pytest.mark.parametrize("missing", ["corpus.jsonl", "questions.jsonl"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    folder = suite(tmp_path / "s", b'{"id": 1, "question": "Who?"}')
    (folder / missing).unlink()
    with pytest.raises(InputError, match=f"is no question set: it has no {missing}"):
        read_suite(folder)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no question set"):
        read_suite(tmp_path / "absent")


@pytest.mark.parametrize("lines", [[], [b"", b"   "]])
def test_no_questions(lines: list[bytes], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"questions\.jsonl holds no question"):
        read_suite(suite(tmp_path / "s", *lines))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"id": 1}', "an id and a question"),
        (b'{"question": "Who?"}', "an id and a question"),
        (b'{"id": null, "question": "Who?"}', "an id and a question"),
        (b'{"id": 1, "question": null}', "an id and a question"),
        (b'{"id": 1, "question": ["Who?"]}', "an id and a question"),
        (b'["id", "question"]', "an id and a question"),
        (b'"question"', "an id and a question"),
        (b"null", "an id and a question"),
        (b'{"id": 1, "question": "Who?", "answers": "me"}', "answers must be a list, not 'me'"),
        (b'{"id": 1, "question": "Who?", "supporting": "d12"}', "supporting must be a list, not 'd12'"),
        (b'{"id": 1, "question": "Who?", "supporting": null}', "supporting must be a list, not None"),
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
