import hashlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.prompts.embedding.local import PACKAGED_MODEL, SentenceTransformerEmbedder, find_model
from conspectus.storage.errors import MissingPart, SettingsError
from hypothesis import given, settings
from hypothesis import strategies as st

SENTENCES = (
    "Ada Lovelace wrote the first program for the Analytical Engine.",
    "The ferry leaves Ålesund at noon, weather permitting, and arrives before dark.",
    "It rained.",
    "In 1969 Apollo 11 landed on the Moon; Apollo 13, a year later, did not.",
    "北京大学 stands beside the old Summer Palace.",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen in green leaves.",
    "Ludwig Wittgenstein asked what can be shown but not said.",
)


@cache
def minilm() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


def texts_of_many_lengths(n: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(SENTENCES, k=chance.choice((1, 1, 1, 2, 3, 8)))) for _ in range(n)]


def test_the_packaged_model_is_the_published_one() -> None:
    weights = (find_model(PACKAGED_MODEL) / "model.safetensors").read_bytes()
    found = hashlib.sha256(weights).hexdigest()
    assert found.startswith("53aa5117")
    assert found.endswith("128d9db")


def test_bits_depend_on_the_text_only() -> None:
    texts = [*texts_of_many_lengths(30, seed=1), "", "a", "Moon", "moon landing", SENTENCES[0], SENTENCES[0]]
    together = minilm().embed(texts)
    order = random.Random(2).sample(range(len(texts)), len(texts))
    shuffled = minilm().embed([texts[i] for i in order])
    np.testing.assert_array_equal(shuffled, together[order])
    for i in (0, 17, 29, 30, 32, 34):
        np.testing.assert_array_equal(minilm().embed([texts[i]])[0], together[i])
    np.testing.assert_array_equal(minilm().embed(texts[:13]), together[:13])


def test_bits_do_not_depend_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of_many_lengths(10, seed=3)
    alone = minilm().embed(texts)
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        np.testing.assert_array_equal(SentenceTransformerEmbedder().embed(texts), alone)
    with ThreadPoolExecutor(3) as callers:
        for vectors in callers.map(minilm().embed, [texts] * 3):
            np.testing.assert_array_equal(vectors, alone)


def in_float32() -> SentenceTransformerEmbedder:
    """Return the packaged model as a processor gets it that does not multiply bytes exactly."""
    embedder = SentenceTransformerEmbedder()
    with patch("conspectus.prompts.embedding.minilm.multiplies_bytes", return_value=False):
        assert embedder.name == "all-MiniLM-L6-v2"
        embedder.embed_query("It loads now.")
    return embedder


def test_values_are_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    texts = texts_of_many_lengths(15, seed=4)
    reference = SentenceTransformer(str(find_model(PACKAGED_MODEL)), device="cpu")
    found = in_float32()
    np.testing.assert_allclose(found.embed(texts), reference.encode(texts, show_progress_bar=False), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        found.embed_query(texts[0]),
        reference.encode_query(texts[0], show_progress_bar=False),
        rtol=0,
        atol=1e-5,
    )


def test_a_text_that_does_not_fit_is_refused_and_its_windows_are_not() -> None:
    long = " ".join(SENTENCES * 6)
    with pytest.raises(ValueError, match=r"text 1 \('Ada Lovelace .*the model reads 256: embed its windows"):
        minilm().embed(["short", long])
    pieces = minilm().windows(long)
    assert len(pieces) > 1
    assert minilm().embed(pieces).shape == (len(pieces), 384)


WORDS = st.sampled_from(
    ["the", "Wittgenstein's", "a", "北京大学", "Ålesund", "x" * 90, "9f86d081884c7d659a2feaa0c55ad015" * 8]
)
PIECES = st.one_of(WORDS, st.text(max_size=8))


