"""Read triples from tables of text: a triple or an edge a row, a thing a row, or both, as a header or `kg.columns` say.

Of a table without a header, the rows say which column is the relation: the names of things occur in both others.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.exchange.kg.builder import ThingAttributes, TripleAttributes, strength_of, weight_of
from conspectus.pipelines.exchange.kg.nodes_and_edges import BETWEEN, CONNECTED, text_of_value
from conspectus.pipelines.exchange.kg.statements import Statements, literal, suffix_of, text_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

if TYPE_CHECKING:
    from _csv import Reader

FORMS = (
    "a table has a header with source, target, relation and weight (or subject, predicate, object; head, relation, "
    "tail; from, to; :START_ID, :END_ID, :TYPE), or with id or name and attributes; or no header and two or three "
    "columns. Name the columns of source, relation, target and weight with kg.columns"
)
_WORDS = {
    "source": "source src sourceid sourcename sourcenode head headid headentity subject subjectid subj s from fromid "
    "item fromnode fromnodeid start startid startnode node1 entity1 id1 :startid subjekt sujet sujeto soggetto sujeito "
    "onderwerp quelle origen von",
    "target": "target tgt targetid targetname targetnode tail tailid tailentity object objectid obj o t to toid tonode "
    "tonodeid end endid endnode dst dest destination node2 entity2 id2 value :endid objekt objet objeto oggetto "
    "voorwerp ziel destino nach naar",
    "relation": "relation relationid relationname relationtype relationship relationshiptype reltype predicate "
    "predicateid pred property propertyid p r rel edge edgelabel edgetype verb interaction :type prädikat prédicat "
    "predicado predicato predicaat beziehung relación relazione relação relatie",
    "weight": "weight weights w gewicht poids peso",
    "number": "nr no num nummer numéro número numero lfdnr row",
    "perhaps relation": "type label name kind",
    "id": "id key node nodeid item itemid entity entityid uri iri :id",
    "name": "name label title preflabel displayname fullname itemlabel entitylabel entityname",
    "types": "type types labels category kind class :label",
    "description": "description desc definition comment summary itemdescription",
}
_ROLES: Mapping[str, frozenset[str]] = {role: frozenset(words.split()) for role, words in _WORDS.items()}
"""What a column is for, by the word of its header."""
_NUMBERED = _ROLES["id"] | _ROLES["number"]
_ENDS = ("source", "relation", "target")
_ONLY_WITH_RELATION = frozenset(("item", "value"))
_NEO4J = re.compile(r"(.*):([A-Za-z_]+)(\[\])?(?:\(.*\))?", re.DOTALL)
"""The header of a column for neo4j-admin: a name, and a type or what the column is for."""
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t,;|", ".tab": "\t,;|", ".txt": "\t|,; "}
_COMMENTS = ("# ", "#\n", "#/", "%")
_SAMPLE, _SHOWN = 200, 500
"""Lines that show what the columns of a table are, and characters of each."""
_ALIKE = 0.9
_NO_RELATION = frozenset(("", "directed", "undirected", "mutual"))
"""What Gephi has as the type of an edge."""
_NO_LIMIT, _LONGEST = (1 << 31) - 1, 200_000
"""The longest cell of the module csv, and the longest row that is read, in characters."""
_MIDNIGHT = "T00:00:00Z"
"""The end of a date of Wikidata."""
_Places = tuple[int, int | None, int]
"""The places of source, relation and target; the relation may be missing."""
_LONE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, the word that says what it is for, and what separates the values in a cell."""

    name: str
    word: str
    separators: str = ""

    @classmethod
    def of(cls, header: str) -> "_Column":
        name = header.strip().lstrip("#").strip()
        found = _NEO4J.fullmatch(name)
        if found and found[2].upper() in {"START_ID", "END_ID", "TYPE", "LABEL", "ID"}:
            return cls(found[1], f":{_word(found[2])}", ";:|" if found[2].upper() == "LABEL" else "")
        if found and "/" not in name:
            return cls(found[1], _word(found[1]), ";" if found[3] else "")
        return cls(name, _word(name), ";:|" if _word(name) == "labels" else "")

    def values(self, cell: str) -> list[str]:
        """Return the values in a cell."""
        for sign in self.separators:
            cell = cell.replace(sign, BETWEEN)
        found = cell.removesuffix(_MIDNIGHT).split(BETWEEN)
        return [value.strip() for value in found if value.strip()]


