"""Indexing with a failing model server: what is lost, whether each loss is recorded, and whether a retry repairs it.

    python -m benchmarks.faults CORPUS.jsonl                     the first 300 passages
    python -m benchmarks.faults CORPUS.jsonl --passages 60 --errors 0.1 --malformed 0.1

An index is built with a server that does what it should, and one with a server of which one reply in ten is 429, 500, a
time-out or a dropped connection, and one in ten malformed in one of ten ways. Then `--retry-failed` is repeated, the
faults going on, until nothing is lost any more. The exit status is 1 where a build does not end, where a mention is
missing or a description or report other than undisturbed without a row of failures, or where the end is another one.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.index import build_index
from conspectus.prompts.fake import FakeRequest, FakeServer, FaultKind, Faults
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Failure, Mention
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from tests.graph_model import reply
from tests.malformed_json import MALFORMED

ERRORS: tuple[FaultKind, ...] = ("429", "500", "timeout", "drop")
SPOILT = (
    "fence", "prose", "think", "html", "two_values", "truncated", "ellipsis", "empty", "refusal", "null_content",
)  # fmt: skip
MOST_RETRIES = 12

Said = Mapping[str, frozenset[tuple[str, str]]]
"""What is said in each chunk: names (or pairs) and descriptions."""


def settings(url: str, attempts: int) -> Settings:
    """Return settings that ask the server at `url` for everything; `attempts` is how often a call is tried."""
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": url, "attempts": attempts, "timeout": 2.0, "concurrency": 32},
            "embedding": {"provider": "endpoint", "model": "e"},
            "descriptions": {"summary_threshold": 60},
            "communities": {"update": "exact"},
            "embedding_server": {"base_url": url, "attempts": 10, "timeout": 2.0},
        }
    )


def rates(errors: float, malformed: float) -> dict[str, float]:
    """Return the probability of each kind of fault."""
    return {**dict.fromkeys(ERRORS, errors / len(ERRORS)), **dict.fromkeys(SPOILT, malformed / len(SPOILT))}


def said(index: Index) -> Said:
    """Return what the model said of each chunk, as it is stored."""
    found: dict[str, set[tuple[str, str]]] = {chunk.id: set() for chunk in index.rows(Chunk)}
    for mention in index.rows(Mention):
        if mention.description:
            found[mention.chunk_id].add((mention.entity_id or mention.relation_id or "", mention.description))
    return {chunk: frozenset(result) for chunk, result in found.items()}


@dataclass(frozen=True)
class Compared:
    """A disturbed index beside an undisturbed one, in chunks."""

    short: int
    """Chunks of which something is missing."""
    unlisted: int
    """Those of them that have no row of failures."""
    invented: int
    """Chunks of which more is stored than the model meant."""


def compared(disturbed: Index, whole: Index) -> Compared:
    """Compare what is stored of each chunk."""
    listed = {failure.item_id for failure in disturbed.rows(Failure) if failure.stage == "extract"}
    found, meant = said(disturbed), said(whole)
    short = {chunk for chunk in meant if meant[chunk] - found[chunk]}
    return Compared(len(short), len(short - listed), sum(bool(found[chunk] - meant[chunk]) for chunk in meant))


def told(name: str, built: BuildReport, server: FakeServer, before: int) -> None:
    """Print a line on a build."""
    asked = server.requests[before:]
    faults = Counter(question.fault for question in asked if question.fault)
    lost = ", ".join(f"{failure.stage} {failure.lost} of {failure.items}" for failure in built.lost) or "nothing"
    print(
        f"{name:<14} {built.seconds:6.1f} s  {len(asked):6} requests, {faults.total():5} faults  lost: {lost}",
        flush=True,
    )


def differing(request: FakeRequest) -> str:
    """Return what the rules give, but descriptions of one thing that are not all alike, so that they are summed up."""
    return reply(request).replace("is named in it.", f"is named in a text of {len(request.last)} letters.")


def run(corpus: Path, folder: Path, errors: float, malformed: float) -> list[str]:
    """Build, disturb, heal; return what did not hold."""
    problems = []
    with FakeServer(differing) as server:
        # Few attempts, so that calls fail for good; the server asks for no pause, so that this does not take hours.
        chosen = settings(server.url, attempts=2)
        whole = build_index([corpus], folder / "whole", chosen)
        told("undisturbed", whole, server, 0)
        before = len(server.requests)
        faults = Faults(rates(errors, malformed), retry_after=0.05, spoilers=MALFORMED)
        server.change(faults=faults)
        built = build_index([corpus], folder / "disturbed", chosen)
        told("disturbed", built, server, before)
        index, sound = Index.open(folder / "disturbed"), Index.open(folder / "whole")
        problems += [f"verify: {item.where}: {item.what}" for item in verify(index)]
        found = compared(index, sound)
        print(f"chunks that lack something: {found.short}, of them without a row: {found.unlisted}")
        if found.unlisted or found.invented:
            problems.append(f"{found.unlisted} losses without a row, {found.invented} chunks with inventions")
        stages = Counter(failure.stage for failure in index.rows(Failure))
        print(f"rows of failures: {dict(sorted(stages.items()))}")
        retries = 0
        while built.failures and retries < MOST_RETRIES:
            retries, before = retries + 1, len(server.requests)
            built = build_index([corpus], folder / "disturbed", chosen, retry_failed=True)
            told(f"retry {retries}", built, server, before)
        if built.version != whole.version:
            problems.append(f"after {retries} retries version {built.version}; undisturbed {whole.version}")
    return problems


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what happened; exit status 1 where something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--errors", type=float, default=0.1)
    parser.add_argument("--malformed", type=float, default=0.1)
    given = parser.parse_args(arguments)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus.jsonl"
        lines = given.corpus.read_text("utf-8").splitlines()[: given.passages]
        corpus.write_text("\n".join(lines) + "\n", "utf-8")
        problems = run(corpus, Path(name), given.errors, given.malformed)
    print(f"{time.perf_counter() - began:.0f} s; {'; '.join(problems) or 'the same checksums as undisturbed'}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
