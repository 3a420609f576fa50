"""Small corpora whose names are marked in the text: "[Sherlock Holmes|PERSON] met [Dr. Watson|PERSON]."."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.resolution.resolve import Resolved, resolve
from conspectus.pipelines.steps.extract.find_names import Sighting
from conspectus.pipelines.steps.extract.merge import Findings, StatedTriple
from conspectus.prompts.language_model import LanguageModel
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.normalise import entity_key

_NAME = re.compile(r"\[([^|\]]+)\|(\w+)\]")


def unmarked(text: str) -> tuple[str, list[tuple[int, int, str, str]]]:
    """Return a text without marks, and its names: start, end, surface, type."""
    plain, names, at = "", [], 0
    for match in _NAME.finditer(text):
        plain += text[at : match.start()]
        names.append((len(plain), len(plain) + len(match[1]), match[1], match[2]))
        plain += match[1]
        at = match.end()
    return plain + text[at:], names


def corpus(texts: Mapping[str, str] | Sequence[str]) -> tuple[list[Document], list[Chunk], Extraction]:
    """Return documents of one chunk each, in a mapping by title, and what their marks say."""
    titled = list(texts.items()) if isinstance(texts, Mapping) else [("", text) for text in texts]
    documents, chunks, sightings = [], [], []
    stated: list[StatedTriple] = []
    for title, text in titled:
        plain, names = unmarked(text)
        id_ = short_id(title, plain)
        documents.append(Document(id_, title, id_, plain, {}, len(plain), digest(plain)))
        chunk = Chunk(short_id("chunk", id_), id_, 0, 0, len(plain), plain, 1)
        chunks.append(chunk)
        for start, end, surface, kind in names:
            sightings.append(Sighting(chunk, entity_key(surface), surface, kind, start, end, "exact"))
        if title:
            sightings.append(Sighting(chunk, entity_key(title), title, None, None, None, "chunk"))
        for first, second in pairwise(names):
            ends = entity_key(first[2]), entity_key(second[2])
            if ends[0] != ends[1]:
                between = plain[first[1] : second[0]].strip() or "beside"
                stated.append(StatedTriple(chunk, ends[0], between, ends[1], 0, len(plain)))
    order = sorted(range(len(documents)), key=lambda row: documents[row].id)
    chunks.sort(key=lambda each: each.id)
    with Findings() as findings:
        findings.add(sightings)
        findings.state(stated)
        found = Extraction(findings.knowledge(), [], [], [])
    return [documents[row] for row in order], chunks, found


def embed(texts: Sequence[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    """Return unit vectors that are the same for the same text only."""
    seeds = [int(digest(text)[:8], 16) for text in texts]
    rows = np.array([np.random.default_rng(seed).normal(size=32) for seed in seeds], np.float32).reshape(-1, 32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def resolved(
    texts: Mapping[str, str] | Sequence[str], settings: Settings | None = None, model: LanguageModel | None = None
) -> Resolved:
    """Return a marked corpus with its names resolved."""
    documents, chunks, found = corpus(texts)
    return resolve(documents, chunks, found, settings or load_settings(), embed=embed, model=model)


def merged(texts: Mapping[str, str] | Sequence[str], settings: Settings | None = None) -> set[tuple[str, str]]:
    """Return the names that are merged in a marked corpus: (alias, kept)."""
    return {(each.alias, each.name) for each in resolved(texts, settings).merges}


def groups(texts: Mapping[str, str] | Sequence[str], settings: Settings | None = None) -> set[frozenset[str]]:
    """Return the names of each thing that has several."""
    of_kept: dict[str, set[str]] = {}
    for each in resolved(texts, settings).merges:
        of_kept.setdefault(each.entity_id, {each.name}).add(each.alias)
    return set(map(frozenset, of_kept.values()))
