"""The report of a build: its counts, notes and failures. Importing this module is cheap."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.replies.structured import Retried
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import SKIP, Failure

READ, EXTRACT, RESOLVE, SUMMARISE, REPORT = "read", "extract", "resolve", "summarise", "report"
KG = "kg"
"""Stage of the failures of an imported graph."""
IMPORT = "import"
"""Stage of the failures of an imported index."""
SCHEMA = "schema"
"""Stage of what does not fit the schema of the domain: it is no loss."""
DANGLING = "no row describes this end"
"""Reason of a harmless failure: a relationship of an imported index names an entity without a row."""


@dataclass(frozen=True, slots=True)
class LostShare:
    """The number of items that a stage works on, and of those that failed in whole or in part."""

    stage: str
    items: int
    lost: int

    @property
    def share(self) -> float:
        """The fraction of the items that failed in whole or in part, 0 to 1."""
        return self.lost / self.items if self.items else 0.0


def lost_shares(rows: Mapping[str, int], failures: Sequence[Failure]) -> tuple[LostShare, ...]:
    """Return the share of failed items of each stage with failures, the largest share first.

    An item counts once, whether it failed in whole or in part: a chunk that lost one record of thirty is incomplete in
    the index. The items are the files and rows that should have become documents, the chunks, the entities and
    relations with descriptions, the reports, the triples of a graph, and the rows of an imported index.

    Args:
        rows: Sizes of the tables by name.
        failures: The failures.
    """
    lost: defaultdict[str, set[str]] = defaultdict(set)
    for failure in failures:
        if failure.reason != DANGLING and failure.stage not in (SKIP, SCHEMA):
            lost[failure.stage].add(failure.item_id)
    shares = [LostShare(stage, max(_items(stage, rows, len(ids)), len(ids)), len(ids)) for stage, ids in lost.items()]
    return tuple(sorted(shares, key=lambda share: (-share.share, share.stage)))


_IMPORTED = ("documents", "chunks", "entities", "relations", "claims", "reports")


def can_be_retried(failures: Sequence[Failure]) -> bool:
    """Return whether retrying may fix any failure; unreadable inputs are tried in every build anyway."""
    return any(failure.stage not in {READ, SKIP, KG, IMPORT, SCHEMA} for failure in failures)


def _items(stage: str, rows: Mapping[str, int], n_lost: int) -> int:
    return {
        READ: rows["documents"] + n_lost,
        EXTRACT: rows["chunks"],
        RESOLVE: rows["entities"],
        SUMMARISE: rows["entities"] + rows["relations"],
        REPORT: rows["reports"],
        KG: rows["relations"] + n_lost,
        IMPORT: sum(rows.get(name, 0) for name in _IMPORTED) + n_lost,
    }.get(stage, n_lost)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build.

    Attributes:
        index: The folder of the index.
        version: Name of the current version.
        unchanged: The current version already matches this input, and nothing was done.
        rows: Number of rows of each table.
        failures: Everything that was dropped, as rows of the table of failures; see `conspectus status --failures`.
        lost: The failed share of each stage, the largest share first.
        failed_share: The largest failed share of a stage, 0 to 1. `conspectus index` exits with status 5 if it is
            above `build.failure_threshold`.
        seconds: The duration of the build.
        spending: The calls to language models by step and model, with tokens and cost.
        retried: The result of retrying incomplete replies; None if no retry was requested.
        notes: Other messages for the user.
        skipped: Files of formats without a reader, as rows of the table of failures.
    """

    index: Path
    version: str
    unchanged: bool
    rows: dict[str, int]
    failures: tuple[Failure, ...]
    lost: tuple[LostShare, ...]
    failed_share: float
    seconds: float
    spending: tuple[Spending, ...] = ()
    retried: Retried | None = None
    notes: tuple[str, ...] = ()
    skipped: tuple[Failure, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all prompts and replies that were paid for."""
        return sum(spent.prompt_tokens + spent.completion_tokens for spent in self.spending)

    @property
    def cost(self) -> float | None:
        """US dollars for all calls; None if a model that was called has no price in `llm.prices`."""
        costs = [spent.cost for spent in self.spending if spent.prompt_tokens or spent.completion_tokens]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


def build_report(
    index: Path,
    manifest: Manifest,
    failures: Sequence[Failure],
    began: float,
    *,
    is_unchanged: bool = False,
    spending: tuple[Spending, ...] = (),
    retried: Retried | None = None,
    notes: tuple[str, ...] = (),
) -> BuildReport:
    """Return the report of a build that began at `began` (time.perf_counter) and ends now."""
    lost = lost_shares(manifest.rows, failures)
    return BuildReport(
        index,
        manifest.version,
        is_unchanged,
        dict(manifest.rows),
        tuple(failure for failure in failures if failure.stage != SKIP),
        lost,
        failed_share=lost[0].share if lost else 0.0,
        seconds=time.perf_counter() - began,
        spending=spending,
        retried=retried,
        notes=notes,
        skipped=tuple(failure for failure in failures if failure.stage == SKIP),
    )


def failures_of(index: Path) -> list[Failure]:
    """Return the failures of the current version, as `conspectus status --failures` lists them.

    Args:
        index: The folder of the index.

    Raises:
        IndexNotFound: There is no index.
    """
    return StoredIndex.open(index).rows(Failure)


def summary(report: BuildReport) -> dict[str, Any]:
    """Return a report as plain values, as the command line prints it with --json."""
    return {
        "index": str(report.index),
        "version": report.version,
        "unchanged": report.unchanged,
        "rows": report.rows,
        "failures": len(report.failures),
        "skipped": [failure.item_id for failure in report.skipped],
        "lost": [asdict(share) for share in report.lost],
        "failed_share": round(report.failed_share, 6),
        "seconds": round(report.seconds, 2),
        "usage": [asdict(spent) for spent in report.spending],
        "retried": asdict(report.retried) if report.retried else None,
        "notes": list(report.notes),
    }
