"""Microsoft GraphRAG's output read: whichever version wrote it, its rows are those of 3.x."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag import coerce as cells
from conspectus.pipelines.exchange.graphrag.schema import TABLES, CommunityRow, Tables, TextUnitRow
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.records import Failure

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONAL = "covariates"
_EARLIER = "create_final_"
"""What the names of the files began with before 2.0."""
_NODES = "create_final_nodes"
_OUTPUT = ("", "output", "output/artifacts")

_RENAMED = {
    ("documents", "text"): ("raw_content",),
    ("documents", "raw_data"): ("metadata",),
    ("text_units", "document_id"): ("document_ids",),
    ("entities", "title"): ("name",),
    ("relationships", "combined_degree"): ("rank",),
    ("communities", "community"): ("raw_community",),
    ("community_reports", "rating_explanation"): ("rank_explanation",),
}
"""Columns that earlier versions had under other names."""

_NEEDED = {
    "documents": ("id",),
    "text_units": ("id", "text", "document_id"),
    "entities": ("id", "title"),
    "relationships": ("id", "source", "target"),
    "communities": ("community", "level"),
    "community_reports": ("community", "title"),
    "covariates": ("subject_id", "text_unit_id"),
}
_WITHOUT_A_ROW = {**_NEEDED, "text_units": ("id", "text"), "community_reports": ("community",), "covariates": ()}
"""Columns without which a row stands for nothing: it is listed among the failures."""

_LONGEST_DETAIL = 200


@dataclass(frozen=True, slots=True)
class Read:
    """What was read. `digest` is that of the files; `failures` are cells and rows that could not be used.

    `notes` say in words what the files hold that is not taken over.
    """

    folder: Path
    tables: Tables
    failures: list[Failure]
    notes: tuple[str, ...]
    digest: str


def read_graphrag(folder: Path) -> Read:
    """Return the tables of a GraphRAG output folder, or of a project folder that holds one.

    InputError where a table or a column that is needed is missing, cannot be read, or has another type throughout.
    """
    found = _files(folder)
    failures: list[Failure] = []
    left_out: list[str] = []
    rows: dict[str, list[Any]] = {name: [] for name in TABLES}
    for name in TABLES:
        if name in found:
            columns, others = _columns(name, found[name])
            left_out += [f"{name}.{other}" for other in others]
            rows[name] = list(_rows(name, columns, found[name], failures))
    nodes = found.get(_NODES)
    if nodes is not None:
        rows["communities"] = _with_members(rows["communities"], rows["entities"], nodes)
    notes = (f"columns that are not taken over: {', '.join(left_out)}",) if left_out else ()
    known = {name: path for name, path in found.items() if name != _NODES or name in rows}
    whole = digest(*(f"{name} {file_digest(path)}" for name, path in sorted(known.items())))
    return Read(next(iter(found.values())).parent, Tables(**rows), failures, notes, whole)


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name the output folder of a GraphRAG project")
    for place in (folder / each for each in _OUTPUT):
        for prefix in ("", _EARLIER):
            if (place / f"{prefix}entities.parquet").is_file():
                return _complete(place, prefix)
    raise InputError(
        f"{folder} holds no entities.parquet, nor does its folder output: name the output folder of a GraphRAG project"
    )


def _complete(place: Path, prefix: str) -> dict[str, Path]:
    found = {name: place / f"{prefix}{name}.parquet" for name in TABLES}
    missing = [path.name for name, path in found.items() if name != _OPTIONAL and not path.is_file()]
    if missing:
        raise InputError(f"{place} lacks {', '.join(missing)}, which GraphRAG writes beside entities.parquet")
    there = {name: path for name, path in found.items() if path.is_file()}
    if prefix and (place / f"{_NODES}.parquet").is_file():
        there[_NODES] = place / f"{_NODES}.parquet"
    return there


def _columns(name: str, path: Path) -> "tuple[Mapping[str, pa.ChunkedArray], list[str]]":
    """Return the columns of a table by the names of 3.x, and the names of those that there is no place for."""
    table = _arrow(path)
    found: dict[str, pa.ChunkedArray] = {}
    used: set[str] = set()
    for field in fields(TABLES[name]):
        for each in (field.name, *_RENAMED.get((name, field.name), ())):
            if each in table.column_names and field.name not in found:
                found[field.name] = table.column(table.column_names.index(each))
                used.add(each)
    for needed in _NEEDED[name]:
        if needed not in found:
            raise InputError(f"{path} has no column {needed}; it has {', '.join(map(clean, table.column_names))}")
    return found, [clean(each)[:_LONGEST_DETAIL] for each in table.column_names if each not in used]


def _arrow(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {(str(error) or type(error).__name__).splitlines()[0]}") from error


def _rows(name: str, columns: "Mapping[str, pa.ChunkedArray]", path: Path, failures: list[Failure]) -> Iterator[Any]:
    """Yield the rows of a table; those that stand for nothing are listed."""
    record = TABLES[name]
    n_rows = len(next(iter(columns.values())))
    values = [
        _converted(name, field.name, columns[field.name], path, failures) if field.name in columns else [None] * n_rows
        for field in fields(record)
    ]
    names = [field.name for field in fields(record)]
    for number, cells_of_row in enumerate(zip(*values, strict=True)):
        row = dict(zip(names, cells_of_row, strict=True))
        lacking = [each for each in _WITHOUT_A_ROW[name] if row[each] is None or row[each] == ""]
        if lacking:
            failures.append(Failure(IMPORT, f"{name}#{number}", f"a row without {lacking[0]}"))
        elif name == "text_units":
            yield from _by_document(record, row)
        else:
            yield record(**row)


def _by_document(record: type, row: dict[str, Any]) -> Iterator[TextUnitRow]:
    """Yield a text unit once for each document that it is of: before 3.0 it had a list of them."""
    owners = row["document_id"]
    for owner in dict.fromkeys(owners) if isinstance(owners, tuple) and owners else [owners or None]:
        yield record(**{**row, "document_id": owner})


def _converted(name: str, column: str, values: "pa.ChunkedArray", path: Path, failures: list[Failure]) -> list[Any]:
    convert = cells.converter(TABLES[name], column)
    plain = _plain(values, path, column)
    made: list[Any] = []
    unfit: list[Failure] = []
    wanted = ""
    for number, value in enumerate(plain):
        try:
            made.append(_owners(value) if (name, column) == ("text_units", "document_id") else convert(value))
        except cells.Unfit as error:
            wanted = str(error)
            unfit.append(
                Failure(IMPORT, f"{name}#{number}", f"{column} is not {wanted}", clean(str(value))[:_LONGEST_DETAIL])
            )
            made.append(None)
    if unfit and len(unfit) == sum(each is not None for each in plain):
        raise InputError(f"{path}: the column {column} is {_type_of(values)}, not {wanted}")
    failures += unfit
    return made


def _plain(values: "pa.ChunkedArray", path: Path, column: str) -> list[Any]:
    import pyarrow as pa

    try:
        return list(values.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError, RecursionError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: the column {column} cannot be read: {reason}") from error


def _type_of(values: "pa.ChunkedArray") -> str:
    return clean(str(values.type))[:_LONGEST_DETAIL]


def _owners(value: Any) -> Any:  # noqa: ANN401
    return cells.texts(value) if isinstance(value, list) else cells.text(value)


def _with_members(communities: list[CommunityRow], entities: list[Any], nodes: Path) -> list[CommunityRow]:
    """Return the communities with their members, which the earliest versions wrote into a table of nodes only."""
    table = _arrow(nodes)
    if not {"title", "community"} <= set(table.column_names) or any(each.entity_ids for each in communities):
        return communities
    id_of = {each.title: each.id for each in entities}
    members: dict[int, list[str]] = {}
    titles, numbers = (_plain(table.column(name), nodes, name) for name in ("title", "community"))
    for title, number in zip(titles, numbers, strict=True):
        try:
            community = cells.whole(number)
        except cells.Unfit:
            community = None
        if community is not None and isinstance(title, str) and title in id_of:
            members.setdefault(community, []).append(id_of[title])
    return [replace(each, entity_ids=tuple(members.get(each.community or 0, ()))) for each in communities]
