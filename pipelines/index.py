"""The flow: documents in, a published index out. The steps stand here in the order the data moves."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.beside import beside
from pipelines.collecting import rarely_collecting
from pipelines.earlier import earlier_of
from pipelines.fingerprint import fingerprint_of, tool_versions
from pipelines.interchange.kg import read_graph
from pipelines.judgement import Judgement
from pipelines.judgement_offline import OfflineJudgement
from pipelines.lost import LostShare, can_be_retried, lost_shares
from pipelines.resolution.marks import Deciding, fingerprinted, kept_marks, merges_of
from pipelines.resolution.resolve import Resolved, resolve
from pipelines.runner import Progress, RunHere, Runner, no_progress
from pipelines.shelf import Shelf
from pipelines.steps.chunks import split_documents
from pipelines.steps.communities import Earlier, not_divided
from pipelines.steps.documents import read_documents
from pipelines.steps.graph import walk
from pipelines.steps.imported import ids_of_graph, join, origins
from pipelines.steps.openie_results import GRAPHML, read_passages
from pipelines.steps.synonyms import find_synonyms
from pipelines.steps.vectors import (
    Embedding,
    Windows,
    chunk_text,
    entity_text,
    predicate_texts,
    relation_text,
    report_text,
    rows_to_embed,
)
from prompts.embedder import open_embedder
from prompts.retrying import Retried
from prompts.usage import Spending
from storage.errors import InputError, UsageError
from storage.index import Index
from storage.manifest import Manifest, current_manifest, damaged_files
from storage.memo import Memo
from storage.publishing import build_lock, publish, staging
from storage.records import Chunk, Document, Entity, Failure, Relation, Synonym
from storage.settings import Settings
from storage.tables import sorted_by_id


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


@dataclass(frozen=True, slots=True)
class Brought:
    """What another program (`maker`) made of the documents, in the place of what we would: `digest` is that of it."""

    maker: str
    digest: str
    chunks: list[Chunk]
    judgement: Judgement
    notes: tuple[str, ...] = ()


Reading = Callable[[Manifest | None], tuple[list[Document], list[Failure]]]
"""Gives the documents, sorted by id, and what could not be read."""


def build_index(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    *,
    retry_failed: bool = False,
) -> BuildReport:
    """Make the index at `index` equal to the input and return what was done.

    Expensive results are remembered under INDEX/cache by the hash of what they depend on, so a build pays only
    for what is new, and one that was killed goes on where it was. InputError, MissingPart and IndexBusy leave
    the version in force untouched. What cannot be read is looked at in every build; `retry_failed` tries again what
    else had failed, and asks the model again for replies that lost something, and for nothing else.
    """

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return read_input(inputs, settings)

    return build_from(read, index, settings, run, progress, retry_failed=retry_failed)


def build_from(
    read: Reading,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    *,
    retry_failed: bool = False,
    brought: Brought | None = None,
    decide: Deciding = kept_marks,
) -> BuildReport:
    """Make the index equal to the documents that `read` gives; the rest is as for `build_index`.

    `read` is called when no other build can change the index any more, with the manifest of the version in force. With
    `brought` chunks and judgement are those. UsageError where this would replace what was imported by what is built
    from documents, or the other way round. `decide` gives the merges that are taken back, of those of the version in
    force: by default those that are already.
    """
    began = time.perf_counter()
    run = run or RunHere()
    with (
        build_lock(index, settings.build.wait, lambda: progress("wait for another build", 0, 1)),
        rarely_collecting() if settings.kg.files else nullcontext(),
    ):
        current = current_manifest(index)
        check_maker(index, current, brought.maker if brought else "")
        documents, failures = read(current)
        marks = decide(merges_of(index, current))
        shaping = settings.of_the_index()
        if brought:
            shaping[IMPORTED] = {"from": brought.maker}
        fingerprint = fingerprint_of(
            documents, failures, settings, shaping, brought.digest if brought else "", fingerprinted(marks)
        )
        if current and current.fingerprint == fingerprint and not damaged_files(index, current):
            before = Index(index, current).rows(Failure)
            if not (retry_failed and can_be_retried(before)):
                return _report(index, current, True, before, began, retried=Retried() if retry_failed else None)

        memo = Memo(index / "cache" / "memo.sqlite")
        graph = read_graph(settings.kg)
        earlier = earlier_of(index, current, settings)
        judgement = (
            brought.judgement
            if brought
            else _judgement(settings, memo, run, progress, earlier, retry_failed=retry_failed)
        )
        embedding = Embedding(settings.embedding, settings.embedding_server, memo, run)
        chunks = brought.chunks if brought else split_documents(documents, settings.chunks)
        document_of = {each.id: each for each in documents}
        chunk_texts = [chunk_text(each, document_of[each.document_id]) for each in chunks]

        with staging(index) as folder, beside(judgement.waits) as later:
            # What no step waits for is done while a model is waited for: `later` keeps the order.
            vectors = {"chunks": later(embedding.windows, chunk_texts, "embed chunks")}
            shelf = Shelf(folder, settings)
            written = [
                later(shelf.put, "documents", documents),
                later(shelf.put, "chunks", chunks),
                later(shelf.put_lexical, chunk_texts),
            ]
            resolved = Resolved(judgement.find(documents, chunks), [], [])
            if not brought:  # its maker has said which of its names are one thing's
                resolved = resolve(
                    documents,
                    chunks,
                    resolved.found,
                    settings,
                    embed=lambda texts: later(embedding.windows, texts, "embed names")().first(),
                    marks=marks,
                    brought=ids_of_graph(graph) if graph else (),
                    model=judgement.voter,
                    progress=progress,
                )
            found = resolved.found
            if graph:
                knowledge = join(found.knowledge, graph)
                notes = (*found.notes, *graph.notes, *not_divided(knowledge.relations, settings.communities))
                found = replace(found, knowledge=knowledge, notes=notes)
                failures += graph.failures
            entities, mentions = found.knowledge.entities, found.knowledge.mentions
            named = rows_to_embed(entities, settings.kg.embedded_entities)
            names = later(embedding.windows, [entity_text(entities[row]) for row in named], "embed entities")
            vectors["entities"] = lambda: names().at(named)
            synonyms = later(lambda: _synonyms(entities, named, names(), settings))
            walked = later(walk, documents, chunks, found.annotations, found.knowledge, settings)
            written += [
                later(shelf.put, "mentions", mentions),
                later(shelf.put, "claims", found.claims),
                later(lambda: shelf.put("synonyms", synonyms())),
                later(lambda: shelf.put("names", walked().names)),
                later(lambda: shelf.put_graph(walked().graph)),
            ]

            def described(relations: Sequence[Relation]) -> None:
                name_of = {each.id: each.name for each in entities}
                cited = [row for row, each in enumerate(relations) if each.chunk_ids]
                texts = [relation_text(relations[row], name_of) for row in cited]
                facts = later(embedding.windows, texts, "embed relations")
                vectors["relations"] = lambda: facts().at(cited)
                vectors["predicates"] = later(embedding.windows, predicate_texts(relations), "embed predicates")
                written.append(later(shelf.put, "relations", relations))

            told = judgement.tell(documents, chunks, found, described)
            vectors["reports"] = later(embedding.windows, [report_text(each) for each in told.reports], "embed reports")
            failures = sorted_by_id([*failures, *found.failures, *resolved.failures, *told.failures])
            shelf.put("entities", told.entities)
            shelf.put("communities", told.communities)
            shelf.put("reports", told.reports)
            shelf.put("merges", resolved.merges)
            shelf.put("origins", sorted_by_id([*told.origins, *(origins(graph, found.knowledge) if graph else ())]))
            shelf.put("failures", failures)
            for done in written:
                done()
            for name, made in vectors.items():
                shelf.put_vectors(name, made())
            manifest = publish(
                index,
                folder,
                settings=shaping,
                fingerprint=fingerprint,
                rows=shelf.rows,
                models={
                    "embedding": open_embedder(settings.embedding, settings.embedding_server).name,
                    "dimension": str(vectors["chunks"]().vectors.shape[1]),
                    "extraction": brought.maker if brought else _extractor(settings),
                },
                tools=tool_versions(),
            )
    retried = judgement.retried() if retry_failed else None
    notes = (*(brought.notes if brought else ()), *found.notes, *told.notes)
    return _report(index, manifest, False, failures, began, judgement.spending(), retried, notes)


IMPORTED = "imported"
"""The section of a manifest's settings that says which program an index was imported from."""


