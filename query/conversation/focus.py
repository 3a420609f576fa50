"""Conversation focus: candidate antecedents of a follow-up question, from the names in earlier turns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np
from conspectus.query.citations.marks import without_marks
from conspectus.query.context import Context
from conspectus.query.conversation.anaphora import Refers, wording
from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.question.kinds import QuestionKind, kind_of
from conspectus.query.question.linking import Linker, NamedSpan, open_linker
from conspectus.storage.arrays import Ints
from conspectus.storage.graph.walk_graph import MOST_OWNERS
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, NAME
from conspectus.storage.text.normalise import entity_key, title_names

NAMES = 2  # at most: what a follow-up asks about, and what the last turn said of it
CANDIDATES = 3
"""Most antecedents that a follow-up is tried with."""
_ABOUT_WHAT_IT_NAMES: frozenset[QuestionKind] = frozenset({"where", "when", "how many", "why", "how to", "yes or no"})
_NOT_ASKED_ABOUT = frozenset(
    {"CARDINAL", "DATE", "LANGUAGE", "MONEY", "NORP", "ORDINAL", "PERCENT", "QUANTITY", "TIME"}
)
"""SpaCy types of descriptive words: measures, and nationalities ("American")."""
_OF_UNKNOWN_KIND = frozenset({NAME.casefold(), CONCEPT.casefold()})


def topics_meant(context: Context, history: Conversation, question: str, refers: Refers) -> list[NamedSpan]:
    """Return up to `CANDIDATES` antecedents from the last turn that has any, likeliest first.

    A pronoun restricts the candidates: "she" needs a person, "it" a name that is not only a person. If no turn has a
    match, all names of the last turn are candidates. Names in the question itself are excluded.
    """
    linker = open_linker(context.index)
    own = {_bare(mention.name) for mention in linker.mentions(question)}
    by_turn = [
        [item for item in topics_of(context, linker, turn) if _bare(item.name) not in own]
        for turn in reversed(history.turns)
    ]
    for topics in by_turn:
        if fitting := [topic for topic in topics if _fits(topic, refers)]:
            return sorted(fitting, key=lambda topic: refers == "person" and "person" not in _kinds(topic))[:CANDIDATES]
    return next((topics[:CANDIDATES] for topics in by_turn if topics), [])


def topics_of(context: Context, linker: Linker, turn: Turn) -> list[NamedSpan]:
    """Return the topics of a turn: names from its answer and from its question, alternating.

    The answer comes first, unless it is a place, a time, a number or a reason: "Where was The Paper Whale played?" "In
    Clun." "Is it long?" is about the play. Its names begin with those of the short answer, which is a person if the
    question was who. The titles of cited documents come last if nothing names them.
    """
    asked = linker.mentions(turn.standalone)
    short = linker.mentions(turn.short)
    if kind_of(turn.question) == "who" and turn.short:
        named = short or [NamedSpan(0, len(turn.short), turn.short, (), False)]
        short = [replace(each, types=("PERSON",)) for each in named]
    # Chat programs send back the text with its marks only.
    supported = turn.citations or without_marks(turn.answer) != turn.answer
    told = [*short, *(linker.mentions(turn.answer) if supported else ())]
    titles = _cited_titles(context, linker, turn.citations)
    known = {_bare(question.name) for question in asked}
    told = [item for item in told if _bare(item.name) not in known]
    sides = (asked, told) if kind_of(turn.question) in _ABOUT_WHAT_IT_NAMES else (told, asked)
    mixed = (item for item in chain.from_iterable(zip_longest(*sides)) if item is not None)
    return list(_distinct(item for item in (*mixed, *titles) if _is_topic(item)))


def cited_rows(context: Context, citations: Iterable[CitedSpan]) -> Ints:
    """Return the sorted rows of the cited chunks; citations that do not resolve are ignored."""
    rows = _rows_by_document(context)
    found = {
        row
        for cited in citations
        for row in rows.get(cited.document_id, ())
        if context.chunks[row].start < cited.end and cited.start < context.chunks[row].end
    }
    return np.array(sorted(found), dtype=np.int64)


@per_index
def _rows_by_document(context: Context) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row, chunk in enumerate(context.chunks):
        found.setdefault(chunk.document_id, []).append(row)
    return found


def _cited_titles(context: Context, linker: Linker, citations: Sequence[CitedSpan]) -> Iterator[NamedSpan]:
    """Yield the titles of cited documents, except long ones, whose title describes a single passage poorly."""
    for document_id in dict.fromkeys(citation.document_id for citation in citations):
        title = context.titles.get(document_id, "")
        for name in linker.titles_in(title):
            if entity_key(name.name) == entity_key(title) and len(name.chunk_ids) <= MOST_OWNERS:
                yield NamedSpan(0, len(title), name.name, linker.types_of(name.name), True)


def _is_topic(topic: NamedSpan) -> bool:
    """Return whether a name can be a topic: not a date, a number, or "It", which begins sentences."""
    if not any(letter.isalpha() for letter in topic.name):
        return False
    if topic.types and set(topic.types) <= _NOT_ASKED_ABOUT:
        return False
    return len(words(topic.name)) > 1 or bool(wording(topic.name, ()).telling)


def _distinct(topics: Iterable[NamedSpan]) -> Iterator[NamedSpan]:
    """Yield distinct names, without those contained in an earlier name ("Curie" after "Marie Curie")."""
    seen: list[str] = []
    for topic in topics:
        keys = f" {' '.join(word.key for word in words(_bare(topic.name)))} "
        if not any(keys in item for item in seen):
            seen.append(keys)
            yield topic


def _bare(name: str) -> str:
    """Return the key of a name without its last parenthesis: "Apollo (band)" and "Apollo" are one topic."""
    return entity_key(title_names(name)[-1]) if name.strip() else ""


def _kinds(topic: NamedSpan) -> set[str]:
    return {kind.casefold() for kind in topic.types if kind not in _NOT_ASKED_ABOUT}


def _fits(topic: NamedSpan, refers: Refers) -> bool:
    kinds = _kinds(topic)
    if refers == "any" or not kinds or kinds & _OF_UNKNOWN_KIND:
        return True
    return "person" in kinds if refers == "person" else kinds != {"person"}
