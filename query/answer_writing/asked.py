"""What a question asks: its words and how rare they are, its names, and the kind of its answer.

A word is its stem or, in a script without spaces, a pair of neighbouring characters; how rare it is comes from the
documents and from the word list of its language, so that one file reads like one of a thousand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log

import numpy as np
import regex
from conspectus.prompts.embedding.local import MULTILINGUAL_MODEL, PACKAGED_MODEL
from conspectus.query.context import Context, remembered
from conspectus.query.question.kinds import asks_of_now, frame_of, kind_of
from conspectus.query.question.measures import measure_of
from conspectus.query.question.question import MOST_QUESTIONS, Question, encoder_of, open_question
from conspectus.query.question.terms import is_content_word
from conspectus.storage.arrays import Bools, Floats, Vectors
from conspectus.storage.text.dates import Dated, dates_in
from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.names import UNSPACED, Word
from conspectus.storage.text.word_lists import cut_run, shares_of_common_words

_PASSAGES, _LENGTH = 1_000, 100
"""The passages, and the words of each, of which the word list of a language is worth as a corpus."""
_RARE = 2e-4
"""The largest share of a character that is rare as a word."""

_DATE = (
    r"\p{N}{4}|\p{N}{1,2}[:.]\p{N}\p{N}|\p{N}+\s?[年月日년월일時时시]"
    r"|\p{N}{1,2}(?:st|nd|rd|th|er|\.|º)?\s(?:of |de )?\p{L}{3,}"
)
_NUMBER = r"\p{N}|[〇一二三四五六七八九十百千万兩两]"
_NAME = (
    r"^\p{Lu}[\p{L}\p{M}'’.-]+\s\p{Lu}[\p{L}\p{M}'’.-]*"
    r"|(?<=[^\n.!?:。\s][\s(\"“„«'])[\p{Lu}][\p{L}\p{M}'’.-]+(?:\s\p{Lu}[\p{L}\p{M}'’.-]*)*"
)
_PLACE = (
    r"\b(?:in|at|from|near|to|on|im|am|aus|bei|nach|à|de|dans|en|au|vers|près|desde|a|em|no|na|w|v|в|на|из|у|σε|στη?ν?|στο)"
    r"\s(?:\p{Ll}{1,4}\s)?\p{Lu}[\p{L}\p{M}'’.-]+(?:\s\p{Lu}[\p{L}\p{M}'’.-]*)*"
)
_REASON = (
    r"\b(?:because|since|due|as|so|therefore|reason|cause[ds]?|weil|da|denn|wegen|deshalb|grund|car|parce|puisque|raison"
    r"|porque|debido|razón|perché|poiché|door|omdat|потому|так как|из-за|причин\w*)\b"
    r"|因|为了|由于|ため|から|때문|เพราะ|लिए|क्योंकि|لأن|بسبب"
)
_OPPOSITE = {"un": 4, "in": 6, "im": 6, "ir": 6, "non": 5, "dis": 5, "des": 6, "не": 5}
"""Prefixes that turn a word into its opposite, with the least letters of that word ("inform" is none of "form")."""
_FORMS = {
    "when": _DATE, "how many": _NUMBER, "who": _NAME, "where": _PLACE, "why": _REASON,
}  # fmt: skip
"""How an answer of some kinds of question looks; names only where the script has capital letters."""
_WORDS = {"when": "times", "how many": "numbers"}
_JOINED = ("ar", "ko")
"""Languages that write short words together with the next or the last one."""


@cache
def pattern_of(kind: str, language: str) -> "regex.Pattern[str] | None":
    """Return how an answer of a kind looks in a language, "" for any; None if answers of that kind have no form.

    >>> [bool(pattern_of("when", each).search("geschlossen am Mittwoch")) for each in ("de", "en")]
    [True, False]
    """
    form = _FORMS.get(kind)
    if kind in _WORDS:
        table = by_language("conspectus.query.answer_writing", "value_words.txt")[_WORDS[kind]]
        said = " ".join(table.values()) if not language else table.get(language, "")
        words_ = [
            regex.escape(word.removesuffix(".").replace("_", " "), special_only=True)
            + ("" if word.endswith(".") or UNSPACED.search(word) else r"\p{L}{0,3}")
            for word in said.split()
        ]
        joined = bool(language) and (UNSPACED.search(said) or language in _JOINED)
        before, after = ("", "") if joined else (r"(?<![\p{L}\p{M}])", r"(?![\p{L}\p{M}])")
        form = "|".join(filter(None, (form, f"{before}(?:{'|'.join(words_)}){after}" if words_ else "")))
    return regex.compile(form, regex.I if kind in ("why", *_WORDS) else 0) if form else None


_PLURAL = regex.compile(
    r"\b(?:(?:what|who) are|(?:which|what) (?!(?:is|was|has|does)\b)\p{L}+s\b|list|name all|how many|was sind|wer sind"
    r"|welche \p{L}+(?:e|en|er|n|s)\b|nenne|wie viele|quel(?:le)?s|liste|combien de|cuáles"
    r"|qué \p{L}+s\b|cu[áa]nt[oa]s|lista|quali|elenca|quant[ie]|quais|quant[oa]s|welke \p{L}+(?:en|s)\b|noem|hoeveel"
    r"|które|wymień|ile|какие|перечислите?|сколько|kaç|listele)\b|哪些|列出|多少|いくつ",
    regex.I,
)
CASED = regex.compile(r"\p{Lu}")
NUMBERED = regex.compile(r"\d+(?:\.\d+)*")
NEGATION = regex.compile(
    r"\b(?:not|no|never|none|without|\p{L}+n['’]t|cannot|nicht|kein\w*|nie|ohne|ne|pas|jamais|sans|aucun\w*|nunca|sin|non"
    r"|não|не|нет|без|niet|geen|нельзя|لا|ليس|لم|नहीं)\b|不|没|未|無|ない|ません|않|없|안 |ไม่",
    regex.I,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks: the weight of each of its words, the kind of its answer, and its vector.

    Attributes:
        weights: The weight of each stem or pair of characters; they sum to 1.
        rarity: The inverse document frequency of each, 1 for a word that is in one of a thousand passages.
        kind: The kind of the answer.
        negated: Whether it says "not".
        understood: 1 if the encoder knows its language, and no other: the packaged one knows English only.
        by_many_languages: Whether the encoder is the multilingual one, whose cosines are on another scale.
        language: Its language; "" if it is none of the documents'.
        vector: Its unit vector.
        meanings: For each of its content words the unit vector of its tokens in the question, (w, d), if the encoder
            shows them and knows the language.
        shares: The weight of each of these words, (w,); they sum to 1.
        of_names: Whether each belongs to a name, (w,).
        keys: Its words.
        names: The stems and pairs that belong to a name.
        numbers: Its numbers, such as "2.2".
        plural: Whether it asks for several things.
        of_now: Whether it asks what holds now.
        opposites: The words that its words are with or without a prefix that turns them into the opposite.
        measure: The words beside values of what it asks for, such as "born" for "how old".
        measured: Those of its stems that ask for it.
        time: The time that it asks about ("in 1998", "before 2001"); None if it names none.
    """

    weights: Mapping[str, float]
    rarity: Mapping[str, float]
    kind: str
    negated: bool
    understood: float
    by_many_languages: bool
    language: str
    vector: Vectors
    meanings: Vectors | None
    shares: Floats
    of_names: Bools
    keys: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    plural: bool
    of_now: bool
    opposites: frozenset[str]
    measure: frozenset[str]
    measured: frozenset[str]
    time: Dated | None

    @property
    def of_what_it_is(self) -> bool:
        """Whether it asks what a thing is, or who a person is: "Who is Ada Frey?" has no word beside the name."""
        return self.kind == "definition" or (self.kind == "who" and self.weights.keys() <= self.names)

    @property
    def is_fact(self) -> bool:
        """Whether it asks for a date, number, person or place."""
        return self.kind in _FORMS and self.kind != "why"


