import mmap
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.vectors import Embedding, Windows, shards_by_length
from conspectus.prompts.embedding.embedder import Embedder, open_embedder
from conspectus.storage.arrays import drop_pages
from conspectus.storage.errors import SettingsError
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document, Entity, Finding, Relation, Report
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings
from conspectus.storage.text.embedded import chunk_text, entity_text, relation_text, report_text
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given, settings
from hypothesis import strategies as st

Item = TypeVar("Item")
Result = TypeVar("Result")

SHORT = ["Ada met Bob.", "", "北京大学", "A violin has four strings.", "Ada met Bob."]
LONG = " ".join(f"In year {1500 + i} the harbour keeper counted {3 * i} ships." for i in range(45))


class Watched(RunHere):
    """Runs shards here and notes what they were."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[object] = []

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        self.texts += [each for part in parts for each in part]
        return super().__call__(step, work, parts)


def minilm() -> Embedder:
    return open_embedder(EmbeddingSettings(), EmbeddingServerSettings())


def embedded(texts: Sequence[str], memo: Path, run: RunHere | None = None) -> Windows:
    return Embedding(EmbeddingSettings(), EmbeddingServerSettings(), Memo(memo), run or RunHere()).windows(
        texts, "embed"
    )


def test_vectors_under_another_name_are_a_clear_error(tmp_path: Path) -> None:
    class NamesThemOtherwise(RunHere):
        """Like a worker whose processor multiplies bytes otherwise: nothing is found under the driver's name."""

        def __call__(
            self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
        ) -> list[Result]:
            return []

    with pytest.raises(SettingsError, match=r"3 texts got no vector named .* use equal ones"):
        embedded(["one", "two", "three"], tmp_path / "memo", NamesThemOtherwise())


def test_what_was_embedded_is_not_embedded_again(tmp_path: Path) -> None:
    first, second, third = Watched(), Watched(), Watched()
    before = embedded([*SHORT, LONG], tmp_path / "memo", first)
    assert len(first.texts) == len(set(first.texts)) == 4 + len(minilm().windows(LONG))
    again = embedded([*SHORT, LONG], tmp_path / "memo", second)
    assert second.texts == []
    np.testing.assert_array_equal(again.vectors, before.vectors)
    embedded([*SHORT, "new", LONG], tmp_path / "memo", third)
    assert third.texts == ["new"]


def test_the_order_and_company_of_texts_leave_no_trace(tmp_path: Path) -> None:
    texts = [*SHORT, LONG, *(" ".join(["salt"] * n) for n in range(1, 12))]
    together = embedded(texts, tmp_path / "one")
    order = random.Random(3).sample(range(len(texts)), len(texts))
    shuffled = embedded([texts[i] for i in order], tmp_path / "two")
    for place, i in enumerate(order):
        np.testing.assert_array_equal(shuffled.vectors[shuffled.rows == place], together.vectors[together.rows == i])
    alone = embedded([texts[7]], tmp_path / "three")
    np.testing.assert_array_equal(alone.vectors, together.vectors[together.rows == 7])


def is_mapped(array: object) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def test_vectors_of_many_texts_are_mapped_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*SHORT, LONG, "The last text."]
    together = embedded(texts, tmp_path / "one")
    monkeypatch.setattr("conspectus.pipelines.steps.vectors._TEXTS_AT_ONCE", 3)
    mapped = embedded(texts, tmp_path / "two")
    assert is_mapped(mapped.vectors)
    assert not is_mapped(together.vectors)
    np.testing.assert_array_equal(mapped.vectors, together.vectors)
    np.testing.assert_array_equal(mapped.rows, together.rows)
    np.testing.assert_array_equal(mapped.first(), together.first())
    drop_pages(mapped.vectors)
    np.testing.assert_array_equal(mapped.vectors, together.vectors)


@settings(max_examples=12)
@given(st.lists(st.integers(0, 9_000), max_size=9))
def test_shards_hold_each_text_once_and_like_lengths_together(lengths: list[int]) -> None:
    texts = [f"{i} " + "salt " * length for i, length in enumerate(lengths)]
    parts = shards_by_length(texts)
    tokens = [[count_tokens(text) for text in part] for part in parts]
    assert sorted(text for part in parts for text in part) == sorted(texts)
    flat = [count for part in tokens for count in part]
    assert flat == sorted(flat)
    for counts in tokens:
        assert sum(counts[:-1]) + 2 * len(counts[:-1]) < 30_000  # one more text begins a new shard
    assert parts == shards_by_length(texts[::-1])


def test_what_stands_for_each_row() -> None:
    ada, bob = (Entity(id_, name, "X", ("X",), "d", 1, 0) for id_, name in (("1", "Ada"), ("2", "Bob")))
    assert entity_text(ada) == "Ada"
    relation = Relation("r", "1", "2", "met", "Ada met Bob in May.", 1.0, ())
    assert relation_text(relation, {each.id: each.name for each in (ada, bob)}) == "Ada met Bob"
    chunk = Chunk("c", "d", 0, 0, 4, "Text", 1)
    assert chunk_text(chunk, Document("d", "Title", "", "Text", {}, 4, "")) == "Title\nText"
    assert chunk_text(chunk, Document("d", "", "", "Text", {}, 4, "")) == "Text"
    findings = (Finding("", "It rained.", ()), Finding("", "It snowed.", ()))
    assert report_text(Report("r", "c", 0, "Rain", "s", findings, 1.0, "f", 1)) == "Rain. It rained."
