"""A corpus of any size with names and links like those of an encyclopedia, made of invented words.

Things (people, places, guilds, works) have one to five passages each, an alias, and links to other things: most within
their own region, some across, by rank with the heavy tail of Zipf's law. Passages also name people that occur nowhere
else, and noun phrases that many share. The same number of passages and seed give the same corpus.

The corpus has a grammar, so its annotations need no tagger, and its vectors are sums of hashed words, so they need no
encoder: `GeneratedAnnotator` and `HashedEmbedder` replace spaCy and the model in `benchmarks.scale`.
"""

import json
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import Vectors
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase, Triple

REGIONS = 16
_MOST_PASSAGES = 5
_NEAR = 0.6
"""Share of links within a region's neighbourhood of things."""
_MINOR = 0.25
"""Share of links to a person who is named only once."""
_TAIL = 4
"""Rank r is linked with probability ~ r ** -(1 - 1 / _TAIL)."""
_NEIGHBOURHOOD = 200

_ONSETS = "b br d dr f g gr h k l m n p r s st t th v w".split()
_VOWELS = "a e i o u ae ei ou".split()
_CODAS = "l m n nd r rn s sk th x".split()
_PLACES = "Bridge Harbour Hill Mill Tower Valley".split()
_GROUPS = "Company Guild Institute Society".split()
_WORKS = "Chronicle Song Treatise".split()
_VERBS = ("founded", "rebuilt", "studied under", "was named after", "paid for", "opposed", "is described in",
          "lies next to", "traded with", "moved to")  # fmt: skip
