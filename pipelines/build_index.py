"""Build an index: documents in, a published version out. `index_steps` lists the steps in order."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from conspectus.pipelines.backends.base import Backend, Descriptions, Extraction, extractor_name, open_backend
from conspectus.pipelines.build_plan import (
    BuildPlan,
    BuildSource,
    installed_version,
    plan_build,
    source_of,
    tool_versions,
)
from conspectus.pipelines.build_report import BuildReport, build_report
from conspectus.pipelines.exchange.kg.builder import ImportedGraph
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.remote_index.shared_memo import open_memo
from conspectus.pipelines.resolution.correct import corrected
from conspectus.pipelines.resolution.corrections import Rule, kept_apart
from conspectus.pipelines.resolution.fit_schema import fitted
from conspectus.pipelines.resolution.resolve import Resolved, resolve
from conspectus.pipelines.runner import Overlap, Progress, Runner, announced, awaited, no_progress, open_runner
from conspectus.pipelines.steps.chunks import languages_of_chunks, split_documents
from conspectus.pipelines.steps.communities import earlier_communities, not_divided
from conspectus.pipelines.steps.dated_facts import dated_facts
from conspectus.pipelines.steps.documents import Texts
from conspectus.pipelines.steps.join_graph import further_names, ids_of_graph, join, origins
from conspectus.pipelines.steps.synonyms import synonyms_of
from conspectus.pipelines.steps.vectors import MOST_EMBEDDED, Embedding, Windows, texts_of_chunks
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.render import prompts_of
from conspectus.prompts.replies.structured import Retried
from conspectus.storage.graph.walk_graph import Walk, walk
from conspectus.storage.index import DESCRIPTIONS, SPARSE_VECTORS, StoredIndex
from conspectus.storage.manifest import MEMO, Manifest
from conspectus.storage.name_tables import prepare
from conspectus.storage.publishing import build_lock, publish, set_current, staging
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import Settings
from conspectus.storage.spilled import spilling_to
from conspectus.storage.structure.links import find_links
from conspectus.storage.tables import TABLES, sorted_by_id, write_table
from conspectus.storage.text.bm25 import write_bm25
from conspectus.storage.text.language import unknown_to_encoder
from conspectus.storage.vectors.faiss_index import EXACT_ROWS
from conspectus.storage.vectors.windowed import write_windowed


class VersionWriter:
    """Writes the parts of a version into a staging folder, from several threads, each part once."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._rows: dict[str, int] = {}

    def table(self, name: str, rows: Sequence[object]) -> None:
        """Write a table as Parquet."""
        write_table(self._folder / f"{name}.parquet", TABLES[name], rows)
        self._rows[name] = len(rows)

    def vectors(self, name: str, windows: Windows) -> None:
        """Write the vectors of a table's rows; vectors of no table (predicates, descriptions) count in the same way."""
        if name not in TABLES:
            self._rows[name] = int(windows.rows[-1]) + 1 if len(windows.rows) else 0
        (self._folder / "vectors").mkdir(exist_ok=True)
        write_windowed(
            self._folder / "vectors" / f"{name}.faiss",
            windows.vectors,
            windows.rows,
            exact_rows=EXACT_ROWS,
            every_row=name not in SPARSE_VECTORS,
        )

    def lexical(self, texts: Sequence[str], languages: Sequence[str]) -> None:
        """Write the BM25 index."""
        write_bm25(self._folder / "bm25", texts, languages)

    def walk(self, walk: Walk) -> None:
        """Write the table of names and the graph."""
        self.table("names", walk.names)
        walk.graph.save(self._folder / "graph")

    def publish(self, plan: BuildPlan, models: Mapping[str, str]) -> Manifest:
        """Make the written files a version, which is not yet current, and return its manifest."""
        return publish(
            plan.index,
            self._folder,
            settings=plan.index_settings,
            fingerprint=plan.fingerprint,
            rows=self._rows,
            models=models,
            tools={"conspectus": installed_version("conspectus"), **tool_versions(plan.index_settings)},
            is_current=False,
        )


def build_index(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    *,
    retry_failed: bool = False,
    texts: Texts = (),
) -> BuildReport:
    """Make the index at `index` equal to the input: new documents are added, changed ones redone, missing ones removed.

    Expensive results are cached in INDEX/cache by the hash of their inputs, so a build pays only for what is new, and a
    build that was killed continues where it stopped. Errors leave the current version untouched.

    Args:
        inputs: Files, folders, globs and URLs; may be empty if `settings.kg.files` or `extraction.openie` is set.
        index: The folder of the index; it is made if missing.
        settings: Settings of the build.
        run: Runs the shards of a step; by default what `settings.build.runner` names.
        progress: Called as work advances.
        retry_failed: Retry failures, and ask the model again for incomplete replies. (Unreadable inputs are tried in
            every build.)
        texts: Documents from memory.

    Returns:
        The report of the build, with all failures of the new version.

    Raises:
        InputError: An input does not exist, or nothing can be read.
        NeedsModel: The settings need a model and name none.
        MissingPart: An optional library is not installed.
        IndexBusy: Another build locks the index for longer than `build.wait` seconds.
        UsageError: The index was imported from another program.
        BudgetReached: `llm.max_tokens` or `llm.max_cost` is spent; results that were paid for are cached.
        ModelRefused, ModelUnavailable: No call got a reply.
        SettingsError: The Dask scheduler that `build.runner` names does not answer.
        ChecksFailed: More checks fail than `build.checks_failed`; the version is kept, but not published.

    Example:
        >>> build_index(["docs"], Path("docs.index"), Settings()).rows["documents"]  # doctest: +SKIP
        12
    """
    source = source_of(inputs, settings, progress, texts)
    return build_from(source, index, settings, run, progress, retry_failed=retry_failed)


