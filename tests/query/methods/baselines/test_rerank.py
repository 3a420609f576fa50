import asyncio
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.methods import baselines
from conspectus.query.types import Evidence
from conspectus.storage.errors import MissingPart, NeedsModel
from conspectus.storage.settings import load_settings

from tests.conftest import Build
from tests.cross_encoders import save_cross_encoder

MUSIC = ["The violin was old.", "A violin needs strings.", "The old violin needs a bow."]
SHIPS = ["The harbour was old.", "A harbour needs ships.", "The old harbour needs a keeper."]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned which passages go with `music`, and which with `sailors`."""
    learn = [(question, text, label) for text in MUSIC for question, label in (("music?", 1.0), ("sailors?", 0.0))]
    learn += [(question, text, label) for text in SHIPS for question, label in (("music?", 0.0), ("sailors?", 1.0))]
    return save_cross_encoder(tmp_path_factory.mktemp("trained"), [*MUSIC, *SHIPS, "music sailors"], learn)


def asked(context: Context, question: str, k: int, **rerank: object) -> Evidence:
    chosen = Context(context.index, load_settings(overrides={"rerank": rerank}))
    return asyncio.run(find_retriever("rerank", chosen).retrieve(question, k))


def test_the_model_decides_the_order(build: Build, trained: Path) -> None:
    context = build([("", text) for text in [*MUSIC, *SHIPS]])
    for question, wanted, other in (("music?", MUSIC, SHIPS), ("sailors?", SHIPS, MUSIC)):
        found = asked(context, question, 6, model=str(trained))
        texts = [each.text for each in found.passages]
        assert (set(texts[:3]), set(texts[3:])) == (set(wanted), set(other))
        assert found.passages[2].score > 0 > found.passages[3].score
        assert [each.score for each in found.passages] == sorted((each.score for each in found.passages), reverse=True)
        assert found.trace[-1].name == "rerank"
        assert found.trace[-1].detail == f"6 candidates of hybrid by {trained}"


@pytest.mark.parametrize("candidates", ["bm25", "ppr"])
def test_only_the_pool_is_ranked(
    candidates: str, context: Context, cross_encoder: Path, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "POOL", 7)
    first = asyncio.run(find_retriever(candidates, context).retrieve(questions[0], 7)).passages
    found = asked(context, questions[0], 50, model=str(cross_encoder), candidates=candidates)
    assert {each.chunk_id for each in found.passages} == {each.chunk_id for each in first}
    assert len(found.passages) == 7
    assert f"7 candidates of {candidates} by " in found.trace[-1].detail


def test_the_title_is_read_too(build: Build, trained: Path) -> None:
    context = build([("The violin was old.", "It was."), ("The harbour was old.", "It was.")])
    found = asked(context, "sailors?", 2, model=str(trained)).passages
    assert [each.title for each in found] == ["The harbour was old.", "The violin was old."]


def test_without_a_model_it_says_what_to_set(context: Context) -> None:
    with pytest.raises(NeedsModel, match=r"'rerank' takes a cross-encoder: set rerank\.model"):
        asked(context, "music?", 5)
    with pytest.raises(MissingPart, match=r"rerank\.model is 'no/such'"):
        asked(context, "music?", 5, model="no/such")
