import time
from itertools import pairwise

import pytest
from conspectus.pipelines.steps.chunks import split_document
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st


def document(text: str, name: str = "d") -> Document:
    return Document(id=name, title=name, uri=name, text=text, metadata={}, n_chars=len(text), sha256="")


WORDS = [
    "Dorothy",
    "ran.",
    "北京在中国。",
    "한국어 문장입니다.",
    "नमस्ते।",
    "ไทย",
    "é",
    "C++",
    "x" * 130,
    "1",
    "?",
    "\u200b",
]
SPACES = [" ", " ", " ", "\n", "\n\n", "\t", "  \n ", "\r", ""]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS) | st.text(max_size=5), st.sampled_from(SPACES)), max_size=120).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)
SIZES = st.builds(ChunkSettings, chunk_size=st.integers(16, 60), chunk_overlap=st.sampled_from([0, 5, 10, 15]))


@given(TEXTS, SIZES)
def test_chunks_are_exact_spans_that_cover_the_text(text: str, sizes: ChunkSettings) -> None:
    chunks = split_document(document(text), sizes)
    covered: set[int] = set()
    for ordinal, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end] == chunk.text.strip() != ""
        assert chunk.n_tokens <= sizes.chunk_size
        assert chunk.ordinal == ordinal
        assert chunk.id == short_id("d", str(chunk.start), str(chunk.end))
        covered.update(range(chunk.start, chunk.end))
    assert all(at in covered or sign.isspace() for at, sign in enumerate(text))
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(chunks))


@given(TEXTS, SIZES)
def test_overlaps_are_the_last_whole_sentences_that_fit(text: str, sizes: ChunkSettings) -> None:
    chunks = split_document(document(text), sizes)
    spans = sentence_spans(text)
    counts = {span: count_tokens(text[slice(*span)]) for span in spans}
    if any(tokens > sizes.chunk_size for tokens in counts.values()):
        return  # pieces of sentences have a test of their own
    for before, chunk in pairwise(chunks):
        repeated = [span for span in spans if chunk.start <= span[0] < before.end]
        following = next(span for span in spans if span[0] >= before.end)
        room = min(sizes.chunk_overlap, sizes.chunk_size - counts[following])
        assert sum(counts[span] for span in repeated) <= room
        previous = [span for span in spans if before.start <= span[0] < chunk.start]
        one_more = counts[previous[-1]] + sum(counts[span] for span in repeated)
        assert one_more > room or following[1] - previous[-1][0] > 40 * sizes.chunk_size
    for chunk in chunks:
        inside = [span for span in spans if chunk.start <= span[0] and span[1] <= chunk.end]
        assert (inside[0][0], inside[-1][1]) == (chunk.start, chunk.end)
        assert chunk.n_tokens == sum(counts[span] for span in inside)


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    text = "yellow brick road " * 40
    chunks = split_document(document(text), ChunkSettings(chunk_size=25, chunk_overlap=0))
    assert " ".join(chunk.text for chunk in chunks) == text.strip()
    assert [chunk.n_tokens for chunk in chunks] == [25, 25, 25, 25, 20]


def test_one_short_text_is_one_chunk_and_a_blank_one_none() -> None:
    (chunk,) = split_document(document("  Toto barked. Dorothy ran.\n"), ChunkSettings())
    assert chunk == Chunk(
        id=short_id("d", "2", "27"),
        document_id="d",
        ordinal=0,
        start=2,
        end=27,
        text="Toto barked. Dorothy ran.",
        n_tokens=count_tokens("Toto barked. Dorothy ran."),
    )
    assert split_document(document(" \n "), ChunkSettings()) == []


def test_blank_stretches_and_uncounted_signs_do_not_make_endless_chunks() -> None:
    text = "One." + " " * 100_000 + "Two.\n\n" + "\u200b" * 100_000
    chunks = split_document(document(text), ChunkSettings())
    assert max(len(chunk.text) for chunk in chunks) <= 40 * 600


@pytest.mark.parametrize("text", ["Dorothy ran. " * 30_000, "z" * 400_000, "word " * 80_000])
def test_a_long_line_takes_linear_time(text: str) -> None:
    started = time.process_time()
    split_document(document(text), ChunkSettings())
    assert time.process_time() - started < 5
