"""What the reader looks at: the features of statements, of further statements, and of an answer.

Each feature is a property of a question (`asked`) and a statement in any language.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log, log2

import numpy as np
import regex
from conspectus.query.answer_writing.asked import CASED, NEGATION, NUMBERED, Asked, pattern_of
from conspectus.query.answer_writing.excerpts import ROWS, Excerpt, word_count
from conspectus.query.answer_writing.full_sentence import TELLS
from conspectus.query.answer_writing.life_dates import LIFE_WORDS, tells_life
from conspectus.query.context import Context
from conspectus.query.question.bounds import MOST_CLOSELY
from conspectus.storage.arrays import Floats
from conspectus.storage.text.dates import dates_in
from conspectus.storage.text.names import UNSPACED, word_keys, words
from conspectus.storage.text.words import base_form, transliterated

STATEMENT_FEATURES = (
    "names", "missing name", "no names",
    "words", "words of neighbours", "words of passage",
    "all words", "words in order", "number", "cosine", "no cosine",
    "another language", "cosine in another language", "meaning of words", "missing meaning", "no meaning",
    "rank", "margin", "position", "has the kind", "lacks the kind", "distance to the kind", "definition",
    "has the measure", "lacks the measure", "list", "list asked for",
    "length", "line", "row", "code", "in the time", "at another time",
    "negation differs",
)  # fmt: skip
"""The features of a statement for a question, in the order of the weights."""
NEXT_FEATURES = ("score", "new names", "new words", "bridge", "same passage", "negation differs")
"""The features of a further statement beside those that are chosen, in the order of the weights."""
_KINDS = ("who", "when", "where", "how many", "why", "how to", "yes or no", "definition", "what", "compare", "other")
_OF_FORM = ("who", "when", "where", "how many")
ANSWER_FEATURES = (
    "best statement", "lead", "lead over the fifth", "statements", "words beside", "told together",
    "missing everywhere", "words told", "by many languages", "length of question",
    *STATEMENT_FEATURES, *(f"asks {kind}" for kind in _KINDS), *(f"asks {kind}, lacks it" for kind in _OF_FORM),
)  # fmt: skip
"""The features of an answer for a question, in the order of the weights: those of its best statement among them."""

_LEAST_PREFIX, _PREFIX_SHARE = 5, 0.6
_LEAST_WHOLE, _MOST_ENDING = 3, 3
"""The least characters of a word that is the beginning of another ("own", "owner"), and the most that this one adds."""
_PRONOUN = regex.compile(
    r"^(?:it|its|he|she|his|her|they|their|this|these|er|sie|es|sein\w*|ihr\w*|dies\w*|il|elle|ils|elles|cet\w*|él|ella"
    r"|ellos|ellas|su|sus|este|esta|lui|lei|он|она|оно|они|его|её|их)\b|^(?:它|他|她|这|それ|これ|彼)"
    r"|\b(?:it|him|them|ihn|ihm|ihnen)\W*$",
    regex.I,
)
"""The beginning or the end of a sentence about what the one before it names ("It failed.", "Ada repaired it.")."""
_OTHER_WORD = 0.4
"""About the cosine of a word with the nearest one that is no form of it, by the packaged encoder."""
_ALONE = 3.0
"""The lead of a statement that has no other beside it, in logits."""
_NEAR = 100
"""Characters from a word of the question beyond which an answer of the expected kind is no farther."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a statement has of a question.

    Attributes:
        covers: The words of the question in it.
        related: Those that only another form of stands in it, or in its context.
        near: Those in its context only: title, headings, label, question above it, and the sentence before it if it
            begins with a pronoun.
        around: Those in the statement before or after it only.
        passage: Those elsewhere in its passage only.
        first: Where the first of them begins, as a share of the text; 1 if there is none.
        keys: The words of the statement.
        measure: Whether it has a word beside the value that is asked for; None if none is asked for.
        contrary: Whether it, or the line above it, says "not" and the question does not, or the other way round.
        translated: Whether it is in another language than the question, and the encoder knows both.
    """

    covers: frozenset[str]
    related: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]
    passage: frozenset[str]
    first: float
    keys: frozenset[str]
    measure: bool | None
    contrary: bool
    translated: bool

    @property
    def told(self) -> frozenset[str]:
        """The words of the question that it tells, in some form, with its context."""
        return self.covers | self.near | self.related


def held_by(context: Context, asked: Asked, statements: Sequence[Excerpt]) -> list[Held]:
    """Return what each statement has of a question; the statements come in the order of passages and of reading."""
    analysis = context.bm25.analysis
    own = [frozenset(analysis.terms(each.text, context.chunk_rows[each.passage.chunk_id])) for each in statements]
    if of_life := LIFE_WORDS & asked.keys:
        told = frozenset(analysis.stem(word, asked.language) for word in of_life)
        own = [terms | told if tells_life(each.text) else terms for each, terms in zip(statements, own, strict=True)]
    whole: dict[str, frozenset[str]] = {}
    for each, terms in zip(statements, own, strict=True):
        whole[each.passage.chunk_id] = whole.get(each.passage.chunk_id, frozenset()) | terms & asked.weights.keys()
    found = []
    for place, each in enumerate(statements):
        row = context.chunk_rows[each.passage.chunk_id]
        above = frozenset(analysis.terms(" ".join((each.passage.title, *each.context)), row))
        beside = frozenset[str]().union(
            *(
                own[other]
                for other in (place - 1, place + 1)
                if 0 <= other < len(own) and statements[other].passage is each.passage
            )
        )
        covers = frozenset(term for term in asked.weights if term in own[place])
        if place and statements[place - 1].passage is each.passage and _PRONOUN.search(each.text):
            above |= own[place - 1]
        near = frozenset(term for term in asked.weights if term in above) - covers
        around = frozenset(term for term in asked.weights if term in beside) - covers - near
        open_terms = asked.weights.keys() - covers - near if len(asked.weights) <= MOST_CLOSELY else frozenset()
        passage = whole[each.passage.chunk_id] - covers - near - around
        beginnings = _by_first_letter(own[place] | above) if open_terms else {}  # forms of a word begin with one letter
        related = frozenset(
            term
            for term in open_terms
            if any(is_related(term, other) for other in beginnings.get(base_form(term)[0], ()))
        )
        keys = [word.key for word in words(each.text)]
        first = next((at for at, key in enumerate(keys) if key in asked.keys), len(keys))
        lead = word_keys(" ".join(each.context[-1:]))
        measure = not asked.measure.isdisjoint((*keys, *lead)) if asked.measure else None
        if measure:
            related |= asked.measured - covers - near
        found.append(
            Held(
                covers,
                related,
                near,
                around - related,
                passage - related,
                first / max(1, len(keys)),
                frozenset(keys),
                measure,
                asked.negated != any(NEGATION.search(text) for text in (each.text, *each.context[-1:])),
                asked.by_many_languages and analysis.language_of(row) not in ("", asked.language),
            )
        )
    return found


def _by_first_letter(terms: frozenset[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for term in terms:
        found.setdefault(base_form(term)[0], []).append(term)
    return found


@lru_cache(maxsize=50_000)
def _skeleton(word: str) -> str:
    """Return the consonants of a word, each once in a row: the forms of "draw" and "write" share them."""
    consonants = [letter for letter in transliterated(word) if letter.isalpha() and letter not in "aeiouyw"]
    return "".join(letter for at, letter in enumerate(consonants) if at == 0 or consonants[at - 1] != letter)


def is_related(term: str, other: str) -> bool:
    """Return whether two words are forms of one: a long common beginning, or the same consonants but for a last n.

    Irregular English words have one base form.

    >>> is_related("backup", "backups"), is_related("lose", "lost"), is_related("gate", "pier")
    (True, True, False)
    """
    if base_form(term) == base_form(other):
        return True
    length = min(len(term), len(other))
    least = max(_LEAST_PREFIX, ceil(_PREFIX_SHARE * length))
    if length >= least and term[:least] == other[:least]:
        return True
    short, long = sorted((term, other), key=len)
    if length >= _LEAST_WHOLE and len(long) <= length + _MOST_ENDING and long.startswith(short):
        return True
    if length < 3 or term[0] != other[0] or not term.isalpha() or not other.isalpha() or UNSPACED.match(term):
        return False
    one, two = _skeleton(term), _skeleton(other)
    return len(one) > 1 and len(two) > 1 and one.removesuffix("n") == two.removesuffix("n") and len(one + two) > 4


OF_MEANING = 3
"""Columns of `Meanings.of`."""


class Meanings:
    """The vectors of statements, and of their tokens where the encoder shows them.

    How much of a question a statement means is found as in ColBERT (Khattab and Zaharia 2020, arXiv 2004.12832, section
    3.3): each word of the question takes its nearest token of the statement. So "pays" finds "salary", which has no
    letter of it, and a word that nothing comes near says that the statement is about something else.
    """

    def __init__(self, context: Context, statements: Sequence[Excerpt]) -> None:
        embedder = context.embedder
        texts = [embedder.windows(_labelled(each))[0] for each in statements]
        above = [
            embedder.windows(" ".join(dict.fromkeys((each.passage.title, *each.context))) or "-")[0]
            for each in statements
        ]
        different = list(dict.fromkeys((*texts, *above)))
        found = embedder.embed_tokens(different)
        if found is None:
            self._vectors = embedder.embed(texts)
        else:
            of_text = dict(zip(different, found, strict=True))
            self._vectors = np.array([of_text[text].vector for text in texts])
            self._tokens = [
                (of_text[text].tokens, of_text[title].tokens) for text, title in zip(texts, above, strict=True)
            ]

    def of(self, asked: Asked) -> Floats:
        """Return how near each statement is to a question: (n, OF_MEANING).

        The columns are its cosine, how much it means, with its context, of the words of the question that are no names,
        and the weight among these of the one that is farthest.
        """
        found = np.zeros((len(self._vectors), OF_MEANING))
        found[:, 0] = self._vectors @ asked.vector
        others = np.where(asked.of_names, 0, asked.shares)
        if asked.meanings is not None and others.any():
            others = others / others.sum()
            for row, parts in enumerate(self._tokens):
                near = np.max([(asked.meanings @ part.T).max(axis=1, initial=0.0) for part in parts], axis=0)
                found[row, 1:] = others @ near, (others * (1 - near)).max()
        return found


def _labelled(excerpt: Excerpt) -> str:
    """Return the text of an excerpt, preceded by its label."""
    label = excerpt.context[-1] if excerpt.context else excerpt.passage.title
    return f"{label}: {excerpt.text}" if label else excerpt.text


def statement_features(asked: Asked, statements: Sequence[Excerpt], held: Sequence[Held], meanings: Floats) -> Floats:
    """Return the features of statements, float64 (n, len(STATEMENT_FEATURES)); `meanings` are those of `Meanings`."""
    scores = [each.passage.score for each in statements]
    best = max(scores, default=0.0) or 1.0
    agreeing = {each.told for each in held if not each.contrary}
    places = Counter[int]()
    rows = []
    for each, has, of_meaning, times in zip(
        statements, held, meanings.tolist(), _times(asked, statements), strict=True
    ):
        place = places[each.rank]
        places[each.rank] += 1
        count, clause = word_count(each.text), NUMBERED.match(each.text.lstrip("§ ([#v"))
        kind, distance = kind_in(asked, each.text)
        beside = has.around | has.passage
        words_told = _share(asked, has.covers)
        if asked.meanings is None and asked.understood:  # by an encoder that does not show its tokens
            share = _share(asked, has.told)
            of_meaning = [of_meaning[0], share + _OTHER_WORD * (1 - share), (1 - _OTHER_WORD) * (1 - share)]
        rows.append((
            _share(asked, has.covers, names=True),
            _rarest(asked, asked.names - has.covers - has.near - has.related - beside),
            float(not asked.names),
            words_told,
            _share(asked, has.around),
            _share(asked, has.passage),
            float(has.covers | has.near | has.related == asked.weights.keys()),
            words_told * (1 - has.first),
            float(clause is not None and clause[0] in asked.numbers),
            of_meaning[0],
            float(not asked.understood and not asked.by_many_languages),
            float(has.translated),
            of_meaning[0] * has.translated,
            *of_meaning[1:],
            float(asked.meanings is None and not asked.understood),
            log2(each.rank + 1),
            1 - each.passage.score / best,
            1 / (1 + place),
            float(kind is True),
            float(kind is False),
            distance,
            float(asked.of_what_it_is and _defines(asked, has, each)),
            float(has.measure is True),
            float(has.measure is False),
            float(each.kind == "item"),
            float(each.kind == "item" and asked.plural),
            log(1 + count),
            float(each.kind == "line"),
            float(each.kind in ROWS),
            float(each.kind == "code"),
            *times,
            float(has.contrary and any(told >= has.told for told in agreeing)),
        ))  # fmt: skip
    return np.array(rows, np.float64).reshape(len(rows), len(STATEMENT_FEATURES))


def _times(asked: Asked, statements: Sequence[Excerpt]) -> Iterator[tuple[float, float]]:
    """Yield whether each statement, or the line above it, has a date in the time that is asked for, and only others."""
    for each in statements:
        dates = (dates_in(each.text) or dates_in(" ".join(each.context[-1:]))) if asked.time else []
        inside = asked.time is not None and any(date.overlaps(asked.time) for date in dates)
        yield float(inside), float(bool(dates) and not inside)


def _defines(asked: Asked, has: Held, statement: Excerpt) -> bool:
    """Return whether a statement says what is asked for: it begins or ends with its name, or stands below it.

    "The chair is Ada Frey." tells who she is, and so does what a glossary has under "Ada Frey".
    """
    above = word_keys(statement.context[-1]) if statement.context else ()
    if above and asked.keys.issuperset(above) and asked.weights.keys() <= has.covers | has.near | has.related:
        return True
    named = has.first < 0.2 or not asked.keys.isdisjoint(word_keys(statement.text)[-1:])
    return named and TELLS.search(statement.text) is not None


def kind_in(asked: Asked, text: str) -> tuple[bool | None, float]:
    """Return whether a text has what the question asks for (None: no kind is asked) and how far from its words."""
    pattern = pattern_of(asked.kind, asked.language)
    if pattern is None or (asked.kind in ("who", "where") and not CASED.search(text)):
        return None, 0.5
    at = [word.start for word in words(text) if word.key in asked.keys]
    distances = [
        min((abs(found.start() - place) for place in at), default=_NEAR) / _NEAR
        for found in pattern.finditer(text)
        if not {word.key for word in words(found[0])} <= asked.keys
    ]
    return bool(distances), min([1.0, *distances])


def _weight(asked: Asked, terms: frozenset[str]) -> float:
    return sum(asked.weights[term] for term in terms)


def _share(asked: Asked, terms: frozenset[str], *, names: bool = False) -> float:
    """Return the share, by weight, of the question's names or of its other words that some terms are."""
    among = asked.names if names else asked.weights.keys() - asked.names
    whole = sum(asked.weights[term] for term in among)
    return sum(asked.weights[term] for term in terms & among) / whole if whole else 0.0


