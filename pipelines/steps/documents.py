"""Collect the input texts as documents: without duplicates, with stable ids.

A document's id is the one that its row supplies, or else the short hash of its uri; its uri is the file's path below
the input (with /member for a member of an archive or a message, and #row for a row of a table), so neither depends on
the location of the input. Everything that is not read becomes a row of failures of the stage "read".

Documents are collected as Arrow tables, which spill during a build: as objects, a hundred thousand short ones are
130 MB.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath

import numpy as np
from conspectus.pipelines.readers.discover import InputFile, find_files
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.formats import NAMED_WITH_SUFFIX, storable
from conspectus.pipelines.readers.process import MOST_AHEAD, ReadFiles, file_reader
from conspectus.pipelines.readers.remote import STAGE, RemoteFile, fetched
from conspectus.pipelines.readers.rows import Lost, Record, Row, row_of
from conspectus.pipelines.readers.web.page import resolved
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import short_id
from conspectus.storage.records import LANGUAGE, SKIP, Document, Failure
from conspectus.storage.settings import InputSettings
from conspectus.storage.spilled import sorted_rows
from conspectus.storage.tables import ROWS_AT_ONCE, arrow_of, taken
from conspectus.storage.text.language import language_of
from conspectus.storage.text.visible import visible

_LONGEST_DETAIL = 1_000
_SHORTEST_DUPLICATE = 200
"""Minimum characters of a text for which equality of two files is not an accident."""

ALSO_AT = "also_at"
"""Metadata of a document: the names of other files with the same text, divided by "; "."""

Texts = Mapping[str, str | Record] | Sequence[str | Record]
"""Documents from memory: texts, or records with a text and metadata; by name, or in a sequence without names."""


def read_documents(
    inputs: Sequence[Path | str],
    settings: InputSettings,
    progress: Progress = no_progress,
    texts: Texts = (),
) -> tuple[Sequence[Document], list[Failure]]:
    """Return the documents of files, folders, globs and URLs, sorted by id, and the failures, by item.

    Documents from memory (`texts`) come after those of files.

    Texts are unchanged except for line ends, which become \\n, and NUL and lone surrogates, which become U+FFFD: all
    offsets refer to the stored text. Files with the same text are one document (`once_each`). Of documents with the
    same id the first is used, in the order of file names and rows. Titles: the title column, front matter, subject, or
    the title that a document names; a Markdown file's first "# " heading; a "Title:" line at the head of a text file;
    else the file's name; a row without a title has none. URLs are fetched in every build, changed or not.

    Raises InputError if an input does not exist, contains no file, or nothing at all can be read.
    """
    files, failures = find_files(inputs) if inputs or not texts else ([], [])
    uris: dict[str, str] = {}  # by id

    def entries() -> Iterator[Document | Failure]:
        if files:
            with file_reader(settings) as read:
                for number in range(len(files)):
                    progress(STAGE, number, len(files))
                    yield from _read(files[number : number + MOST_AHEAD], read, settings)
                progress(STAGE, len(files), len(files))
        for uri, title, row in _rows_of(texts, settings):
            file = InputFile(Path(uri), uri)
            yield _failure(uri, row.reason, row.detail) if isinstance(row, Lost) else _document(file, row, title)

    def kept() -> Iterator[Document]:
        for entry in entries():
            if isinstance(entry, Failure):
                failures.append(entry)
            elif entry.id in uris:
                failures.append(Failure(STAGE, entry.uri, f"the id {entry.id!r} is taken", f"by {uris[entry.id]}"))
            else:
                uris[entry.id] = entry.uri
                yield entry

    documents = once_each(kept())
    failures.sort(key=lambda failure: (failure.item_id, failure.reason))
    if not uris:
        first_failure = failures[0]
        detail = f" ({first_failure.detail})" if first_failure.detail else ""
        raise InputError(
            f"nothing could be read: {len(failures)} {'failure' if len(failures) == 1 else 'failures'}, the first "
            f"{visible(f'{first_failure.item_id}: {first_failure.reason}{detail}')}"
        )
    return documents, failures


def _blocks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield documents in lists, at least one, which is empty if there are none."""
    block: list[Document] = []
    characters = 0
    for document in documents:
        if len(block) == ROWS_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
            yield block
            block, characters = [], 0
        block.append(document)
        characters += document.n_chars
    yield block


