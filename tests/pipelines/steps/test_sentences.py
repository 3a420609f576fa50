"""Chunks and sentences of documents."""

import random
import time
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from conspectus.pipelines.steps.chunks import split_document
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.query.context import Context
from conspectus.storage.arrays import Floats
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Mention, Span
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array


@pytest.fixture(scope="module")
def sentences(context: Context) -> Sentences:
    index = context.index
    return sentences_of(index.rows(Document), index.rows(Chunk), index.rows(Mention))


def document(id_: str, text: str) -> Document:
    return Document(id_, "", id_, text, {}, len(text), "")


def chunk(of: Document, start: int = 0, end: int | None = None) -> Chunk:
    end = len(of.text) if end is None else end
    return Chunk(f"{of.id}:{start}", of.id, 0, start, end, of.text[start:end], 1)


def mention(of: Chunk, start: int | None, entity: str | None = None, relation: str | None = None) -> Mention:
    return Mention(f"{of.id}-{start}-{entity}-{relation}", of.id, entity, relation, start, None, "exact", "", "")


def spans(sentences: Sentences) -> list[Span]:
    return [sentences.placed.span(row) for row in range(len(sentences.placed))]


def texts(sentences: Sentences) -> list[str]:
    return [sentences.placed.text(row) for row in range(len(sentences.placed))]


def test_each_sentence_stands_at_its_span_and_in_its_chunk(sentences: Sentences, context: Context) -> None:
    text_of = {each.id: each.text for each in context.index.rows(Document)}
    chunk_of = {each.id: each for each in context.chunks}
    for span, text in zip(spans(sentences), texts(sentences), strict=True):
        assert text_of[span.document_id][span.start : span.end] == text == text.strip() != ""
        within = chunk_of[span.chunk_id]
        assert within.document_id == span.document_id
        assert within.start <= span.start < span.end <= within.end
    places = [(span.document_id, span.start) for span in spans(sentences)]
    assert places == sorted(set(places))
    kept = Counter(span.document_id for span in spans(sentences))
    assert set(kept) == set(text_of)


def test_each_mention_is_in_the_sentence_that_holds_it(sentences: Sentences, context: Context) -> None:
    chunk_of = {each.id: each for each in context.chunks}
    of_entity = sentences.placed.of_entity
    named = {key: set(rows.tolist()) for key, rows in of_entity.items()}
    of_document: defaultdict[str, list[tuple[int, Span]]] = defaultdict(list)
    for row, span in enumerate(spans(sentences)):
        of_document[span.document_id].append((row, span))
    want: defaultdict[str, set[int]] = defaultdict(set)
    for each in context.index.rows(Mention):
        if each.start is not None and each.entity_id is not None:
            around = of_document[chunk_of[each.chunk_id].document_id]
            (holding,) = [row for row, span in around if span.start <= each.start < span.end]
            want[each.entity_id].add(holding)
    assert named == want
    assert all((np.diff(rows) > 0).all() for rows in of_entity.values())


def test_a_sentence_of_two_chunks_belongs_to_the_later() -> None:
    text = "One is here. Two is here. Three is here."
    one = document("a", text)
    chunks = [chunk(one, 0, 25), chunk(one, 13)]
    found = sentences_of([one], chunks, [mention(chunks[0], 13, "x"), mention(chunks[1], 13, "x")])
    assert [span.chunk_id for span in spans(found)] == ["a:0", "a:13", "a:13"]
    assert found.placed.of_entity["x"].tolist() == [1]


def test_what_is_fit_to_be_quoted() -> None:
    long = "word " * 100 + "end."
    one = document("a", f"Too short. This one has four words.\n\n{long}")
    found = sentences_of([one], [chunk(one)], [])
    assert found.quotable.tolist() == [False, True, False]
    assert found.most_central(np.arange(3), 3) == [1]
    assert found.most_central(np.array([0, 2]), 3) == []
    assert found.most_central(np.array([], np.int64), 3) == []


VOCABULARY = "the harbour master keeps ships lists lamps nets ropes and salt".split()
texts_of = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=3, max_size=7), min_size=1, max_size=9)


def made(bags: list[list[str]]) -> Sentences:
    of = [document(f"{i:02}", " ".join(["X", *bag[1:]]) + ".") for i, bag in enumerate(bags)]
    return sentences_of(of, [chunk(each) for each in of], [])


def tf_idf(texts: list[str]) -> Floats:
    bags = [Counter(word.key for word in words(text)) for text in texts]
    vocabulary = sorted(set().union(*bags))
    rows: Floats = np.zeros((len(bags), len(vocabulary)))
    for i, bag in enumerate(bags):
        for j, word in enumerate(vocabulary):
            if bag[word]:
                frequency = sum(word in other for other in bags)
                rows[i, j] = (1 + np.log(bag[word])) * np.log((1 + len(bags)) / frequency)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@given(texts_of, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_most_central_are_those_of_the_definition(bags: list[list[str]], count: int, chance: random.Random) -> None:
    sentences = made(bags)
    dense = tf_idf(texts(sentences))
    gram = dense @ dense.T
    of = sentences.weights
    rows_of = csr_array((of.values, of.words, of.indptr), shape=(len(bags), len(of.idf)))
    np.testing.assert_allclose((rows_of @ rows_of.T).toarray(), gram, atol=1e-12)

    rows = np.array([row for row in range(len(bags)) if chance.random() < 0.7], np.int64)
    candidates = [row for row in rows.tolist() if sentences.quotable[row]]
    centrality = {row: round(float(gram[row, candidates].mean()), 9) for row in candidates}
    want: list[int] = []
    for row in sorted(candidates, key=lambda each: (-centrality[each], each)):
        if len(want) < count and all(gram[row, other] < 0.7 for other in want):
            want.append(row)
    assert sentences.most_central(rows, count) == want


def named(text: str, name: str = "d") -> Document:
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
    chunks = split_document(named(text), sizes)
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
    chunks = split_document(named(text), sizes)
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


def test_blank_stretches_and_uncounted_signs_do_not_make_endless_chunks() -> None:
    text = "One." + " " * 100_000 + "Two.\n\n" + "\u200b" * 100_000
    chunks = split_document(named(text), ChunkSettings())
    assert max(len(chunk.text) for chunk in chunks) <= 40 * 600


@pytest.mark.parametrize("text", ["Dorothy ran. " * 30_000, "z" * 400_000, "word " * 80_000])
def test_a_long_line_takes_linear_time(text: str) -> None:
    started = time.process_time()
    split_document(named(text), ChunkSettings())
    assert time.process_time() - started < 5
