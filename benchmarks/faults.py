"""Indexing with a failing model server: losses, whether each is recorded, and whether a retry repairs it.

    python -m benchmarks.faults CORPUS.jsonl                     the first 300 passages
    python -m benchmarks.faults CORPUS.jsonl --passages 60 --errors 0.1 --malformed 0.1

One index is built with a correct server, and one with a server that answers one request in ten with 429, 500, a
timeout or a dropped connection, and one in ten with a reply malformed in one of ten ways. Then `--retry-failed` is
repeated, with the same fault rates, until nothing is missing. The exit status is 1 if a build does not end, if a
mention is missing or a description or report differs from the undisturbed one without a row of failures, or if the
final index differs.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.steps import descriptions
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Failure, Mention
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeRequest, FakeServer, FaultKind, Faults
from tests.graph_model import reply
from tests.malformed_json import MALFORMED

ERRORS: tuple[FaultKind, ...] = ("429", "500", "timeout", "drop")
SPOILT = (
    "fence", "prose", "think", "html", "two_values", "truncated", "ellipsis", "empty", "refusal", "null_content",
)  # fmt: skip
MOST_RETRIES = 12

Said = Mapping[str, frozenset[tuple[str, str]]]
"""The model's output for each chunk: names (or pairs) and descriptions."""


def settings(url: str, attempts: int) -> Settings:
    """Return settings that ask the server at `url` for everything; `attempts` is the number of tries per call."""
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": url, "attempts": attempts, "timeout": 2.0, "concurrency": 32},
            "embedding": {"provider": "endpoint", "model": "e"},
            "communities": {"update": "exact"},
            "embedding_server": {"base_url": url, "attempts": 10},
        }
    )


def rates(errors: float, malformed: float) -> dict[str, float]:
    """Return the probability of each kind of fault."""
    return {**dict.fromkeys(ERRORS, errors / len(ERRORS)), **dict.fromkeys(SPOILT, malformed / len(SPOILT))}


def said(index: StoredIndex) -> Said:
    """Return the stored model output for each chunk."""
    found: dict[str, set[tuple[str, str]]] = {chunk.id: set() for chunk in index.rows(Chunk)}
    for mention in index.rows(Mention):
        if mention.description:
            found[mention.chunk_id].add((mention.entity_id or mention.relation_id or "", mention.description))
    return {chunk: frozenset(result) for chunk, result in found.items()}


@dataclass(frozen=True)
class Compared:
    """A disturbed index compared with an undisturbed one, in chunks."""

    short: int
    """Chunks with missing data."""
    unlisted: int
    """Chunks with missing data but without a row of failures."""
    invented: int
    """Chunks for which more is stored than the model meant."""


def compared(disturbed: StoredIndex, whole: StoredIndex) -> Compared:
    """Compare the data stored for each chunk."""
    listed = {failure.item_id for failure in disturbed.rows(Failure) if failure.stage == "extract"}
    found, meant = said(disturbed), said(whole)
    short = {chunk for chunk in meant if meant[chunk] - found[chunk]}
    return Compared(len(short), len(short - listed), sum(bool(found[chunk] - meant[chunk]) for chunk in meant))


def told(name: str, built: BuildReport, server: FakeServer, before: int) -> None:
    """Print a line about a build."""
    asked = server.requests[before:]
    faults = Counter(question.fault for question in asked if question.fault)
    lost = ", ".join(f"{failure.stage} {failure.lost} of {failure.items}" for failure in built.lost) or "nothing"
    print(
        f"{name:<14} {built.seconds:6.1f} s  {len(asked):6} requests, {faults.total():5} faults  lost: {lost}",
        flush=True,
    )


def differing(request: FakeRequest) -> str:
    """Return the rules' reply with varying descriptions of the same thing, so that they are summarised."""
    return reply(request).replace("is named in it.", f"is named in a text of {len(request.last)} letters.")


def run(corpus: Path, folder: Path, errors: float, malformed: float) -> list[str]:
    """Build, disturb, repair; return the violated expectations."""
    problems = []
    with FakeServer(differing) as server:
        # Few attempts, so that calls fail for good; the server asks for no pause, so that this does not take hours.
        chosen = settings(server.url, attempts=2)
        descriptions.DESCRIPTION_TOKENS = 60  # so that the model also summarises
        whole = build_index([corpus], folder / "whole", chosen)
        told("undisturbed", whole, server, 0)
        before = len(server.requests)
        faults = Faults(rates(errors, malformed), retry_after=0.05, spoilers=MALFORMED)
        server.change(faults=faults)
        built = build_index([corpus], folder / "disturbed", chosen)
        told("disturbed", built, server, before)
        index, sound = StoredIndex.open(folder / "disturbed"), StoredIndex.open(folder / "whole")
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
    """Print the result; exit with status 1 if an expectation is violated."""
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