@settings(max_examples=40, deadline=None)
@given(st.lists(PIECES, min_size=20, max_size=120), st.sampled_from([" ", "  \n", ""]))
def test_windows_cover_the_text_in_order_and_fit(words: list[str], between: str) -> None:
    text = between.join(words) * 4
    pieces = minilm().windows(text)
    tokenizer = minilm()._model().tokenizer
    assert all(len(tokenizer.encode(piece).ids) <= 256 for piece in pieces)
    end = 0
    for piece in pieces:
        start = text.rfind(piece, 0, end + len(piece))
        assert 0 <= start <= end
        end = start + len(piece)
    assert end == len(text)


@pytest.mark.parametrize("model", ["BAAI/bge-small-en-v1.5", "/nowhere", ""])
def test_a_model_that_is_not_there(model: str) -> None:
    with pytest.raises(MissingPart, match="nothing is downloaded at run time"):
        SentenceTransformerEmbedder(model)


def test_a_folder_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MissingPart, match="not a sentence-transformers model"):
        SentenceTransformerEmbedder(str(tmp_path)).dimension  # noqa: B018


def small_model(folder: Path, pooling: str, prompts: dict[str, str]) -> Path:
    """Save a model with random weights, a vocabulary of the sentences' words and no normalisation."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = sorted({w.strip(".,;").lower() for sentence in SENTENCES for w in sentence.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,;:", *words]
    plain = folder / "plain"
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **sizes)).save_pretrained(plain)
    (plain / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(vocab=str(plain / "vocab.txt"), model_max_length=48).save_pretrained(plain)
    transformer = Transformer(str(plain))
    model = SentenceTransformer(
        modules=[transformer, Pooling(transformer.get_embedding_dimension(), pooling)],
        device="cpu",
        prompts=prompts,
    )
    model.save(str(folder / "small"))
    return folder / "small"


def test_another_model_without_pytorch_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPart, match=r"pip install 'conspectus\[torch\]'"):
        SentenceTransformerEmbedder(str(tmp_path)).embed(["x"])


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_models_through_their_own_modules(tmp_path: Path, pooling: str) -> None:
    from sentence_transformers import SentenceTransformer

    folder = small_model(tmp_path, pooling, {"query": "it rained. ", "document": "the moon "})
    ours, reference = SentenceTransformerEmbedder(str(folder)), SentenceTransformer(str(folder), device="cpu")
    texts = [*SENTENCES, " ".join(SENTENCES[:2])]
    assert (ours.dimension, ours.max_tokens) == (32, 48)
    np.testing.assert_allclose(
        ours.embed(texts), reference.encode_document(texts, normalize_embeddings=True), rtol=0, atol=1e-5
    )
    np.testing.assert_allclose(
        ours.embed_query(texts[0]),
        reference.encode_query(texts[0], normalize_embeddings=True),
        rtol=0,
        atol=1e-5,
    )
    pieces = ours.windows(" ".join(SENTENCES * 3))
    assert len(pieces) > 2
    assert ours.embed(pieces).shape == (len(pieces), 32)


def test_the_name_of_a_folder_follows_its_files(tmp_path: Path) -> None:
    folder = small_model(tmp_path, "cls", {})
    first = SentenceTransformerEmbedder(str(folder)).name
    assert first.startswith("small@")
    assert SentenceTransformerEmbedder(str(folder)).name == first
    (folder / "README.md").write_text("changed")
    assert SentenceTransformerEmbedder(str(folder)).name == first
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-6}))
    assert SentenceTransformerEmbedder(str(folder)).name != first


def test_a_model_that_excludes_its_prompt_is_refused(tmp_path: Path) -> None:
    folder = small_model(tmp_path, "mean", {"document": "the moon "})
    pooling = next(folder.glob("*Pooling/config.json"))
    pooling.write_text(json.dumps({**json.loads(pooling.read_text()), "include_prompt": False}))
    with pytest.raises(SettingsError, match="not a plain text model"):
        SentenceTransformerEmbedder(str(folder)).embed(["x"])


def test_the_vector_of_a_question_is_kept_and_cannot_be_changed() -> None:
    embedder = minilm()
    first = embedder.embed_query("Who kept the vector of this question?")
    assert embedder.embed_query("Who kept the vector of this question?") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0
