"""Parse a question to a graph by its words alone: form, kind of answer, orders and bounds. English only."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import regex
from conspectus.query.graph_question.lexicon import DATE, NUMBER, PERSON, stem_of
from conspectus.query.graph_question.structured_query import Comparison, Form
from conspectus.query.graph_question.translation import Translation
from conspectus.storage.text.language_tables import base_of, word_set
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.words import FUNCTION_WORDS, REQUESTS, without_accents

ORDERS: dict[str, tuple[tuple[str, int], ...]] = {
    # the literal compared, and whether the smallest (-1) or the largest (1) comes first; likeliest literal first
    "old": ((DATE, -1), ("age", 1)),
    "young": ((DATE, 1), ("age", -1)),
    "new": ((DATE, 1),),
    "recent": ((DATE, 1),),
    "late": ((DATE, 1),),
    "early": ((DATE, -1),),
    "soon": ((DATE, -1),),
    "first": ((DATE, -1), (NUMBER, -1)),
    "last": ((DATE, 1), (NUMBER, 1)),
    "final": ((DATE, 1),),
    "long": (("length", 1), (DATE, -1)),
    "short": (("length", -1), ("height", -1), (DATE, 1)),
    "tall": (("height", 1),),
    "high": ((NUMBER, 1),),
    "low": ((NUMBER, -1),),
    "big": ((NUMBER, 1),),
    "large": ((NUMBER, 1),),
    "great": ((NUMBER, 1),),
    "small": ((NUMBER, -1),),
    "little": ((NUMBER, -1),),
    "heavy": (("weight", 1),),
    "light": (("weight", -1),),
    "expensive": (("price", 1),),
    "cheap": (("price", -1),),
    "rich": (("wealth", 1),),
    "fast": (("speed", 1),),
    "slow": (("speed", -1),),
    "deep": (("depth", 1),),
    "populous": (("population", 1),),
    "good": (("rating", 1),),
    "bad": (("rating", -1),),
    "most": ((NUMBER, 1),),
    "more": ((NUMBER, 1),),
    "least": ((NUMBER, -1),),
    "few": ((NUMBER, -1),),
    "less": ((NUMBER, -1),),
}
"""Adjectives of order. A name other than DATE or NUMBER refers to words of the predicate (`DIMENSIONS`)."""
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "age": ("age",),
    "length": ("length", "duration", "minut", "runtim", "hour", "time", "downtim", "distanc", "second", "day", "page"),
    "height": ("height", "elev", "tall"),
    "weight": ("weight", "mass"),
    "price": ("price", "cost", "fee", "budget"),
    "wealth": ("worth", "revenu", "incom", "wealth"),
    "speed": ("speed",),
    "depth": ("depth",),
    "population": ("popul", "inhabit"),
    "rating": ("rate", "score"),
}
_IRREGULAR = base_of("degrees")
_SUPERLATIVE = regex.compile(r"(?:\w+est|first|last|final|best|worst|most|least)")

LIGHT = word_set("light")
"""Words that say little about a relation, so a reading may leave them unexplained at little cost."""
_PREPOSITIONS = word_set("prepositions")
_OF_PREPOSITION, _OF_LIGHT = 0.15, 0.25
"""Weights of words that say little about a relation; the weight of a content word is 1."""
_NOT_ASKED = word_set("courtesies")
_CONTRACTED = {"whats": "what", "whos": "who", "wheres": "where", "whens": "when", "hows": "how"}
_NEGATIONS = frozenset("not without never".split())
_BEFORE_T = frozenset("don doesn didn isn aren wasn weren hasn haven hadn".split())
"""What stands before the t of a contracted "not", as words are split."""
_UNITS = (
    r"(?:minutes?|mins?|hours?|days?|weeks?|months?|years?|metres?|meters?|mm|cm|km|m|kg|kilos?|grams?|g|tonnes?|tons?"
    r"|feet|miles?|million|billion|thousand|euros?|dollars?|pounds?|people|%|€)(?!\w)"
)
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_VALUE = (
    r"(?:the\s+)?(?:year\s+|age\s+(?:of\s+)?)?(?:\d{1,2}(?:st|nd|rd|th)\s+century|\d{3}0'?s\b"
    rf"|(?:\d{{1,2}}\s+)?{_MONTHS}\s+(?:\d{{1,2}},?\s+)?\d{{4}}|[$€£]?\d[\d.,:/-]*(?:\s?{_UNITS})?"
    r"|(?:an?|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:minutes?|hours?|days?|weeks?|years?))"
)
_BETWEEN = regex.compile(
    rf"\b(?:between|from)\s+(?P<low>{_VALUE})\s+(?:and|to|until|till)\s+(?P<high>{_VALUE})", regex.I
)
_BOUND = regex.compile(
    r"\b(?:(?P<less>before|prior to|until|up to|earlier than|older than"
    r"|(?:less|fewer|shorter|lower|smaller|cheaper|lighter) than|under|below|at most|no more than)"
    r"|(?P<more>after|later than|newer than|younger than|since|from"
    r"|(?:more|longer|higher|greater|bigger|larger|taller|heavier) than|over|above|at least|exceeding)"
    rf"|(?P<within>in|during))\s+(?P<value>{_VALUE})",
    regex.IGNORECASE,
)
_PERIOD = regex.compile(r"\d{3}0'?s|.*century|\d{4}", regex.I)
"""What an answer may lie in: a decade, a century, a year."""
_NOT_OF_VALUE = regex.compile(r"(?:the\s+)?(?:year\s+|age\s+(?:of\s+)?)?[$€£]?", regex.I)
_IN_TIME = frozenset(
    ("before", "prior to", "until", "after", "since", "from", "in", "during", "earlier than", "later than")
)
_HOW_MANY = regex.compile(r"\b(?:how many|(?<!by )(?<!by the )number of|count of|count the)\b", regex.IGNORECASE)
_HOW_MUCH = regex.compile(r"\bhow (?:much|old|tall|long|high|big|large|deep|wide|heavy|far|fast)\b", regex.IGNORECASE)
_YES_NO = regex.compile(
    r"^\W*(?:(?:so|and|but|ok|please|tell me if|do you know if)\s+)*(?:is|are|was|were|do|does|did|has|have|had|can|"
    r"could|may|should|will|would|am|isn't|aren't|doesn't|didn't|wasn't|don't)\b"
    r"(?!\s+(?:you|we|i)\s+(?:(?:please|kindly|happen\s+to|also)\s+)*(?:know|tell|have|show|list|give|find|name|see|get)\b)",
    regex.IGNORECASE,
)
_PROPERTIES = regex.compile(
    r"\b(?:what|which|list|show|name|all)\b.*\b(?:properties|attributes|fields|relations)\b", regex.I
)
_OTHERS = regex.compile(
    r"\b(?:other(?! half)|others|else|another|besides|apart from|except|same|shares?|shared|in common|alongside|"
    r"together|co-\w+|costars?)\b",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AskedOrder:
    """A superlative or comparative at a word: the literals it may compare, each with a direction, likeliest first.

    Its rank is 2 for "second oldest".
    """

    place: int
    by: tuple[tuple[str, int], ...]
    superlative: bool
    rank: int = 1


@dataclass(frozen=True, slots=True)
class AskedBound:
    """A bound on a literal at the words [start, end): `comparison`, and a value that `parse_literal` can read.

    `dimension` is what the words compare ("older than 30": age, "before 1900": DATE), or "" if they do not say.
    """

    start: int
    end: int
    comparison: Comparison
    value: str
    dimension: str = ""


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A parsed question.

    Attributes:
        text: The question.
        words: Its words.
        stems: The stem of each word.
        form: Things, a count, yes or no, or which of two.
        kind: The kind that the question word asks for: person, place, date, number, or "" for any.
        head: The place of the noun that names the kind of answer ("which films"), -1 for none.
        weights: How much each word says about a relation: 0 for function words.
        order: A superlative or comparative.
        bounds: Bounds on literals.
        others: Whether the question asks for things other than those named ("what other films", "the same director").
        negated: The place of the word that negates a condition ("films without Ada"), -1 for none.
        choice: Whether it asks which of the things that it names is so ("is it a drama or a comedy?").
        translation: How the question was put into English; None where it is in English.
    """

    text: str
    words: tuple[Word, ...]
    stems: tuple[str, ...]
    form: Form
    kind: str
    head: int
    weights: tuple[float, ...]
    order: AskedOrder | None = None
    bounds: tuple[AskedBound, ...] = field(default=())
    others: bool = False
    negated: int = -1
    choice: bool = False
    translation: Translation | None = None

    @property
    def properties(self) -> bool:
        """Whether it asks which properties something has ("which properties does an artwork have?")."""
        return self.form == "things" and _PROPERTIES.search(self.text) is not None

    @property
    def parts(self) -> tuple[int, ...]:
        """The part of the question that each word is in, by number: "of" and "'s" begin a new part."""
        found, part = [], 0
        for word in self.words:
            part += word.key in ("of", "'s")
            found.append(part)
        return tuple(found)

    def surface(self, place: int) -> str:
        """Return a word as written in the question."""
        if self.translation and self.translation.originals[place]:
            return self.translation.originals[place]
        return self.text[self.words[place].start : self.words[place].end]


