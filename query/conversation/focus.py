"""Conversation focus: candidate antecedents of a follow-up question, from the names in earlier turns."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest

import numpy as np
from conspectus.query.answer_writing.short_answer import HE, SHE
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
_NOBODY = frozenset({"event", "fac", "gpe", "law", "loc", "product", "work_of_art"})
"""Types that names of people are seldom taken for."""
_PRONOUNS = {"he": HE, "she": SHE, "it": re.compile(r"\bits?\b", re.IGNORECASE)}
_OF_UNKNOWN_KIND = frozenset({NAME.casefold(), CONCEPT.casefold()})


def topics_meant(context: Context, history: Conversation, question: str, refers: Refers) -> list[NamedSpan]:
    """Return up to `CANDIDATES` antecedents from the last turn that has any, likeliest first.

    A pronoun restricts the candidates: "she" needs a person, "it" a name that is not only a person. If no turn has a
    match, all names of the last turn are candidates, but none for "she": what holds for somebody else is not to be
    told of her. Names in the question itself are excluded.
    """
    linker = open_linker(context.index)
    pronoun = next((name for name in ("he", "she") if refers == "person" and _PRONOUNS[name].search(question)), "")
    own = {_bare(mention.name) for mention in linker.mentions(question)}
    by_turn = [
        [
            item
            for item in topics_of(context, linker, turn)
            if _bare(item.name) not in own and (not pronoun or _may_be(context, linker, item, pronoun))
        ]
        for turn in reversed(history.turns)
    ]
    for topics in by_turn:
        if fitting := topics if pronoun else [topic for topic in topics if _fits(topic, refers)]:
            if refers != "person":
                return fitting[:CANDIDATES]
            return sorted(fitting, key=lambda topic: not pronoun and "person" not in _kinds(topic))[:1]
    return [] if refers == "person" else next((topics[:CANDIDATES] for topics in by_turn if topics), [])


def topics_of(context: Context, linker: Linker, turn: Turn) -> list[NamedSpan]:
    """Return the topics of a turn: names from its answer and from its question, alternating.

    The answer comes first, unless it is a place, a time, a number or a reason: "Where was The Paper Whale played?" "In
    Clun." "Is it long?" is about the play. Its names begin with those of the short answer, which is a person if the
    question was who. The titles of cited documents come last if nothing names them ("Roke" is Anselm Roke, if
    that is one).
    """
    asked = linker.mentions(turn.standalone)
    short = linker.mentions(turn.short)
    if kind_of(turn.question) == "who" and turn.short:
        named = short or [NamedSpan(0, len(turn.short), turn.short, (), False)]
        short = [replace(each, types=("PERSON",)) for each in named]
    # Chat programs send back the text with its marks only.
    supported = turn.citations or without_marks(turn.answer) != turn.answer
    told = [*short, *(linker.mentions(turn.answer) if supported else ())]
    titles = list(_cited_titles(context, linker, turn.citations))
    told = [next((title for title in titles if title.name.endswith(f" {item.name}")), item) for item in told]
    known = {_bare(question.name) for question in asked}
    told = [item for item in told if _bare(item.name) not in known]
    if wording(turn.question, ()).refers == "person":  # the turn before last named who that is
        before = {_bare(mention.name) for mention in linker.mentions(turn.question)}
        person = [replace(item, types=("PERSON",)) for item in asked if _bare(item.name) not in before][:1]
        asked = [*person, *asked]
    sides = (asked, told) if kind_of(turn.question) in _ABOUT_WHAT_IT_NAMES else (told, asked)
    mixed = (item for item in chain.from_iterable(zip_longest(*sides)) if item is not None)
    return list(_distinct(item for item in (*mixed, *titles) if _is_topic(item)))


def _may_be(context: Context, linker: Linker, topic: NamedSpan, pronoun: str) -> bool:
    """Return whether a topic can be meant by "he" or "she": its own document mostly calls it so, or it has none.

    Types are not enough: names of people are often taken for those of organisations, and the other way round.
    """
    kinds = _kinds(topic)
    if kinds and kinds <= _NOBODY:
        return False
    titles = (title for title in linker.titles_in(topic.name) if _bare(title.name) == _bare(topic.name))
    rows = [context.chunk_rows[id_] for title in titles for id_ in islice(title.chunk_ids, MOST_OWNERS)]
    if not rows:
        return _fits(topic, "person")
    text = " ".join(context.chunks[row].text for row in rows)
    counts = {name: len(pattern.findall(text)) for name, pattern in _PRONOUNS.items()}
    return counts[pronoun] > 0 and counts[pronoun] == max(counts.values())


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
