"""What a conversation keeps of subgraphs: prizes that fall from turn to turn, in memory and in a file."""

from pathlib import Path

import conspectus
import pytest
from conspectus.query.context import Context
from conspectus.query.conversation.history import Conversation
from conspectus.query.conversation.session import append_turn, read_session
from conspectus.query.methods.gretriever import retrieval
from conspectus.query.methods.gretriever.retrieval import kept_of, retrieve_subgraph
from conspectus.query.types.subgraph import MOST, NO_PRIZES, CarriedPrizes, RetrievedSubgraph, decayed
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.errors import InputError
from conspectus.storage.settings import load_settings


def test_prizes_and_answers_are_kept() -> None:
    text = TextualGraph(("a b", "c", "d"), (TextualEdge(0, "x", 1), TextualEdge(1, "y", 2)))
    found = RetrievedSubgraph(text, (4, 5, 6), (1, 2), (3.0, 0.0, 0.0), (0.5, 0.0), (9, 9))
    assert kept_of(found, ["i4", "i5", "i6"], ["r1", "r2"], ["D"]) == CarriedPrizes(
        (("i4", 3.0), ("i6", 1.0)), (("r1", 0.5),)
    )


def test_prizes_fall_with_every_turn() -> None:
    old, new = CarriedPrizes((("a", 4.0), ("b", 1.0))), CarriedPrizes((("b", 3.0),), (("r", 0.02),))
    assert decayed([old, new], 0.5) == CarriedPrizes((("b", 1.5), ("a", 1.0)), (("r", 0.01),))
    assert decayed([old, new], 0.0) == NO_PRIZES
    assert decayed([], 0.5) == NO_PRIZES
    many = CarriedPrizes(tuple((f"n{number:03}", 1.0) for number in range(3 * MOST)))
    assert len(decayed([many], 0.5).nodes) == MOST


def narrow(context: Context, **keys: object) -> Context:
    return Context(context.index, load_settings(overrides={"gretriever": {"top_k_edges": 1, **keys}}))


def test_kept_parts_grow_the_next_subgraph(films_index: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_HOPS", 1)
    question, films_index = "When was it released?", narrow(films_index, edge_cost=0.2)
    graph = conspectus.Index(films_index).ask("What genre is Grey Heron?", "gretriever").evidence.subgraph
    assert graph
    assert graph.kept.nodes
    alone = retrieve_subgraph(films_index, question, ["Salt Pans"]).subgraph
    grown = retrieve_subgraph(films_index, question, ["Salt Pans"], decayed([graph.kept], 0.9)).subgraph
    assert "Grey Heron" not in alone.text.nodes
    assert {"Grey Heron", "Salt Pans"} <= set(grown.text.nodes)


def test_a_conversation_keeps_the_subgraph_and_grows_it(films_index: Context) -> None:
    talk = conspectus.Index(films_index).chat("gretriever")
    first = talk.ask("Who directed Grey Heron?")
    second = talk.ask("Where was she born?")
    assert first.evidence.subgraph
    assert second.evidence.subgraph
    assert {"Grey Heron", "Ada Mirren", "Pelluci"} <= set(second.evidence.subgraph.text.nodes)


def test_it_is_kept_in_a_file_too(films_index: Context, tmp_path: Path) -> None:
    talk = conspectus.Index(films_index).chat("gretriever")
    talk.ask("Who directed Grey Heron?")
    path = tmp_path / "talk.jsonl"
    append_turn(path, talk.history.turns[0])
    assert read_session(path) == Conversation(talk.history.turns)
    assert talk.history.turns[0].kept.nodes
    path.write_text(path.read_text("utf-8").replace('"kept": {"nodes": [["', '"kept": {"nodes": [[7, "'), "utf-8")
    with pytest.raises(InputError, match="kept"):
        read_session(path)
