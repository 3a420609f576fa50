"""Questions in other languages, word by word in English, for the reader of graph questions.

`translations.txt` has, for each language, the words by which people ask a graph: question words, orders, bounds,
kinds of things, relations. Names of the graph stay as they are written, and so does a word that is not in the list: a
graph whose relations have labels of that language may know it. The same list puts labels of predicates into English.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from conspectus.query.graph_question.lexicon import question_words
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.words import FUNCTION_WORDS, REQUESTS, without_accents

LANGUAGES = {
    "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "nl": "Dutch", "pt": "Portuguese",
}  # fmt: skip
"""The languages of the list, by their codes."""
_LONGEST = 5
"""Words of the longest phrase."""
_ASKING = frozenset("who whose what which where when how name".split())
_AUXILIARY = frozenset("is was has are did do does".split())
_NUMBER = "#"
_IS_A = ("ist ein", "ist eine", "est un", "est une", "es un", "es una", "è un", "è una", "é um", "é uma", "is een")
"""Labels of the relation of a thing to its class, of which the list drops the article."""

_Phrase = tuple[str, ...]
_Table = tuple[dict[_Phrase, str], ...]
"""English words by phrases: as they are written, by their stems, and by stems without accents."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A question in English words.

    Attributes:
        text: The English words, and those that stay.
        language: The code of the language that it was in.
        originals: For each word of `text` what the question has there.
        unknown: Words that are not in the list and name nothing.
    """

    text: str
    language: str
    originals: tuple[str, ...]
    unknown: tuple[str, ...]

    def told(self) -> str:
        """Return how the question was read, and which words were not known."""
        lacking = ", ".join(map(repr, self.unknown))
        name = LANGUAGES[self.language]
        beside = f"; {lacking} is not in the list of {name} words" if lacking else ""
        return f'read as {name}: "{self.text}"{beside}'


def in_english(question: str, is_name: Callable[[Sequence[str]], bool]) -> Translation | None:
    """Return a question in English words; None if it is in English, or in a language without a list.

    Args:
        question: The question.
        is_name: Whether some words are a name of the graph.

    Example:
        >>> in_english("Wer hat Grey Heron gedreht?", lambda keys: list(keys) == ["grey", "heron"]).text
        'who has Grey Heron directed?'
    """
    found = words(question)
    names = _names(found, is_name)
    open_places = [place for place in range(len(found)) if place not in names]
    keys = [found[place].key for place in open_places]
    english = sum(key in FUNCTION_WORDS or key in REQUESTS or key in question_words() for key in keys)
    best, language = max(
        ((_covered(code, found, names), code) for code in LANGUAGES), key=lambda item: item[0]
    )  # the first of equals
    if not keys or best <= english:
        return None
    lone = frozenset(place for place, word in enumerate(found) if is_name([word.key]))
    return _translated(question, found, names, lone, language)


def answer_word(english: str, language: str) -> str:
    """Return "yes" or "no" in a language.

    >>> answer_word("no", "de"), answer_word("yes", "")
    ('Nein', 'Yes')
    """
    said = {word: keys[0] for keys, word in _tables(language)[0].items() if len(keys) == 1} if language else {}
    return said.get(english, english).capitalize()


def label_in_english(text: str, language: str) -> str:
    """Return the words of a predicate's label in English, those that are not in the list as they are.

    >>> label_in_english("est un", "fr"), label_in_english("né à", "fr")
    ('is a', 'born in')
    """
    found = words(text)
    if " ".join(word.key for word in found) in _IS_A:
        return "is a"
    glosses = _glosses(language, found, {})
    return " ".join(english for _, _, english in glosses if english) or text


def language_of_labels(texts: Sequence[str]) -> str:
    """Return the code of the language of most labels of predicates, "" for English and all that is not in the list.

    >>> language_of_labels(["regisseur", "erscheinungsjahr", "geboren in"]), language_of_labels(["directed by"])
    ('de', '')
    """
    found = [words(text) for text in texts]
    english = sum(all(word.key in FUNCTION_WORDS or word.key in question_words() for word in each) for each in found)
    whole = {code: sum(_covered(code, each, {}) == len(each) for each in found) for code in LANGUAGES}
    best = max(whole, key=lambda code: whole[code])
    return best if whole[best] > english else ""


def _names(found: Sequence[Word], is_name: Callable[[Sequence[str]], bool]) -> dict[int, int]:
    """Return the places of words in names of several words, with the place where each name begins."""
    names: dict[int, int] = {}
    start = 0
    while start < len(found):
        for end in range(min(len(found), start + 8), start + 1, -1):
            if is_name([word.key for word in found[start:end]]):
                names |= dict.fromkeys(range(start, end), start)
                start = end - 1
                break
        start += 1
    return names


def _covered(language: str, found: Sequence[Word], names: dict[int, int]) -> int:
    """Return how many words the list of a language has."""
    return sum(end - start for start, end, english in _glosses(language, found, names) if english is not None)


def _glosses(language: str, found: Sequence[Word], names: dict[int, int]) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, English) for all words, None for those that are not in the list; longest phrases first."""
    tables, stem = _tables(language), _stem_of(language)
    keys = [word.key for word in found]
    forms = (keys, [stem(key) for key in keys], [stem(without_accents(key)) for key in keys])
    start = 0
    while start < len(keys):
        end, english = start + 1, None
        for longest in range(min(len(keys), start + _LONGEST), start, -1):
            if any(place in names for place in range(start, longest)):
                continue
            numbered = longest < len(keys) and keys[longest][0].isdigit()
            said = next(
                (
                    table[key]
                    for table, form in zip(tables, forms, strict=True)
                    for key in ((*form[start:longest], _NUMBER) if numbered else (), tuple(form[start:longest]))
                    if key in table
                ),
                None,
            )
            if said is not None:
                end, english = longest, said
                break
        yield start, end, english
        start = end