def check_maker(index: Path, current: Manifest | None, maker: str) -> None:
    """Refuse to replace what another program made by what we make of documents, or the other way round."""
    if current is None:
        return
    made_by = str(current.settings.get(IMPORTED, {}).get("from", ""))
    if made_by and made_by != maker:
        raise UsageError(
            f"{index} was imported from {made_by}: change its documents there and import them again, or build an "
            f"index of them in another folder with: conspectus index INPUT --index FOLDER"
        )
    if maker and not made_by:
        raise UsageError(f"{index} was built from documents; name another folder with --index to import into")


def read_input(inputs: Sequence[str | Path], settings: Settings) -> tuple[list[Document], list[Failure]]:
    """Return the documents of the input and what could not be read; none where a graph alone is brought.

    Without an input they are the passages of an extraction that has them. Raises InputError where there is nothing, and
    as `read_documents`.
    """
    openie = Path(settings.extraction.openie) if settings.extraction.openie else None
    if inputs:
        if openie and openie.suffix.lower() == GRAPHML:
            raise UsageError(f"{openie.name} brings its own texts: leave the documents out, or bring it with --kg only")
        return read_documents(inputs, settings.input)
    if openie:
        return read_passages(openie), []
    if not settings.kg.files:
        raise InputError("there is nothing to index: name documents, or a graph with --kg")
    return [], []


