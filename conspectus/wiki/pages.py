"""Write the pages of a wiki: documents, entities and communities, an index page, and llms.txt.

The wiki is made from an index or a view of it. Numbers that count hidden documents too (frequencies, weights, ratings)
are in no page, so a page has nothing that the documents of the view do not support. As a site, each page of Markdown is
also a page of HTML, for any browser or web server, without a script.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import groupby, pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.pipelines.steps.reports.cite import sentence_around
from conspectus.query.methods.graphrag.dynamic import hierarchy_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.level_names import level_name
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Relation, Report, Span
from conspectus.storage.spans import span_in
from conspectus.storage.text.sentences import sentence_spans
from conspectus.wiki.markdown import escaped, front_matter, label, one_line, page_names
from markdown_it import MarkdownIt

Said = dict[str, dict[Span, None]]
"""Texts in order, each with the places that it comes from."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sentences of the documents and the statements of a model, by what they are about.

    Attributes:
        described: For each entity, what a model said about it in each passage.
        named: For each entity, the sentences that name it; where no sentence does, whole passages (as "").
        stated: For each relation, what states it.
        claims: For each entity, the claims about it.
        entities: For each chunk, the entities that it names.
    """

    described: dict[str, Said]
    named: dict[str, Said]
    stated: dict[str, Said]
    claims: dict[str, Said]
    entities: dict[str, dict[str, None]]


def sources_of(index: StoredIndex) -> Sources:
    """Return what the documents of an index, or of a view of it, say; in text order within each document."""
    found = Sources(_said(), _said(), _said(), _said(), defaultdict(dict))
    chunks = index.ids(Chunk)
    of_chunk = groupby(sorted(index.rows(Mention), key=lambda each: each.chunk_id), key=lambda each: each.chunk_id)
    by_chunk = {chunk: list(mentions) for chunk, mentions in of_chunk}
    for chunk in sorted(index.rows(Chunk), key=lambda each: (each.document_id, each.ordinal)):
        quoted = set[str]()
        placed = [(mention, span_in(chunk, mention.start, mention.end)) for mention in by_chunk.get(chunk.id, ())]
        for mention, span in sorted(placed, key=lambda each: (each[1].start, each[1].end, each[0].id)):
            text = mention.description
            if mention.relation_id:
                _add(found.stated[mention.relation_id], text or mention.surface, span)
            elif mention.entity_id:
                if mention.start is not None:
                    span = sentence_around(chunk, span)
                if text:
                    _add(found.described[mention.entity_id], text, span)
                if mention.start is not None:
                    said = chunk.text[span.start - chunk.start : span.end - chunk.start]
                    _add(found.named[mention.entity_id], said, span)
                    quoted.add(mention.entity_id)
                found.entities[chunk.id][mention.entity_id] = None
        for entity in found.entities[chunk.id].keys() - quoted:
            _add(found.named[entity], "", span_in(chunk))
    for claim in index.rows(Claim):
        when = " to ".join(dict.fromkeys(filter(None, (claim.start_date, claim.end_date))))
        text = f"{claim.description} ({', '.join(filter(None, (claim.type, claim.status, when)))})"
        for entity in filter(None, (claim.subject_id, claim.object_id)):
            _add(found.claims[entity], text, span_in(index.each(Chunk)[chunks[claim.chunk_id]], claim.start, claim.end))
    return found


def _said() -> defaultdict[str, Said]:
    return defaultdict(lambda: defaultdict(dict))


def _add(said: Said, text: str, span: Span) -> None:
    said[" ".join(text.split())][span] = None


_MOST = 1_000
"""Most entries of a list."""
_SOURCES = 5
"""Most places cited for one sentence."""
_FROM_GRAPH = "(from an imported graph)"


def write_wiki(index: StoredIndex, to: Path) -> ExportResult:
    """Write the pages into the folder `to`, which must not exist."""
    return write_pages(index, to, lambda name, text: (name, text))


def write_pages(index: StoredIndex, to: Path, form: Callable[[str, str], tuple[str, str]]) -> ExportResult:
    """Write the pages into a new folder; `form` returns the name and the text of a file for those of a page."""
    wiki = _Wiki(index)
    to.mkdir()
    files = []
    for page, lines in wiki.pages():
        name, text = form(page, "\n".join([*lines, ""]))
        files.append(to / name)
        files[-1].parent.mkdir(exist_ok=True)
        files[-1].write_bytes(text.encode())
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
        names = self.titles["entities"]
        self._relations: defaultdict[str, list[Relation]] = defaultdict(list)
        for each in sorted(
            index.rows(Relation),
            key=lambda each: (each.predicate, names[each.source_id], names[each.target_id], each.id),
        ):
            for id_ in {each.source_id, each.target_id}:
                self._relations[id_].append(each)
        self._communities: defaultdict[str, list[str]] = defaultdict(list)
        for community in index.rows(Community):
            for id_ in community.entity_ids if community.id in self._reports else ():
                self._communities[id_].append(community.id)

    def pages(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the name and the lines of each page."""
        yield "index.md", self._contents([*front_matter({"kind": "index"}), "", "# Contents", ""], is_wiki=True)
        yield "llms.txt", self._contents(["# Wiki", ""], is_wiki=False)
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
        """Return list items that link to pages, by title."""
        return _items([self._link(folder, id_) for id_ in self._by_title(folder, ids)])

    def _by_title(self, folder: str, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=lambda id_: (self.titles[folder][id_], id_))

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
        told = ((one_line(text) or "Named in", self._source(spans) or _FROM_GRAPH) for text, spans in said.items())
        return _items([" ".join(each) for each in told], indent)

    def _document(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[str]:
        told = {"kind": "document", "id": document.id, "title": document.title, "uri": document.uri}
        yield from front_matter({**told, "metadata": dict(sorted(document.metadata.items()))})
        yield from ("", f"# {one_line(self.titles['documents'][document.id])}")
        for chunk in chunks:
            place = described(document.places, chunk.start, chunk.end)
            yield from ("", f"## Passage {chunk.ordinal + 1}", "")
            yield from (f"*Characters {chunk.start}–{chunk.end}{f', {one_line(place)}' if place else ''}*", "")
            yield escaped(chunk.text)
            if named := self._by_title("entities", self._sources.entities[chunk.id]):
                yield from ("", f"Names: {' · '.join(self._link('entities', id_) for id_ in named)}")

    def _entity(self, entity: Entity) -> Iterator[str]:
        sources = self._sources
        yield from front_matter({"kind": "entity", "id": entity.id, "title": entity.name, "types": list(entity.types)})
        yield from ("", f"# {one_line(entity.name)}")
        described, named = sources.described[entity.id], sources.named[entity.id]
        central = {" ".join(entity.description[a:b].split()) for a, b in sentence_spans(entity.description)}
        if not named and entity.description:
            yield from ("", f"{one_line(entity.description)} {_FROM_GRAPH}")
        if any(text not in entity.description for text in described):  # a model summarised them
            spans = dict.fromkeys(span for spans in described.values() for span in spans)
            yield from ("", f"{one_line(entity.description)} {self._source(spans)}")
        first = dict(sorted(named.items(), key=lambda each: each[0] not in central))
        yield from _section("Description", self._said(described))
        yield from _section("Sentences", self._said(first))
        yield from _section("Relations", _items([*map(self._relation, self._relations[entity.id])]))
        yield from _section("Claims", self._said(sources.claims[entity.id]))
        yield from _section("Communities", self._links("communities", self._communities[entity.id]))

    def _relation(self, relation: Relation) -> str:
        ends = [self._link("entities", id_) for id_ in (relation.source_id, relation.target_id)]
        told = f" *{one_line(relation.predicate.replace('_', ' '))}* " if relation.predicate.strip() else " – "
        parts = ", ".join(f"{each.predicate}: {each.value}" for each in relation.qualifiers)
        said = self._said(self._sources.stated[relation.id], "  ")
        head = f"{told.join(ends)}{f' ({one_line(parts)})' if parts else ''}{'' if said else f' {_FROM_GRAPH}'}"
        return "\n".join([head, *said])

    def _community(self, community: Community) -> Iterator[str]:
        report = self._reports[community.id]
        yield from front_matter({"kind": "community", "title": report.title, "level": level_name(community.level)})
        yield from ("", f"# {one_line(report.title)}")
        spans = dict.fromkeys(span for finding in report.findings for span in finding.citations)
        if all(report.summary not in finding.explanation for finding in report.findings):
            yield from ("", f"{one_line(report.summary)} {self._source(spans) or _FROM_GRAPH}")
        findings = {
            (f"{each.summary}: " if each.summary.strip() else "") + each.explanation: dict.fromkeys(each.citations)
            for each in report.findings
        }
        above = self._hierarchy.parent[community.id]
        while above is not None and above not in self._reports:
            above = self._hierarchy.parent[above]
        parts = [id_ for id_ in self._hierarchy.children.get(community.id, ()) if id_ in self._reports]
        yield from _section("Findings", self._said(findings))
        yield from _section("Part of", self._links("communities", [above] if above else []))
        yield from _section("Parts", self._links("communities", parts))
        yield from _section("Members", self._links("entities", community.entity_ids))

    def _contents(self, head: Iterable[str], is_wiki: bool) -> Iterator[str]:
        """Yield the lines of the index page, or of llms.txt (llmstxt.org), whose links are addresses."""
        counts = ", ".join(f"{len(names):,} {folder}" for folder, names in self.names.items())
        yield from (
            *head,
            f"{'' if is_wiki else '> '}{counts}. Every sentence has its source: a passage of a document.",
        )
        coarsest = min((report.level for report in self._reports.values()), default=0)
        roots = [id_ for id_, report in self._reports.items() if report.level == coarsest]
        listed = {"communities": roots, "documents": self._documents, "entities": self._entities}
        for folder, ids in listed.items():
            addresses = [
                f"[{one_line(self.titles[folder][id_])}]({quote(self._file(folder, id_))})"
                for id_ in self._by_title(folder, ids)
            ]
            yield from _section(folder.capitalize(), self._links(folder, ids) if is_wiki else _items(addresses))


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *lines] if lines else []


