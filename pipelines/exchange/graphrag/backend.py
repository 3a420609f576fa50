"""Judgement that takes what GraphRAG found and told from its tables; nobody is asked anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from conspectus.pipelines.backends.base import Described, Found, Told
from conspectus.pipelines.backends.llm import leads
from conspectus.pipelines.build_report import DANGLING
from conspectus.pipelines.exchange.graphrag.communities import communities_of
from conspectus.pipelines.exchange.graphrag.documents import Texts
from conspectus.pipelines.exchange.graphrag.entities import Things, entities_of, things_of
from conspectus.pipelines.exchange.graphrag.ids import Contents
from conspectus.pipelines.exchange.graphrag.mentions import mentions_of
from conspectus.pipelines.exchange.graphrag.relations import claims_of, relations_of
from conspectus.pipelines.exchange.graphrag.reports import Kind, reports_of
from conspectus.pipelines.exchange.graphrag.roundtrip import Taken, origins_of
from conspectus.pipelines.exchange.graphrag.schema import Tables
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.reports.prompt import Cited
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Chunk, Community, Document, Mention
from conspectus.storage.spans import span_in


@dataclass
class GraphragJudgement:
    """Takes everything from the tables. `item_ids` are, after `find` and `tell`, what their rows became."""

    tables: Tables
    texts: Texts
    waits: bool = False
    item_ids: dict[str, Sequence[str]] = field(default_factory=dict)
    _things: Things = field(default_factory=lambda: Things({}, [], []))

    @property
    def voter(self) -> None:
        """No model is asked."""
        return None

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return the entities, relations and claims of the tables, and where they stand in the chunks."""
        tables = self.tables
        of_unit = self.texts.chunks_of_id(tables.text_units)
        chunk_of = {each.id: each for each in chunks}
        claimed = claims_of(tables.covariates, of_unit, chunk_of)
        taken = [row for row, id_ in zip(tables.covariates, claimed.row_ids, strict=True) if id_]
        things = self._things = things_of(tables.entities, tables.relationships, taken, of_unit)
        related = relations_of(tables.relationships, of_unit)
        entities = entities_of(things, degrees_of(related.relations))
        mentions = mentions_of(things, related.relations, chunks)
        self.item_ids.update(
            documents=self.texts.document_ids,
            text_units=[each or "" for each in self.texts.unit_chunks],
            entities=[entity_id(key) for key in things.row_keys],
            relationships=related.row_ids,
            covariates=claimed.row_ids,
        )
        failures = [*things.failures, *related.failures, *claimed.failures]
        return Found(
            Knowledge(entities, related.relations, mentions),
            claimed.claims,
            leads(chunks, mentions),
            failures,
            self._notes(things, len(related.relations), len(claimed.claims)),
        )

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return the hierarchy and the reports of the tables, and where every row came from."""
        tables, knowledge = self.tables, found.knowledge
        described(knowledge.relations)
        id_of = {id_: entity_id(key) for id_, key in self._things.keys_of_ids(tables.entities).items()}
        entity_ids = [each.id for each in knowledge.entities]
        grouped = communities_of(tables.communities, id_of, entity_ids, knowledge.relations, knowledge.mentions)
        community_of = {each.id: each for each in grouped.communities}
        numbered: dict[int, Community] = {}
        for row, id_ in zip(tables.communities, grouped.row_ids, strict=True):
            if id_:
                numbered.setdefault(row.community or 0, community_of[id_])
        chunk_of = {each.id: each for each in chunks}
        places = self._places(found, chunk_of)
        reported = reports_of(tables.community_reports, numbered, places, chunk_of)
        self.item_ids.update(communities=grouped.row_ids, community_reports=reported.row_ids)
        notes = (
            (f"{reported.unresolved} references of reports name rows that are not there",)
            if reported.unresolved
            else ()
        )
        told = Told(
            knowledge.entities,
            knowledge.relations,
            grouped.communities,
            reported.reports,
            [*grouped.failures, *reported.failures],
            notes,
        )
        taken = Taken(self.item_ids, self.texts.prepended)
        return replace(told, origins=origins_of(tables, taken, self.contents(found, told)))

    def contents(self, found: Found, told: Told) -> Contents:
        """Return the tables that the index has of what was found and told."""
        return Contents(
            self.texts.documents,
            self.texts.chunks,
            told.entities,
            found.knowledge.mentions,
            told.relations,
            found.claims,
            told.communities,
            told.reports,
        )

    def spending(self) -> tuple[Spending, ...]:
        """Return nothing: no model is asked."""
        return ()

    def retried(self) -> Retried:
        """Return nothing: the files are read in every build."""
        return Retried()

    def _notes(self, things: Things, n_relations: int, n_claims: int) -> tuple[str, ...]:
        tables = self.tables
        n_named = len(set(things.row_keys))
        n_ends = sum(each.reason == DANGLING for each in things.failures)
        told = [
            (len(tables.entities) - n_named, "rows of entities are of a name that another row has too"),
            (
                n_ends,
                f"ends of relationships or claims are described by no row: "
                f"{len(things.of_key) - n_named} names, entities without a description",
            ),
            (
                len(tables.relationships) - n_relations,
                "relationships join two entities that another one joins too, one way or the other: each pair is one",
            ),
            (len(tables.covariates) - n_claims, "claims say what another one says, or are about nothing"),
        ]
        return tuple(f"{count:,} {what}" for count, what in told if count > 0)

    def _places(self, found: Found, chunk_of: Mapping[str, Chunk]) -> dict[Kind, Cited]:
        """Return what the numbers in references stand for."""
        standing: dict[str, list[Mention]] = {}
        for each in found.knowledge.mentions:
            standing.setdefault(each.entity_id or each.relation_id or "", []).append(each)
        claims = {each.id: each for each in found.claims}
        places: dict[Kind, Cited] = {}
        for kind, table in (("entities", "entities"), ("relationships", "relationships")):
            for row, id_ in zip(getattr(self.tables, table), self.item_ids[table], strict=True):
                spans = tuple(
                    span_in(chunk_of[mention.chunk_id], mention.start, mention.end) for mention in standing.get(id_, ())
                )
                if row.human_readable_id is not None and spans:
                    places.setdefault((kind, row.human_readable_id), Cited(spans, is_name=kind == "entities"))
        for claim_row, id_ in zip(self.tables.covariates, self.item_ids["covariates"], strict=True):
            if claim_row.human_readable_id is not None and id_:
                claim = claims[id_]
                span = span_in(chunk_of[claim.chunk_id], claim.start, claim.end)
                places.setdefault(("claims", claim_row.human_readable_id), Cited((span,), is_name=False))
        for unit, chunk_id in zip(self.tables.text_units, self.texts.unit_chunks, strict=True):
            if unit.human_readable_id is not None and chunk_id is not None:
                span = span_in(chunk_of[chunk_id])
                places.setdefault(("sources", unit.human_readable_id), Cited((span,), is_name=False))
        return places