@remembered(MOST_QUESTIONS)
def asked_of(context: Context, text: str) -> Asked:
    """Return what a question asks of an index; the last few are cached with the index."""
    question = open_question(context, text)
    bm25, language = context.bm25, question.language
    terms: dict[str, float] = {}
    dates = dates_in(question.text) if question.time else ()
    frame = frozenset(place for start, end in frame_of(question.text) for place in range(start, end))
    content = [
        (word, stem)
        for word, stem in zip(question.words, question.stems, strict=True)
        if word.start not in frame
        and not UNSPACED.match(word.key)
        and is_content_word(word.key, language)
        # A year that stands nowhere tells which of the documents holds.
        and (len(bm25.rows_with(stem)) or not any(each.start <= word.start < each.end for each in dates))
    ]
    listed = shares_of_common_words(language)
    for word, stem in content:
        terms[stem] = listed.get(word.key, 0.0)
    runs = unspaced_runs([word for word in question.words if word.start not in frame])
    for run in runs:
        terms |= _terms_of_run(run.key, language)
    terms = terms or dict.fromkeys(question.stems, 0.0)
    n_chunks = context.index.manifest.rows["chunks"]
    rarity = {}
    for term, share in terms.items():
        found = len(bm25.rows_with(term)) + _PASSAGES * (1 - (1 - min(share, 0.99)) ** _LENGTH)
        rarity[term] = log(1 + (n_chunks + _PASSAGES - found + 0.5) / (found + 0.5)) / log(_PASSAGES)
    total = sum(rarity.values()) or 1.0
    encoder = encoder_of(context.index)
    understood = language == "en" if encoder == PACKAGED_MODEL else encoder != MULTILINGUAL_MODEL
    names = _names_in(question) & terms.keys()
    measure = measure_of(text)
    told = [(word, [stem]) for word, stem in content]
    for word in (word for run in runs for word in _words_of_run(run, language)):
        told += [(word, own)] if (own := [term for term in _pairs_of(word.key) if term in rarity]) else []
    told = told if understood or encoder == MULTILINGUAL_MODEL else []
    meanings, shares, of_names = _meanings(context, question.text, told, rarity, names)
    return Asked(
        {term: value / total for term, value in rarity.items()},
        rarity,
        kind_of(question.text),
        NEGATION.search(text) is not None,
        float(understood),
        encoder == MULTILINGUAL_MODEL,
        "" if question.is_foreign else language,
        question.vector,
        meanings,
        shares,
        of_names,
        frozenset(word.key for word in question.words),
        names,
        frozenset(NUMBERED.findall(question.text)),
        _PLURAL.search(text) is not None,
        asks_of_now(question.text),
        frozenset(other for word, _ in content for other in _opposites(word.key)),
        frozenset(measure.words if measure else ()),
        frozenset(stem for word, stem in content if measure and word.key in measure.phrase),
        question.time,
    )