def build_from(
    source: BuildSource,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    *,
    retry_failed: bool = False,
) -> BuildReport:
    """Make the index equal to a source; the arguments and errors are those of `build_index` and `plan_build`.

    The source is read while the build holds the lock of the index.
    """
    began = time.perf_counter()
    lock = build_lock(index, settings.build.wait, lambda: progress("wait for another build", 0, 0))
    runner = nullcontext(run) if run else open_runner(settings.build.runner, progress)
    with (
        lock,
        prompts_of(settings.llm.prompts),
        spilling_to(index),
        runner as run,
    ):
        plan = plan_build(source, index, settings, retry_failed=retry_failed)
        settings = plan.settings
        if plan.is_unchanged and plan.current:
            nothing = Retried() if retry_failed else None
            return build_report(
                index, plan.current, plan.previous_failures(), began, is_unchanged=True, retried=nothing
            )
        memo = open_memo(index / MEMO, shares=settings.build.share_results, progress=progress)
        graph = read_graph(settings.kg, settings.input)
        for line in graph.understood if graph else ():
            progress(line, 1, 1)
        earlier = earlier_communities(index, plan.current, settings)
        backend = source.backend or open_backend(
            settings, memo, run, progress, earlier, retry_failed=retry_failed, rules=plan.rules
        )
        embedding = Embedding(settings.embedding, settings.embedding_server, memo, run)
        split = announced(progress, "split", split_documents)
        chunks: Sequence[Chunk]
        chunks = split(plan.documents, settings.chunks) if source.chunks is None else source.chunks
        with staging(index) as folder, memo.open():
            writer = VersionWriter(folder, settings)
            resolves = not source.maker
            made = index_steps(
                Build(
                    plan.documents, chunks, graph, plan.rules, resolves, settings, backend, embedding, writer, progress
                )
            )
            failures = sorted_by_id([*plan.failures, *made.failures])
            writer.table("failures", failures)
            manifest = announced(progress, "write", writer.publish)(plan, _models(source, settings, made))
        announced(progress, "prepare", prepare)(StoredIndex(index, manifest))
        if settings.build.checks:
            from conspectus.pipelines.evaluation.checks import must_pass

            announced(progress, "check", must_pass)(StoredIndex(index, manifest), settings)
        set_current(index, manifest.version)
    return build_report(
        index,
        manifest,
        failures,
        began,
        spending=backend.spending(),
        retried=backend.retried() if retry_failed else None,
        notes=(*source.notes, *made.notes),
    )


@dataclass(frozen=True, slots=True)
class Build:
    """The inputs and tools of the steps of a build.

    Attributes:
        documents: The documents, sorted by id.
        chunks: Their chunks, sorted by id.
        graph: An imported knowledge graph, if there is one.
        rules: Corrections.
        resolves: Whether names are resolved here; the program that made an imported index did that.
        settings: Settings of the build.
        backend: Extracts, describes and reports.
        embedding: Makes vectors.
        writer: Writes the parts of the index.
        progress: Called as work advances.
    """

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    graph: ImportedGraph | None
    rules: Sequence[Rule]
    resolves: bool
    settings: Settings
    backend: Backend
    embedding: Embedding
    writer: VersionWriter
    progress: Progress = no_progress


@dataclass(frozen=True, slots=True)
class StepResults:
    """Results that the steps add to the report of a build: failures, notes, and the dimension of vectors."""

    failures: list[Failure]
    notes: tuple[str, ...]
    dimension: int


