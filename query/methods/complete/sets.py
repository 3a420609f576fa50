"""The sets of an index: tables of records, documents, messages, headings and entities, each as rows of columns.

Whatever can be enumerated becomes a `Table`: its rows have a place in a document, which is what an answer cites, and
cells by column. Rows come from the texts as the readers write them: a paragraph a row with the names of its columns
("Name: Ada; Post: gate"), tables of `|` rows under a header, lines of a chat, and documents that are rows of a file.
Cells are stored once for each distinct text, as numbers into it, so that a million rows are arrays.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from pathlib import PurePosixPath

import numpy as np
import regex
from conspectus.query.answer_writing.excerpts import MESSAGE
from conspectus.query.methods.complete.question_words import has_word, is_character, keys_of, words_of
from conspectus.query.methods.complete.values import Days, Numbers, days_of, is_missing, numbers_of, numbers_of_columns
from conspectus.storage.arrays import Ints
from conspectus.storage.cancellation import check
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.locators import HEADING, sections_at
from conspectus.storage.records import LANGUAGE, Chunk, Document, Entity, Failure, Mention
from conspectus.storage.structure.mail_threads import is_message
from conspectus.storage.structure.outline import outline
from conspectus.storage.text.words import stem

DOCUMENT, SHEET, SECTION, TITLE, SENDER, DATE, STATE = "document sheet section title sender date state".split()
"""Names of columns that say where a row is, and of those of messages."""
_OF_TABLES = (".csv", ".tsv", ".xlsx")
_RARE = 3
"""In a table of more rows, a name that one row has is no column: it is part of the cell before it."""
_NAME = regex.compile(r"([^:;]{1,80}): ?(.*)", regex.DOTALL)
_YEAR = regex.compile(r"(?:19|20)\d\d")
_PARAGRAPH = regex.compile(r"[^\n]+(?:\n[^\n]+)*")
_PIPES = regex.compile(r"(?m)^[ \t]*\|.*\|[ \t]*$(?:\n[ \t]*\|.*\|[ \t]*$)+")
_RULE = regex.compile(r"\s*\|(?:\s*:?-{2,}:?\s*\|)+\s*")
_BETWEEN = regex.compile(r"(?<!\\)\|")
_MARKUP = regex.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]{1,3}")
_LINES = regex.compile(r"[^\n]*\S[^\n]*")
_MOST_OF_LOGS = 5_000_000
"""Characters of log files of which the lines are a set."""
_LEAST_MESSAGES = 2
_LONGEST_NAME = 5
"""Words of a title or heading beyond which it is that of a text, and does not name the rows of its tables."""
_PLACES = (DOCUMENT, SHEET, SECTION)
_REPEATED = 0.3
"""Share of the rows of a document from which on it may be a copy of another one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its distinct cells, and for each row the number of its cell, -1 for none."""

    name: str
    cells: Sequence[str]
    codes: Ints


@dataclass(eq=False)
class Table:
    """A set as rows of columns.

    Attributes:
        kind: What its rows are: rows, documents, messages, headings or entities.
        names: What the set is called: titles of documents, names of sheets, headings.
        columns: Its columns.
        documents: The ids of the documents of its rows.
        owners: For each row the number of its document.
        starts: For each row its first character in the document.
        ends: For each row the character after its last.
        above: The headings above its rows.
        left_out: The number of rows of totals that are not among its rows.
        lost: The number of rows of its files that could not be read.
        beside: The number of documents in the folders of its rows that have another form.
    """

    kind: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    documents: Sequence[str]
    owners: Ints
    starts: Ints
    ends: Ints
    above: tuple[str, ...] = ()
    left_out: int = 0
    lost: int = 0
    beside: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def numbers(self) -> tuple[Numbers | None, ...]:
        """The numbers of each column, None if it has other cells or their meaning is not clear; sheets are names."""
        return numbers_of_columns(["x"] if column.name in _PLACES else column.cells for column in self.columns)

    @cached_property
    def days(self) -> tuple[tuple[Days | None, ...] | None, ...]:
        """The days of each column that has nothing but dates, else None."""
        return tuple(
            None if numbers or column.name in _PLACES else days_of(column.cells)
            for column, numbers in zip(self.columns, self.numbers, strict=True)
        )

    @cached_property
    def doubt(self) -> str:
        """Why nothing is counted and added; "" if there is no reason.

        Rows such as "Total North", or numbers without a name, may be totals of others. A document that has many rows
        of another one may be its copy.
        """
        if self.kind != "rows":
            return ""
        if self.beside:
            return f"documents beside these {len(self)} have another form"
        own = [at for at, column in enumerate(self.columns) if column.name not in _PLACES]
        texts = [at for at in own if self.numbers[at] is None and self.days[at] is None]
        firsts = [keys for cell in self.columns[own[0]].cells if len(keys := keys_of(cell)) > 1] if own else []
        ends = (end for keys in firsts for size in (1, 2) for end in (keys[:size], keys[-size:]) if len(keys) > size)
        if any(end in words_of("totals") and not is_character(end) for end in ends):
            return "a row may be a total of others"
        if texts and np.all([self.columns[at].codes < 0 for at in texts], axis=0).any():
            return "a row without a name may be a total of others"
        if own and len(self.documents) > 1:
            rows, which = np.unique(np.stack([self.columns[at].codes for at in own]), axis=1, return_inverse=True)
            first = np.full(rows.shape[1], len(self.documents))
            np.minimum.at(first, which.ravel(), self.owners)
            repeated = np.bincount(self.owners, first[which.ravel()] < self.owners, len(self.documents))
            if (repeated > np.maximum(_RARE, _REPEATED * np.bincount(self.owners))).any():
                return "two documents have the same rows"
        return ""

    @cached_property
    def names_things(self) -> tuple[bool, ...]:
        """Whether the numbers of each column name things (an order, a year): they are not added."""
        found = []
        for at, (column, numbers) in enumerate(zip(self.columns, self.numbers, strict=True)):
            named = has_word(column.name, "key") and not has_word(column.name, "per")  # "price per day"
            whole = [number for number in numbers.of if number is not None] if numbers and not numbers.places else []
            counts_up = len(whole) == len(self) > 2 and whole == sorted(whole) and whole[-1] - whole[0] < 3 * len(self)
            found.append(bool(whole) and (named or (at == 0 and counts_up)))
        return tuple(found)


_YES = frozenset("yes y true ja oui sí si sì sim tak да evet 是 はい 有 ✓ ✔".split())
_NO = frozenset("no n false none nein non não nie nee нет hayır 否 いいえ 無 无 ✗ ✘ – -".split())


def yes_and_no(column: Column) -> tuple[frozenset[int], frozenset[int]] | None:
    """Return the cells of a column that say yes ("yes, 30 minutes"), those that say no; None if one says neither."""
    first = [cell.casefold().split(",")[0].split(" ")[0] for cell in column.cells]
    told = tuple(frozenset(at for at, word in enumerate(first) if word in words) for words in (_YES, _NO))
    return (told[0], told[1]) if len(told[0] | told[1]) == len(first) > 0 else None


def words_of_table(table: Table) -> frozenset[str]:
    """Return the stems of the words in the names of a set and of its columns."""
    names = (*table.names, *(column.name for column in table.columns))
    return frozenset(stem(key) for name in names for key in keys_of(name))


class Rows:
    """Collects the rows of a set."""

    def __init__(self, kind: str, *names: str) -> None:
        self.kind = kind
        self.names: dict[str, None] = dict.fromkeys(names)
        self.above: dict[str, None] = {}
        self.left_out = 0
        self.lost = 0
        self.beside = 0
        self._documents: dict[str, int] = {}
        self._cells: dict[str, dict[str, int]] = {}
        self._codes: dict[str, array[int]] = {}
        self._places = array("q"), array("q"), array("q")

    def add(self, document: str, start: int, end: int, cells: Mapping[str, str]) -> None:
        """Add a row: its document and characters, and its cells by column."""
        check()
        row = len(self._places[0])
        owner = self._documents.setdefault(document, len(self._documents))
        for place, value in zip(self._places, (owner, start, end), strict=True):
            place.append(value)
        for name, cell in cells.items():
            numbered = self._cells.setdefault(name, {})
            if not is_missing(cell):
                codes = self._codes.setdefault(name, array("i"))
                codes.extend([-1] * (row - len(codes)))
                codes.append(numbered.setdefault(cell.strip(), len(numbered)))

    def table(self) -> Table:
        """Return the rows as a table. Columns that say where a row is are left out if they say the same of all."""
        owners, starts, ends = (np.array(place, np.int64) for place in self._places)
        columns = []
        for name, cells in self._cells.items():
            if name not in _PLACES or len(cells) > 1:
                codes = np.full(len(starts), -1, np.int64)
                own = self._codes.get(name, array("i"))
                codes[: len(own)] = own
                columns.append(Column(name, tuple(cells), codes))
        names, documents = tuple(self.names), tuple(self._documents)
        return Table(
            self.kind, names, tuple(columns), documents, owners, starts, ends, tuple(self.above), self.left_out,
            self.lost, self.beside,
        )  # fmt: skip


_Row = tuple[int, int, dict[str, str]]
"""The first character of a row, the character after its last, and its cells by column."""


@per_index
def tables(index: StoredIndex) -> tuple[Table, ...]:
    """Return the tables of records and the messages in the documents; tables of the same columns are one."""
    lost = Counter(failure.item_id.partition("#")[0] for failure in index.rows(Failure) if "#" in failure.item_id)
    made: dict[tuple[str, ...], Rows] = {}
    for document in index.each(Document):
        check()
        file, row, _ = document.uri.partition("#")
        if row or is_message(document):
            kind, cells = _as_row(document)
            rows = made.setdefault((kind, "" if kind == "messages" else file), Rows(kind))
            rows.lost += 0 if PurePosixPath(file).stem in rows.names else lost[file]
            rows.names |= dict.fromkeys(_called(file))
            if cells:
                rows.add(document.id, 0, document.n_chars, cells)
            continue
        for kind, place, label, columns, each in _in_document(document):
            found = list(each)
            same = [""] if kind == "messages" else map(str.casefold, columns)
            rows = made.setdefault((kind, *same), Rows(kind))
            names = (document.title, *_called(file), label)
            rows.above |= dict.fromkeys(sections_at(document.places, found[0][0]) if found else ())
            rows.names |= {name: None for name in names if name and name.count(" ") < _LONGEST_NAME}
            rows.lost += lost[file]
            for start, end, cells in found:
                if kind == "rows" and _is_total(cells):
                    rows.left_out += 1
                else:
                    rows.add(document.id, start, end, {**cells, DOCUMENT: document.title, place: label} | cells)
    made["forms",] = _forms(index)
    return tuple(table for rows in made.values() if len(table := rows.table()))


_FIELD = regex.compile(
    r"(?m)^[ \t]*(?:[-*+•][ \t]+)?\*{0,2}(\p{L}[^:\n|*]{0,39})\*{0,2}:\*{0,2}[ \t]+(\S[^\n]{0,200})$"
)
_LEAST_OF_FORM, _LONGEST_OPENING = 3, 200
"""The least documents of one form, and fields of each; and the most characters above the fields that are shown."""


def _forms(index: StoredIndex) -> Rows:
    """Return the documents of one form, such as "price: 34.90" on a line, as rows: each field is a column."""
    fields: dict[str, list[regex.Match[str]]] = {}
    titles: dict[str, tuple[str, PurePosixPath]] = {}
    counts: Counter[str] = Counter()
    folders: Counter[PurePosixPath] = Counter()
    for document in index.each(Document):
        check()
        folders[PurePosixPath(document.uri).parent] += 1
        found = [] if "#" in document.uri or is_message(document) else list(_FIELD.finditer(document.text))
        names = {field[1].casefold() for field in found}
        if len(found) == len(names) >= _LEAST_OF_FORM:  # who speaks in a dialogue does so more than once
            fields[document.id] = found
            titles[document.id] = document.title, PurePosixPath(document.uri).parent
            counts.update(names)
    rows, own = Rows("rows"), Counter[PurePosixPath]()
    known = {name for name, count in counts.items() if count >= _LEAST_OF_FORM}
    for id_, found in fields.items():
        cells = {field[1].casefold(): field[2].strip() for field in found if field[1].casefold() in known}
        if len(cells) >= _LEAST_OF_FORM:
            title, folder = titles[id_]
            rows.names |= dict.fromkeys(filter(None, (folder.name, title)))
            own[folder] += 1
            begins = found[0].start() if found[0].start() > _LONGEST_OPENING else 0  # what it is stands above
            rows.add(id_, begins, found[-1].end(), {TITLE: title} | cells)
    rows.beside = sum(folders[folder] - count for folder, count in own.items())
    return rows


def _called(file: str) -> tuple[str, ...]:
    """Return what a file is called: its name and that of its folder."""
    path = PurePosixPath(file)
    return tuple(filter(None, (path.stem, path.parent.name)))


def _as_row(document: Document) -> tuple[str, dict[str, str]]:
    """Return the kind and the cells of a document that is a row or a message, from its metadata."""
    cells = {name: cell for name, cell in document.metadata.items() if name != LANGUAGE}
    sender = next((cell for name, cell in cells.items() if keys_of(name) in words_of("sender")), "")
    if sender:
        return "messages", {SENDER: sender.partition(" <")[0], DATE: cells.get("date", "")}
    return "rows", ({TITLE: document.title} if document.title and cells else {}) | cells


def _in_document(document: Document) -> Iterator[tuple[str, str, str, Sequence[str], Iterable[_Row]]]:
    """Yield the sets in a document: kind, what its label is, label, names of columns, and rows."""
    if document.uri.lower().endswith(_OF_TABLES):
        sheets = [place for place in document.places if place.kind == "sheet"]
        starts = [place.start for place in sheets] or [0]
        for place, (start, end) in zip_longest(sheets, pairwise([*starts, document.n_chars])):
            if columns := _record_columns(document.text, start, end):
                yield "rows", SHEET, place.label if place else "", columns, _records(document.text, start, end, columns)
        return
    blocks = list(_PIPES.finditer(document.text)) if "|" in document.text else []
    for at, block in enumerate(blocks):
        after = document.text[block.end() : blocks[at + 1].start()] if at + 1 < len(blocks) else "\n\n"
        before = document.text[blocks[at - 1].end() : block.start()] if at else "\n\n"
        if "\n\n" in after and "\n\n" in before and (columns := _pipe_columns(block[0])):
            label = next(reversed(sections_at(document.places, block.start())), "")
            yield "rows", SECTION, label, columns, _pipe_rows(block[0], block.start(), columns)
    messages = [found for found in MESSAGE.finditer(document.text) if found["date"]]
    if len(messages) >= _LEAST_MESSAGES:
        ends = [*(found.start() for found in messages[1:]), document.n_chars]
        rows = [
            (found.start(), end, {SENDER: found["sender"], DATE: found["date"]})
            for found, end in zip(messages, ends, strict=True)
            if found["sender"]
        ]
        yield "messages", SECTION, "", (SENDER, DATE), rows


def _record_columns(text: str, start: int, end: int) -> tuple[str, ...]:
    """Return the names of the columns of records, with titles above and notes below them.

    None if a paragraph between them is no record, or a name is a number.
    """
    rows: list[dict[str, None]] = []
    for found in _PARAGRAPH.finditer(text, start, end):
        check()
        pieces = map(_NAME.fullmatch, found[0].split("; "))
        rows.append(dict.fromkeys(name[1] for name in pieces if name))
    counts = Counter(name for names in rows for name in names)
    numbers = [at for at, names in enumerate(rows) if any(counts[name] > 1 for name in names)] or [
        at for at, names in enumerate(rows) if names
    ][-1:]
    few = len(numbers) <= _RARE
    known = tuple(dict.fromkeys(name for at in numbers for name in rows[at] if few or counts[name] > 1))
    whole = bool(numbers) and numbers[-1] - numbers[0] < len(numbers)
    return known if whole and not any(numbers_of([name]) and not _YEAR.fullmatch(name) for name in known) else ()


def _records(text: str, start: int, end: int, columns: Sequence[str]) -> Iterator[_Row]:
    known = frozenset(columns)
    for found in _PARAGRAPH.finditer(text, start, end):
        cells: dict[str, str] = {}
        last = ""
        for piece in found[0].split("; "):
            name = _NAME.fullmatch(piece)
            if name and name[1] in known and name[1] not in cells:
                last = name[1]
                cells[last] = name[2]
            else:  # a semicolon within a cell
                cells[last] = f"{cells[last]}; {piece}" if last in cells else piece
        if not known.isdisjoint(cells):
            yield found.start(), found.end(), cells


def _pipe_columns(block: str) -> tuple[str, ...]:
    """Return the names of the columns of a table of `|` rows; none if it has no header, or a row with more cells."""
    lines = block.split("\n")
    if len(lines) <= 2 or not _RULE.fullmatch(lines[1]):
        return ()
    names: list[str] = []
    for at, cell in enumerate(_pipe_cells(lines[0])):
        name = cell or str(at + 1)
        names.append(name if name not in names else f"{name} {at + 1}")
    return tuple(names) if all(len(_pipe_cells(line)) <= len(names) for line in lines[2:]) else ()


def _pipe_rows(block: str, start: int, columns: Sequence[str]) -> Iterator[_Row]:
    for number, line in enumerate(block.split("\n")):
        if number > 1:
            yield start, start + len(line), dict(zip(columns, _pipe_cells(line), strict=False))
        start += len(line) + 1


def _pipe_cells(line: str) -> list[str]:
    cells = _BETWEEN.split(line.strip())[1:-1]
    return [_MARKUP.sub(r"\1", cell).replace("\\|", "|").strip() for cell in cells]


def _is_total(cells: Mapping[str, str]) -> bool:
    """Return whether a row has the totals of the others: its first cell says so."""
    first = next((cell for cell in cells.values() if not is_missing(cell)), "")
    return keys_of(first) in words_of("totals")


@per_index
def lines(index: StoredIndex) -> Table:
    """Return the lines of log files and the records of JSON lines that have a line of text."""
    rows = Rows("lines", "log")
    sizes = index.arrow(Document, "uri", "n_chars").to_pylist()
    if sum(row["n_chars"] for row in sizes if _is_log(row["uri"])) <= _MOST_OF_LOGS:
        for document in index.each(Document):
            if _is_log(document.uri) and not is_message(document):
                for line in _LINES.finditer(document.text):
                    rows.add(document.id, line.start(), line.end(), {DOCUMENT: document.title})
    return rows.table()


def _is_log(uri: str) -> bool:
    return uri.partition("#")[0].casefold().endswith((".log", ".jsonl"))


@per_index
def documents(index: StoredIndex) -> Table:
    """Return the documents with their titles and metadata."""
    rows = Rows("documents")
    columns = index.arrow(Document, "id", "title", "uri", "metadata", "n_chars")
    for batch in columns.to_batches(1_000):
        for row in batch.to_pylist():
            metadata = {name: cell for name, cell in dict(row["metadata"]).items() if name != LANGUAGE}
            rows.add(row["id"], 0, row["n_chars"], metadata | {TITLE: row["title"] or row["uri"]})
    return rows.table()


@per_index
def headings(index: StoredIndex) -> Table:
    """Return the headings of all documents, in reading order."""
    rows = Rows("headings")
    for each in sorted(outline(index), key=lambda document: document.uri):
        for _, section in each.walk():
            if section.kind == HEADING:
                cells = {TITLE: section.label, DOCUMENT: each.title or each.uri}
                rows.add(each.document_id, section.start, section.end, cells)
    return rows.table()


_TASK = regex.compile(r"(?m)^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+\[(?P<state>[^\]\n])\][ \t]+(?P<task>\S[^\n]*)")
_STATES = {" ": "open", "x": "done", "X": "done", "-": "cancelled"}
"""What stands in the box of a task; anything else, such as / and >, is of one under way."""


@per_index
def tasks(index: StoredIndex) -> Table:
    """Return the items of lists that have a box, with their states."""
    rows = Rows("tasks")
    for document in index.each(Document):
        check()
        for found in _TASK.finditer(document.text):
            cells = {STATE: _STATES.get(found["state"], "under way"), DOCUMENT: document.title}
            rows.add(document.id, found.start("task"), found.end(), cells)
    return rows.table()


_TYPES = {
    "people": "person people human per",
    "organisations": "org organization organisation company institution",
    "places": "gpe loc location place city country geo fac",
}


@per_index
def entities(index: StoredIndex) -> Mapping[str, Table]:
    """Return the people, organisations and places among the entities, each where it is first named."""
    role_of = {type_: role for role, types in _TYPES.items() for type_ in types.split()}
    made = {role: Rows("entities", role) for role in _TYPES}
    every = index.arrow(Entity, "id", "name", "type").to_pydict()
    names = {
        id_: (name, role_of[type_.casefold()])
        for id_, name, type_ in zip(every["id"], every["name"], every["type"], strict=True)
        if type_.casefold() in role_of
    }
    first: dict[str, tuple[str, int, int]] = {}
    chunks, document_of = index.ids(Chunk), index.arrow(Chunk, "document_id").column("document_id")
    for batch in index.arrow(Mention, "entity_id", "chunk_id", "start", "end").to_batches(10_000):
        check()
        for entity, chunk, start, end in zip(*batch.to_pydict().values(), strict=True):
            if entity in names and start is not None and entity not in first:
                first[entity] = str(document_of[chunks[chunk]]), start, end
    for id_, (document, start, end) in sorted(first.items(), key=lambda item: names[item[0]][0].casefold()):
        name, role = names[id_]
        made[role].add(document, start, end, {TITLE: name})
    return {role: rows.table() for role, rows in made.items()}
