import random

import numpy as np
import pytest
from conspectus.pipelines.steps import synonyms
from conspectus.pipelines.steps.synonyms import find_synonyms
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.records import Synonym
from conspectus.storage.settings import SynonymSettings, load_settings
from hypothesis import given, settings
from hypothesis import strategies as st

Floats = np.ndarray
SETTINGS = load_settings()


def name_of(i: int) -> str:
    """A name that is spelled like no other and has no digits."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(i))


def families(n: int, seed: int, dimension: int = 24, spread: float = 0.12) -> Floats:
    """Unit vectors around a few centres, so that many cosines lie about 0.8, some of them repeated."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((n // 6 + 1, dimension))
    rows = centres[chance.integers(0, len(centres), n)] + spread * 4 * chance.standard_normal((n, dimension))
    rows[chance.random(n) < 0.1] = rows[:1]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute_force(ids: list[str], vectors: Floats, threshold: float, most: int) -> list[Synonym]:
    """The rule in plain Python, for names without digits and spelled alike."""
    cosine = {
        (a, b): min(1.0, round(float(np.dot(vectors[i].astype(float), vectors[j].astype(float))), 6))
        for i, a in enumerate(ids)
        for j, b in enumerate(ids)
        if a != b
    }
    neighbours = {
        a: sorted((b for b in ids if b != a and cosine[a, b] >= threshold), key=lambda b: (-cosine[a, b], b))
        for a in ids
    }
    pairs = {tuple(sorted((a, b))) for a in ids for b in neighbours[a][:most]}
    return [Synonym(a, b, cosine[a, b]) for a, b in sorted(pairs)]


def shuffled_ids(n: int, seed: int) -> list[str]:
    return [f"{i:04x}" for i in random.Random(seed).sample(range(n * 3), n)]


@given(
    n=st.integers(0, 60),
    seed=st.integers(0, 10_000),
    threshold=st.sampled_from([0.0, 0.6, 0.8, 0.95]),
    most=st.integers(1, 6),
    block=st.sampled_from([3, 16, 2048]),
)
def test_equals_brute_force_whatever_the_blocks(n: int, seed: int, threshold: float, most: int, block: int) -> None:
    ids, vectors = shuffled_ids(n, seed), families(n, seed)
    chosen = SynonymSettings(threshold=threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synonyms, "_BLOCK_ROWS", block)
        patch.setattr(synonyms, "_BLOCK_PAIRS", block)
        patch.setattr(synonyms, "_PAIRS_AT_ONCE", 10 * block)
        found = find_synonyms(ids, ["one name"] * n, vectors, chosen, seed=7, most=most)
    assert found == brute_force(ids, vectors, threshold, most)


def test_partitions_find_nearly_all_and_nothing_else() -> None:
    vectors = families(3000, seed=1, dimension=96, spread=0.11)
    ids, names = shuffled_ids(3000, 1), [name_of(i) for i in range(3000)]
    exact = find_synonyms(ids, names, vectors, SynonymSettings(), seed=7, most=1000)
    quick = find_synonyms(ids, names, vectors, SynonymSettings(), seed=7, most=1000, exact_names=10)
    assert len(exact) > 1000
    assert set(quick) <= set(exact)
    assert len(quick) >= 0.99 * len(exact)


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_signs_lose_hardly_a_pair_and_add_none(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = families(3000, seed=3, dimension=96, spread=0.08)
    rows = np.arange(3000)
    signs = synonyms._partitions(vectors, seed=7)[1]
    near = np.concatenate(list(synonyms._near_pairs(vectors, rows, threshold)))
    found = np.concatenate(list(synonyms._signed_pairs(vectors, signs, rows, threshold)))
    assert len(near) > 1000
    assert set(found.tolist()) <= set(near.tolist())
    assert len(found) >= 0.999 * len(near)
    monkeypatch.setattr(synonyms, "has_faiss", lambda: False)
    without = np.concatenate(list(synonyms._signed_pairs(vectors, signs, rows, threshold)))
    assert set(without.tolist()) == set(found.tolist())


@settings(max_examples=6)
@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 9999), exact=st.booleans())
def test_whether_a_pair_is_found_depends_on_its_two_vectors_only(share: float, seed: int, exact: bool) -> None:
    """Taking any other rows away changes nothing."""
    vectors = families(400, seed=2, dimension=96, spread=0.11)
    ids, names = shuffled_ids(400, 2), [name_of(i) for i in range(400)]
    chosen, limits = SynonymSettings(), {"most": 1000, "exact_names": 1000 if exact else 1}
    everything = find_synonyms(ids, names, vectors, chosen, seed=7, **limits)
    rows = np.flatnonzero(np.random.default_rng(seed).random(400) < share)
    kept = {ids[i] for i in rows}
    found = find_synonyms([ids[i] for i in rows], [names[i] for i in rows], vectors[rows], chosen, seed=7, **limits)
    assert found == [pair for pair in everything if pair.source_id in kept and pair.target_id in kept]


def test_either_end_keeps_a_pair() -> None:
    angles = np.deg2rad([0.0, 1.0, 2.5, 10.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = find_synonyms(["a", "b", "c", "d"], ["x"] * 4, vectors, SynonymSettings(), seed=7, most=1)
    assert [(pair.source_id, pair.target_id) for pair in found] == [("a", "b"), ("b", "c"), ("c", "d")]
    assert found[0].similarity == 0.999848


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ("Apollo 11", "Apollo 13", False),
        ("1984", "1985", False),
        ("Apollo 11", "Apollo", False),
        ("World War 2", "World War 02", True),
        ("2001: A Space Odyssey", "A Space Odyssey (2001)", True),
        ("Room 1 2", "Room 2 1", True),
        ("Room 1 1", "Room 1", False),
        ("الفصل ١٢", "الفصل 12", True),
        ("Chapter", "Chapters", True),
    ],
)
def test_names_whose_numbers_differ_are_never_joined(one: str, other: str, joined: bool) -> None:
    vectors = np.array([[1, 0], [0.96, 0.28]], dtype=np.float32)
    found = find_synonyms(["a", "b"], [one, other], vectors, SynonymSettings(), seed=7)
    assert found == ([Synonym("a", "b", 0.96)] if joined else [])


def test_names_that_the_model_cannot_read_are_not_joined() -> None:
    names = ["አበበ", "ከበደ", "Ångström", "angstrom", "🎵", "🎸", "U.S.", "us"]
    vectors = open_embedder(SETTINGS.embedding, SETTINGS.embedding_server).embed(names)
    found = find_synonyms(list("abcdefgh"), names, vectors, SynonymSettings(), seed=7)
    pairs = {(pair.source_id, pair.target_id) for pair in found}
    assert ("c", "d") in pairs
    assert not {("a", "b"), ("e", "f"), ("a", "e"), ("b", "f")} & pairs
