"""What a build did, for people and programs."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.failure_stats import LostShare, lost_shares
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Failure


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