def read_asked(text: str, names: frozenset[int] = frozenset(), *, in_time: bool = True) -> ReadQuestion:
    """Parse a question; words at the places `names` are names and are never read as an order.

    Without `in_time`, "in 1999" is no bound: the graph may have a thing called 1999.

    >>> read_asked("How many films did Ada Mirren make?").form, read_asked("which film is the oldest").order.superlative
    ('count', True)
    """
    found = tuple(words(text))
    keys = [without_accents(_CONTRACTED.get(word.key, word.key)) for word in found]
    stems = tuple(stem_of(key) for key in keys)
    bounds = tuple(_bounds(text, found, in_time=in_time))
    bounded = {place for bound in bounds for place in range(bound.start, bound.end)}
    named = _capitalised(text, found)
    loose = set() if _YES_NO.match(text) else {place for place, key in enumerate(keys) if key in ("before", "after")}
    order = _order(keys, bounded | named | names | loose)
    form = _form(text, keys, order)
    kind, head = _kind(keys, form)
    if _HOW_MUCH.search(text):
        kind, head, order = NUMBER, -1, None
    negated = _negated(keys) if form in ("things", "count") else -1
    weights = tuple(
        0.0
        if place in bounded
        or place == negated
        or (keys[place] == "t" and place - 1 == negated)
        or (order and order.place - (keys[order.place] not in _ORDINALS and order.rank > 1) <= place <= order.place)
        else 1.0
        if place in named or (key in _KIND_WORDS and keys[place + 1 : place + 2] != ["of"])
        else _weight(key)
        for place, key in enumerate(keys)
    )
    return ReadQuestion(
        text, found, stems, form, kind, head, weights, order, bounds,
        _OTHERS.search(text) is not None, negated,
        form == "things" and _YES_NO.match(text) is not None,
    )  # fmt: skip


