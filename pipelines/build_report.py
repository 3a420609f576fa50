"""What a build did, for people and programs."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.prompts.client.usage import Spending
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Failure

READ, EXTRACT, RESOLVE, SUMMARISE, REPORT = "read", "extract", "resolve", "summarise", "report"
KG = "kg"
"""Stage of the failures of a graph that was brought along."""
IMPORT = "import"
"""Stage of the failures of what another program made."""
DANGLING = "no row describes this end"
"""Reason of a failure that names what the other program does not describe: it is kept, so nothing is lost with it."""


@dataclass(frozen=True, slots=True)
class LostShare:
    """The items that a stage works on, and how many of them lost something, be it a part or the whole."""

    stage: str
    items: int
    lost: int

    @property
    def share(self) -> float:
        """The part of the items that lost something, 0 to 1."""
        return self.lost / self.items if self.items else 0.0


def lost_shares(rows: Mapping[str, int], failures: Sequence[Failure]) -> tuple[LostShare, ...]:
    """Return what each stage that lost something lost, the largest share first.

    `rows` are the sizes of the tables. An item counts once, however often it is named: a chunk whose replies lost one
    record of thirty is a chunk that is not whole in the index. The items are the files and rows that should have given
    documents, the chunks, the entities and relations that have descriptions, the reports, the triples of a graph, and
    the rows of what another program made.
    """
    lost: defaultdict[str, set[str]] = defaultdict(set)
    for each in failures:
        if each.reason != DANGLING:
            lost[each.stage].add(each.item_id)
    shares = [LostShare(stage, max(_items(stage, rows, len(ids)), len(ids)), len(ids)) for stage, ids in lost.items()]
    return tuple(sorted(shares, key=lambda each: (-each.share, each.stage)))


_IMPORTED = ("documents", "chunks", "entities", "relations", "claims", "reports")


def can_be_retried(failures: Sequence[Failure]) -> bool:
    """Whether trying again may mend any: what could not be read is looked at in every build anyway."""
    return any(each.stage not in {READ, KG, IMPORT} for each in failures)


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
    """What a build did. `unchanged`: the current version already holds this input and nothing was done.

    `failures` are those of the version in force, `lost` what they come to by stage, and `failed_share` the largest
    share of a stage. `spending` is what language models were asked, by step and model; `retried` what came of asking
    again, None where that was not wanted. `notes` say in words what else should be known.
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


def reported(
    index: Path,
    manifest: Manifest,
    unchanged: bool,
    failures: Sequence[Failure],
    began: float,
    spending: tuple[Spending, ...] = (),
    retried: Retried | None = None,
    notes: tuple[str, ...] = (),
) -> BuildReport:
    """Return the report of a build that began at `began` (of time.perf_counter) and has ended now."""
    lost = lost_shares(manifest.rows, failures)
    return BuildReport(
        index,
        manifest.version,
        unchanged,
        dict(manifest.rows),
        tuple(failures),
        lost,
        failed_share=lost[0].share if lost else 0.0,
        seconds=time.perf_counter() - began,
        spending=spending,
        retried=retried,
        notes=notes,
    )


def summary(report: BuildReport) -> dict[str, Any]:
    """Return what a build did as plain values."""
    return {
        "index": str(report.index),
        "version": report.version,
        "unchanged": report.unchanged,
        "rows": report.rows,
        "failures": len(report.failures),
        "lost": [asdict(each) for each in report.lost],
        "failed_share": round(report.failed_share, 6),
        "seconds": round(report.seconds, 2),
        "usage": [asdict(each) for each in report.spending],
        "retried": asdict(report.retried) if report.retried else None,
        "notes": list(report.notes),
    }
