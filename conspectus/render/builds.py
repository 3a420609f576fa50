"""Results of making and keeping an index, as text: builds, estimates, previews, imports, exports, merges, pruning."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from conspectus.render.terminal import aligned_table, count, duration, one_line, visible
from conspectus.storage.records import LANGUAGE, SKIP, Community, Correction, Document, Failure

if TYPE_CHECKING:
    from conspectus.doctor import Diagnosis
    from conspectus.pipelines.evaluation.checks import CheckResult
    from conspectus.pipelines.exchange.exports import ExportResult
    from conspectus.pipelines.tuning.tune import Tuning
    from conspectus.rows import Differences
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.records import Merge

_ITEMS = {
    "read": "documents",
    "extract": "chunks",
    "resolve": "names",
    "summarise": "descriptions",
    "report": "reports",
    "kg": "triples",
    "import": "rows",
}
"""The items of each stage."""
_TABLES_SHOWN = ("documents", "chunks", "entities", "relations", "reports")
_KINDS_OF_CHANGE = ("new", "changed", "gone")
_TOKENS = ("prompt", "completion", "reasoning")
_CHANGES_NAMED = 3
_SUFFIXES_NAMED = 5
_ANSWER_SHOWN = 200


def build_text(done: Mapping[str, Any]) -> str:
    """Return the result of a build in a few lines."""
    if done["unchanged"]:
        first = f"{done['index']}: unchanged, version {done['version']} ({done['seconds']:.1f} s)"
    else:
        first = f"{done['index']}: published version {done['version']} in {done['seconds']:.1f} s"
    rows = ", ".join(count(done["rows"][name], name) for name in _TABLES_SHOWN)
    lines = [first, f"  {rows}", *(f"  {note}" for note in done["notes"])]
    lines += [f"  {_spending(step)}" for step in done["usage"]]
    prompts, replies, reasoning = (sum(step[f"{kind}_tokens"] for step in done["usage"]) for kind in _TOKENS)
    if prompts:
        lines.append(f"  {prompts:,} tokens of prompts, {replies:,} of replies, {reasoning:,} of these reasoning")
    if done["retried"] is not None:
        lines.append(f"  {_retried(done)}")
    if done.get("skipped"):
        lines.append(f"  {skipped_text(done['skipped'])}")
    if done["failures"]:
        stages = ", ".join(lost_text(stage) for stage in done["lost"])
        lines.append(
            f"  {count(done['failures'], 'failures')} ({stages}); "
            f"see: conspectus status --failures --index {shlex.quote(done['index'])}"
        )
    return "\n".join(lines)


def skipped_text(names: Sequence[str]) -> str:
    """Return the number of skipped files, with their suffixes, the most frequent first.

    >>> skipped_text(["a.png", "b.PNG", "c.exe"])
    'skipped 3 files of formats that are not read: 2 .png, 1 .exe'
    """
    suffixes = Counter(PurePosixPath(name).suffix.lower() or "without a suffix" for name in names)
    listed = ", ".join(f"{number:,} {visible(suffix)}" for suffix, number in suffixes.most_common(_SUFFIXES_NAMED))
    more = ", ..." if len(suffixes) > _SUFFIXES_NAMED else ""
    return f"skipped {count(len(names), 'files')} of formats that are not read: {listed}{more}"


def lost_text(stage: Mapping[str, Any]) -> str:
    """Return how many items of a stage failed in whole or in part: `3 of 40 chunks`."""
    return f"{stage['lost']:,} of {count(stage['items'], _ITEMS.get(stage['stage'], 'items'))}"


def _retried(done: Mapping[str, Any]) -> str:
    """Return the result of --retry-failed."""
    retried = done["retried"]
    if retried["asked"]:
        text = f"asked again for {count(retried['asked'], 'replies')}: {retried['healed']:,} whole now"
        return f"{text}, {retried['unanswered']:,} without an answer" if retried["unanswered"] else text
    if done["unchanged"]:
        return "nothing to ask again" if not done["failures"] else "tried to read again; nothing else had failed"
    return "no remembered reply had lost anything; what had failed was tried again"


def _spending(step: Mapping[str, Any]) -> str:
    """Return the calls of one step to one model."""
    tokens = step["prompt_tokens"] + step["completion_tokens"]
    cost = "cost unknown (llm.prices)" if step["cost"] is None else f"${step['cost']:.4f}"
    remembered = f", {step['remembered']:,} remembered" if step["remembered"] else ""
    return f"{step['step']}: {count(step['calls'], 'calls')} to {step['model']}, {tokens:,} tokens, {cost}{remembered}"


def import_text(done: Mapping[str, Any]) -> str:
    """Return the result of an import: the rows read, the build, and the failures."""
    read = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in done["read"].items())
    failures = (f"  listed: {number:,} x {reason}" for reason, number in done["listed"].items())
    return "\n".join([f"read {read}", build_text(done), *failures])


# Before a build


def estimate_text(estimate: Mapping[str, Any]) -> str:
    """Return the estimate of a build: a table of steps with their sum, the range, and the assumptions."""
    index = shlex.quote(estimate["index"])
    if estimate["unchanged"]:
        return f"{index}: unchanged, indexing would ask no model"
    lines = [f"{index}: {estimate['documents']:,} documents, {estimate['chunks']:,} chunks; nothing was asked"]
    if not estimate["steps"]:
        return f"{lines[0]}, and no server is needed"
    head = ("step", "model", "calls", "remembered", "prompt", "completion", "cost", "time")
    table = aligned_table(head, [_estimated(step) for step in (*estimate["steps"], estimate["total"])], numbers_from=2)
    lines += [*table[:-1], table[1], table[-1]]
    low, high = estimate["total"]["low"], estimate["total"]["high"]
    lines.append(
        f"range: {low['calls']:,} to {high['calls']:,} calls, {low['tokens']:,} to {high['tokens']:,} tokens, "
        f"{_dollars(low['cost'])} to {_dollars(high['cost'])}"
    )
    if estimate["observed"]:
        lines.append(f"length of replies: as cached for {estimate['observed']:,} chunks")
    elif estimate["rehearsed"]:
        lines.append("length of replies: as GPT-4o's to other text; the model's own are not known yet")
    lines.append(f"time: {estimate['time_assumes']}; the work of this machine comes on top")
    return "\n".join([*lines, *estimate["warnings"]])


def _estimated(step: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"{step[name]:,}" for name in ("calls", "remembered", "prompt_tokens", "completion_tokens"))
    return (step["step"], step["model"], *numbers, _dollars(step["cost"]), duration(step["seconds"]))


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def preview_text(preview: Mapping[str, Any]) -> str:
    """Return the result of a preview in a few lines, with the estimate of the model calls."""
    counts = ", ".join(f"{preview[kind]['count']:,} {kind}" for kind in _KINDS_OF_CHANGE)
    lines = [f"{preview['index']}: {preview['same']:,} documents unchanged, {counts}"]
    for kind in filter(lambda kind: preview[kind]["count"], _KINDS_OF_CHANGE):
        more = ", ..." if preview[kind]["count"] > _CHANGES_NAMED else ""
        lines.append(f"  {kind}: {', '.join(preview[kind]['uris'][:_CHANGES_NAMED])}{more}")
    if preview["unreadable"]:
        lines.append(f"  {preview['unreadable']:,} cannot be read")
    if preview["unchanged"]:
        return "\n".join([*lines, "nothing would be done"])
    if preview["other_settings"]:
        lines.append("  the index was made with other settings: more is redone than what changed")
    extract = "" if preview["extract"] is None else f"{preview['extract']:,} to be extracted from, "
    lines.append(
        f"of {preview['chunks']:,} chunks {extract}{preview['embed']:,} texts to be embedded; names and reports on top"
    )
    if preview["estimate"]["steps"]:
        lines.append(estimate_text(preview["estimate"]))
    return "\n".join(lines)


def tuning_text(tuning: "Tuning") -> str:
    """Return the sample that prompts were tuned to, their domain and persona, and the cost."""
    lines = [
        f"read {count(tuning.chunks, 'chunks')} of {count(tuning.documents, 'documents')}",
        *(f"  {one_line(line)}" for line in tuning.prompts.domain.splitlines()),
        f"  {one_line(tuning.prompts.persona)}",
        f"  entity types: {one_line(', '.join(tuning.schema.entities))}",
        f"  {count(tuning.examples, 'examples')} of extraction, {tuning.claims_examples} of claims",
    ]
    if tuning.examples == 0:
        lines.append("  no example was usable; the shipped one stays in use (extract_examples.txt is empty)")
    if tuning.thrown_away:
        first = one_line(tuning.thrown_away[0])
        first = first if len(first) <= 200 else f"{first[:200]} ..."
        lines.append(f"  {count(len(tuning.thrown_away), 'replies')} rejected, the first: {first}")
    if tuning.left_out:
        lines.append(f"  {count(tuning.left_out, 'records')} left out of examples because they break their rules")
    if tuning.unread:
        lines.append(f"  {count(tuning.unread, 'failures')} to read the input; conspectus index lists them")
    return "\n".join([*lines, *(f"  {_spending(asdict(step))}" for step in tuning.spending)])


# An index and its upkeep


def status_text(index: "StoredIndex", list_failures: bool) -> str:
    """Return the contents of an index, and with `list_failures` a line for each failure."""
    manifest, rows = index.manifest, index.manifest.rows
    lost = [failure for failure in index.rows(Failure) if failure.stage != SKIP]
    skipped = [failure.item_id for failure in index.rows(Failure) if failure.stage == SKIP]
    size = sum(int(file["bytes"]) for file in manifest.files.values())
    table = index.arrow(Document, "uri", "n_chars", "metadata").to_pylist()
    characters = sum(row["n_chars"] for row in table)
    formats = Counter(PurePosixPath(row["uri"].partition("#")[0]).suffix.lower() or "none" for row in table)
    languages = Counter(dict(row["metadata"]).get(LANGUAGE, "not known") for row in table)
    communities = index.arrow(Community, "level", "same_as")
    levels = sorted(Counter(communities["level"].to_pylist()).items())
    by_level = ", ".join(f"c{level} {number:,}" for level, number in levels) or "none"
    distinct = communities["same_as"].null_count
    lines = [
        f"version {manifest.version}, format {manifest.format_version}, {size / 1e6:.1f} MB",
        f"  {rows['documents']:>9,} documents, {characters:,} characters",
        f"  {'':9} formats: {_counted(formats)}",
        f"  {'':9} languages: {_counted(languages)}",
        f"  {rows['chunks']:>9,} passages",
        f"  {rows['entities']:>9,} entities, named {rows['mentions']:,} times; {rows['merges']:,} names were merged",
        f"  {rows['relations']:>9,} relations, {rows['synonyms']:,} pairs of synonyms, {rows['claims']:,} claims",
        f"  {distinct:>9,} communities; on each level (one can be on several): {by_level}",
        f"  {rows['reports']:>9,} reports",
        f"  {len(lost):>9,} {count(len(lost), 'failures').split()[1]}"
        f"{'' if list_failures or not lost else ': conspectus status --failures'}",
        f"models: {', '.join(f'{kind} {name}' for kind, name in manifest.models.items())}",
    ]
    if skipped:
        lines.append(skipped_text(skipped))
    if corrections := index.rows(Correction):
        lines += ["corrections:", corrections_text(corrections)]
    if list_failures:
        lines += [failure_text(failure) for failure in lost] or ["no failures"]
    return "\n".join(lines)


def _counted(counts: "Counter[str]") -> str:
    """Return names with their counts, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return visible(", ".join(f"{name} {number:,}" for name, number in ranked))


