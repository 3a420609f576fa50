"""The second hop without a model: query expansion with names from the first passages.

A multi-hop question describes a thing that it does not name: "the county where Brook House is". A first
passage matches such a part of the question and contains the missing name: Dorset. The name, a bridge entity,
replaces the part, and the passages that contain the name are compared with the rewritten question: "what time does
Dorset stop selling cider". IRCoT (Trivedi et al. 2023, arXiv 2212.10509) lets a model decide what to look up next;
here only names in the passages are tried, and the index shows which of them lead to new passages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import Question
from conspectus.query.question.terms import Terms
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.walk_graph import MOST_OWNERS
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.postings import TextColumn

_MOST_NAMES = 12  # of a passage, the rarest first: each costs the encoding of a question
_MOST_PASSAGES = 60
"""A name in more passages than this is not a bridge."""


@dataclass(frozen=True, slots=True)
class FirstPassage:
    """A passage of the first hop from which the second one starts.

    Attributes:
        row: its chunk row.
        weight: its weight, 1 for the best.
        contained: (t,) 1 if it contains a term of the question, else 0.
    """

    row: int
    weight: float
    contained: Floats


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The question with `name`, from the chunk `first`, in place of the part that this chunk matches.

    `weight` is that of the first passage; `chunks` are the rows of the other chunks that contain the name, ascending.
    """

    first: int
    weight: float
    name: str
    question: str
    chunks: Rows


@dataclass(frozen=True, slots=True)
class SecondHop:
    """The scores of n passages under the rewritten questions.

    Attributes:
        fit: (n,) the best cosine with a rewritten question.
        gain: (n,) by how much a passage is closer to a rewritten question than to the question itself. Both are
            multiplied by the weight of the first passage, and 0 if no rewritten question applies.
        by: (n,) the number of the rewritten question with the best fit, -1 if there is none.
    """

    fit: Floats
    gain: Floats
    by: Rows


def rewrite_question(context: Context, question: Question, first_passages: Sequence[FirstPassage]) -> list[Rewrite]:
    """Return the question rewritten with names from the first passages: the rarest names of each.

    Of a long question, the first words are rewritten (`MOST_CLOSELY`).
    """
    text, stems = first_words(question.text, MOST_CLOSELY), set(question.stems)
    rewrites: list[Rewrite] = []
    for passage in first_passages:
        weights = _signed_weights(question.terms, passage.contained)
        part = matched_part(question.words[:MOST_CLOSELY], question.stems[:MOST_CLOSELY], weights)
        if part is None:
            continue
        start, end = part
        names = [
            (name, chunks) for name, chunks in _names_in(context, passage.row) if not _stems(context, name) <= stems
        ]
        for name, chunks in sorted(names, key=lambda pair: (len(pair[1]), pair[0]))[:_MOST_NAMES]:
            rewritten = f"{text[:start]}{name}{text[end:]}"
            rewrites.append(Rewrite(passage.row, passage.weight, name, rewritten, chunks))
    return rewrites


def matched_part(found: Sequence[Word], stems: Sequence[str], weights: Mapping[str, float]) -> tuple[int, int] | None:
    """Return [start, end) of the run of question words that a passage matches best; None if it matches none.

    Args:
        found: The words of the question.
        stems: The stem of each.
        weights: The weight of each content word, by its stem: positive if the passage contains it, negative if it
            does not. The result is the run with the largest sum (Bentley 1984, "Programming pearls: algorithm design
            techniques").

    >>> weights = {"yare": -0.3, "begin": -0.1, "shire": 0.1, "brook": 0.4, "house": 0.1}
    >>> question = "Where does the Yare begin in the shire where the Brook House is?"
    >>> start, end = matched_part(words(question), [word.key for word in words(question)], weights)
    >>> question[start:end]
    'shire where the Brook House'
    """
    best, part = 0.0, None
    total, start = 0.0, 0
    for word, stem in zip(found, stems, strict=True):
        value = weights.get(stem, 0.0)
        if total <= 0:
            total, start = 0.0, word.start
            if value <= 0:
                continue
        total += value
        if total > best:
            best, part = total, (start, word.end)
    return part


def second_hop(rows: Rows, closeness: Floats, rewrites: Sequence[Rewrite], cosines: Floats) -> SecondHop:
    """Return the scores of n passages under q rewritten questions.

    Args:
        rows: (n,) chunk rows, including all chunks of the rewrites.
        closeness: (n,) cosines with the question itself.
        rewrites: the rewritten questions.
        cosines: (q, n) cosines with them.
    """
    fit, gain, by = np.zeros(len(rows)), np.zeros(len(rows)), np.full(len(rows), -1)
    order = np.argsort(rows)
    for number, rewrite in enumerate(rewrites):
        at = order[np.searchsorted(rows, rewrite.chunks, sorter=order)]
        value = rewrite.weight * cosines[number, at]
        by[at[value > fit[at]]] = number
        fit[at] = np.maximum(fit[at], value)
        gain[at] = np.maximum(gain[at], rewrite.weight * (cosines[number, at] - closeness[at]))
    return SecondHop(fit, gain, by)


def _signed_weights(terms: Terms, contained: Floats) -> dict[str, float]:
    """Return the weight of each term, negative if it is not contained."""
    values = np.where(contained > 0, terms.weights, -terms.weights)
    return dict(zip(terms.stems, values.tolist(), strict=True))


def _names_in(context: Context, row: int) -> list[tuple[str, Rows]]:
    """Return the names in a chunk, each with the other chunks that contain it or have it as their title."""
    graph, n_chunks = context.index.graph(), len(context.chunks)
    chunks_of: dict[str, tuple[str, set[int]]] = {}
    for node in _neighbours(graph, row):
        if node >= n_chunks:
            name = _entity_names(context)[node - n_chunks]
            chunks = [neighbour for neighbour in _neighbours(graph, node) if neighbour < n_chunks]
            if len(chunks) <= _MOST_PASSAGES:
                chunks_of.setdefault(name.casefold(), (name, set()))[1].update(chunks)
    for title in open_linker(context.index).titles_in(context.chunks[row].text):
        if len(title.chunk_ids) <= MOST_OWNERS:
            owners = {context.chunk_rows[id_] for id_ in title.chunk_ids}
            chunks_of.setdefault(title.name.casefold(), (title.name, set()))[1].update(owners)
    others = ((name, np.array(sorted(rows - {row}), np.int64)) for name, rows in chunks_of.values())
    return [(name, rows) for name, rows in others if len(rows)]


def _neighbours(graph: Adjacency, node: int) -> list[int]:
    neighbours: list[int] = graph.edges_of(np.array([node]))[1].tolist()
    return neighbours


@per_index
def _entity_names(context: Context) -> TextColumn:
    names = context.index.arrow(Entity, "name").column("name")
    return TextColumn(lambda: names)


def _stems(context: Context, text: str) -> set[str]:
    return {context.bm25.term(word.key) for word in words(text)}
