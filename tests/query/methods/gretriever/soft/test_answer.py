"""A trained prompt answers over an index."""

import asyncio
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.gretriever.gretriever import read_written
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.soft.checkpoint import (
    LEARNED,
    REPORT,
    PromptMetadata,
    SoftShape,
    write_learned,
)
from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt
from conspectus.query.types import Answer, TopicAnswerer
from conspectus.storage.errors import ConspectusError, MissingPart, SettingsError
from conspectus.storage.settings import SoftPromptSettings

from tests.query.made_subgraphs import tiny

QUESTION = "Who directed Grey Heron?"
SHAPE = SoftShape(layers=1, heads=2, width=8, text_tokens=200, answer_tokens=5)


def checkpoint(folder: Path, embedder: str, encoding_width: int) -> Path:
    """What training leaves, without any training."""
    frozen = tiny(folder / "llama")
    torch.manual_seed(3)
    write_learned(SoftPrompt(frozen, SHAPE, encoding_width), folder / LEARNED)
    made = PromptMetadata(str(folder / "llama"), frozen.signature, embedder, encoding_width, SHAPE)
    (folder / REPORT).write_text(json.dumps({"made": asdict(made)}), "utf-8")
    return folder


def with_prompt(context: Context, folder: Path, model: str = "") -> Context:
    chosen = SoftPromptSettings(folder=str(folder), model=model)
    return replace(context, settings=context.settings.model_copy(update={"soft_prompt": chosen}))


def ask(context: Context, topics: tuple[str, ...] = ()) -> Answer:
    answerer = METHODS["gretriever"].answerer(context)
    assert isinstance(answerer, TopicAnswerer)
    made = answerer.answer_about(QUESTION, topics) if topics else answerer.answer(QUESTION)
    return asyncio.run(made)


def test_a_setting_makes_the_trained_prompt_answer(films_index: Context, tmp_path: Path) -> None:
    embedder = films_index.embedder
    folder = checkpoint(tmp_path, embedder.name, embedder.dimension)
    context = with_prompt(films_index, folder)
    answer = ask(context)
    assert answer.method == "gretriever:soft"
    assert answer.question == QUESTION
    assert answer.names, "a random model writes something"
    assert "the trained model writes" in answer.trace[-1].detail
    assert answer.evidence.subgraph is not None
    assert "Grey Heron" in answer.evidence.subgraph.text.nodes
    assert (answer.usage.calls, answer.usage.units) == (0, len(answer.evidence.subgraph.nodes))
    assert ask(context, ("Grey Heron",)).text == ask(context, ("Grey Heron",)).text
    assert ask(films_index).method == "gretriever:offline"


def test_an_answer_rests_on_the_edges_of_the_nodes_it_names(films_index: Context) -> None:
    subgraph = retrieve_subgraph(films_index, QUESTION).subgraph

    def read(written: str) -> Answer:
        with assembling(QUESTION, "gretriever:soft") as assembly:
            return read_written(assembly, films_index, subgraph, written)

    answer = read("ada mirren|Nobody")
    assert answer.names == ("Ada Mirren", "Nobody")
    assert answer.text.startswith("Ada Mirren, Nobody [1]")
    assert {("Grey Heron", "Ada Mirren")} <= {(each.source, each.target) for each in answer.triples}
    assert all("Ada Mirren" in (each.source, each.target) for each in answer.triples)
    unfounded = read("Nobody")
    assert (unfounded.text, unfounded.triples, unfounded.known) == ("Nobody", (), False)
    assert read(" | ").text == NO_ANSWER


def test_what_does_not_fit_is_told_in_one_line(films_index: Context, tmp_path: Path) -> None:
    embedder = films_index.embedder
    for context, error, said in (
        (with_prompt(films_index, tmp_path), MissingPart, "contains no gretriever.json"),
        (
            with_prompt(films_index, checkpoint(tmp_path / "a", "other", 384)),
            SettingsError,
            "trained with the encoder other",
        ),
        (
            with_prompt(films_index, checkpoint(tmp_path / "b", embedder.name, 384), str(tmp_path / "none")),
            MissingPart,
            "no causal model",
        ),
    ):
        with pytest.raises(error, match=said) as caught:
            ask(context)
        assert isinstance(caught.value, ConspectusError)
        assert "\n" not in str(caught.value)
