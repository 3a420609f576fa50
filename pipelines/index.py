"""The flow: documents in, a published index out. The steps stand here in the order the data moves."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.backends.base import extractor_of, judgement_of
from conspectus.pipelines.build_report import BuildReport, can_be_retried, reported
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.gc_tuning import rarely_collecting
from conspectus.pipelines.plan import IMPORTED, Brought, check_maker, fingerprint_of, read_input, tool_versions
from conspectus.pipelines.publish import Shelf
from conspectus.pipelines.resolution.resolve import Resolved, resolve
from conspectus.pipelines.resolution.undo_log import Deciding, fingerprinted, kept_marks, merges_of
from conspectus.pipelines.runner import Progress, RunHere, Runner, beside, no_progress
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.communities import earlier_of, not_divided
from conspectus.pipelines.steps.join_graph import ids_of_graph, join, origins
from conspectus.pipelines.steps.synonyms import find_synonyms
from conspectus.pipelines.steps.vectors import Embedding, Windows, rows_to_embed
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.graph.walk_graph import walk
from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest, current_manifest, damaged_files
from conspectus.storage.memo import Memo
from conspectus.storage.publishing import build_lock, publish, staging
from conspectus.storage.records import Document, Entity, Failure, Relation, Synonym
from conspectus.storage.settings import Settings
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.embedded import chunk_text, entity_text, predicate_texts, relation_text, report_text

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
                return reported(index, current, True, before, began, retried=Retried() if retry_failed else None)

        memo = Memo(index / "cache" / "memo.sqlite")
        graph = read_graph(settings.kg)
        earlier = earlier_of(index, current, settings)
        judgement = (
            brought.judgement
            if brought
            else judgement_of(settings, memo, run, progress, earlier, retry_failed=retry_failed)
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
            walked = later(
                walk, documents, chunks, found.annotations, found.knowledge.entities, found.knowledge.mentions, settings
            )
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
                    "extraction": brought.maker if brought else extractor_of(settings),
                },
                tools=tool_versions(),
            )
    retried = judgement.retried() if retry_failed else None
    notes = (*(brought.notes if brought else ()), *found.notes, *told.notes)
    return reported(index, manifest, False, failures, began, judgement.spending(), retried, notes)


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
