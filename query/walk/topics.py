"""Where a walk over the graph begins: entities that a question names, or whose names were given."""

from collections.abc import Sequence

import numpy as np
import regex

from query.context import Context
from query.terms import telling_words
from query.walk.graph import open_graph, spoken
from query.walk.unmatched import FUNCTION_WORDS
from storage.text.names import NameMatch, NameMatcher, words
from storage.text.normalise import entity_key

_AS_KNOWN = 0.25
"""Of lone small words those with this share of the triples of the one that has most."""
_LEAST_COSINE = 0.5
"""Least cosine of an entity's name with what a question is about, where the question names nothing."""
_ID = regex.compile(r"(?:https?://\S+|_:\S+|Q\d{2,}|/?\p{Ll}{1,3}[./:_](?=\S*\d)[\p{Ll}\d._/-]+)")


def rows_of(context: Context, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the rows of the entities of these names, each once, and the names that no entity bears.

    Case and underscores make no difference (see `entity_key`); of entities that then bear one name the one that is
    written like it is meant.
    """
    known = _by_key(context)
    graph = open_graph(context)
    found: dict[int, None] = {}
    missing: list[str] = []
    for name in names:
        rows = known.get(entity_key(spoken(name)), ())
        written = [row for row in rows if graph.names[row] == name]
        if rows:
            found[(written or rows)[0]] = None
        else:
            missing.append(name)
    return tuple(found), tuple(missing)


def link_topics(context: Context, question: str, most: int = 3) -> tuple[int, ...]:
    """Return the rows of up to `most` entities that a question is about, the most telling first.

    Those are the longest names of the graph that stand in it: written with capitals rather than without, of several
    words rather than of one, and those of few triples. Where it names nothing, the entities whose vectors are nearest
    to its telling words, where the index has any that are near.
    """
    graph = open_graph(context)
    degrees = graph.degrees()
    question = spoken(question)
    cased = any(question[word.start].isupper() for word in words(question)[1:])
    best: dict[int, tuple[int, int, int, int]] = {}
    for match in _matcher(context).find(question):
        surface = question[match.start : match.end]
        lower = surface == surface.lower() and not any(sign.isdigit() for sign in surface)
        if (lower and all(word.key in FUNCTION_WORDS for word in words(surface))) or not degrees[match.value]:
            continue
        length = len(words(surface))
        if length == 1 and lower and (cased and not _is_lower(graph.names[match.value])):
            continue
        held = (int(cased and lower), -min(length, 2), -int(degrees[match.value]), match.start)
        best[match.value] = min(held, best.get(match.value, held))
    if not best:
        return _nearest(context, question)
    leading = min(each[:2] for each in best.values())
    ranked = sorted((held, row) for row, held in best.items() if held[:2] == leading)
    if leading == (int(cased), -1):  # lone words without capitals: most are no names here
        ranked = [each for each in ranked if each[0][2] <= ranked[0][0][2] * _AS_KNOWN]
    return tuple(row for _, row in ranked[:most])


def is_id(name: str) -> bool:
    """Tell whether a name is an id, which says nothing to a reader: such an entity only joins others.

    >>> is_id("m.0h3d7qb"), is_id("Q42"), is_id("1999"), is_id("Catch-22"), is_id("7 Up")
    (True, True, False, False, False)
    """
    return _ID.fullmatch(name) is not None


def _by_key(context: Context) -> dict[str, tuple[int, ...]]:
    def load() -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for row, name in enumerate(open_graph(context).names):
            found.setdefault(entity_key(spoken(name)), []).append(row)
        return {key: tuple(rows) for key, rows in found.items()}

    return context.index.keep("walk names", load)


def _matcher(context: Context) -> NameMatcher[int]:
    def load() -> NameMatcher[int]:
        names: dict[str, int] = {}
        for row, name in enumerate(open_graph(context).names):
            if not is_id(name):
                names.setdefault(spoken(name), row)
        return NameMatcher(names)

    return context.index.keep("walk matcher", load)


def mentions_of(context: Context, question: str) -> list[NameMatch[int]]:
    """Return the names of entities that stand in a text, in its order; each match's value is an entity's row."""
    return _matcher(context).find(spoken(question))


def _nearest(context: Context, question: str) -> tuple[int, ...]:
    vectors = context.index.vectors("entities")
    if not vectors.n_rows:
        return ()
    cosines, rows = vectors.search(context.embedder.embed_query(telling_words(question))[np.newaxis], 1)
    degrees = open_graph(context).degrees()
    return tuple(
        int(row) for row, cosine in zip(rows[0], cosines[0], strict=True) if cosine >= _LEAST_COSINE and degrees[row]
    )


def _is_lower(text: str) -> bool:
    return text[:1] == text[:1].lower()