def failure_text(failure: Failure) -> str:
    """Return a failure on one line."""
    detail = f" ({failure.detail})" if failure.detail else ""
    return visible(f"{failure.stage}: {failure.item_id}: {failure.reason}{detail}")


def check_text(check: "Diagnosis") -> str:
    """Return a check of `conspectus doctor` on one line."""
    return f"{check.state:8} {check.name}: {one_line(check.detail)}"


def pruning_text(done: Mapping[str, Any]) -> str:
    """Return the deleted versions and results."""
    lines = [f"{done['index']}: {count(len(done['versions']), 'old versions')} deleted, {done['bytes'] / 1e6:.1f} MB"]
    lines += [f"  left, because a server answers from it: {version}" for version in done["in_use"]]
    lines += [
        f"  deleted from the cache: {count(n, 'results')} of kind {kind}" for kind, n in done["forgotten"].items()
    ]
    return "\n".join(lines)


def corrections_text(corrections: Sequence[Correction]) -> str:
    """Return a line for each correction: whether it is in force, and at how many places."""
    lines = []
    for row in corrections:
        state = f"in force at {count(row.places, 'places')}" if row.places else "matches nothing any more"
        lines.append(f"  {visible(row.text)}  {state}")
    return "\n".join(lines)


def differences_text(found: "Differences") -> str:
    """Return what differs between two versions, a line for each kind of change."""
    lines = [f"from version {found.before} to {found.after}:"]
    for each in found.changes:
        more = f", and {each.count - len(each.names):,} more" if each.count > len(each.names) else ""
        lines.append(one_line(f"{count(each.count, each.table)} {each.change}: {'; '.join(each.names)}{more}"))
    return "\n".join(lines if found.changes else [f"{lines[0]} nothing differs"])


