"""The second hop, without a model: the question asked again with what its first passages name.

A multi-hop question describes a thing that it does not name: "the county where Brook House is". A first
passage matches such a stretch of the question and names what the question leaves out: Indiana. The name takes the
place of the stretch, and the passages that hold the name are compared with the question as rewritten: "what time does
Indiana stop selling booze". IRCoT (Trivedi et al. 2023) lets a model think of what to look up next; here only names
that stand in the passages are tried, and the index says which of them leads somewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import Question
from conspectus.query.question.terms import Terms, is_content_word
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.words import stem

_MOST_HOLDERS = 60
"""A name in more passages than this leads anywhere."""


@dataclass(frozen=True, slots=True)
class First:
    """A passage that the second hop starts from: its chunk row, and how it stands, 1 the best.

    `held` (t,) is 1 where the passage holds a term of the question.
    """

    row: int
    standing: float
    terms: Terms
    held: Floats

    @property
    def matches(self) -> dict[str, float]:
        """The weight of each term of the question, below 0 where the passage does not hold it."""
        values = np.where(self.held > 0, self.terms.weights, -self.terms.weights)
        return dict(zip(self.terms.stems, values.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Bridge:
    """The question rewritten: `name`, from the chunk `first`, stands in the place of what that chunk matches.

    `standing` is that of the first passage; `holders` are the other chunks that hold the name, ascending.
    """

    first: int
    standing: float
    name: str
    question: str
    holders: Rows


@dataclass(frozen=True, slots=True)
class SecondHop:
    """What bridges give each of n passages.

    `fit` (n,) is the best closeness to a rewritten question, and `gain` (n,) by how much it is closer to one than to
    the question itself; both times the standing of the bridge's first passage, and 0 where no bridge leads. `by` (n,)
    is the number of the bridge with the best fit, -1 where there is none.
    """

    fit: Floats
    gain: Floats
    by: Rows


def find_bridges(context: Context, question: Question, firsts: Sequence[First], most_names: int) -> list[Bridge]:
    """Return the bridges from the first passages: of each the `most_names` rarest names."""
    asked = set(question.stems)
    found: list[Bridge] = []
    for first in firsts:
        stretch = matched_stretch(question.words, first.matches)
        if stretch is None:
            continue
        start, end = stretch
        named = [(name, rows) for name, rows in _names_of(context, first.row) if not _stems_of(name) <= asked]
        for name, rows in sorted(named, key=lambda each: (len(each[1]), each[0]))[:most_names]:
            rewritten = f"{question.text[:start]}{name}{question.text[end:]}"
            found.append(Bridge(first.row, first.standing, name, rewritten, rows))
    return found


def matched_stretch(found: Sequence[Word], matches: Mapping[str, float]) -> tuple[int, int] | None:
    """Return [start, end) of the run of words that a passage matches best; None where it matches no word.

    `matches` has the weight of each telling word, by its stem: above 0 where the passage holds it, below where it does
    not. The run is the one of the largest sum (Bentley 1984, "Programming pearls: algorithm design techniques").

    >>> matches = {"yare": -0.3, "begin": -0.1, "shire": 0.1, "brook": 0.4, "house": 0.1}
    >>> question = "Where does the Yare begin in the shire where the Brook House is?"
    >>> start, end = matched_stretch(words(question), matches)
    >>> question[start:end]
    'shire where the Brook House'
    """
    best, stretch = 0.0, None
    total, start = 0.0, 0
    for word in found:
        value = matches.get(stem(word.key), 0.0) if is_content_word(word.key) else 0.0
        if total <= 0:
            total, start = 0.0, word.start
            if value <= 0:
                continue
        total += value
        if total > best:
            best, stretch = total, (start, word.end)
    return stretch


def second_hop(rows: Rows, closeness: Floats, bridges: Sequence[Bridge], cosines: Floats) -> SecondHop:
    """Return what bridges give the chunks `rows` (n,), which hold all of their holders.

    `closeness` (n,) are the cosines with the question itself, `cosines` (b, n) those with the rewritten ones.
    """
    fit, gain, by = np.zeros(len(rows)), np.zeros(len(rows)), np.full(len(rows), -1)
    order = np.argsort(rows)
    for number, bridge in enumerate(bridges):
        at = order[np.searchsorted(rows, bridge.holders, sorter=order)]
        value = bridge.standing * cosines[number, at]
        by[at[value > fit[at]]] = number
        fit[at] = np.maximum(fit[at], value)
        gain[at] = np.maximum(gain[at], bridge.standing * (cosines[number, at] - closeness[at]))
    return SecondHop(fit, gain, by)


def _names_of(context: Context, row: int) -> list[tuple[str, Rows]]:
    """Return the names in a chunk, each with the other chunks that hold it or, of a title, bear it."""
    graph, n_chunks = context.index.graph(), len(context.chunks)
    most_owners = int(context.index.manifest.settings["walk_graph"]["most_owners"])
    holders: dict[str, tuple[str, set[int]]] = {}
    _, neighbours, _ = graph.edges_of(np.array([row]))
    for node in neighbours[neighbours >= n_chunks]:
        name = _entity_names(context)[int(node) - n_chunks]
        found = _holders(graph, int(node), n_chunks)
        if len(found) <= _MOST_HOLDERS:
            holders.setdefault(name.casefold(), (name, set()))[1].update(found)
    for title in open_linker(context.index).titles_in(context.chunks[row].text):
        if len(title.chunk_ids) <= most_owners:
            owners = {context.chunk_rows[id_] for id_ in title.chunk_ids}
            holders.setdefault(title.name.casefold(), (title.name, set()))[1].update(owners)
    others = ((name, np.array(sorted(rows - {row}), np.int64)) for name, rows in holders.values())
    return [(name, rows) for name, rows in others if len(rows)]


def _holders(graph: Adjacency, node: int, n_chunks: int) -> list[int]:
    _, neighbours, _ = graph.edges_of(np.array([node]))
    return [int(each) for each in neighbours if each < n_chunks]


@per_index
def _entity_names(context: Context) -> list[str]:
    names: list[str] = context.index.arrow(Entity, "name").column("name").to_pylist()
    return names


def _stems_of(text: str) -> set[str]:
    return {stem(word.key) for word in words(text)}
