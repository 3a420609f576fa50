import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conspectus.prompts.embedding.local import PACKAGED_MODEL, find_model
from conspectus.prompts.embedding.reranker import Reranker, load
from conspectus.storage.errors import MissingPart, SettingsError

from tests.cross_encoders import save_cross_encoder

TEXTS = [
    "The ferry leaves at noon.",
    "A violin has four strings, and a bow.",
    "",
    "北京大学 \udcff",
    "The harbour keeper counted the ships, one by one.",
    "The ferry leaves at noon.",
]
LONG = " ".join(f"In year {i} the keeper counted {3 * i} ships." for i in range(60))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tmp_path_factory.mktemp("reranker"), [*TEXTS, LONG, "who"], max_tokens=64)


@pytest.fixture(scope="module")
def reranker(folder: Path) -> Reranker:
    return Reranker(str(folder))


def test_scores_are_the_logits_of_sentence_transformers(folder: Path, reranker: Reranker) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu")
    texts = [each for each in TEXTS if "\udcff" not in each]
    want = model.predict([("Who counted?", each) for each in texts], activation_fn=torch.nn.Identity())
    found = reranker.scores("Who counted?", texts)
    assert (found.shape, found.dtype) == ((5,), np.float32)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5)
    assert found[0] == found[4]
    assert len(set(found.tolist())) == 4


def test_a_score_depends_on_its_pair_only(reranker: Reranker) -> None:
    together = reranker.scores("Who counted the ships?", [*TEXTS, LONG])
    order = [6, 2, 4, 0, 1, 5, 3]
    np.testing.assert_array_equal(
        reranker.scores("Who counted the ships?", [[*TEXTS, LONG][i] for i in order]), together[order]
    )
    np.testing.assert_array_equal(reranker.scores("Who counted the ships?", [LONG]), together[6:])
    assert (reranker.scores("Who has strings?", TEXTS) != together[:6]).any()
    with ThreadPoolExecutor(4) as threads:
        for each in threads.map(lambda _: reranker.scores("Who counted the ships?", [*TEXTS, LONG]), range(4)):
            np.testing.assert_array_equal(each, together)


def test_a_long_text_scores_as_its_best_window(reranker: Reranker) -> None:
    question = "Who counted the ships?"
    loaded = load(reranker._folder)
    pieces = loaded.windows(question, LONG)
    assert len(pieces) > 5
    assert all(len(loaded.tokenizer.encode(question, each)) <= 64 for each in pieces)
    end = 0
    for piece in pieces:  # together they are the text
        start = LONG.rfind(piece, 0, end + len(piece))
        assert 0 <= start <= end
        end = start + len(piece)
    assert end == len(LONG)
    assert reranker.scores(question, [LONG])[0] == reranker.scores(question, pieces).max()


def test_a_question_fills_at_most_half(reranker: Reranker) -> None:
    long = "who counted ships " * 300
    np.testing.assert_array_equal(reranker.scores(long, TEXTS), reranker.scores(long[:2000], TEXTS))
    assert (reranker.scores(long, TEXTS) != reranker.scores("who", TEXTS)).any()
    assert reranker.scores(long, []).shape == (0,)


def test_a_model_of_the_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name stands for what the cache holds under it."""
    hub = tmp_path / "hub" / "models--someone--small"
    (hub / "snapshots").mkdir(parents=True)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("a" * 40)
    (hub / "snapshots" / ("a" * 40)).symlink_to(folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert Reranker("someone/small").scores("who", ["ships"]).shape == (1,)


def test_models_that_score_no_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not a cross-encoder"):
        Reranker(str(find_model(PACKAGED_MODEL)))
    with pytest.raises(SettingsError, match="gives 3 scores per pair"):
        Reranker(str(save_cross_encoder(tmp_path, TEXTS, num_labels=3))).scores("who", ["x"])


def test_a_folder_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(MissingPart, match="not a model that can be loaded"):
        Reranker(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    with pytest.raises(MissingPart, match="not a cross-encoder that can be loaded"):
        Reranker(str(tmp_path)).scores("who", ["x"])
