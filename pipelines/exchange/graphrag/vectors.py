"""The vectors of an index as GraphRAG writes its own beside its tables: `embeddings.<name>.parquet`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Entity, Origin, Report

VECTORS: Mapping[str, type] = {
    "entity_description": Entity,
    "text_unit_text": Chunk,
    "community_full_content": Report,
}
"""GraphRAG's names of its vectors, and whose of ours they are."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files of vectors, how many are in each, and what should be known of them."""

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...]


def write_vectors(index: Index, origins: Sequence[Origin], to: Path) -> Written:
    """Write a vector for each row that has one, under the id of the row: float64, of unit length.

    One of several windows is their mean. They are of the model that the index was made with, and an entity's is of its
    name alone, where GraphRAG embeds its description too.
    """
    files: list[Path] = []
    rows: dict[str, int] = {}
    for name, record in VECTORS.items():
        table = Index.table_name(record)
        row_of = {id_: row for row, id_ in enumerate(index.arrow(record, "id").column("id").to_pylist())}
        own = sorted((each for each in origins if each.table == table and each.item_id), key=lambda each: each.ordinal)
        having = set(index.vectors(table).table_rows.tolist())
        wanted = {each.source_id: row_of[each.item_id] for each in own if row_of.get(each.item_id) in having}
        files.append(to / f"embeddings.{name}.parquet")
        _write(files[-1], index, table, wanted)
        rows[f"embeddings.{name}"] = len(wanted)
    model = index.manifest.models.get("embedding", "")
    return Written(tuple(files), rows, (f"the vectors are of {model}; GraphRAG's own model makes others",))


def _write(path: Path, index: Index, table: str, wanted: Mapping[str, int]) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    vectors = index.vectors(table).mean_vectors(np.fromiter(wanted.values(), np.int64, len(wanted)))
    flat = pa.array(vectors.astype(np.float64).ravel())
    ends = pa.array(np.arange(len(wanted) + 1, dtype=np.int32) * vectors.shape[1])
    made = pa.table({"id": pa.array(list(wanted), pa.string()), "embedding": pa.ListArray.from_arrays(ends, flat)})
    pq.write_table(made, path)
