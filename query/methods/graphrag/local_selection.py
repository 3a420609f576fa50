"""The selection of local search: entities of the question, then their relations, claims, reports and passages.

GraphRAG's local search links a question to entities and ranks everything else by its relation to them. There are three
additions: entities named in the question come first; relations to unlinked entities are also ranked by similarity to
the question; and passages similar to the question are candidates even if they mention no linked entity, so
everything in the index can be found.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.graph_tables import GraphTables, knowledge_of
from conspectus.query.methods.ppr.seeds import text_scores
from conspectus.query.question.question import open_question
from conspectus.storage.arrays import Floats, Ints, Rows, distinct
from conspectus.storage.graph.walk_graph import MOST_OWNERS
from conspectus.storage.index import DESCRIPTIONS
from conspectus.storage.level_names import level_number
from conspectus.storage.settings import LocalSettings

_MENTIONED = 0.5
"""The weight of the linked entities that a passage mentions; similarity to the question counts up to 1."""
_STATED = 0.05
"""The weight of a relation between linked entities that a passage states."""
_TITLED = 0.3
"""The weight of a title that the question names."""
_NEAR = 0.3
_SHARPNESS = 4
"""The weight of an entity found by embedding is 0.3 times its cosine to the fourth power; of a named one, 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Rows of a table, best first, and the score of each."""

    rows: Rows
    scores: Floats


class LocalSelection:
    """The selection of one question; its parts are computed on first use."""

    def __init__(self, context: Context, question: str) -> None:
        self._context = context
        self._settings: LocalSettings = context.settings.local_search
        self._question = open_question(context, question)
        self._vector = self._question.vector[np.newaxis]
        self.knowledge: GraphTables = knowledge_of(context)

    @cached_property
    def named(self) -> Rows:
        """The entities named in the question, the rarest first."""
        rows = np.array(self._question.linker.entities(self._question.links), np.int64)
        ordered: Rows = rows[np.lexsort((rows, self.knowledge.frequencies(rows)))]
        return ordered

    @property
    def by_description(self) -> bool:
        """Whether the index has vectors of entities by name and description, as GraphRAG's do; else names are used."""
        return self._context.index.has_vectors(DESCRIPTIONS)

    @cached_property
    def entities(self) -> Ranked:
        """The linked entities: those named, then those nearest by embedding (`by_description`)."""
        count = self._settings.entities
        named = self.named[:count]
        vectors = self._context.index.vectors(DESCRIPTIONS if self.by_description else "entities")
        cosines, near = vectors.search(self._vector, count + len(named))
        fresh = np.flatnonzero(~np.isin(near[0], named))[: count - len(named)]
        weights = _NEAR * np.clip(cosines[0][fresh].astype(np.float64), 0, 1) ** _SHARPNESS
        return Ranked(np.concatenate([named, near[0][fresh]]), np.concatenate([np.ones(len(named)), weights]))

    @cached_property
    def inner_relations(self) -> Rows:
        """The relations between two linked entities, by weight, then by the degrees of both ends."""
        rows = self._touching[self._linked_ends == 2]
        ordered: Rows = rows[np.lexsort((rows, -self._degrees(rows), -self.knowledge.weights(rows)))]
        return ordered

    @cached_property
    def outer_relations(self) -> Rows:
        """The best relations of linked entities to others.

        First those to entities that several linked entities share; then by weight times cosine with the question; then
        by the degrees of both ends.
        """
        known, rows = self.knowledge, self._touching[self._linked_ends == 1]
        ends = known.ends(rows)
        inside = np.isin(ends, self.entities.rows)
        near_end, far_end = ends[inside], ends[~inside]
        pairs = np.unique(np.stack([far_end, near_end], axis=1), axis=0)
        others, links = np.unique(pairs[:, 0], return_counts=True)
        shared = links[np.searchsorted(others, far_end)]
        closeness = self._context.index.vectors("relations").scores(self._vector, rows)[0].astype(np.float64)
        telling = known.weights(rows) * np.clip(closeness, 0, None)
        ordered: Rows = rows[np.lexsort((rows, -self._degrees(rows), -telling, -shared))]
        return ordered[: self._settings.relations * len(self.entities.rows)]

    @cached_property
    def claims(self) -> Rows:
        """Claims about linked entities: those that join two first, then in the order of the entities."""
        places, rows = self.knowledge.claims_of.of_each(self.entities.rows)
        found, first, ends = np.unique(rows, return_index=True, return_counts=True)
        ordered: Rows = found[np.lexsort((found, places[first], -ends))]
        return ordered[: self._settings.relations * len(self.entities.rows)]

    @cached_property
    def reports(self) -> Ranked:
        """The reports of the linked entities, by the number of linked entities they cover, then by rating.

        An entity counts for the report of its finest community on `local_search.level` or a coarser level.
        """
        known = self.knowledge
        deepest = level_number(self._settings.level)
        covered: dict[int, int] = {}
        for entity in self.entities.rows.tolist():
            rows = known.reports_of[entity].tolist()
            if rows:
                best = min(rows, key=lambda row: _distance(known.reports[row].level, deepest))
                covered[best] = covered.get(best, 0) + 1
        order = sorted(covered, key=lambda row: (-covered[row], -known.reports[row].rating, row))
        return Ranked(np.array(order, np.int64), np.array([covered[row] for row in order], np.float64))

    @cached_property
    def chunks(self) -> Ranked:
        """The passages that mention linked entities or are similar to the question, best first, ties by row.

        The score is the similarity to the question in words and meaning (1 for the most similar passage), plus weights
        for the linked entities that the passage mentions (divided by the square root of their frequency), for the
        relations between them that it states, and for a title that the question names.
        """
        known, entities = self.knowledge, self.entities
        near = text_scores(self._context, self._question)
        weights = entities.scores / np.sqrt(1 + known.frequencies(entities.rows))
        places, mentioning = known.chunks_of_entity.of_each(entities.rows)
        _, stating = known.chunks_of_relations(self.inner_relations)
        titled = self._titled
        rows = distinct(np.concatenate([near.rows, mentioning, stating, titled]))
        scores = np.zeros(len(rows))
        scores[np.searchsorted(rows, near.rows)] += near.scores / max(near.scores.max(initial=0.0), 1e-9)
        np.add.at(scores, np.searchsorted(rows, mentioning), _MENTIONED * weights[places])
        np.add.at(scores, np.searchsorted(rows, stating), _STATED)
        scores[np.searchsorted(rows, titled)] += _TITLED
        order = np.lexsort((rows, -scores))
        order = order[scores[order] > 0]
        return Ranked(rows[order], scores[order])

    @property
    def _titled(self) -> Rows:
        """The passages of titles that the question names, except titles that many passages share."""
        named = (each.chunk_ids for each in self._question.links.names if len(each.chunk_ids) <= MOST_OWNERS)
        ids = {id_ for chunk_ids in named for id_ in chunk_ids}
        return np.array(sorted(self.knowledge.chunk_row[id_] for id_ in ids), np.int64)

    @cached_property
    def _touching(self) -> Rows:
        """The distinct relations of linked entities."""
        return self.knowledge.relations_of(self.entities.rows)

    @property
    def _linked_ends(self) -> Ints:
        found: Ints = np.isin(self.knowledge.ends(self._touching), self.entities.rows).sum(axis=1)
        return found

    def _degrees(self, rows: Rows) -> Floats:
        degrees: Floats = self.knowledge.degrees(self.knowledge.ends(rows)).sum(axis=1)
        return degrees


def _distance(level: int, deepest: int) -> tuple[bool, int]:
    """Sort key of levels: from the deepest allowed upwards, then the deeper ones."""
    return level > deepest, abs(level - deepest)