_ADJECTIVES = "bitter copper drifting hollow narrow painted quiet salted woven".split()
_NOUNS = "archive barge bell canal foundry garden ledger loom orchard quarry signal voyage".split()
_TAILS = ("in {year}", "before {year}", "for the {concept}", "because of a {concept}", "with the {concept}")
_KINDS = ("person", "place", "group", "work")


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing with its full name, a shorter one, and its kind."""

    name: str
    alias: str
    kind: str


class GeneratedCorpus:
    """Passages about things, in order of the things.

    Args:
        passages: The number of passages.
        seed: Seed of all choices.
    """

    def __init__(self, passages: int, seed: int = 1) -> None:
        self._passages = passages
        self._random = random.Random(seed)
        self._syllables = ["".join(parts) for parts in product(_ONSETS, _VOWELS, _CODAS)]
        # A thing has (1 + _MOST_PASSAGES) / 2 passages on average.
        n_things = 2 * passages // (_MOST_PASSAGES + 1) + _MOST_PASSAGES
        self._things = [self._thing() for _ in range(n_things)]
        self.asked: list[tuple[Thing, str, Thing]] = []
        """Some links of the corpus, for questions; filled while passages are made."""

    def passages(self) -> Iterator[dict[str, object]]:
        """Yield the passages as rows of JSON Lines."""
        made = 0
        for number, thing in enumerate(self._things):
            for part in range(1 + number % _MOST_PASSAGES):
                if made == self._passages:
                    return
                metadata = {"region": f"r{self._region(number)}", "lang": "en"}
                text = self._text(number, thing)
                yield {"id": f"g{number}-{part}", "title": thing.name, "text": text, **metadata}
                made += 1

    def write(self, path: Path) -> list[str]:
        """Write the passages and return twenty questions about them."""
        with path.open("w", encoding="utf-8") as stream:
            for row in self.passages():
                stream.write(json.dumps(row) + "\n")
        step = max(1, len(self.asked) // 20)
        questions = []
        for place, (subject, verb, target) in enumerate(self.asked[::step][:20]):
            if place % 2:
                questions.append(f"Which {subject.kind} {verb} {target.name}?")
            else:
                questions.append(f"What is known of the {target.kind} that {subject.name} {verb}?")
        return questions

    def _text(self, number: int, thing: Thing) -> str:
        sentences = []
        for place in range(self._random.randint(6, 10)):
            subject = thing.name if place == 0 else self._random.choice((thing.alias, "It", thing.name))
            if place and self._random.random() < 0.2:
                subject = self._linked(number).name
            verb = self._random.choice(_VERBS)
            target = self._linked(number)
            if subject == thing.name and self._random.random() < 0.01:
                self.asked.append((thing, verb, target))
            named = target.alias if self._random.random() < 0.15 else target.name
            concept = f"{self._random.choice(_ADJECTIVES)} {self._random.choice(_NOUNS)}"
            tail = self._random.choice(_TAILS).format(year=self._random.randint(1500, 1990), concept=concept)
            sentences.append(f"{subject} {verb} {named} {tail}.")
        return " ".join(sentences)

    def _linked(self, number: int) -> Thing:
        draw = self._random.random()
        if draw < _MINOR:
            return self._person()
        if draw < _MINOR + _NEAR:
            first = number - number % _NEIGHBOURHOOD
            within = int(_NEIGHBOURHOOD * self._random.random() ** _TAIL)
            return self._things[min(first + within, len(self._things) - 1)]
        return self._things[int(len(self._things) * self._random.random() ** _TAIL)]

    def _region(self, number: int) -> int:
        return number // _NEIGHBOURHOOD % REGIONS

    def _thing(self) -> Thing:
        kind = self._random.choice(_KINDS)
        if kind == "person":
            return self._person()
        words = {"place": _PLACES, "group": _GROUPS, "work": _WORKS}[kind]
        name = f"{self._word()} {self._random.choice(words)}"
        return Thing(f"{self._word()} {name}" if self._random.random() < 0.5 else name, name, kind)

    def _person(self) -> Thing:
        last = self._word()
        return Thing(f"{self._word()} {last}", last, "person")

    def _word(self) -> str:
        return "".join(self._random.choices(self._syllables, k=self._random.choice((1, 2, 2)))).capitalize()


_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_CONCEPT = re.compile(rf"(?:{'|'.join(_ADJECTIVES)}) (?:{'|'.join(_NOUNS)})")
_SENTENCE = re.compile(r"[^.]+\.")


class GeneratedAnnotator:
    """Finds the names, noun phrases and statements of a generated text by its grammar."""

    name = "generated 1"

    def annotate(self, text: str) -> Annotation:
        """Return the annotation of a text."""
        phrases: list[Phrase] = []
        triples: list[Triple] = []
        for sentence in _SENTENCE.finditer(text):
            start, end = sentence.start() + (sentence[0][0] == " "), sentence.end()
            names = [
                Phrase(found.start(), found.end(), found[0], _type(found[0]))
                for found in _NAME.finditer(text, start, end)
                if found[0] != "It"
            ]
            phrases += names
            phrases += [
                Phrase(found.start(), found.end(), found[0], CONCEPT) for found in _CONCEPT.finditer(text, start, end)
            ]
            if len(names) == 2:
                verb = text[names[0].end : names[1].start].strip()
                triples.append(Triple(names[0], verb, names[1], start, end))
        return Annotation(tuple(phrases), tuple(triples))

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the annotation of each text."""
        return [self.annotate(text) for text in texts]


def _type(name: str) -> str:
    last = name.rpartition(" ")[2]
    if last in _PLACES:
        return "FAC"
    if last in _GROUPS:
        return "ORG"
    return "WORK_OF_ART" if last in _WORKS else "PERSON"


class HashedEmbedder:
    """Vectors of texts by their words: texts that share words are near."""

    name = "hashed words 1"
    dimension = 384
    max_tokens = 256

    def __init__(self) -> None:
        self._table = np.random.default_rng(1).standard_normal((4096, self.dimension)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 (n, 384)."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            hashes = [zlib.crc32(word.encode()) for word in text.lower().split()] or [0]
            vectors[row] = self._table[[each & 4095 for each in hashes]].sum(0)
            vectors[row] += self._table[[each >> 12 & 4095 for each in hashes]].sum(0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> None:
        """Return None: words have no vectors of their own here."""

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (384,) of a question."""
        vector: Vectors = self.embed([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of several questions."""
        return self.embed(texts)

    def windows(self, text: str) -> list[str]:
        """Return the text, which always fits."""
        return [text]