_CHARACTERS_AT_ONCE = 1 << 24


def lies_in(uri: str, name: str) -> bool:
    """Return whether a name means the document with this uri: its own, or that of a file or folder around it."""
    return uri == name or uri.startswith((f"{name.rstrip('/')}/", f"{name}#"))


def once_each(documents: Iterator[Document]) -> Sequence[Document]:
    """Return documents, sorted by id, without files whose text equals that of another one byte by byte.

    Of such files the one with the first name (uri) remains; the names of the others become its metadata `also_at`, and
    hyperlinks to them lead to it. Rows of tables, documents with their own ids, short texts and different messages all
    remain, because their texts may be equal by chance. The ids of the documents differ.
    """
    import pyarrow as pa
    from pyarrow import compute

    rows = sorted_rows(Document, (arrow_of(Document, block) for block in _blocks(documents)))
    table = rows.table
    texts = table["sha256"].combine_chunks().dictionary_encode().indices.to_numpy()
    held = compute.map_lookup(table["metadata"], ALSO_AT, "first").is_valid().to_numpy()
    affected = (np.bincount(texts)[texts] > 1) | held
    if not affected.any():
        return rows
    own = rows.at(np.flatnonzero(affected))
    listed = pa.array(sorted({name for document in own for name in _also_at(document)}), pa.string())
    elsewhere = table["uri"].filter(pa.array(~affected))
    result, others = _once(own, frozenset(elsewhere.filter(compute.is_in(elsewhere, listed)).to_pylist()))
    links = table["hyperlinks"].combine_chunks()
    is_other = compute.is_in(links.flatten().field("target"), pa.array(sorted(others), pa.string()))
    linked = np.zeros(len(table), np.bool_)
    linked[links.value_parent_indices().filter(is_other).to_numpy()] = True
    linked &= ~affected
    changed = [_with_targets(each, others) for each in (*result, *rows.at(np.flatnonzero(linked)))]
    kept = np.flatnonzero(~(affected | linked))
    blocks = (taken(table, kept[start : start + ROWS_AT_ONCE]) for start in range(0, len(kept), ROWS_AT_ONCE))
    return sorted_rows(Document, chain(blocks, [arrow_of(Document, changed)]))


def _once(documents: Iterable[Document], elsewhere: Container[str]) -> tuple[list[Document], dict[str, str]]:
    """Return documents without repeated files, and the name of the file that remains by that of each dropped one.

    `elsewhere` are names of files that remain beside these documents.
    """
    kept: dict[tuple[str, str], Document] = {}
    others: dict[str, str] = {}
    result: list[Document] = []
    for document in sorted(documents, key=lambda document: document.uri):
        key = (document.sha256, document.metadata.get("message_id", ""))
        if document.n_chars < _SHORTEST_DUPLICATE or document.id != short_id(document.uri) or "#" in document.uri:
            result.append(document)
        elif key in kept:
            others[document.uri] = kept[key].uri
            others.update(dict.fromkeys(_also_at(document), kept[key].uri))
        else:
            kept[key] = document
    uris = {document.uri for document in (*result, *kept.values())}  # including earlier duplicates
    for document in kept.values():
        also = {*_also_at(document), *(name for name, first in others.items() if first == document.uri)} - uris
        names = sorted(name for name in also if name not in elsewhere)
        metadata = {name: value for name, value in document.metadata.items() if name != ALSO_AT}
        result.append(replace(document, metadata={**metadata, **({ALSO_AT: "; ".join(names)} if names else {})}))
    return result, others


