"""What indexing will take, told before it is done, against what it then took."""

import json
import random
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.estimation.estimate import estimate
from conspectus.pipelines.estimation.totals import Estimate, StepEstimate
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.render import prompt_text
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeRequest, FakeServer, prose
from tests.conftest import EXAMPLES, ISLES
from tests.graph_model import PAIR
from tests.tags import inside, prompt_of

CHINESE = EXAMPLES / "chinese" / "corpus.jsonl"
NOWHERE = "http://127.0.0.1:9/v1"


def chosen(url: str, **sections: dict[str, object]) -> Settings:
    llm = {"model": "m", "base_url": url, "attempts": 1, **sections.pop("llm", {})}
    return load_settings(overrides={"llm": llm, **sections})


def some(folder: Path, source: Path, count: int) -> Path:
    """Write the first passages of a corpus."""
    path = folder / f"{count}.jsonl"
    path.write_text("\n".join(source.read_text("utf-8").splitlines()[:count]), "utf-8")
    return path


class Teller:
    """A model whose replies have lengths that it alone knows: characters for one of the text, and for a report."""

    def __init__(self, entity: int, report: int, yes: float) -> None:
        self._entity, self._report, self._yes = entity, report, yes

    def __call__(self, request: FakeRequest) -> str:
        form = json.dumps(request.body.get("response_format", ""))
        if "findings" in form:
            said = prose(request.digest, self._report // 2)
            more = prose((request.digest, 1), self._report // 2)
            finding = {"summary": "Much", "explanation": more, "records": ["E1", "E2"]}
            return json.dumps(
                {"title": "A group", "summary": said, "rating": 5, "rating_explanation": "", "findings": [finding]}
            )
        if pairs := PAIR.findall(request.prompt):
            return json.dumps({"votes": [{"pair": int(each), "same": False} for each in pairs]})
        text = inside(request.prompt, "text")
        if '"enum"' in form:  # it hangs on the text, not on how the prompt is worded
            return json.dumps({"answer": "Yes" if random.Random(text).random() < self._yes else "No"})
        if "<|>" not in request.prompt:
            return prose(request.digest, 500)
        words = [each for each in text.replace("，", " ").replace("。", " ").split() if len(each) > 3]
        late = len(request.messages) > 2
        step = 10 if max(map(len, words)) < 24 and text.count(" ") > len(text) / 10 else 3
        names = list(dict.fromkeys(words[1 :: 2 * step] if late else words[::step]))
        kind = "claim" if '("claim"' in request.prompt else "entity"
        if kind == "claim":
            rows = [
                f'("claim"<|>"{each}"<|>"NONE"<|>"a"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"{prose(each, 90)}"<|>"{each}")'
                for each in names
            ]
            return "##\n".join([*rows, "<|COMPLETE|>"])
        rows = [f'("entity"<|>"{each}"<|>"geo"<|>"{prose((each, text), self._entity)}")' for each in names]
        rows += [
            f'("relationship"<|>"{one}"<|>"{other}"<|>"{prose((one, other), self._entity)}"<|>5)'
            for one, other in pairwise(names)
        ]
        return "##\n".join([*rows, "<|COMPLETE|>"])


SPARING = Teller(entity=40, report=500, yes=0.0)
GENEROUS = Teller(entity=220, report=4000, yes=0.9)
USUAL = Teller(entity=110, report=2800, yes=0.5)


def tokens(spending: Sequence[Spending]) -> int:
    return sum(each.prompt_tokens + each.completion_tokens for each in spending)


def within(steps: Sequence[StepEstimate], spent: Sequence[Spending]) -> None:
    """Assert that the calls and tokens of a build are in the range of its estimate."""
    assert sum(each.low.tokens for each in steps) <= tokens(spent) <= sum(each.high.tokens for each in steps)
    calls = sum(each.calls for each in spent)
    assert sum(each.low.calls for each in steps) <= calls <= sum(each.high.calls for each in steps)


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_no_server_and_no_index_are_needed(tmp_path: Path) -> None:
    made = estimate([some(tmp_path, ISLES / "corpus.jsonl", 10)], tmp_path / "index", chosen(NOWHERE))
    assert not (tmp_path / "index").exists()
    assert made.documents == 10
    assert made.rehearsed == made.chunks
    assert {"extract", "glean_check", "report"} <= {each.step for each in made.steps}
    assert made.total.calls == sum(each.calls for each in made.steps)
    assert made.total.tokens == sum(each.tokens for each in made.steps)
    assert made.total.low.tokens < made.total.tokens < made.total.high.tokens
    assert made.total.cost is None
    assert made.total.seconds > 0
    again = estimate([tmp_path / "10.jsonl"], tmp_path / "index", chosen(NOWHERE))
    assert again == made


def test_costs_are_those_of_the_prices_and_step_models(tmp_path: Path) -> None:
    prices = {"m": {"input": 1.0, "output": 4.0}, "big": {"input": 10.0, "output": 40.0}}
    llm: dict[str, object] = {"prices": prices, "step_models": {"report": "big"}, "max_cost": 0.01, "max_tokens": 1000}
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 10)
    made = estimate([corpus], tmp_path / "index", chosen(NOWHERE, llm=llm))
    for each in made.steps:
        factor = 10 if each.model == "big" else 1
        expected = factor * (each.prompt_tokens + 4 * each.completion_tokens) / 1e6
        assert each.cost == pytest.approx(expected)
        assert each.model == ("big" if each.step == "report" else "m")
    assert made.total.cost == pytest.approx(sum(each.cost or 0.0 for each in made.steps))
    assert len(made.warnings) == 2
    half = {"prices": {"m": prices["m"]}, "step_models": {"report": "big"}}
    assert estimate([corpus], tmp_path / "index", chosen(NOWHERE, llm=half)).total.cost is None


def test_time_follows_from_calls_and_limits(tmp_path: Path) -> None:
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 10)
    made = estimate([corpus], tmp_path / "index", chosen(NOWHERE, llm={"concurrency": 2}), latency=0.5)
    for each in made.steps:
        assert each.seconds == pytest.approx(max(each.calls / 2, min(each.calls, 1)) * 0.5, abs=0.06)
    slow = estimate([corpus], tmp_path / "index", chosen(NOWHERE, llm={"requests_per_minute": 6}), latency=0.5)
    assert slow.total.seconds == pytest.approx(10 * slow.total.calls, rel=0.01)
    assert "6 requests a minute" in slow.time_assumes


