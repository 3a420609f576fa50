"""The flow: what runs beside what, and builds beside each other."""

import gc
from contextlib import ExitStack
from pathlib import Path

from conspectus.pipelines.build_index import _rare_garbage_collection, build_index

from benchmarks.fake_server import FakeServer
from tests.conftest import ISLES
from tests.pipelines.estimation.test_estimate import USUAL, local, some


def test_an_endpoint_embeds_while_the_model_extracts_and_reports(tmp_path: Path) -> None:
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 12)
    with FakeServer(USUAL) as server:
        report = build_index([corpus], tmp_path / "index", local(server))
        embeds = [request.path.endswith("/embeddings") for request in server.requests]
    assert report.rows["reports"] > 0
    first, last_of_model = embeds.index(True), len(embeds) - 1 - embeds[::-1].index(False)
    assert first < last_of_model
    assert report.cost is None
    assert report.tokens == sum(spent.prompt_tokens + spent.completion_tokens for spent in report.spending) > 0


def test_builds_that_overlap_leave_garbage_collection_as_it_was() -> None:
    before = gc.get_threshold()
    with ExitStack() as second:
        with _rare_garbage_collection():
            rare = gc.get_threshold()
            second.enter_context(_rare_garbage_collection())
        assert gc.get_threshold() == rare != before, "the second still runs"
    assert gc.get_threshold() == before
