"""Write the pages of a wiki: documents, entities and communities, an index page, and llms.txt.

The wiki is made from an index or a view of it. Numbers that count hidden documents too (frequencies, weights, ratings)
are in no page, so a page has nothing that the documents of the view do not support.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.query.methods.graphrag.dynamic import hierarchy_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.level_names import level_name
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Community, Document, Entity, Relation, Report, Span
from conspectus.storage.text.sentences import sentence_spans
from conspectus.wiki.markdown import escaped, front_matter, label, one_line, page, page_names
from conspectus.wiki.sources import Said, sources_of

_MOST = 1_000
"""Most entries of a list."""
_SOURCES = 5
"""Most places cited for one sentence."""
_FROM_GRAPH = "(from an imported graph)"


def write_wiki(index: StoredIndex, to: Path) -> ExportResult:
    """Write the pages into the folder `to`, which must not exist."""
    wiki = _Wiki(index)
    to.mkdir()
    files = []
    for name, lines in wiki.pages():
        files.append(to / name)
        files[-1].parent.mkdir(exist_ok=True)
        files[-1].write_bytes(page(lines).encode())
    return ExportResult(tuple(files), {folder: len(names) for folder, names in wiki.names.items()})


class _Wiki:
    """The pages of one index. `names` are the names of pages by folder and id."""

    def __init__(self, index: StoredIndex) -> None:
        self._index = index
        self._documents = {document.id: document for document in index.rows(Document)}
        self._chunks = sorted(index.rows(Chunk), key=lambda each: (each.document_id, each.ordinal))
        self._passage = {chunk.id: chunk.ordinal + 1 for chunk in self._chunks}
        self._entities = {entity.id: entity for entity in index.rows(Entity)}
        self._reports = {report.community_id: report for report in index.rows(Report)}
        self._hierarchy = hierarchy_of(index.arrow(Community, "id", "parent_id", "same_as"))
        self._sources = sources_of(index)
        self.titles = {
            "documents": {id_: each.title.strip() or each.uri for id_, each in self._documents.items()},
            "entities": {id_: each.name for id_, each in self._entities.items()},
            "communities": {id_: each.title for id_, each in self._reports.items()},
        }
        self.names = {folder: page_names(titles) for folder, titles in self.titles.items()}

    def pages(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the name and the lines of each page."""
        yield "index.md", self._index_page()
        yield "llms.txt", self._llms()
        of_document = groupby(self._chunks, key=lambda each: each.document_id)
        passages = {id_: list(chunks) for id_, chunks in of_document}
        for id_, document in self._documents.items():
            yield self._file("documents", id_), self._document(document, passages.get(id_, ()))
        for entity in self._entities.values():
            yield self._file("entities", entity.id), self._entity(entity)
        for community in self._index.rows(Community):
            if community.id in self._reports:
                yield self._file("communities", community.id), self._community(community)

    def _file(self, folder: str, id_: str) -> str:
        return f"{folder}/{self.names[folder][id_]}.md"

    def _link(self, folder: str, id_: str, part: str = "", more: str = "") -> str:
        """Return a link to a page; `part` is a heading of it, `more` follows the title in the label."""
        return f"[[{folder}/{self.names[folder][id_]}{part}|{label(self.titles[folder][id_])}{more}]]"

    def _links(self, folder: str, ids: Iterable[str]) -> list[str]:
        """Return list items that link to pages, by title, and say how many more there are."""
        found = sorted(ids, key=lambda id_: (self.titles[folder][id_], id_))
        more = len(found) - _MOST
        return [f"- {self._link(folder, id_)}" for id_ in found[:_MOST]] + ([f"- and {more:,} more"] * (more > 0))

    def _source(self, spans: Iterable[Span]) -> str:
        """Return links to the passages that contain spans, with the offsets of the spans."""
        links = []
        for span in list(spans)[:_SOURCES]:
            place = described(self._documents[span.document_id].places, span.start, span.end)
            is_title = place.strip('"') == self.titles["documents"][span.document_id]
            told = f"{'' if is_title or not place else f', {label(place)}'}, {span.start}–{span.end}"
            links.append(self._link("documents", span.document_id, f"#Passage {self._passage[span.chunk_id]}", told))
        return " ".join(links)

    def _said(self, said: Said, indent: str = "") -> list[str]:
        """Return list items with texts and their sources."""
        items = [
            f"{indent}- {one_line(text) or 'Named in'} {self._source(spans)}"
            for text, spans in list(said.items())[:_MOST]
        ]
        more = len(said) - _MOST
        return items + ([f"{indent}- and {more:,} more"] * (more > 0))

    def _document(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[str]:
        told = {"kind": "document", "id": document.id, "title": document.title, "uri": document.uri}
        yield from front_matter({**told, "metadata": dict(sorted(document.metadata.items()))})
        yield from ("", f"# {one_line(self.titles['documents'][document.id])}")
        for chunk in chunks:
            place = described(document.places, chunk.start, chunk.end)
            yield from ("", f"## Passage {chunk.ordinal + 1}", "")
            yield from (f"*Characters {chunk.start}–{chunk.end}{f', {one_line(place)}' if place else ''}*", "")
            yield escaped(chunk.text)
            named = sorted(self._sources.entities[chunk.id], key=lambda id_: (self.titles["entities"][id_], id_))
            if named:
                yield from ("", f"Names: {' · '.join(self._link('entities', id_) for id_ in named)}")

    def _entity(self, entity: Entity) -> Iterator[str]:
        sources = self._sources
        yield from front_matter({"kind": "entity", "id": entity.id, "title": entity.name, "types": list(entity.types)})
        yield from ("", f"# {one_line(entity.name)}")
        described, named = sources.described[entity.id], sources.named[entity.id]
        central = {" ".join(entity.description[a:b].split()) for a, b in sentence_spans(entity.description)}
        if not named:
            if entity.description:
                yield from ("", f"{one_line(entity.description)} {_FROM_GRAPH}")
        elif described:
            if any(text not in entity.description for text in described):  # a model summarised them
                spans = dict.fromkeys(span for spans in described.values() for span in spans)
                yield from ("", f"{one_line(entity.description)} {self._source(spans)}")
            yield from ("", "## Description", "", *self._said(described))
        if named:
            first = dict(sorted(named.items(), key=lambda each: each[0] not in central))
            yield from ("", "## Sentences", "", *self._said(first))
        if relations := self._relations[entity.id]:
            yield from ("", "## Relations", "")
            for relation in relations[:_MOST]:
                yield from self._relation(relation)
        if claims := sources.claims[entity.id]:
            yield from ("", "## Claims", "")
            for claim, span in claims.items():
                when = " to ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))
                facts = ", ".join(filter(None, (claim.type, claim.status, when)))
                yield f"- {one_line(claim.description)} ({one_line(facts)}) {self._source([span])}"
        if communities := self._communities[entity.id]:
            yield from ("", "## Communities", "", *self._links("communities", communities))

    def _relation(self, relation: Relation) -> Iterator[str]:
        ends = [self._link("entities", id_) for id_ in (relation.source_id, relation.target_id)]
        told = f" *{one_line(relation.predicate.replace('_', ' '))}* " if relation.predicate.strip() else " – "
        parts = ", ".join(f"{each.predicate}: {each.value}" for each in relation.qualifiers)
        stated = self._sources.stated[relation.id]
        from_graph = "" if stated else f" {_FROM_GRAPH}"
        yield f"- {told.join(ends)}{f' ({one_line(parts)})' if parts else ''}{from_graph}"
        yield from self._said(stated, "  ")

    def _community(self, community: Community) -> Iterator[str]:
        report = self._reports[community.id]
        yield from front_matter({"kind": "community", "title": report.title, "level": level_name(community.level)})
        yield from ("", f"# {one_line(report.title)}")
        spans = dict.fromkeys(span for finding in report.findings for span in finding.citations)
        if all(report.summary not in finding.explanation for finding in report.findings):
            yield from ("", f"{one_line(report.summary)} {self._source(spans) or _FROM_GRAPH}")
        yield from ("", "## Findings", "")
        for finding in report.findings:
            head = f"**{one_line(finding.summary)}**: " if finding.summary.strip() else ""
            cited = self._source(dict.fromkeys(finding.citations)) or _FROM_GRAPH
            yield f"- {head}{one_line(finding.explanation)} {cited}"
        above = self._hierarchy.parent[community.id]
        while above is not None and above not in self._reports:
            above = self._hierarchy.parent[above]
        if above:
            yield from ("", "## Part of", "", *self._links("communities", [above]))
        if parts := [id_ for id_ in self._hierarchy.children.get(community.id, ()) if id_ in self._reports]:
            yield from ("", "## Parts", "", *self._links("communities", parts))
        yield from ("", "## Members", "", *self._links("entities", community.entity_ids))

    @cached_property
    def _relations(self) -> dict[str, list[Relation]]:
        """The relations of each entity, by predicate and names."""
        names = self.titles["entities"]
        found: defaultdict[str, list[Relation]] = defaultdict(list)
        for each in sorted(
            self._index.rows(Relation),
            key=lambda each: (each.predicate, names[each.source_id], names[each.target_id], each.id),
        ):
            for id_ in {each.source_id, each.target_id}:
                found[id_].append(each)
        return found

    @cached_property
    def _communities(self) -> dict[str, list[str]]:
        """The communities with reports that each entity belongs to."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for community in self._index.rows(Community):
            if community.id in self._reports:
                for id_ in community.entity_ids:
                    found[id_].append(community.id)
        return found

    @property
    def _counts(self) -> str:
        return ", ".join(f"{len(names):,} {folder}" for folder, names in self.names.items())

    @property
    def _contents(self) -> Iterator[tuple[str, Iterable[str]]]:
        """The pages listed in the index page: communities on the coarsest level that has reports, and all others."""
        levels = {id_: report.level for id_, report in self._reports.items()}
        coarsest = min(levels.values(), default=0)
        yield "communities", [id_ for id_, level in levels.items() if level == coarsest]
        yield from ((folder, self.names[folder]) for folder in ("documents", "entities"))

    def _index_page(self) -> Iterator[str]:
        yield from front_matter({"kind": "index", "version": self._index.manifest.version})
        yield from ("", "# Contents", "", f"{self._counts}.")
        for folder, ids in self._contents:
            yield from ("", f"## {folder.capitalize()}", "", *self._links(folder, ids))

    def _llms(self) -> Iterator[str]:
        """Yield the lines of llms.txt: addresses of the pages for a program that reads (llmstxt.org)."""
        yield from ("# Wiki", "", f"> {self._counts}. Every sentence has its source: a passage of a document.")
        for folder, ids in self._contents:
            yield from ("", f"## {folder.capitalize()}", "")
            for id_ in sorted(ids, key=lambda id_: (self.titles[folder][id_], id_))[:_MOST]:
                yield f"- [{one_line(self.titles[folder][id_])}]({quote(self._file(folder, id_))})"
