"""Make, change and evaluate an index from Python, like the commands `index`, `add`, `evaluate` ...

Functions that change an index return it open, with a `report` of failures, cost and notes:

    >>> import conspectus
    >>> index = conspectus.build("notes", "notes.index")
    >>> index.report.rows["documents"], len(index.report.failures)
    (3, 0)
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conspectus.api import Index, open_index
from conspectus.pipelines.readers.remote import is_url
from conspectus.pipelines.remote_index.local_copy import prune_remote, written
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.query.menu import COMPARED, find_method
from conspectus.storage.errors import UsageError
from conspectus.storage.manifest import current_version
from conspectus.storage.publishing import build_lock, roll_back
from conspectus.storage.publishing import prune as prune_index
from conspectus.storage.settings import Settings, load_settings

if TYPE_CHECKING:
    from conspectus.pipelines.build_report import BuildReport
    from conspectus.pipelines.diff import Preview
    from conspectus.pipelines.estimation.totals import Estimate
    from conspectus.pipelines.purge import Purged
    from conspectus.pipelines.steps.documents import Texts

DEFAULT_INDEX = Path(".conspectus/index")
"""The default index folder, also of the command line."""
Inputs = Sequence[str | Path] | str | Path
"""A file, folder, glob or URL, or several."""


def build(
    inputs: Inputs = (),
    index: str | Path = DEFAULT_INDEX,
    settings: Settings | None = None,
    *,
    texts: "Texts" = (),
    retry_failed: bool = False,
    progress: Progress = no_progress,
) -> Index:
    """Make an index equal to its input: new documents are added, changed ones redone, missing ones removed.

    A build that was killed continues where it stopped, an unchanged input is a no-op, and readers see the old version
    until the new one is complete.

    Args:
        inputs: files, folders, globs or URLs.
        index: the index folder, or the URL of an index in an object store; it is created if there is none.
        settings: see `load_settings`; None for the defaults and the environment.
        texts: documents from memory: texts by name, `{"minutes": "The board met ..."}`, or a list of them. Instead of a
            text, a record with metadata is possible: `{"text": "...", "title": "Minutes", "year": 2024}`.
        retry_failed: also repeat model calls whose replies failed or were incomplete.
        progress: called as work advances with a step's name, the number of finished items (files, passages, names,
            reports) and the total number. The total is 0 while a step runs whose items are not counted.

    Returns:
        The index, open; `Index.report` is the result of the build.

    Raises:
        InputError: no input can be read. A single bad file is a row of `failures` instead.
        IndexBusy: another build of this index is running, or another writer published at the URL in the meantime.
        BudgetReached: the next call to a model could exceed the budget. Results so far are cached.
        ModelError: the model's server cannot be used.

    Example:
        >>> conspectus.build("notes", "notes.index").manifest.rows["documents"]
        3
        >>> texts = {"ferry": "The ferry Petrel crosses the bay twice a day."}
        >>> index = conspectus.build(texts=texts, index="ferry.index")
        >>> index.retrieve("Which ferry crosses the bay?", "bm25", k=1).passages[0].title
        'ferry'
    """
    from conspectus.pipelines.build_index import build_index

    return changed(
        index,
        settings,
        partial(build_index, _listed(inputs), progress=progress, retry_failed=retry_failed, texts=texts),
    )


def add(
    inputs: Inputs = (),
    index: str | Path = DEFAULT_INDEX,
    settings: Settings | None = None,
    *,
    texts: "Texts" = (),
    progress: Progress = no_progress,
) -> Index:
    """Add documents to an index. Documents with the same ids are replaced.

    The result is the same as building the index from all documents together.

    Args:
        inputs: files, folders, globs or URLs.
        index: the index folder.
        settings: those that the index was made with.
        texts: as for `build`.
        progress: as for `build`.

    Returns:
        The index, open; `Index.report` is the result of the build.

    Raises:
        UsageError: the index was made with other settings.
        InputError, IndexBusy, BudgetReached, ModelError: as for `build`.

    Example:
        >>> _ = Path("ferry.txt").write_text("The ferry Petrel crosses the bay twice a day.")
        >>> conspectus.add("ferry.txt", "notes.index").manifest.rows["documents"]
        4
    """
    from conspectus.pipelines.incremental import change_documents

    return changed(index, settings, partial(change_documents, _listed(inputs), (), progress=progress, texts=texts))


def remove(
    names: Sequence[str] | str,
    index: str | Path,
    settings: Settings | None = None,
    *,
    progress: Progress = no_progress,
) -> Index:
    """Remove documents from an index, and everything that only they supported.

    Older versions and the cache contain their texts until `prune(index, purge=True)`.

    Args:
        names: ids or URIs of documents, or names of files and folders.
        index: the index folder.
        settings: those that the index was made with.
        progress: as for `build`.

    Returns:
        The index, open; `Index.report` is the result of the build.

    Raises:
        UsageError: a name belongs to no document, no document would be left, or the settings differ.

    Example:
        >>> conspectus.remove("tide-mill.txt", "notes.index").manifest.rows["documents"]
        2
    """
    from conspectus.pipelines.incremental import change_documents

    listed = [names] if isinstance(names, str) else names
    return changed(index, settings, partial(change_documents, (), listed, progress=progress))


def import_graphrag(folder: str | Path, index: str | Path, settings: Settings | None = None) -> Index:
    """Make an index from the output folder of Microsoft GraphRAG.

    Args:
        folder: the folder with GraphRAG's Parquet tables, of any version from 1 to 3.
        index: the index folder.
        settings: see `load_settings`.

    Returns:
        The index, open; `Index.report` lists the rows that could not be used.

    Raises:
        InputError: the tables cannot be read.
        UsageError: the index was built from documents.
    """
    from conspectus.pipelines.exchange.graphrag.importer import import_graphrag as import_tables

    return changed(index, settings, lambda local, chosen: import_tables(Path(folder), local, chosen).build)


def estimate(
    inputs: Inputs,
    index: str | Path,
    settings: Settings | None = None,
    *,
    latency: float | None = None,
    retry_failed: bool = False,
) -> "Estimate":
    """Estimate the calls, tokens, dollars and seconds of `build`. No server is called, nothing is written.

    Args:
        inputs: as for `build`.
        index: as for `build`; replies in its cache cost nothing.
        settings: as for `build`.
        latency: seconds per call; None to derive it from the length of the reply.
        retry_failed: as for `build`.

    Returns:
        The estimate by step and in total.

    Example:
        >>> conspectus.estimate("notes", "notes.index").total.calls
        0
    """
    from conspectus.pipelines.estimation.estimate import estimate as estimate_build

    chosen = settings or load_settings()
    with written(index, publishes=False) as folder:
        return estimate_build(_listed(inputs), folder, chosen, latency=latency, retry_failed=retry_failed)


def preview(inputs: Inputs, index: str | Path, settings: Settings | None = None) -> "Preview":
    """Compare an input with an index: which documents `build` would find new, changed and gone.

    Args:
        inputs: as for `build`.
        index: as for `build`.
        settings: as for `build`.

    Returns:
        The documents by kind of change, and what would be extracted and embedded again.

    Example:
        >>> conspectus.preview("notes", "notes.index").same
        3
    """
    from conspectus.pipelines.diff import preview as preview_build

    with written(index, publishes=False) as folder:
        return preview_build(_listed(inputs), folder, settings or load_settings())


def rollback(index: str | Path, settings: Settings | None = None) -> Index:
    """Make the version that was published before the current one current again.

    Args:
        index: the index folder.
        settings: how to ask.

    Raises:
        UsageError: there is no earlier version, or the index is in an object store.
        IndexBusy: a build is running.

    Example:
        >>> before = conspectus.open("notes.index").manifest.version
        >>> _ = conspectus.add(texts={"ferry": "The ferry Petrel crosses the bay."}, index="notes.index")
        >>> conspectus.rollback("notes.index").manifest.version == before
        True
    """
    if is_url(str(index)):
        raise UsageError(f"{index} keeps its current version only; build the documents of the earlier one again")
    current_version(Path(index))
    with build_lock(Path(index)):
        roll_back(Path(index))
    return open_index(index, settings)


def prune(
    index: str | Path, keep: int | None = None, *, purge: bool = False, settings: Settings | None = None
) -> "Purged":
    """Delete old versions of an index.

    Args:
        index: the index folder.
        keep: the number of versions to keep, including the current one; by default `build.keep_versions` more than it.
        purge: also delete everything made from texts that the current version does not contain, from the cache too.
            Only with `keep=1`.
        settings: those that the index was made with.

    Returns:
        The deleted versions, their size in bytes, and with `purge` the number of deleted cache results by kind.

    Raises:
        UsageError: `purge` with `keep` above 1, or `keep` below 1.
        IndexNotFound: no index is at `index`.

    Example:
        >>> conspectus.prune("notes.index").forgotten
        {}
    """
    from conspectus.pipelines.purge import Purged
    from conspectus.pipelines.purge import purge as purge_index

    settings = settings or load_settings()
    keep = keep if keep is not None else 1 if purge else 1 + settings.build.keep_versions
    if keep < 1:
        raise UsageError("keep is the number of versions to keep, at least 1")
    if purge and keep != 1:
        raise UsageError("purge keeps only the current version; omit keep")
    if is_url(str(index)):
        return prune_remote(str(index), keep, settings if purge else None)
    folder = Path(index)
    current_version(folder)  # refuses a folder that is not an index before a lock file is made in it
    if purge:
        return purge_index(folder, settings)
    with build_lock(folder):
        return Purged(prune_index(folder, keep), {})


def correct(
    kind: str,
    *names: str,
    file: str | Path = "corrections.yaml",
    where: str = "",
    at: Sequence[str] = (),
    comment: str = "",
) -> str:
    """Write a correction of the graph into a file, with the date. Builds with `build.corrections` apply it.

    `add([], index, settings)` rebuilds an index at once, from the documents in it.

    Args:
        kind: merge, same, apart, rename, split, type, forbid or fix.
        names: the names that it concerns, followed by what they become.
        file: the file of corrections.
        where: for a split, what chooses the places: "document", "passage" or "words".
        at: for a split, the documents, the ids of passages, or the words in a sentence.
        comment: why.

    Returns:
        The correction as it is in the file.

    Raises:
        UsageError: there is no such kind, or its names are not those that it needs.
        SettingsError: the file is wrong, or contradicts the correction.

    Example:
        >>> conspectus.correct("rename", "Petrel", "Grey Petrel", file="notes.yaml")
        'rename: "Petrel", to: "Grey Petrel"'
        >>> settings = conspectus.load_settings(overrides={"build": {"corrections": "notes.yaml"}})
        >>> conspectus.build("notes", "corrected.index", settings).status().corrections[0].places
        0
    """
    from conspectus.pipelines.resolution.corrections import rule_of, write_rule

    rule = rule_of(kind, names, where, at)
    write_rule(Path(file), rule, f"{date.today().isoformat()}: {comment}".rstrip(": "))
    return ", ".join(rule.lines)


def evaluate(
    suite: str | Path,
    methods: Sequence[str] = COMPARED,
    *,
    k: Sequence[int] = (2, 5),
    answers: bool = False,
    topics: Sequence[Literal["given", "linked"]] = ("given",),
    questions: int | None = None,
    questions_from: str | Path | None = None,
    sweep: str | None = None,
    index: str | Path | None = None,
    settings: Settings | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Evaluate methods on a question set.

    Args:
        suite: a folder with `corpus.jsonl` or `kg.tsv`, and `questions.jsonl`; or a file of questions.
        methods: names of `conspectus methods`.
        k: the cut-offs of recall@k.
        answers: also measure the answers.
        topics: whether walks start at the topics given by the suite, at those linked from the question, or both.
        questions: measure a random sample of this many questions (fixed seed).
        questions_from: ask the questions of this file over the documents of the suite, whose ids they must name.
        sweep: measure with each value of a setting: "max_community_size=1,2,4".
        index: the index folder of the suite; under `.conspectus/suites/` if None.
        settings: see `load_settings`.
        progress: as for `build`.

    Returns:
        Means with 95 % bootstrap intervals by method, and each question's values: the JSON of `conspectus evaluate`.

    Raises:
        InputError: the question set cannot be read.
        UnknownMethod: no method has such a name.
    """
    from conspectus.pipelines.evaluation.evaluate import as_json
    from conspectus.pipelines.evaluation.suites import read_questions, read_suite, sampled, suite_index
    from conspectus.pipelines.evaluation.sweep import evaluate_each, swept_settings, values_of

    for name in methods:
        find_method(name)
    asked = read_suite(Path(suite))
    if questions_from is not None:
        asked = replace(asked, questions=read_questions(Path(questions_from)))
    asked = sampled(asked, questions)
    chosen = asked.settings(settings or load_settings())
    values = values_of(sweep, methods) if sweep else None
    runs = swept_settings(chosen, values) if values else {"": chosen}
    began = time.perf_counter()
    opened = build(asked.inputs, index or suite_index(asked, chosen), chosen, progress=progress)
    build_seconds = time.perf_counter() - began
    scores = evaluate_each(asked, opened.context, runs, methods, k, progress, answers=answers, topics=topics)
    notes = list(opened.report.notes) if opened.report else []
    results = {
        value: {**as_json(asked, runs[value].model_dump(mode="json"), found, build_seconds), "notes": notes}
        for value, found in scores.items()
    }
    if values is None:
        return results[""]
    return {
        "suite": asked.name,
        "questions": len(asked.questions),
        "sweep": {"key": values.key, "values": results},
        "notes": notes,
    }


def _listed(inputs: Inputs) -> Sequence[str | Path]:
    return [inputs] if isinstance(inputs, str | Path) else inputs


def changed(index: str | Path, settings: Settings | None, work: "Callable[[Path, Settings], BuildReport]") -> Index:
    """Change an index under its lock by `work`, whose arguments are the folder and the settings; return it open."""
    settings = settings or load_settings()
    with written(index, wait=settings.build.wait) as folder:
        report = work(folder, settings)
    opened = open_index(index, settings)
    if not report.unchanged:
        prepare(opened)
    return Index(opened.context, replace(report, index=opened.context.index.root))


def prepare(index: Index) -> None:
    """Create the files that questions to a large graph need; otherwise the first question creates them."""
    from conspectus.query.walk.graph import LARGE

    if index.manifest.rows["relations"] >= LARGE:
        from conspectus.query.graph_question.mentions import open_names
        from conspectus.query.sparql.store import open_store

        open_names(index.context)
        open_store(index.context.index)
