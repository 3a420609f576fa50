"""Compare what was extracted and resolved with the schema of a domain, and keep, mark or drop what does not fit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conspectus.pipelines.build_report import SCHEMA
from conspectus.pipelines.resolution.correct import corrected
from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.resolution.resolve import Resolved
from conspectus.pipelines.steps.extract.schema import read_schema
from conspectus.storage.mapped import Changed
from conspectus.storage.records import Chunk, Failure, Relation
from conspectus.storage.settings import ExtractionSettings


def fitted(resolved: Resolved, chunks: Sequence[Chunk], extraction: ExtractionSettings) -> tuple[Resolved, str]:
    """Return the knowledge that remains by `extraction.outside_schema`, a failure for each misfit, and a note.

    A relation that a model stated in several ways fits if one of them does; with `drop` it keeps only those.
    """
    schema = read_schema(extraction.schema)
    if schema is None:
        return resolved, ""
    found, outside = resolved.found, extraction.outside_schema
    entities, relations = found.knowledge.entities, found.knowledge.relations
    about = {entity.id: (entity.name, entity.types) for entity in entities}
    strange = {id_ for id_, (_, types) in about.items() if not schema.has_type(types)}
    failures = [_misfit(about[id_][0], "its type", ", ".join(about[id_][1])) for id_ in sorted(strange)]
    rules = [Rule("forbid", (about[id_][0],)) for id_ in sorted(strange)]
    fitting, n_misfits, turned = dict[str, Sequence[tuple[str, str]] | None](), 0, dict[str, Relation]()
    for relation in relations:
        stated = _stated(relation, found.predicates)
        fits = [
            (source, said)
            for source, said in stated
            if schema.allows(about[source][1], said, about[_other_end(relation, source)][1])
        ]
        if relation.id in found.predicates and fits and outside == "drop":
            fitting[relation.id] = fits
            if all(source != relation.source_id for source, _ in fits):  # what is left says it the other way round
                turned[relation.id] = replace(relation, source_id=relation.target_id, target_id=relation.source_id)
        if fits:
            continue
        n_misfits += 1
        source, said = stated[0]
        ends = about[source][0], about[_other_end(relation, source)][0]
        if not {relation.source_id, relation.target_id} & strange or outside != "drop":
            failures.append(_misfit(f"{ends[0]} {said} {ends[1]}", "the relation", said))
        rules.append(Rule("forbid", ends if relation.id in found.predicates else (ends[0], said, ends[1])))
    note = (
        f"{len(strange):,} of {len(entities):,} entities and {n_misfits:,} of {len(relations):,} relations do not fit "
        f"extraction.schema ({_DONE[outside]})"
    )
    if outside == "drop":
        rows = [turned.get(relation.id, relation) for relation in relations] if turned else relations
        predicates = Changed(found.predicates, fitting)
        found = replace(found, predicates=predicates, knowledge=replace(found.knowledge, relations=rows))
        found, merges, _ = corrected((), chunks, found, resolved.merges, rules, weighed=False)
        resolved = replace(resolved, found=found, merges=merges)
    kept = [] if outside == "keep" else failures
    return replace(resolved, failures=[*resolved.failures, *kept]), note


_DONE = {"keep": "kept", "mark": "kept, and listed as failures", "drop": "dropped"}


def _stated(relation: Relation, predicates: Mapping[str, Sequence[tuple[str, str]]]) -> Sequence[tuple[str, str]]:
    """Return the source and predicate of each statement of a relation."""
    return predicates.get(relation.id) or [(relation.source_id, relation.predicate)]


def _other_end(relation: Relation, end: str) -> str:
    return relation.target_id if end == relation.source_id else relation.source_id


def _misfit(item: str, what: str, detail: str) -> Failure:
    return Failure(SCHEMA, item, f"{what} is not in the schema", detail)