_THE_WHOLE = regex.compile(
    r"(?:\s(?:does|do|are|is)(?: there)?)?\s(?:in |within )?(?:the|this|your) (?:whole |entire |knowledge )?"
    r"(?:ontology|graph|schema|vocabulary|data ?set)(?:\s(?:have|contain|define|declare|include|hold|list))?(?=\W*$)",
    regex.I,
)


def of_the_whole(question: str) -> str:
    """Return a question how many things there are without the graph as the thing that has them.

    >>> of_the_whole("How many classes does the ontology have?"), of_the_whole("Who made the ontology?")
    ('How many classes?', 'Who made the ontology?')
    """
    return _THE_WHOLE.sub("", question) if _HOW_MANY.search(question) else question


def _negated(keys: Sequence[str]) -> int:
    """Return the place of a word that negates what follows ("without", "did not direct"); -1 if there is none."""
    for place, key in enumerate(keys):
        if key in _NEGATIONS or (key in _BEFORE_T and keys[place + 1 : place + 2] == ["t"]):
            return place
    return -1


def _capitalised(text: str, found: Sequence[Word]) -> set[int]:
    """Return the places of capitalised words after the first; empty if nearly all words are capitalised."""
    capital = [text[word.start].isupper() for word in found]
    inside = {place for place in range(1, len(found)) if capital[place] and found[place].key != "i"}
    return inside if sum(capital) < 0.8 * len(found) else set()


def _weight(key: str) -> float:
    if key in _NOT_ASKED or key in REQUESTS or not any(sign.isalnum() for sign in key):
        return 0.0
    if key in _PREPOSITIONS:
        return _OF_PREPOSITION
    if key in FUNCTION_WORDS:
        return 0.0
    return _OF_LIGHT if key in LIGHT else 1.0


def _form(text: str, keys: Sequence[str], order: AskedOrder | None) -> Form:
    if _HOW_MANY.search(text):
        return "count"
    if order and not order.superlative and "or" in keys and not _YES_NO.match(text):
        return "compare"
    if order and "or" in keys and keys and keys[0] in {"which", "who", "what"}:
        return "compare"
    return "yes_no" if _YES_NO.match(text) and (order or "or" not in keys) else "things"