def _items(texts: Sequence[str], indent: str = "") -> list[str]:
    """Return list items, and how many more there are."""
    more = [f"and {len(texts) - _MOST:,} more"] if len(texts) > _MOST else []
    return [f"{indent}- {text}" for text in (*texts[:_MOST], *more)]


_LINK = re.compile(r"\[\[(?P<page>[^\[\]|#]+)(?:#Passage (?P<passage>\d+))?\|(?P<label>[^\[\]|]*)\]\]")
_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }}
p, li, h1 {{ overflow-wrap: anywhere }}
</style></head><body>
<nav><a href="{contents}">Contents</a></nav>
{body}</body></html>
"""


def write_site(index: StoredIndex, to: Path) -> ExportResult:
    """Write the pages of the wiki as HTML into the folder `to`, which must not exist."""
    return write_pages(index, to, partial(_as_html, MarkdownIt("commonmark", {"html": False, "breaks": True})))


def _as_html(markdown: MarkdownIt, name: str, text: str) -> tuple[str, str]:
    """Return the name and the text of the file of a page."""
    page = PurePosixPath(name)
    if page.suffix != ".md":
        return name, re.sub(r"\.md\)$", ".html)", text, flags=re.MULTILINE)
    to_top = "../" * (len(page.parts) - 1)

    def link(found: re.Match[str]) -> str:
        part = f"#passage-{found['passage']}" if found["passage"] else ""
        return f"[{escaped(found['label'])}]({to_top}{quote(found['page'])}.html{part})"

    tokens = markdown.parse(_LINK.sub(link, text.split("---\n", 2)[2]))
    title = ""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = title or "".join(part.content for part in inline.children or ())
            if inline.content.startswith("Passage "):
                opening.attrSet("id", inline.content.lower().replace(" ", "-"))
    body = markdown.renderer.render(tokens, markdown.options, {})
    as_html = _PAGE.format(title=escape(title), contents=f"{to_top}index.html", body=body)
    return str(page.with_suffix(".html")), as_html