@pytest.mark.parametrize(
    ("source", "count", "model"),
    [(ISLES / "corpus.jsonl", 40, SPARING), (ISLES / "corpus.jsonl", 40, GENEROUS), (CHINESE, 30, USUAL)],
    ids=["sparing", "generous", "chinese"],
)
def test_with_half_of_the_corpus_remembered_the_rest_is_told_within_the_range(
    tmp_path: Path, source: Path, count: int, model: Teller
) -> None:
    with FakeServer(model) as server:
        # Whether a corpus twice as large keeps its communities hangs on a hundredth of modularity (`stable`).
        settings = local(server, communities={"update": "exact"})
        build_index([some(tmp_path, source, count // 2)], tmp_path / "index", settings)
        before, asked = files(tmp_path / "index"), len(server.requests)
        told = estimate([some(tmp_path, source, count)], tmp_path / "index", settings)
        assert len(server.requests) == asked
        assert files(tmp_path / "index") == before
        spent = build_index([tmp_path / f"{count}.jsonl"], tmp_path / "index", settings).spending
    assert told.observed == count // 2
    steps = [each for each in told.steps if each.step != "embed"]
    within(steps, spent)
    first = next(each for each in told.steps if each.step == "extract")
    assert (first.calls, first.remembered) == (count - count // 2, count // 2)


@pytest.mark.parametrize(("source", "count"), [(ISLES / "corpus.jsonl", 28), (CHINESE, 30)], ids=["english", "chinese"])
def test_a_model_never_heard_of_is_told_within_a_third_where_it_is_like_the_recorded_one(
    tmp_path: Path, source: Path, count: int
) -> None:
    with FakeServer(USUAL) as server:
        settings = local(server)
        told = estimate([some(tmp_path, source, count)], tmp_path / "index", settings)
        spent = build_index([tmp_path / f"{count}.jsonl"], tmp_path / "index", settings).spending
    steps = [each for each in told.steps if each.step != "embed"]
    within(steps, spent)
    assert sum(each.tokens for each in steps) == pytest.approx(tokens(spent), rel=0.33)
    assert sum(each.calls for each in steps) == pytest.approx(sum(each.calls for each in spent), rel=0.33)


def local(server: FakeServer, **sections: dict[str, object]) -> Settings:
    """Return settings for a server that embeds too: faster than a model here."""
    return chosen(
        server.url,
        embedding={"provider": "endpoint", "model": "e"},
        embedding_server={"base_url": server.url, "batch_size": 16, "price": 0.02},
        **sections,
    )


def test_what_is_remembered_is_not_paid_again(tmp_path: Path) -> None:
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 8)
    with FakeServer(USUAL) as server:
        claims = {"extraction": {"claims": True}}

        def with_extra(**chosen: dict[str, object]) -> Settings:
            settings = local(server, **claims, **chosen)
            return settings.model_copy(update={"llm": settings.llm.model_copy(update={"extra": {"top_k": 40}})})

        settings = with_extra()
        spent = build_index([corpus], tmp_path / "index", settings).spending
        asked = len(server.requests)
        same = estimate([corpus], tmp_path / "index", settings)
        assert same.unchanged
        assert (same.total.calls, same.total.tokens, same.total.cost) == (0, 0, 0.0)
        # Other communities may need all reports anew.
        told = estimate([corpus], tmp_path / "index", with_extra(communities={"max_cluster_size": 9}))
        assert [each.step for each in told.steps if each.calls] == ["report", "embed"]
        # A change that shapes no prompt makes a new version of remembered replies and vectors.
        other = with_extra(synonyms={"threshold": 0.9})
        made = estimate([corpus], tmp_path / "index", other)
        assert len(server.requests) == asked
        assert not build_index([corpus], tmp_path / "index", other).unchanged
        assert len(server.requests) == asked
    assert not made.unchanged
    assert (made.total.calls, made.total.tokens, made.total.cost, made.total.seconds) == (0, 0, 0.0, 0.0)
    assert {each.step: each.remembered for each in made.steps if each.step != "embed"} == {
        each.step: each.calls for each in spent
    }
    assert {"claims", "extract", "glean", "glean_check", "report"} <= {each.step for each in spent}


def test_a_changed_corpus_is_told_as_an_update(tmp_path: Path) -> None:
    with FakeServer(USUAL) as server:
        settings = local(server)
        build_index([some(tmp_path, ISLES / "corpus.jsonl", 20)], tmp_path / "index", settings)
        told = estimate([some(tmp_path, ISLES / "corpus.jsonl", 22)], tmp_path / "index", settings)
        spent = {
            each.step: each for each in build_index([tmp_path / "22.jsonl"], tmp_path / "index", settings).spending
        }
    first = next(each for each in told.steps if each.step == "extract")
    assert (first.calls, first.remembered) == (spent["extract"].calls, spent["extract"].remembered) == (2, 20)
    assert first.prompt_tokens == pytest.approx(spent["extract"].prompt_tokens, rel=0.15)
    # Which communities change with two more passages cannot be known; that most stay can.
    from_nothing = estimate([tmp_path / "22.jsonl"], tmp_path / "other", settings)
    assert told.total.calls < from_nothing.total.calls / 3
    assert next(each for each in told.steps if each.step == "report").remembered > 0


def test_an_endpoint_that_embeds_is_a_step(tmp_path: Path) -> None:
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 20)
    with FakeServer(USUAL) as server:
        # With a model the texts of relations and reports are its own, and as long as nobody knows.
        for method in ("model", "nlp"):
            settings = local(server, extraction={"method": method, "pipeline": "regex"})
            told = estimate([corpus], tmp_path / method, settings)
            assert not server.requests
            step = next(each for each in told.steps if each.step == "embed")
            build_index([corpus], tmp_path / method, settings)
            sent = [each for each in server.requests if each.path.endswith("/embeddings")]
            real = sum(each.prompt_tokens for each in sent)
            assert real / 2 <= step.tokens <= real * 2
            assert step.cost == pytest.approx(step.tokens * 0.02 / 1e6)
            assert len(sent) / 2 <= step.calls <= len(sent) * 2
            server.stop()
            server.start()


def test_what_failed_counts_with_retry_failed(tmp_path: Path) -> None:
    """A reply that lost a record is remembered; --retry-failed asks for it again, and so the estimate counts it."""

    def spoilt(request: FakeRequest) -> str:
        said = USUAL(request)
        return said.replace('("entity"', '("entity"<|>"too"<|>"many"', 1) if '("entity"' in said else said

    corpus = some(tmp_path, ISLES / "corpus.jsonl", 5)
    with FakeServer(spoilt) as server:
        settings = local(server)
        build_index([corpus], tmp_path / "index", settings)
        plain = estimate([corpus], tmp_path / "index", settings)
        again = estimate([corpus], tmp_path / "index", settings, retry_failed=True)
    assert plain.unchanged
    assert next(each for each in again.steps if each.step == "extract").calls == 5


def test_retry_failed_asks_nobody_where_nothing_but_reading_had_failed(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    some(folder, ISLES / "corpus.jsonl", 3)
    (folder / "bad.pdf").write_text("no PDF", "utf-8")
    with FakeServer(USUAL) as server:
        settings = local(server)
        index = tmp_path / "index"
        assert build_index([folder], index, settings).failures
        # The memo may be deleted at any time: a build looks at the version in force.
        shutil.rmtree(index / "cache")
        made = estimate([folder], index, settings, retry_failed=True)
        assert build_index([folder], index, settings, retry_failed=True).unchanged
    assert made.unchanged
    assert made.total.calls == 0


GRAPH = "".join(f"{one}\tis beside\t{other}\n" for one, other in pairwise(f"Harbour {number}" for number in range(30)))


def test_a_knowledge_graph_is_counted(tmp_path: Path) -> None:
    """The names of a graph are embedded; its communities have reports if a document names them, or all if asked for."""
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 4)
    (tmp_path / "kg.tsv").write_text(GRAPH, "utf-8")
    with FakeServer(USUAL) as server:
        plain = local(server)
        graph = local(server, kg={"files": [str(tmp_path / "kg.tsv")]})
        every = local(server, kg={"files": [str(tmp_path / "kg.tsv")]}, reports={"method": "model"})
        without = {step.step: step for step in estimate([corpus], tmp_path / "plain", plain).steps}
        told = {step.step: step for step in estimate([corpus], tmp_path / "index", graph).steps}
        alone = {step.step: step for step in estimate([], tmp_path / "alone", graph).steps}
        asked_for = {step.step: step for step in estimate([], tmp_path / "every", every).steps}
        assert not server.requests
        spent = {step.step: step for step in build_index([corpus], tmp_path / "index", graph).spending}
        of_graph = {step.step: step for step in build_index([], tmp_path / "alone", graph).spending}
    assert told["report"].calls == without["report"].calls
    assert asked_for["report"].calls > told["report"].calls
    assert told["embed"].tokens > without["embed"].tokens
    assert told["extract"].calls == without["extract"].calls == spent["extract"].calls
    assert told["report"].calls == pytest.approx(spent["report"].calls, abs=2)
    assert of_graph == {}, "communities that no document names get no report"
    assert list(alone) == ["embed"]


def test_replaced_prompts_reach_the_build_and_the_estimate_in_a_thread_of_their_own(tmp_path: Path) -> None:
    """A thread begins without the context of the one that started it; a background step of a build has a third one."""
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 3)
    own = tmp_path / "own" / "index"
    own.mkdir(parents=True)
    word, more = "halyard", "halyard " * 500
    for name in ("extract", "report"):
        (own / f"{name}.txt").write_text(f"{prompt_text(f'index/{name}')}\n\n{more}", "utf-8")

    def in_thread(settings: Settings) -> tuple[Estimate, list[str]]:
        with FakeServer() as server, ThreadPoolExecutor(1) as thread:
            url = {"llm": settings.llm.model_copy(update={"base_url": server.url})}
            asking = settings.model_copy(update=url)
            name = f"index{bool(settings.llm.prompts)}"
            told = thread.submit(estimate, [corpus], tmp_path / name, asking).result()
            thread.submit(build_index, [corpus], tmp_path / name, asking).result()
            return told, [prompt_of(each.body) for each in server.requests if each.body]

    small = {"reports": {"min_size": 2}}
    plain, before = in_thread(chosen(NOWHERE, **small))
    longer, after = in_thread(chosen(NOWHERE, llm={"prompts": str(own.parent)}, **small))
    assert not any(word in each for each in before)
    for kind in ("You extract information.", "You write a report on one group"):
        of_kind = [each for each in after if kind in each]
        assert of_kind
        assert all(each.count(word) == 500 for each in of_kind)
    assert longer.total.prompt_tokens >= plain.total.prompt_tokens + 3 * 500
    assert word not in prompt_text("index/extract"), "what follows has the prompts of the package"
