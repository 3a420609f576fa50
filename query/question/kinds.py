"""The kind of answer that a question asks for, by its words, in a dozen languages.

`kinds.txt` has the patterns of each language and kind, in the order in which they are tried. Only the words decide,
not the content of the documents.
"""

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, cast

from conspectus.storage.text.language import language_of_question
from conspectus.storage.text.names import UNSPACED, word_keys

QuestionKind = Literal[
    "global", "compare", "how to", "why", "how many", "when", "where", "who", "definition", "yes or no", "what", "other"
]
"""The kind of answer that a question asks for.

`global`: the corpus or a document as a whole ("What is this manual about?"). `compare`: how things differ. `how to`: a
procedure. `why`: a reason. `how many`: a number or an amount. `definition`: what a thing or an abbreviation is.
`what`: a thing, with what or which. `other`: undecided, as in a claim or a list of words.
"""

FACTS = frozenset({"when", "where", "who", "how many"})
"""Kinds of questions that some passage answers, or none."""

_LINE = re.compile(r"(?P<kind>[a-z ]+): (?P<pattern>.+)")


_APART: dict[tuple[str, str], str] = {}
"""The words of a language that ask for the present state ("now") or for all about a thing ("overview"), others that are
no content ("frame"), and those that only ask kindly, before a question ("opening") and behind it ("closing")."""
_ASIDE = ("now", "overview", "frame", "opening", "closing")
_Table = tuple[tuple[QuestionKind, "re.Pattern[str]"], ...]


def _read() -> dict[str, dict[QuestionKind, list[str]]]:
    """Read `kinds.txt`: for each language its kinds, in the order in which they are tried, with their patterns."""
    tables: dict[str, dict[QuestionKind, list[str]]] = {}
    language = whole = ""
    for line in files("conspectus.query.question").joinpath("kinds.txt").read_text("utf-8").splitlines():
        found = _LINE.fullmatch(line)
        if line.startswith("["):
            language = line.strip("[]")
        elif found and found["kind"] in _ASIDE:
            key = (found["kind"], language)
            _APART[key] = "|".join(filter(None, (_APART.get(key), found["pattern"])))
        elif found and found["kind"] == "whole":
            whole = found["pattern"]
        elif found:
            kind = cast(QuestionKind, found["kind"])
            tables.setdefault(language, {}).setdefault(kind, []).append(found["pattern"].replace("<whole>", whole))
    return tables


_PATTERNS = _read()
LANGUAGES = tuple(_PATTERNS)
"""Languages in which kinds are recognised."""


@cache
def _table(language: str) -> _Table:
    """Return the kinds of a language; compiled on first use, which takes a while."""
    kinds = _PATTERNS.get(language, {})
    return tuple((kind, re.compile("|".join(patterns), re.IGNORECASE)) for kind, patterns in kinds.items())


@cache
def _apart(what: str, language: str) -> "re.Pattern[str] | None":
    pattern = _APART.get((what, language))
    return re.compile(pattern, re.IGNORECASE) if pattern else None


_DECIDES = frozenset({"global", "compare"})
"""Kinds that any part of the question decides; among the others, the one whose words come first."""
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+(?=\S)")
_CONDITION = re.compile(
    r"^(?:when|where|while|if|after|before|in)\b[^,?]*,\s*(?=(?:what|which|who|when|where|why|how|can|could|do|does|did|is"
    r"|are|was|were|may|should|must|will|would|has|have)\b)",
    re.IGNORECASE,
)
"""A clause before the question itself: "When I rebase a branch, can ..."."""


@lru_cache(maxsize=1_000)
def kind_of(question: str, language: str = "") -> QuestionKind:
    """Return the kind of answer that a question asks for.

    If there are several sentences, the last one asks and the others give the subject.

    Args:
        question: The question.
        language: Its ISO 639-1 code; "" detects it. A language that is not in `LANGUAGES` gives `other`.

    Example:
        >>> [kind_of(question) for question in ("Who keeps the light?", "Worum geht es in diesen Dokumenten?")]
        ['who', 'global']
        >>> kind_of("The light went out. When I light it, what do I need?")
        'how to'
    """
    text = " ".join(question.split()).lstrip("¿¡ ")
    known = language or language_of_question(question, LANGUAGES)
    tried = [_kind(text, _table(item)) for item in ((known,) if known else LANGUAGES)]
    return next((kind for kind in tried if kind != "other"), "other")


@lru_cache(maxsize=1_000)
def without_courtesy(question: str) -> str:
    """Return a question without the words that only ask kindly.

    >>> without_courtesy("Hello, could you tell me who keeps the light, please?")
    'who keeps the light?'
    >>> without_courtesy("Please tell me about the light.")
    'Please tell me about the light.'
    """
    known = language_of_question(question, LANGUAGES)
    opening, closing = (_apart(what, known) for what in ("opening", "closing"))
    found = opening.match(question) if opening else None
    text = question[found.end() :] if found else question
    found = closing.search(text) if closing else None
    if found:
        text = text[: found.start()] + ("?" if "?" in found[0] else "")
    return text if len(word_keys(text)) > 1 else question


def asks_of_now(question: str) -> bool:
    """Return whether a question asks what holds now.

    >>> asks_of_now("Who is the chair today?"), asks_of_now("Who was the chair?")
    (True, False)
    """
    pattern = _apart("now", language_of_question(question, LANGUAGES))
    return pattern is not None and pattern.search(question) is not None


def thing_described(question: str) -> str:
    """Return the thing that a question asks all about; "" if it asks for a fact.

    >>> [thing_described(text) for text in ("Tell me about Ada.", "Was weißt du über Ada?", "Who directed it?")]
    ['Ada', 'Ada', '']
    """
    patterns = (_apart("overview", language) for language in LANGUAGES)
    found = next((found for pattern in patterns if pattern and (found := pattern.search(question))), None)
    return f"{question[: found.start()]} {question[found.end() :]}".strip(" \t.?!¿¡。？！؟;") if found else ""


_FRAMES = frozenset({"compare", "definition", "why", "how many", "when", "where", "who", "what", "yes or no"})
_FRAME_WORDS, _FRAME_CHARACTERS = 2, 6
"""The most words of a frame, and the most characters of one in a script without spaces."""


@lru_cache(maxsize=1_000)
def frame_of(question: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the words that only say what kind of answer is asked for: an answer seldom repeats them.

    >>> frame_of("What is the difference between a skiff and a dory?"), frame_of("茶园是哪一年建的？")
    (((0, 4), (12, 22)), ((3, 5), (3, 6)))
    """
    known = language_of_question(question, LANGUAGES) or "en"
    patterns = [pattern for kind, pattern in _table(known) if kind in _FRAMES]
    spans = {
        found.span()
        for pattern in patterns
        for found in pattern.finditer(question)
        if (
            len(found[0]) <= _FRAME_CHARACTERS
            if UNSPACED.search(found[0])
            else len(word_keys(found[0])) <= _FRAME_WORDS
        )
    }
    for pattern in filter(None, (_apart(what, known) for what in ("now", "frame"))):
        spans |= {found.span() for found in pattern.finditer(question)}
    return tuple(sorted(spans))


def _kind(text: str, table: "_Table") -> QuestionKind:
    asking = _CONDITION.sub("", _SENTENCE.split(text)[-1].lstrip("¿¡ "))
    first: tuple[int, QuestionKind] = (len(text), "other")
    for kind, pattern in table:
        if kind in _DECIDES:
            if pattern.search(text):
                return kind
        elif (found := pattern.search(asking)) and found.start() < first[0]:
            first = (found.start(), kind)
    return first[1]