def _translated(
    question: str, found: Sequence[Word], names: dict[int, int], lone: frozenset[int], language: str
) -> Translation:
    parts: list[str] = []
    originals: list[str] = []
    unknown: list[str] = []
    for start, end, english in _glosses(language, found, names):
        own = question[found[start].start : found[end - 1].end]
        if english is None:
            inside = start in names and names.get(start - 1) == names[start]
            if inside and parts:
                own = question[found[start - 1].end : found[start].end]
                parts[-1] += own
            else:
                parts.append(own)
            originals.append(question[found[start].start : found[end - 1].end])
            if start not in names and start not in lone:
                unknown.append(own)
        elif english:
            parts.append(english)
            originals += [own] * len(words(english))
    said = {word for part in parts for word in part.split()}
    if question.rstrip().endswith("?") and not said & _ASKING and parts[0].split()[0] not in _AUXILIARY:
        parts.insert(0, "did")  # in these languages a question may have the order of a statement
        originals.insert(0, "")
    mark = "?" if question.rstrip().endswith("?") else ""
    return Translation(" ".join(parts) + mark, language, tuple(originals), tuple(unknown))


@cache
def _tables(language: str) -> _Table:
    stem = _stem_of(language)
    written: dict[_Phrase, str] = {}
    for line in files("conspectus.query.graph_question").joinpath("translations.txt").read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        english, *columns = line.split(" | ")
        for column in columns:
            code, _, said = column.strip().partition(" ")
            if code == language:
                phrases = said.split(",") if english.strip() else said.split()
                for phrase in phrases:
                    keys = tuple(word.key for word in words(phrase))
                    written.setdefault(keys + (_NUMBER,) * ("#" in phrase), english.strip())
    stems: dict[_Phrase, str] = {}
    plain: dict[_Phrase, str] = {}
    for keys, english in written.items():
        stems.setdefault(tuple(stem(key) for key in keys), english)
        plain.setdefault(tuple(stem(without_accents(key)) for key in keys), english)
    return written, stems, plain


def _stem_of(language: str) -> Callable[[str], str]:
    return partial(stem_in_language, language=language)