def index_steps(build: Build) -> StepResults:
    """Run the steps of indexing in data order, and pass every part of the index to the writer.

    Work that the next step does not need is started, and runs while the backend waits for its server.
    """
    documents, chunks, graph, settings = build.documents, build.chunks, build.graph, build.settings
    backend, embedding, writer = build.backend, build.embedding, build.writer
    said = partial(announced, build.progress)
    with Overlap(backend.is_remote) as overlap:
        # Chunks: their vectors and the lexical index.
        chunk_vectors = overlap.beside(embedding.chunks, documents, chunks)
        dimension = overlap.start(_dimension, awaited(chunk_vectors))
        overlap.start(writer.vectors, "chunks", awaited(chunk_vectors))
        overlap.start(writer.table, "documents", documents)
        overlap.start(writer.table, "chunks", chunks)
        languages = overlap.start(languages_of_chunks, documents, chunks)
        texts = overlap.start(texts_of_chunks, documents, chunks)
        overlap.start(said("word index", writer.lexical), awaited(texts), awaited(languages))

        # The documents' own structure: sections, hyperlinks, references, replies, terms.
        links = overlap.start(find_links, documents, chunks)
        overlap.start(writer.table, "links", awaited(links))

        # Knowledge: extracted, names resolved, joined with an imported graph.
        extracted = backend.extract(documents, chunks)
        overlap.settle()
        resolved, fits = fitted(_resolve_names(build, extracted, overlap), chunks, settings.extraction)
        extraction = _join_graph(resolved.found, graph)
        merges = [*resolved.merges, *further_names(graph, extraction.knowledge.entities)] if graph else resolved.merges
        extraction, merges, corrections = said("correct", corrected)(
            documents, chunks, extraction, merges, build.rules, weighed=graph is not None
        )
        overlap.start(writer.table, "corrections", corrections)
        knowledge = extraction.knowledge
        overlap.start(writer.table, "mentions", knowledge.mentions)
        overlap.start(writer.table, "claims", extraction.claims)
        dated = overlap.start(said("dates", dated_facts), documents, chunks, knowledge, extraction.claims)
        overlap.start(writer.table, "dated_facts", awaited(dated))
        overlap.start(writer.table, "merges", sorted_by_id(merges))

        # The graphs over it: synonyms, and the graph for PageRank.
        entities, seed = knowledge.entities, settings.communities.seed
        entity_vectors = overlap.start(embedding.entities, entities, MOST_EMBEDDED)
        overlap.start(writer.vectors, "entities", awaited(entity_vectors))
        synonyms = overlap.start(
            said("synonyms", synonyms_of), entities, awaited(entity_vectors), settings.synonyms, seed
        )
        overlap.start(writer.table, "synonyms", awaited(synonyms))
        walked = overlap.start(
            said("graph", walk),
            documents,
            chunks,
            extraction.annotations,
            knowledge.entities,
            knowledge.mentions,
            awaited(links),
        )
        overlap.start(writer.walk, awaited(walked))
        overlap.settle()

        # Descriptions, communities, reports.
        descriptions = said("descriptions", backend.describe)(extraction)
        overlap.start(partial(_write_descriptions, linked=backend.describes), awaited(descriptions), embedding, writer)
        not_described = overlap.start(lambda described: described.failures, awaited(descriptions))
        overlap.settle()
        division = said("communities", backend.divide)(extraction)
        overlap.start(writer.table, "communities", division.communities)
        reports = said("reports", backend.report)(extraction, division.communities)
        overlap.start(writer.table, "reports", reports.reports)
        overlap.start(writer.vectors, "reports", awaited(overlap.start(embedding.reports, reports.reports)))
        overlap.start(writer.table, "origins", origins(graph, knowledge) if graph else [])
    of_steps = (extraction.failures, resolved.failures, not_described.result(), reports.failures)
    failures = [*(graph.failures if graph else ()), *(failure for found in of_steps for failure in found)]
    unknown = unknown_to_encoder(settings.embedding.model, languages.result())
    notes = (*extraction.notes, *division.notes, *reports.notes, *filter(None, (fits, unknown)))
    return StepResults(failures, notes, dimension.result())


def _dimension(windows: Windows) -> int:
    return int(windows.vectors.shape[1])


def _resolve_names(build: Build, extracted: Extraction, overlap: Overlap) -> Resolved:
    """Return the extraction with the aliases of one entity merged."""
    if not build.resolves:
        return Resolved(extracted, [], [])
    return announced(build.progress, "resolve names", resolve)(
        build.documents,
        build.chunks,
        extracted,
        build.settings,
        embed=partial(overlap.run, partial(build.embedding.first_windows, step="embed names")),
        apart=kept_apart(build.rules),
        imported=ids_of_graph(build.graph) if build.graph else (),
        model=build.backend.model,
        progress=build.progress,
    )


def _join_graph(extraction: Extraction, graph: ImportedGraph | None) -> Extraction:
    """Return the entities and relations of the documents and an imported graph together."""
    if graph is None:
        return extraction
    knowledge = join(extraction.knowledge, graph)
    left_out = not_divided(knowledge.relations)
    return replace(
        extraction, knowledge=knowledge, notes=(*extraction.notes, *graph.understood, *graph.notes, *left_out)
    )


def _write_descriptions(described: Descriptions, embedding: Embedding, writer: VersionWriter, *, linked: bool) -> None:
    """Write entities and relations as soon as all have their descriptions, and embed the relations.

    `linked`: questions are linked to entities by their descriptions, so these are embedded too.
    """
    writer.table("entities", described.entities)
    writer.table("relations", described.relations)
    if linked:
        writer.vectors(DESCRIPTIONS, embedding.descriptions(described.entities, MOST_EMBEDDED))
    writer.vectors("relations", embedding.relations(described.entities, described.relations))
    writer.vectors("predicates", embedding.predicates(described.relations))


def _models(source: BuildSource, settings: Settings, made: StepResults) -> dict[str, str]:
    return {
        "embedding": open_embedder(settings.embedding, settings.embedding_server).name,
        "dimension": str(made.dimension),
        "extraction": source.maker or extractor_name(settings),
    }
