"""Rule-based reading of a text without a model: names, types, statements, and relevance to a question.

The rules are few, so that a fake model's replies are predictable: a name is a run of capitalised words or text
between quotation marks; two names of a sentence are related by the words between them; a sentence is relevant to a
question by the words that they share.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex
from conspectus.storage.text.sentences import sentence_spans

_NAME = regex.compile(
    r"[“\"„](?P<quoted>\p{Lu}[^“”\"„]{2,40})[”\"“]"
    r"|(?P<plain>\p{Lu}[\p{L}\p{M}'’-]+(?:(?:\s(?:of|the|de|la|van|von|der))*\s\p{Lu}[\p{L}\p{M}'’-]+)*(?:\s\d+)?)"
)
_NO_NAMES = frozenset(
    """a after all also an and are as at be because before but by despite during each early every five for four from
    he her here his how i if in is it its later many most no none not of on one only or others our she since six so
    some that the their then there these they this those three to two under until was we were what when where which
    while who whose why with you your der die das ein eine er sie es im am in von zu und""".split()
)
_PLAIN_WORDS = _NO_NAMES | frozenset(
    "about above between did do does had has have him into may me more my than them through tell us was will".split()
)
_KINDS = (
    ("person", r"(?:born|died|poet|novelist|director|engineer|captain|singer|composer|architect|writer|he|she)"),
    ("work", r"(?:film|novel|poem|opera|song|book|painting|play|report|standard)"),
    ("event", r"(?:strike|storm|wreck|war|festival|conference|election|accident)"),
    ("organization", r"(?:company|union|museum|library|university|council|theatre|committee|jury|observatory)"),
    ("product", r"(?:ship|steamer|engine|tool|software|machine|device)"),
    ("geo", r"(?:village|town|island|river|harbour|country|city|coast|street|hill|inhabitants)"),
)
_LONGEST_PREDICATE = 5
_SPACED = re.compile(r"\s+")
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Er|Sie|Es)\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """Two names of a sentence, and the words that join them."""

    source: str
    predicate: str
    target: str
    sentence: str

    @property
    def strength(self) -> int:
        """Return 9 if the words between the names join them closely, otherwise 6."""
        return 9 if len(self.predicate.split()) <= _LONGEST_PREDICATE - 2 else 6


def one_line(text: str) -> str:
    """Return a text on one line."""
    return _SPACED.sub(" ", text).strip()


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    return [one_line(text[start:end]) for start, end in sentence_spans(text)]


def names(text: str) -> list[str]:
    """Return the names in a text, each once, in order.

    >>> names('In 1962 Nadia Frey directed "Cold Harbour" on the island of Vey.')
    ['Nadia Frey', 'Cold Harbour', 'Vey']
    """
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        words_of = (match["quoted"] or match["plain"]).strip(" .,;:").split()
        while words_of and words_of[0].casefold() in _NO_NAMES:
            del words_of[0]
        name = re.sub(r"['’]s?$", "", " ".join(words_of))
        if len(name) > 2 and not name.isdigit():
            found.setdefault(name)
    return list(found)


def kind_of(name: str, text: str, offered: Sequence[str]) -> str:
    """Return the type of a name among the types offered: that of the first matching word after it."""
    types = [kind.strip().casefold() for kind in offered if kind.strip()] or ["concept"]
    behind = text.partition(name)[2][:80].casefold()
    told = [(match.start(), kind) for kind, cue in _KINDS if (match := re.search(rf"\b{cue}\b", behind))]
    wanted = min(told)[1] if told else "person" if " " in name else "geo"
    alike = next((kind for kind in types if kind == wanted or kind.startswith(wanted[:5])), None)
    return alike or types[0]


def facts(text: str, subject: str = "") -> list[Fact]:
    """Return a fact for each pair of consecutive names in a sentence.

    A sentence that begins with a pronoun, or has only one name, is about `subject`.
    """
    found: list[Fact] = []
    for sentence in sentences(text):
        own = names(sentence)
        if subject and (_PRONOUN.match(sentence) or len(own) == 1) and subject not in own:
            own, joined = [subject, *own], f"{subject} {sentence}"
        else:
            joined = sentence
        for source, target in zip(own[:1] * (len(own) - 1), own[1:], strict=True):
            between = joined.partition(source)[2].partition(target)[0]
            stripped = (word.strip('“”"„.,;:()') for word in between.split())
            told = [word for word in stripped if word and not _PRONOUN.match(word)]
            predicate = " ".join(told[-_LONGEST_PREDICATE:]) or "is named with"
            found.append(Fact(source, predicate, target, sentence))
    return found


def key_words(text: str) -> set[str]:
    """Return the content words of a text, without their endings."""
    return {
        word if word.isdigit() else word[:6]
        for word in re.findall(r"[^\W_]+", text.casefold())
        if word not in _PLAIN_WORDS and (len(word) > 2 or word.isdigit())
    }


def shared(question: str, text: str) -> int:
    """Return how many content words of a question appear in a text."""
    return len(key_words(question) & key_words(text))


def ranked(question: str, texts: Iterable[str]) -> list[int]:
    """Return the positions of the texts that share words with a question, most words first."""
    counted = [(-shared(question, text), place) for place, text in enumerate(texts)]
    return [place for count, place in sorted(counted) if count]


def new_names(text: str, question: str) -> list[str]:
    """Return the names in a text that are not in the question."""
    held = question.casefold()
    return [name for name in names(text) if name.casefold() not in held]