def _synonyms(entities: Sequence[Entity], rows: Sequence[int], names: Windows, settings: Settings) -> list[Synonym]:
    """Return the near names among those of the documents: a graph says itself which of its things are one."""
    told = [place for place, row in enumerate(rows) if entities[row].frequency]
    return find_synonyms(
        [entities[rows[place]].id for place in told],
        [entities[rows[place]].name for place in told],
        names.first()[told],
        settings.synonyms,
        settings.communities.seed,
    )


def _judgement(
    settings: Settings, memo: Memo, run: Runner, progress: Progress, earlier: Earlier | None, *, retry_failed: bool
) -> Judgement:
    if settings.extraction.openie:
        from pipelines.judgement_openie import OpenieFileJudgement

        return OpenieFileJudgement(settings, memo, run, earlier)
    if settings.extracts_with and settings.extraction.method == "openie":
        from pipelines.judgement_openie import OpenieModelJudgement

        return OpenieModelJudgement(settings, memo, run, progress, retry=retry_failed, earlier=earlier)
    if settings.extracts_with:
        from pipelines.judgement_model import ModelJudgement

        return ModelJudgement(settings, memo, progress, retry=retry_failed, earlier=earlier)
    return OfflineJudgement(settings, memo, run, earlier)


def _extractor(settings: Settings) -> str:
    """Return the name of what extracted: a model, a pipeline, or both a file and the pipeline for what it lacks."""
    if settings.extraction.openie:
        return f"{Path(settings.extraction.openie).name}, {settings.extraction.pipeline}"
    return settings.extracts_with or settings.extraction.pipeline


def _report(
    index: Path,
    manifest: Manifest,
    unchanged: bool,
    failures: Sequence[Failure],
    began: float,
    spending: tuple[Spending, ...] = (),
    retried: Retried | None = None,
    notes: tuple[str, ...] = (),
) -> BuildReport:
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
