"""Compare the predictions of `conspectus index --estimate` with real builds.

    python -m benchmarks.estimate metered ../shared/data [--models recorded rules] [--again] [--steps]
    python -m benchmarks.estimate prior ../shared/data

`metered` estimates the build of three corpora (150 passages of HotpotQA, a book, 30 short Chinese articles), then
builds with the fake server and several made-up models (estimate_models.py) and prints estimated / metered, by the
server's own count of tokens. With --again half of each corpus is indexed first: the estimate of the whole then knows
the model's replies. `prior` measures the usual lengths of replies on recorded ones of GPT-4o.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.estimation.estimate import estimate
from conspectus.pipelines.estimation.totals import Estimate
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.replies.records import read_records
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.tokens import count_tokens, token_spans

from benchmarks.estimate_models import Model, models
from benchmarks.fake_server import FakeServer

HERE = Path(__file__).parent
PASSAGES = 150


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus to be indexed: all of it, and the half that --again starts with."""

    name: str
    whole: Path
    half: Path


def corpora(data: Path, folder: Path) -> list[Corpus]:
    """Write the three corpora, shortened and halved, to a folder."""
    book = (data / "books" / "wizard_of_oz.txt").read_text("utf-8")
    chinese = (HERE.parent / "examples" / "chinese" / "corpus.jsonl").read_text("utf-8").splitlines()
    passages = (data / "hotpotqa" / "corpus.jsonl").read_text("utf-8").splitlines()[:PASSAGES]
    return [
        _lines("hotpotqa", passages, folder),
        _written("book", "oz.txt", book, book[: len(book) // 2], folder),
        _lines("chinese", chinese, folder),
    ]


def _lines(name: str, lines: list[str], folder: Path) -> Corpus:
    return _written(name, "corpus.jsonl", "\n".join(lines), "\n".join(lines[: len(lines) // 2]), folder)


def _written(name: str, file: str, whole: str, half: str, folder: Path) -> Corpus:
    paths = []
    for part, text in (("whole", whole), ("half", half)):
        path = folder / name / part / file
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
        paths.append(path)
    return Corpus(name, *paths)


def chosen(url: str) -> Settings:
    """Return the settings of all runs: the packaged ones, and a server that embeds too."""
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": url},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": url},
        }
    )


def compared(corpus: Corpus, model: Model, again: bool) -> tuple[Estimate, tuple[Spending, ...], float]:
    """Return the estimate of a build, its actual spending by step, and the seconds of the estimate."""
    with tempfile.TemporaryDirectory() as folder, FakeServer(model) as server:
        settings, index = chosen(server.url), Path(folder) / "index"
        if again:
            build_index([corpus.half], index, settings)
        asked = len(server.requests)
        began = time.process_time()
        told = estimate([corpus.whole], index, settings)
        seconds = time.process_time() - began
        assert len(server.requests) == asked, "an estimate must not ask"
        return told, build_index([corpus.whole], index, settings).spending, seconds


def metered(data: Path, wanted: list[str], again: bool, steps: bool) -> None:
    """Print estimated / metered for every corpus and model."""
    print("corpus    model         calls est / met        tokens est / met           cpu s   range of tokens")
    with tempfile.TemporaryDirectory() as folder:
        for corpus in corpora(data, Path(folder)):
            for name, model in models(data / "recorded_replies").items():
                if wanted and name not in wanted:
                    continue
                told, spent, seconds = compared(corpus, model, again)
                model_steps = [step for step in told.steps if step.step != "embed"]
                calls, real_calls = sum(step.calls for step in model_steps), sum(item.calls for item in spent)
                tokens, real = sum(step.tokens for step in model_steps), sum(map(_tokens, spent))
                inside = "inside" if told.total.low.tokens <= real <= told.total.high.tokens else "outside"
                print(
                    f"{corpus.name:9} {name:12} {calls:6,} / {real_calls:6,} = {_ratio(calls, real_calls)}"
                    f" {tokens:10,} / {real:10,} = {_ratio(tokens, real)} {seconds:6.1f}   {inside}",
                    flush=True,
                )
                if steps:
                    _by_step(told, {item.step: item for item in spent})


def _by_step(told: Estimate, spent: Mapping[str, Spending]) -> None:
    for step in told.steps:
        real = spent.get(step.step, Spending(step.step, ""))
        print(
            f"          {step.step:12} {step.calls:6,} / {real.calls:6,} = {_ratio(step.calls, real.calls)}"
            f" {step.tokens:10,} / {_tokens(real):10,} = {_ratio(step.tokens, _tokens(real))}"
            f"   prompt {_ratio(step.prompt_tokens, real.prompt_tokens)}"
            f" reply {_ratio(step.completion_tokens, real.completion_tokens)}"
        )


def _tokens(spent: Spending) -> int:
    return spent.prompt_tokens + spent.completion_tokens


def _ratio(told: float, real: float) -> str:
    return f"{told / real:5.2f}" if real else "    -"


def prior(data: Path) -> None:
    """Print what estimate.py assumes before any reply."""
    folder = data / "recorded_replies"
    replies = [json.loads(line)["reply"] for line in (folder / "replies.jsonl").read_text("utf-8").splitlines()]
    extractions = [reply for reply in replies if "<|>" in reply]
    reports = [json.loads(reply[reply.index("{") : reply.rindex("}") + 1]) for reply in replies if "findings" in reply]
    story = (folder / "christmas_carol.txt").read_text("utf-8")
    chunks = list(_pieces(story, 1200, 100))
    records = [read_records(extraction) for extraction in extractions]
    entities = [one for record in records for one in record.entities]
    relations = [one for record in records for one in record.relations]
    per_chunk = len(extractions) / 2
    tokens = sum(map(count_tokens, extractions))
    print(f"chunks {per_chunk:.0f}, of {statistics.mean(map(count_tokens, chunks)):.0f} tokens on average")
    print(f"entities a chunk, both replies {len(entities) / per_chunk:.1f}, relations {len(relations) / per_chunk:.1f}")
    print(f"tokens of both replies {tokens / per_chunk:.0f}; a record {tokens / (len(entities) + len(relations)):.1f}")
    print(f"relations an entity {len(relations) / len(entities):.2f}")
    findings = [one for report in reports for one in report["findings"]]
    head = [{key: value for key, value in report.items() if key != "findings"} for report in reports]
    print(f"report: {statistics.mean(count_tokens(json.dumps(item)) for item in head):.0f} tokens without findings")
    print(f"finding: {statistics.mean(count_tokens(json.dumps(finding)) for finding in findings):.0f} tokens")
    words, report_tokens = (sum(f(json.dumps(report)) for report in reports) for f in (_words, count_tokens))
    print(f"tokens a word of a report {report_tokens / words:.2f}")
    _reports_by_records(data / "graphrag_index")


def _reports_by_records(folder: Path) -> None:
    """Print the findings and tokens of the reports of an index that GraphRAG made, by the records that they are on."""
    rows = pq.read_table(folder / "communities.parquet").to_pylist()
    records = {row["community"]: len(row["entity_ids"]) + len(row["relationship_ids"]) for row in rows}
    reports = pq.read_table(folder / "community_reports.parquet").to_pylist()
    for least, most in ((0, 6), (6, 13), (13, 18), (18, 25), (25, 40), (40, 1000)):
        some = [row for row in reports if least <= records[row["community"]] < most]
        on = statistics.mean(records[row["community"]] for row in some)
        findings = statistics.mean(len(row["findings"]) for row in some)
        tokens = statistics.mean(count_tokens(row["full_content_json"]) for row in some)
        print(f"{len(some):3} reports on {on:5.1f} records: {findings:.1f} findings, {tokens:5.0f} tokens")


def _words(text: str) -> float:
    return len(text.split())


def _pieces(text: str, size: int, overlap: int) -> Iterable[str]:
    spans = token_spans(text)
    for start in range(0, len(spans), size - overlap):
        last = spans[min(start + size, len(spans)) - 1]
        yield text[spans[start][0] : last[1]]


def main() -> None:
    """Run the chosen comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("metered", "prior"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--steps", action="store_true")
    given = parser.parse_args()
    if given.what == "metered":
        metered(given.data, given.models, given.again, given.steps)
    else:
        prior(given.data)


if __name__ == "__main__":
    sys.exit(main())
