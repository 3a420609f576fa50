"""An index as it would be if it had some of its documents only: what they support, and nothing else.

Every table is made anew from the rows that these documents support, so that whoever asks this index cannot come upon
anything of the others. The parts that cost more (descriptions, names and graph, reports, vectors) are made when they
are first asked for. It differs from an index built of these documents alone where the documents left out had shaped
what was found: a name that only they taught to look for is still found in the others; the hierarchy of communities is
what is left of the whole one; and where a model wrote a description or a report that others support too, single
mentions and sentences stand in for it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

from conspectus.pipelines.permitted.communities import (
    kept_communities,
    kept_reports,
    renewed_reports,
    with_descriptions,
)
from conspectus.pipelines.permitted.knowledge import narrowed
from conspectus.pipelines.permitted.names import walk_of
from conspectus.pipelines.permitted.vectors import NarrowedVectors
from conspectus.pipelines.steps.descriptions import describe
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.pipelines.steps.vectors import chunk_text
from conspectus.pipelines.steps.walk_graph import Walk
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.storage.index import Index
from conspectus.storage.memory_index import HeldIndex, Parts
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Mention,
    Merge,
    Name,
    Origin,
    Relation,
    Report,
    Synonym,
)
from conspectus.storage.settings import DescriptionSettings, NameSettings, ReportSettings, WalkGraphSettings
from conspectus.storage.text.bm25 import Bm25


def permitted(index: Index, document_ids: AbstractSet[str], embedder: Embedder, *, graph: bool) -> Index:
    """Return an index of what some of the documents support; `index` itself where that is all there is.

    `graph` says whether what a graph states that was brought along, and no document does, belongs to it. `embedder`
    is what made the vectors of the index. Ids of documents that are not there are passed over.
    """
    every = set(index.arrow(Document, "id").column("id").to_pylist())
    if graph and document_ids >= every:
        return index
    view = _View(index, document_ids, embedder, graph)
    return HeldIndex(index.root, index.manifest, view.parts())


class _View:
    """Makes the parts of a narrowed index from those of the whole one, each when it is wanted."""

    def __init__(self, index: Index, document_ids: AbstractSet[str], embedder: Embedder, graph: bool) -> None:
        self._index = index
        settings = index.manifest.settings
        self._descriptions = DescriptionSettings.model_validate(settings["descriptions"])
        self._names = NameSettings.model_validate(settings["names"])
        self._walk_graph = WalkGraphSettings.model_validate(settings["walk_graph"])
        self._reports = ReportSettings.model_validate(settings["reports"])
        self._bm25: Mapping[str, float] = settings["bm25"]
        self.known = narrowed(index, document_ids, graph=graph, most_tokens=self._descriptions.summary_threshold)
        self.vectors = NarrowedVectors(index, self.known, embedder)

    def parts(self) -> Parts:
        """Return what makes each part."""
        known = self.known
        return Parts(
            rows={
                Document: lambda: known.documents,
                Chunk: lambda: known.chunks,
                Entity: lambda: self.described,
                Mention: lambda: known.mentions,
                Relation: lambda: known.relations,
                Name: lambda: self.walk.names,
                Claim: lambda: known.claims,
                Synonym: self.synonyms,
                Community: lambda: self.communities,
                Report: lambda: self.reports,
                Failure: list,  # they name files
                Merge: list,  # they name what other documents may name
                Origin: list,  # they quote what another program made of other documents
            },
            undescribed=lambda: known.entities,
            vectors={
                "chunks": lambda: self.vectors.chunks,
                "entities": lambda: self.vectors.entities,
                "relations": lambda: self.vectors.relations,
                "predicates": lambda: self.vectors.predicates,
                "reports": lambda: self.vectors.of_reports(
                    self.reports, {each.id for each in self.kept}, self.communities
                ),
            },
            graph=lambda: self.walk.graph,
            lexical=self.lexical,
        )

    def lexical(self) -> Bm25:
        """Return the lexical index of the chunks: how rare a word is, these chunks alone say."""
        document_of = {each.id: each for each in self.known.documents}
        texts = [chunk_text(each, document_of[each.document_id]) for each in self.known.chunks]
        return Bm25.of(texts, self._bm25["k1"], self._bm25["b"])

    def synonyms(self) -> list[Synonym]:
        """Return the pairs of which both are known."""
        ids = {each.id for each in self.known.entities}
        return [each for each in self._index.rows(Synonym) if each.source_id in ids and each.target_id in ids]

    @cached_property
    def walk(self) -> Walk:
        """The names that stand for chunks, and the graph."""
        return walk_of(self.known, self._index.rows(Name), self._names, self._walk_graph)

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences that may be quoted."""
        return sentences_of(self.known.documents, self.known.chunks, self.known.mentions)

    @cached_property
    def described(self) -> list[Entity]:
        """The entities with their descriptions."""
        known = self.known
        quoted = [each for each in known.entities if each.id not in known.whole and each.id not in known.told]
        descriptions = describe(quoted, self.sentences, self._descriptions) if quoted else {}
        return with_descriptions(known.entities, known.whole, {**known.told, **descriptions})

    @cached_property
    def communities(self) -> list[Community]:
        """The hierarchy, with what is known of its members."""
        return kept_communities(self._index.rows(Community), self.known)

    @cached_property
    def kept(self) -> list[Report]:
        """The reports on communities that nothing was taken from."""
        index = self._index
        return kept_reports(index.rows(Report), index.rows(Community), self.communities, self.known)

    @cached_property
    def reports(self) -> list[Report]:
        """These, and extractive ones on the other communities."""
        known = self.known
        return renewed_reports(
            self.kept, self.communities, known.entities, self.sentences, len(known.chunks), self._reports
        )
