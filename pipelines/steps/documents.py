"""Collect the input texts as documents: without duplicates, with stable ids.

A document's id is the one that its row supplies, else the short hash of its uri; its uri is the file's path
below the input (with /member for what an archive or a message holds, and #row for a row of a table), so that
neither depends on where the input lies. Whatever is not read is a row of failures of the stage "read".
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePosixPath

from conspectus.pipelines.readers.discover import STAGE, InputFile, find_files
from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.filenames import storable, visible
from conspectus.pipelines.readers.formats import read_rows
from conspectus.pipelines.readers.remote import RemoteFile, fetched
from conspectus.pipelines.readers.rows import Lost, Record, Row, row_of
from conspectus.pipelines.readers.web.links import resolved
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import InputSettings
from conspectus.storage.text.language import LANGUAGE, language_of

_LONGEST_DETAIL = 1_000

Texts = Mapping[str, str | Record] | Sequence[str | Record]
"""Documents from memory: texts, or records with a text and metadata; by name, or in a sequence without names."""


def read_documents(
    inputs: Sequence[Path | str],
    settings: InputSettings,
    progress: Progress = no_progress,
    texts: Texts = (),
) -> tuple[list[Document], list[Failure]]:
    """Return the documents of files, folders, globs and URLs, sorted by id, and what could not be read, by item.

    Documents from memory (`texts`) come after those of files.

    Texts are kept as they are but for line ends, which become \\n, and NUL and lone surrogates, which become
    U+FFFD: all offsets refer to the text so stored. Of documents that supply one id the first is kept, in the
    order of file names and rows. Titles: the title column, front matter, subject, or what a document names as its
    title; a Markdown file's first "# " heading; a "Title:" line at the head of a text file; else the file's name;
    a row without a title has none. What a URL names is fetched each time, changed or not.

    Raises InputError where an input does not exist, holds no file, or nothing at all can be read.
    """
    files, failures = find_files(inputs) if inputs or not texts else ([], [])
    documents: dict[str, Document] = {}

    def keep(entry: Document | Failure) -> None:
        if isinstance(entry, Failure):
            failures.append(entry)
        elif entry.id in documents:
            first = documents[entry.id].uri
            failures.append(Failure(STAGE, entry.uri, f"the id {entry.id!r} is taken", f"by {first}"))
        else:
            documents[entry.id] = entry

    for number, file in enumerate(files):
        progress(STAGE, number, len(files))
        for entry in _read(file, settings):
            keep(entry)
    for uri, title, row in _rows_of(texts, settings):
        file = InputFile(Path(uri), uri)
        keep(_failure(uri, row.reason, row.detail) if isinstance(row, Lost) else _document(file, row, title))
    if files:
        progress(STAGE, len(files), len(files))
    failures.sort(key=lambda failure: (failure.item_id, failure.reason))
    if not documents:
        first_failure = failures[0]
        detail = f" ({first_failure.detail})" if first_failure.detail else ""
        raise InputError(
            f"nothing could be read: {len(failures)} failures, the first "
            f"{visible(f'{first_failure.item_id}: {first_failure.reason}{detail}')}"
        )
    return sorted(documents.values(), key=lambda document: document.id), failures


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


def _read(file: InputFile, settings: InputSettings) -> Iterator[Document | Failure]:
    try:
        with fetched(file.path, settings) if isinstance(file.path, RemoteFile) else nullcontext(file.path) as path:
            for row in read_rows(path, settings):
                if isinstance(row, Lost):
                    yield _failure(_uri(file, row), row.reason, row.detail)
                else:
                    yield _document(file, row)
    except Unreadable as error:
        yield _failure(file.uri, error.reason, error.detail)
    except OSError as error:
        yield _failure(file.uri, "cannot be read", error.strerror or str(error))
    except MemoryError:
        yield _failure(file.uri, "takes too much memory", "")
    except RecursionError:
        yield _failure(file.uri, "nested too deeply", "")


def _uri(file: InputFile, row: Row | Lost) -> str:
    uri = f"{file.uri}/{storable(row.within)}" if row.within else file.uri
    return uri if row.number is None else f"{uri}#{row.number}"


def _failure(item_id: str, reason: str, detail: str) -> Failure:
    # Names of columns and messages of libraries may hold what no table can, and be of any length.
    return Failure(STAGE, item_id, clean(reason)[:_LONGEST_DETAIL], clean(detail)[:_LONGEST_DETAIL])


def _stem(name: str) -> str:
    return " ".join(PurePosixPath(name).stem.replace("_", " ").replace("-", " ").split())


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
    """Return the metadata of a row with its language under `lang`, where it has no such field of its own."""
    language = "" if LANGUAGE in row.metadata else language_of(row.text, row.metadata)
    return {**row.metadata, LANGUAGE: language} if language else row.metadata