def _opposites(word: str) -> Iterator[str]:
    """Yield the words that a word is with or without a prefix that turns it into the opposite.

    >>> "unofficial" in _opposites("official"), "paid" in _opposites("unpaid")
    (True, True)
    """
    for prefix, least in _OPPOSITE.items():
        if len(word) >= least:
            yield prefix + word
        if word.startswith(prefix) and len(word) - len(prefix) >= least:
            yield word.removeprefix(prefix)


def _names_in(question: Question) -> frozenset[str]:
    """Return the stems and pairs of the words that belong to a name: one of the index, or a word with a capital."""
    found = set[str]()
    dates = dates_in(question.text)
    cased = question.language != "de" and not question.text.isupper()
    named = [
        any(span.start <= word.start < span.end for span in question.mentions)
        or any(sign.isdigit() for sign in question.text[word.start : word.end])
        or (cased and question.text[word.start].isupper() and question.text[: word.start].rstrip()[-1:] not in ".!?:")
        for word in question.words
    ]
    for at, word in enumerate(question.words):
        # A statement need not name the year in which it holds.
        if named[at] and not any(date.start <= word.start < date.end for date in dates):
            found.add(question.stems[at])
            after = question.words[at + 1] if at + 1 < len(named) and named[at + 1] else None
            if after is not None:
                found.add(word.key + after.key)
    return frozenset(found)


def _meanings(
    context: Context,
    text: str,
    content: Sequence[tuple[Word, list[str]]],
    rarity: Mapping[str, float],
    names: frozenset[str],
) -> tuple[Vectors | None, Floats, Bools]:
    """Return the vector of each content word of a question, the weight of each, and whether it belongs to a name.

    `content` are the words with their terms.
    """
    embedder = context.embedder
    if not content or embedder.windows(text)[0] != text or (found := embedder.embed_tokens([text])) is None:
        return None, np.zeros(0), np.zeros(0, np.bool_)
    (of_text,) = found
    rows, weights, named = [], [], []
    for word, own_terms in content:
        own = [at for at, (start, end) in enumerate(of_text.spans) if start < word.end and word.start < end]
        if own:
            total = of_text.tokens[own].sum(axis=0)
            rows.append(total / np.linalg.norm(total))
            weights.append(max(map(rarity.__getitem__, own_terms)))
            named.append(not names.isdisjoint(own_terms))
    if not rows:
        return None, np.zeros(0), np.zeros(0, np.bool_)
    return np.array(rows), np.array(weights) / (sum(weights) or 1.0), np.array(named)


def unspaced_runs(found: Sequence[Word]) -> list[Word]:
    """Return the stretches of a text in scripts without spaces.

    >>> from conspectus.storage.text.names import words
    >>> [run.key for run in unspaced_runs(words("Linux 是什么？ 北京"))]
    ['是什么', '北京']
    """
    runs: list[Word] = []
    for word in found:
        if UNSPACED.match(word.key):
            if runs and word.start == runs[-1].end:
                runs[-1] = Word(runs[-1].start, word.end, runs[-1].key + word.key)
            else:
                runs.append(word)
    return runs


def _words_of_run(run: Word, language: str) -> Iterator[Word]:
    """Yield the words of a stretch without spaces, where they stand."""
    start = run.start
    for word in cut_run(run.key, language):
        yield Word(start, start + len(word), word)
        start += len(word)


def _terms_of_run(run: str, language: str) -> dict[str, float]:
    """Return the terms of a stretch without spaces, with their share among all words of the language.

    It is cut into the words of the language's list that are together the most probable ones; a word of several
    characters is the pairs of neighbours in it. Neighbours that are in no word are pairs as well, so that a name
    stays together, and so are all of a language without a list.
    """
    listed = shares_of_common_words(language) if language in ("zh", "ja") else {}
    found: dict[str, float] = {}
    at = 0
    for word in cut_run(run, language):
        start, at = at, at + len(word)
        share = listed.get(word, 0.0)
        if len(word) > 1 or share:
            found |= dict.fromkeys(_pairs_of(word), share)
        if len(word) == 1 and start and share < _RARE and run[start - 1] not in listed:
            found[run[start - 1 : at]] = 0.0
    return found or dict.fromkeys(_pairs_of(run), 0.0)


def _pairs_of(word: str) -> list[str]:
    """Return the pairs of neighbouring characters of a word; a single character is itself."""
    return [*map("".join, pairwise(word))] or [word]