def checks_text(results: "Sequence[CheckResult]") -> str:
    """Return a line for each check that fails, and their number."""
    failed = [each for each in results if each.wrong]
    lines = [one_line(f"{each.question}  {'; '.join(each.wrong)}: {each.answer[:_ANSWER_SHOWN]}") for each in failed]
    return "\n".join([*lines, f"{len(results) - len(failed):,} of {count(len(results), 'checks')} passed"])


def merges_text(index: Path, merges: Sequence["Merge"]) -> str:
    """Return a line for each merge under its canonical name, and the number of merges."""
    if not merges:
        return f"{index}: no names were merged"
    lines: list[str] = []
    for (_, name), group in groupby(merges, key=lambda merge: (merge.entity_id, merge.name)):
        lines.append(visible(name))
        for merge in group:
            vote = f", the model says {merge.vote}" if merge.vote else ""
            state = "kept apart: " if merge.undone else ""
            lines.append(f"  {visible(merge.alias)}  {state}{merge.reason} ({merge.score:.2f}{vote})")
    undone = sum(merge.undone for merge in merges)
    lines.append(f"{count(len(merges) - undone, 'names')} merged, {undone:,} kept apart")
    return "\n".join(lines)


def export_text(done: "ExportResult", to: str) -> str:
    """Return the location and size of an export, and its notes."""
    rows = ", ".join(count(number, kind) for kind, number in done.rows.items() if number)
    return "\n".join([f"wrote {to}: {rows or 'the index is empty'}", *(f"  {note}" for note in done.notes)])


def export_json(name: str, done: "ExportResult") -> dict[str, Any]:
    """Return an export in the form of `conspectus export --json`."""
    return {"format": name, "files": list(map(str, done.files)), "rows": done.rows, "notes": list(done.notes)}