def _also_at(document: Document) -> list[str]:
    return document.metadata[ALSO_AT].split("; ") if ALSO_AT in document.metadata else []


def _with_targets(document: Document, others: Mapping[str, str]) -> Document:
    """Return a document whose hyperlinks to dropped documents lead to the retained ones."""
    if not any(link.target in others for link in document.hyperlinks):
        return document
    links = (replace(link, target=others.get(link.target, link.target)) for link in document.hyperlinks)
    return replace(document, hyperlinks=tuple(links))


def _rows_of(texts: Texts, settings: InputSettings) -> Iterator[tuple[str, str, Row | Lost]]:
    """Yield the names of documents from memory with their titles, unless the row has one, and rows.

    A record is read as a line of a JSON lines file; a text without a name is named by the hash of its content.
    """
    named = texts.items() if isinstance(texts, Mapping) else ((None, item) for item in texts)
    for name, given in named:
        record: Record = {settings.text_column: given} if isinstance(given, str) else given
        text = record.get(settings.text_column)
        if not isinstance(text, str):
            raise UsageError(f"a document from memory is a text, or a mapping with a text {settings.text_column!r}")
        row = row_of(None, record, settings)
        uri = str(name or record.get(settings.id_column) or f"text-{short_id(text)}")
        yield storable(uri), _stem(uri) if name else "", row


def _read(files: Sequence[InputFile], read: ReadFiles, settings: InputSettings) -> Iterator[Document | Failure]:
    """Yield what is in the first of some files; those after it are read next."""
    file = files[0]
    try:
        with fetched(file.path, settings) if isinstance(file.path, RemoteFile) else nullcontext() as path:
            for row in read([path] if path else [each.path for each in files]):
                if isinstance(row, Lost):
                    yield _failure(_uri(file, row), row.reason, row.detail, skipped=row.skipped)
                else:
                    yield _document(file, row)
    except Unreadable as error:
        yield _failure(file.uri, error.reason, error.detail, skipped=isinstance(error, UnknownFormat))
    except OSError as error:
        yield _failure(file.uri, "cannot be fetched", error.strerror or str(error))


def _uri(file: InputFile, row: Row | Lost) -> str:
    uri = f"{file.uri}/{storable(row.within)}" if row.within else file.uri
    return uri if row.number is None else f"{uri}#{row.number}"


def _failure(item_id: str, reason: str, detail: str, *, skipped: bool = False) -> Failure:
    # Names of columns and messages of libraries may contain characters that no table can store, and be very long.
    return Failure(
        SKIP if skipped else STAGE, item_id, clean(reason)[:_LONGEST_DETAIL], clean(detail)[:_LONGEST_DETAIL]
    )


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    return path.name if path.suffix.lower() in NAMED_WITH_SUFFIX else " ".join(re.split(r"[\s_-]+", path.stem)).strip()


def _document(file: InputFile, row: Row, title: str | None = None) -> Document:
    """Return the document of a row; without a title in the row it has the given one, else the file's name."""
    uri = _uri(file, row)
    if title is None:
        title = _stem(storable(row.within) or file.uri) if row.number is None else ""
    return Document(
        id=row.id or short_id(uri),
        title=row.title or title,
        uri=uri,
        text=row.text,
        metadata=_with_language(row),
        n_chars=len(row.text),
        sha256=hashlib.sha256(row.text.encode("utf-8")).hexdigest(),
        places=row.places,
        hyperlinks=tuple(resolved(uri, row.hyperlinks)),
        anchors=row.anchors,
    )


def _with_language(row: Row) -> Mapping[str, str]:
    """Return the metadata of a row with its language under `lang`, unless it has that field already."""
    language = "" if LANGUAGE in row.metadata else language_of(row.text, row.metadata)
    return {**row.metadata, LANGUAGE: language} if language else row.metadata
