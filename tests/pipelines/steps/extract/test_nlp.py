from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.extract.nlp import STAGE, annotate_chunks
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk
from conspectus.storage.settings import ExtractionSettings
from conspectus.storage.text.nlp import Annotation, open_annotator

from tests import samples

Item = TypeVar("Item")
Result = TypeVar("Result")

SPACY = ExtractionSettings()
REGEX = ExtractionSettings(pipeline="regex")


class Watched(RunHere):
    """Runs shards here and notes what they were."""

    def __init__(self) -> None:
        super().__init__()
        self.shards: list[list[object]] = []

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        self.shards += [list(part) for part in parts]
        return super().__call__(step, work, parts)


@pytest.fixture
def memo(tmp_path: Path) -> Memo:
    return Memo(tmp_path / "memo.sqlite")


@pytest.fixture(scope="module")
def chunks() -> list[Chunk]:
    return samples.chunks(samples.documents())


def chunk(id_: str, text: str) -> Chunk:
    return Chunk(id_, "d", 0, 0, len(text), text, 1)


def test_only_new_texts_are_worked_on_each_once(chunks: list[Chunk], memo: Memo) -> None:
    annotate_chunks(chunks[:4], REGEX, memo, RunHere(), 64)
    runner = Watched()
    more = [*chunks[::-1], chunk("copy", chunks[0].text), chunk("x", "Ada met Bob."), chunk("y", "Ada met Bob.")]
    found, _ = annotate_chunks(more, REGEX, memo, runner, 64)
    assert runner.shards == [[("", text) for text in (chunks[5].text, chunks[4].text, "Ada met Bob.")]]
    assert found[5] == found[6]
    assert found[7] == found[8] != Annotation((), ())


def test_another_pipeline_is_another_memory(memo: Memo) -> None:
    given = [chunk("x", "Ada met Bob in the old town of Lyon.")]
    for settings in (REGEX, SPACY):
        runner = Watched()
        annotate_chunks(given, settings, memo, runner, 64)
        assert len(runner.shards) == 1


def test_a_text_that_the_pipeline_cannot_take_is_a_failure_and_the_others_go_on(
    chunks: list[Chunk], memo: Memo
) -> None:
    too_long = chunk("long", "word " * 200_001)  # spaCy refuses texts of more than 1,000,000 characters
    given = [chunks[0], too_long, chunks[1]]
    found, failures = annotate_chunks(given, SPACY, memo, RunHere(), 64)
    assert found[1] == Annotation((), ())
    assert [found[0], found[2]] == samples.annotations(chunks[:2])
    (failure,) = failures
    assert (failure.stage, failure.item_id) == (STAGE, "long")
    assert failure.detail.startswith("ValueError: [E088]")

    again = Watched()
    assert annotate_chunks(given, SPACY, memo, again, 64) == (found, failures)
    assert again.shards == [[("", too_long.text)]]  # what failed is tried again, what was done is not


def test_what_is_remembered_comes_back_whole(memo: Memo) -> None:
    texts = ["", " ", "«Ελλάδα» und “北京大学”, 👩‍👩‍👧 C++ \u2028 'x'", 'Ada, who wrote "it", met Bob.']
    given = [chunk(str(i), text) for i, text in enumerate(texts)]
    for settings in (REGEX, SPACY):
        annotator = open_annotator(settings.pipeline)
        for _ in range(2):
            found, failures = annotate_chunks(given, settings, memo, RunHere(), 64)
            assert found == [annotator.annotate(text) for text in texts]
            assert not failures