KINDS_OF_NOUNS = base_of("kinds of nouns")
"""The kind of answer that a question word or a general noun asks for."""
_KIND_WORDS = frozenset("kind kinds sort sorts type types".split())
"""Asked for themselves in "what types are the films", not in "what type of film"."""
_ORDINALS = {word: rank for rank, words_ in enumerate(
    ("second 2nd", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th", "seventh 7th", "eighth 8th"), start=2
) for word in words_.split()}  # fmt: skip
_BEFORE_HEAD = (
    frozenset("is are was were be the a an of 's all every each".split())
    | REQUESTS | _IRREGULAR.keys() | ORDERS.keys() | _ORDINALS.keys()
)  # fmt: skip
_QUESTION_WORDS = frozenset("which what how who whose where when".split())


def _kind(keys: Sequence[str], form: Form) -> tuple[str, int]:
    """Return the kind of answer and the place of the noun that names it."""
    if form == "yes_no":
        return "", -1
    at = next((place for place, key in enumerate(keys) if key in _QUESTION_WORDS), -1)
    if at >= 0 and keys[at] in ("who", "where", "when"):
        team = keys[at] == "who" and [key for key in keys if key.isalnum()][-1] == "for"  # "who does Ada play for"
        return "" if team else KINDS_OF_NOUNS[keys[at]], -1
    start = at + 1 if at >= 0 else 0
    if at >= 0 and keys[at] == "how" and start < len(keys) and keys[start] in ("many", "much"):
        start += 1
    counted = form == "count" and start < len(keys) and KINDS_OF_NOUNS.get(keys[start]) == PERSON
    if counted:
        return PERSON, -1  # "how many people": a light word that still says what is counted
    while start < len(keys) and (_weight(keys[start]) in (_OF_PREPOSITION, _OF_LIGHT) or keys[start] in _BEFORE_HEAD):
        start += 1
    if at >= 0 and keys[at] == "whose":
        return PERSON if start >= len(keys) else "", start if start < len(keys) else -1
    if start < len(keys) and keys[start] in KINDS_OF_NOUNS and start <= at + 2:
        return KINDS_OF_NOUNS[keys[start]], start
    if start < len(keys) and _weight(keys[start]) > 0 and keys[start] not in _PREPOSITIONS:
        return "", start
    return "", -1


def _order(keys: Sequence[str], bounded: set[int]) -> AskedOrder | None:
    for place, key in enumerate(keys):
        if place in bounded or (key in ("more", "less") and place + 1 < len(keys) and keys[place + 1] == "than"):
            continue
        base = _IRREGULAR.get(key)
        behind = keys[place + 1].removesuffix("ly") if place + 1 < len(keys) else ""  # "most recently"
        rank = _ORDINALS.get(keys[place - 1], 1) if place else 1
        if base in ("most", "least") and rank == 1 and keys[place - 1] not in _BEFORE_MOST and behind not in ORDERS:
            continue  # "what language do most people speak"
        if base in ("most", "least", "more", "less") and behind in ORDERS:
            by = ORDERS[behind]
            turned = tuple((kind, -sign) for kind, sign in by) if base in ("least", "less") else by
            return AskedOrder(place, turned, base in ("most", "least"), rank)
        if (
            key in _ORDINALS
            and behind not in _IRREGULAR
            and keys[place - 1 : place] in (["the"], ["born"], ["died"], [])
        ):
            return AskedOrder(place, ORDERS["first"], True, _ORDINALS[key])
        if base and not (base in ("first", "last") and place + 1 < len(keys) and keys[place + 1] == "name"):
            return AskedOrder(place, ORDERS[base], _SUPERLATIVE.fullmatch(key) is not None, rank)
    return None


_BEFORE_MOST = frozenset("the has have had is are was were with".split())


_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
          "nine": 9, "ten": 10}  # fmt: skip


def _bounds(text: str, found: Sequence[Word], *, in_time: bool) -> list[AskedBound]:
    bounds: list[AskedBound] = []

    def add(match: "regex.Match[str]", comparison: str, value: str, dimension: str = "") -> None:
        start, end = match.span()
        places = [place for place, word in enumerate(found) if word.start >= start and word.end <= end]
        stated = _NOT_OF_VALUE.sub("", value, count=1).strip(".,")
        parts = stated.split(maxsplit=1)
        if parts[0].lower() in _SMALL and len(parts) == 2:
            stated = f"{_SMALL[parts[0].lower()]} {parts[1]}"
        if places:
            bounds.append(AskedBound(places[0], places[-1] + 1, cast(Comparison, comparison), stated, dimension))

    for match in _BETWEEN.finditer(text):
        add(match, "at_least", match["low"])
        add(match, "at_most", match["high"])
    if bounds:
        return bounds
    for match in _BOUND.finditer(text):
        comparison = "less" if match["less"] else "more"
        said = (match["less"] or match["more"] or match["within"]).lower()
        value = _NOT_OF_VALUE.sub("", match["value"], count=1)
        if said in ("from", "in", "during") and not _PERIOD.fullmatch(value):
            continue
        if match["within"]:
            for one in ("at_least", "at_most") if in_time else ():
                add(match, one, value, DATE)
            continue
        if said in ("at least", "since", "from"):
            comparison = "at_least"
        elif said in ("at most", "no more than", "until", "up to"):
            comparison = "at_most"
        elif said == "older than" and not regex.fullmatch(r"\d{4}", value):
            comparison = "more"
        elif said == "younger than" and not regex.fullmatch(r"\d{4}", value):
            comparison = "less"
        by = dict(ORDERS.get(_IRREGULAR.get(said.split()[0], ""), ()))
        dimension = DATE if said in _IN_TIME else next((name for name in by if name in DIMENSIONS), "")
        add(match, comparison, value, dimension)
    return bounds