def _word(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _place(columns: Sequence[_Column], role: str) -> int | None:
    """Return the place of the first column for something."""
    return next((place for place, column in enumerate(columns) if column.word in _ROLES[role]), None)


def _ends(columns: Sequence[_Column]) -> _Places | None:
    """Return the places of source, relation (which may be missing) and target, None if the header names no ends."""
    source, relation, target = (_place(columns, role) for role in ("source", "relation", "target"))
    if source is None or target is None:
        return None
    if relation is None and {columns[source].word, columns[target].word} & _ONLY_WITH_RELATION:
        return None
    return source, relation, target


def _has_things(columns: Sequence[_Column]) -> bool:
    return len(columns) > 1 and (_place(columns, "id"), _place(columns, "name")) != (None, None)


def read_table(path: Path, into: Statements, settings: KgSettings) -> None:
    """Read rows of triples, edges or things. Further columns of a triple qualify it; those of a thing are triples.

    A row that is not understood is a failure; InputError if the columns are not understood.
    """
    lines = text_of(path)
    comments, first = 0, ""
    for first in lines:
        if first.strip() and not first.startswith(_COMMENTS) and not first.lstrip("\ufeff").startswith("sep="):
            break
        comments += 1
    sample = [first, *islice(lines, _SAMPLE)]
    shown = [line[:_SHOWN] for line in sample]
    separator = _separator(shown, _SEPARATORS[suffix_of(path)])
    rows = _rows(chain(sample, lines), separator)
    columns, ends, is_headed = _understood(list(_rows(shown, separator)), settings.columns)
    table = _Table(into, columns, ends)
    into.form(f"{path.name}: {table.form}" if is_headed else f"{path.name}: {table.form} (there is no header)")
    csv.field_size_limit(_NO_LIMIT)
    for row in islice(rows, int(is_headed), None):
        table.row(f"{path.name}:{rows.line_num + comments}", row, separator)


def _rows(lines: Iterable[str], separator: str) -> "Reader":
    """Return the rows of a table. Cells between tabs are not quoted, unless all of the first row are."""
    first = next(lines := iter(lines), "")
    quoted = separator != "\t" or all(re.fullmatch('".*"', cell) for cell in first.rstrip("\n").split("\t"))
    return csv.reader(
        chain([first], lines),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=separator == " ",
    )


def _separator(sample: Sequence[str], signs: str) -> str:
    """Return the sign with which the header is understood or, failing that, the first rows are alike."""
    alike = [signs[0]]
    for sign in reversed(signs):
        rows = [row for row in _rows(sample, sign) if row]
        header = [_Column.of(cell) for cell in rows[0]] if rows else []
        if len(header) > 1 and (_ends(header) or (_has_things(header) and _is_header(rows))):
            return sign
        if len(header) > 1 and sum(len(row) == len(header) for row in rows) >= _ALIKE * len(rows):
            alike.append(sign)
    return alike[-1]


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether no cell of the first row is in its column again."""
    return not any(cell in rows[0][place : place + 1] for row in rows[1:] for place, cell in enumerate(row))


def _understood(rows: Sequence[Sequence[str]], given: Sequence[str]) -> tuple[list[_Column], _Places | None, bool]:
    """Return the columns, the places of source, relation and target, and whether the first row is a header."""
    rows = [row for row in rows if any(map(str.strip, row))]
    if not rows:
        raise InputError("it has no rows")
    columns = [_Column.of(cell) for cell in rows[0]]
    if given and (named := _given(columns, given)):
        return named
    if ends := _ends(columns):
        return columns, ends, True
    if (relation := _place(columns, "relation")) is not None and len(columns) == 3 and _is_header(rows):
        source, target = (place for place in range(3) if place != relation)
        return columns, (source, relation, target), True
    if _has_things(columns) and _is_header(rows):
        return columns, None, True
    if len(columns) not in (2, 3):
        raise InputError(f"its columns ({', '.join(rows[0])[:200]}) are not understood; {FORMS}")
    return _of_rows([row for row in rows if len(row) == len(columns)])


def _given(columns: Sequence[_Column], given: Sequence[str]) -> tuple[list[_Column], _Places | None, bool] | None:
    """Return what `kg.columns` says: the source and the target, or source, relation, target and weight."""
    names = [column.name for column in columns]
    if all(name.isdecimal() for name in given):
        places, is_headed = [int(name) - 1 for name in given], _ends(columns) is not None
    elif set(given) <= set(names):
        places, is_headed = [names.index(name) for name in given], True
    else:
        return None
    if not 2 <= len(places) <= 4 or not 0 <= min(places) <= max(places) < len(names):
        raise InputError(f"kg.columns names two to four of the columns {', '.join(names)}, not {', '.join(given)}")
    source, target = places[0], places[min(2, len(places) - 1)]
    found = [_Column(name, "") for name in names] if is_headed else [_Column("", "") for _ in names]
    if len(places) == 4:
        found[places[3]] = _Column("weight", "weight")
    return found, (source, places[1] if len(places) > 2 else None, target), is_headed


def _of_rows(rows: Sequence[Sequence[str]]) -> tuple[list[_Column], _Places, bool]:
    """Return what two or three columns without a header are."""
    columns = [_Column(role, role) for role in ("source", "relation", "target")]
    if len(rows[0]) == 2:
        return [columns[0], columns[2]], (0, None, 1), False
    sources, second, third = (set(column) for column in zip(*rows, strict=True))
    if sources & second and all(strength_of(cell) is not None for cell in third):
        return [columns[0], columns[2], _Column("weight", "weight")], (0, None, 1), False
    if len(sources & second) > len(sources & third) and len(third) < len(second):
        return [columns[0], columns[2], columns[1]], (0, 2, 1), False
    return columns, (0, 1, 2), False


class _Table:
    """States what the rows of a table are."""

    def __init__(self, into: Statements, columns: Sequence[_Column], ends: _Places | None) -> None:
        self._into = into
        self._columns = columns
        self._ends = ends
        self._weight = _place(columns, "weight") if ends else None
        self._id, self._name, self._types, self._description = (
            _place(columns, role) for role in ("id", "name", "types", "description")
        )
        if self._id is None:
            self._id, self._name = self._name, None
        self._needed = max(filter(None, ends), default=0) if ends else self._id or 0
        self._label_of = self._labels()
        used = {self._weight, *self._label_of.values(), *(ends or ())}
        perhaps = _ROLES["perhaps relation"] if ends and ends[1] is None else frozenset()
        self._perhaps = [place for place, column in enumerate(columns) if column.word in perhaps]
        ignored = {place for place, column in enumerate(columns) if column.word in _NUMBERED or not column.name}
        self._qualifiers = [
            (place, column.name)
            for place, column in enumerate(columns)
            if place not in {*used, *self._perhaps, *ignored} and not column.word.startswith("unnamed")
        ]
        used |= {self._id, self._name, self._types, self._description}
        self._attributes = [place for place, column in enumerate(columns) if place not in used and column.name]
        shown = ",".join(filter(None, (column.name or column.word for column in columns)))
        self.form = shown or f"columns {','.join(str(1 + place) for place in range(len(columns)))}"

    def _labels(self) -> dict[int, int]:
        """Return the places of the columns whose labels are in another column: itemLabel for item."""
        place_of = {column.word.removesuffix("id"): place for place, column in enumerate(self._columns)}
        found = {}
        for place, column in enumerate(self._columns):
            base = column.word.removesuffix("label").removesuffix("name")
            is_label = base not in ("", column.word) and (self._ends or place not in (self._name, self._types))
            if is_label and place_of.get(base, place) != place:
                found[place_of[base]] = place
        return found

    def row(self, item: str, cells: list[str], separator: str) -> None:
        """State what a row is; one that is not understood is a failure."""
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            return
        missing = len(self._columns) - len(cells)
        if missing < 0 or self._needed >= len(cells):
            if not cells[0].startswith("#"):
                self._into.fail(item, f"{len(cells)} columns, not {len(self._columns)}", separator.join(cells))
            return
        cells += [""] * missing
        for place, label in self._label_of.items():
            if cells[place] and cells[label]:
                self._into.label(cells[place], cells[label])
        text = "".join(cells)
        if len(text) > _LONGEST:  # probably a quotation mark that is not closed
            self._into.fail(item, "a row is too long", text[:100])
        elif not text.isascii() and _LONE.search(text):
            self._into.fail(item, "not UTF-8", separator.join(cells))
        elif self._ends and (cells[self._ends[0]] or cells[self._ends[2]] or self._types is None or self._id is None):
            self._edge(item, cells, self._ends)
        else:
            self._thing(item, cells)

    def _edge(self, item: str, cells: list[str], ends: _Places) -> None:
        source, at, target = cells[ends[0]], ends[1], cells[ends[2]]
        perhaps = (cells[place] for place in self._perhaps if cells[place].casefold() not in _NO_RELATION)
        relation = cells[at] if at is not None else next(perhaps, CONNECTED)
        if not (source and relation and target):
            self._into.fail(item, "a column is empty", ", ".join(cells))
            return
        told = [(clean(name), clean(cells[place])) for place, name in self._qualifiers if cells[place]]
        text = "" if self._weight is None else cells[self._weight].replace(",", ".")
        weight, _ = self._into.measures(item, {"weight": text})
        attributes = None
        if told or weight_of(text):
            attributes = TripleAttributes(weight, statements=(tuple(told),) if told else ())
        self._into.add(source, relation, target, attributes)
        if relation == CONNECTED and any(cells[place].casefold() == "undirected" for place in self._perhaps):
            self._into.add(target, relation, source, attributes)

    def _thing(self, item: str, cells: list[str]) -> None:
        if self._id is None or not cells[self._id]:
            self._into.fail(item, "a row without id and name", ", ".join(cells))
            return
        thing = cells[self._id]
        if self._name is not None and cells[self._name]:
            self._into.label(thing, cells[self._name])
        types = self._columns[self._types].values(cells[self._types]) if self._types is not None else []
        description = cells[self._description] if self._description is not None else ""
        self._into.thing(thing, ThingAttributes(tuple(types), description))
        for kind in types:
            self._into.add(thing, "type", kind)
        for place in self._attributes:
            column = self._columns[place]
            if place in self._label_of and cells[place]:
                self._into.add(thing, column.name, cells[place])
                continue
            for value in column.values(cells[place]):
                self._into.add(thing, column.name.removesuffix("Label"), literal(value))


class Records:
    """States what the rows of a JSON file are: lists of two or three texts, or objects with the fields of a table."""

    def __init__(self, path: Path, into: Statements) -> None:
        self._path = path
        self._into = into
        self._tables: dict[tuple[str, ...], _Table | None] = {}

    def take(self, item: str, row: object) -> None:
        """State what a row is; one that is not understood is a failure."""
        if isinstance(row, list) and len(row) in (2, 3) and all(isinstance(cell, str | int | float) for cell in row):
            names = tuple(_ENDS[:: 4 - len(row)])
            cells = [text_of_value(cell) for cell in row]
        elif isinstance(row, dict):
            names = tuple(row)
            cells = [text_of_value(value) for value in row.values()]
        else:
            names, cells = (), []
        if not self._tables and names:
            self._into.form(f"{self._path.name}: {','.join(names)}")
        if names not in self._tables:
            columns = [_Column.of(name) for name in names]
            ends = _ends(columns)
            self._tables[names] = _Table(self._into, columns, ends) if ends or _has_things(columns) else None
        if table := self._tables[names]:
            table.row(item, cells, ", ")
        else:
            self._into.fail(item, "neither a triple nor a thing", repr(row))


def read_labels(path: Path, into: Statements) -> None:
    """Read lines of `id<TAB>label`; further columns are ignored. The first label of an id is used."""
    for number, line in enumerate(text_of(path), start=1):
        id_, label, *_ = (cell.strip() for cell in (*line.split("\t"), ""))
        if id_ and label:
            into.label(id_, label, number - _FROM_A_LABELS_FILE)
        elif line.strip():
            into.fail(f"{path.name}:{number}", "not an id and a label with a tab between", line)


_FROM_A_LABELS_FILE = 1 << 40
"""Labels of a labels file rank above those in the triples."""