def _rarest(asked: Asked, missing: Iterable[str]) -> float:
    """Return the rarity of the rarest of some words of the question."""
    return max((asked.rarity[term] for term in missing), default=0.0)


def next_features(
    asked: Asked, score: float, held: Held, chosen: Sequence[Held], *, bridge: bool, same: bool
) -> list[float]:
    """Return the features of a further statement.

    Args:
        asked: The question.
        score: The logit of the statement.
        held: What it has of the question.
        chosen: What the chosen statements have.
        bridge: Whether its passage is about something that a chosen statement names and the question does not.
        same: Whether a chosen statement is in its passage.
    """
    new = held.told - frozenset[str]().union(*(each.told for each in chosen))
    return [
        score, _share(asked, new, names=True), _share(asked, new), float(bridge), float(same), float(held.contrary),
    ]  # fmt: skip


def answer_features(
    asked: Asked, logits: Floats, features: Floats, held: Sequence[Held], chosen: Sequence[int]
) -> Floats:  # fmt: skip
    """Return the features of the answer that some statements give, float64 (len(ANSWER_FEATURES),).

    Args:
        asked: The question.
        logits: The logits of all statements, (n,).
        features: Their features, (n, len(STATEMENT_FEATURES)).
        held: What each has of the question.
        chosen: The rows of those that the answer quotes, the best one first.
    """
    first = chosen[0]
    named = dict(zip(STATEMENT_FEATURES, features[first].tolist(), strict=True))
    together = frozenset[str]().union(*(held[row].told for row in chosen))
    best = np.sort(logits)[::-1]
    return np.array([
        logits[first],
        best[0] - best[1] if len(best) > 1 else _ALONE,
        best[0] - best[min(4, len(best) - 1)],
        log(len(best)),
        _weight(asked, held[first].around | held[first].passage),
        _weight(asked, together),
        _rarest(asked, asked.weights.keys() - frozenset[str]().union(*(each.told for each in held))),
        sum(asked.rarity[term] for term in together),
        float(asked.by_many_languages),
        log(1 + len(asked.weights)),
        *features[first],
        *(float(asked.kind == kind) for kind in _KINDS),
        *(named["lacks the kind"] * (asked.kind == kind) for kind in _OF_FORM),
    ])  # fmt: skip
