"""What is known of the phrases of a corpus, against dictionaries of objects."""

from collections import Counter, defaultdict

import numpy as np
from conspectus.pipelines.steps.extract.seen_phrases import SeenPhrases
from conspectus.pipelines.steps.extract.word_counts import WordCounts, folded
from conspectus.storage.records import Chunk
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, Annotation, Annotations, Phrase
from conspectus.storage.text.normalise import entity_key
from hypothesis import given
from hypothesis import strategies as st

_TEXTS = st.sampled_from(["Oil", "oil", "OIL", "Pump", "pump", "Hale"])
_KINDS = st.sampled_from([CONCEPT, "PERSON", "ORG", "DATE"])
_PHRASES = st.builds(
    lambda start, text, kind: Phrase(start, start + len(text), text, kind), st.integers(0, 6), _TEXTS, _KINDS
)
_PASSAGES = st.tuples(
    st.sampled_from("ab"), st.integers(0, 5), st.lists(_PHRASES, max_size=6), st.sampled_from(["", "en", "de"])
)
_MOST = 3


@given(st.lists(_PASSAGES, max_size=8))
def test_phrases_are_counted_once_at_each_place(
    passages: list[tuple[str, int, list[Phrase], str]],
) -> None:
    chunks = [Chunk(str(row), of, row, start, start + 10, "", 0) for row, (of, start, *_) in enumerate(passages)]
    annotations = [Annotation(tuple(sorted(set(phrases))), ()) for _, _, phrases, _ in passages]
    languages = [language for *_, language in passages]
    said: defaultdict[str, list[tuple[Phrase, str, int]]] = defaultdict(list)
    held: set[tuple[str, str, int]] = set()
    for row, (chunk, annotation, language) in enumerate(zip(chunks, annotations, languages, strict=True)):
        for phrase in annotation.phrases:
            place = (entity_key(phrase.text), chunk.document_id, chunk.start + phrase.start)
            if place not in held:
                held.add(place)
                said[place[0]].append((phrase, language, row))

    seen = SeenPhrases(chunks, Annotations(annotations), languages)
    assert sorted(seen.keys) == sorted(said)
    rows, within, ends = seen.first_places(np.ones(len(seen.keys), np.bool_), _MOST)
    assert within.tolist() == sorted(within.tolist())
    for row, key in enumerate(seen.keys):
        found = said[key]
        kinds = Counter(phrase.type for phrase, *_ in found)
        named = {kind: times for kind, times in kinds.items() if kind != CONCEPT}
        kind = CONCEPT if 2 * sum(named.values()) < len(found) else _first(named)
        assert (seen.counts[row], seen.kinds[row], seen.agreeing[row]) == (len(found), kind, kinds[kind])
        assert seen.languages[row] == _first(Counter(language for _, language, _ in found))
        assert seen.surface(row) == _first(Counter(phrase.text for phrase, *_ in found))
        of_row = zip(within[rows == row].tolist(), ends[rows == row].tolist(), strict=True)
        assert list(of_row) == [(passage, phrase.end) for phrase, _, passage in found[:_MOST]]


def _first(times: dict[str, int]) -> str:
    """Return what is most frequent, ties in alphabetical order."""
    return min(times, key=lambda each: (-times[each], each))


@given(st.lists(st.text(st.sampled_from("abAB sS'. \n,北é")), max_size=5))
def test_words_are_counted_with_their_capitals_and_stems(texts: list[str]) -> None:
    counts = WordCounts("en")
    said, capital, named, stems, passages = (Counter[str]() for _ in range(5))
    for text in texts:
        found = words(text)
        assert counts.add(text) == len(found)
        said.update(word.key for word in found)
        stems.update(folded(word.key, "en") for word in found)
        passages.update({folded(word.key, "en") for word in found})
        for place, word in enumerate(found):
            if text[word.start].isupper():
                capital[word.key] += 1
                before = text[found[place - 1].end : word.start]
                named[word.key] += place > 0 and not set(before) & set(".\n")
    assert counts.size == said.total()
    for word in {*said, *stems, "absent"}:
        assert counts.of(word) == (said[word], capital[word], named[word])
        assert (counts.said_of_stem(word), counts.passages_of_stem(word)) == (stems[word], passages[word])
