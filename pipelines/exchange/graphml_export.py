"""The graph of an index as GraphML: entities, relations, and the community of each entity on every level.

Attributes bear the names of our columns, and `label` besides, which Gephi shows. Lists are JSON; signs that XML cannot
hold (most control signs) are U+FFFD. `conspectus index --kg` reads it back.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.storage.index import Index
from conspectus.storage.records import Community, Entity, Relation

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What is no character of XML 1.0."""
_ENTITY = {
    "label": "string",
    "name": "string",
    "type": "string",
    "types": "string",
    "description": "string",
    "frequency": "int",
    "degree": "int",
}
_RELATION = {
    "label": "string",
    "predicate": "string",
    "description": "string",
    "weight": "double",
    "strength": "double",
    "chunk_ids": "string",
}


def write_graphml(index: Index, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of one file, each with its columns."""
    entities, relations = index.rows(Entity), index.rows(Relation)
    community_of = _communities(index.rows(Community))
    levels = {f"c{level}": "string" for level in sorted(community_of)}
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_HEAD)
        stream.writelines(_keys("node", {**_ENTITY, **levels}))
        stream.writelines(_keys("edge", _RELATION))
        stream.write('<graph id="conspectus" edgedefault="directed">\n')
        for entity in entities:
            cells = _entity(entity)
            cells.update((f"c{level}", found.get(entity.id)) for level, found in sorted(community_of.items()))
            stream.write(f'<node id="{entity.id}">{_data("node", cells)}</node>\n')
        for each in relations:
            ends = f'source="{each.source_id}" target="{each.target_id}"'
            stream.write(f'<edge id="{each.id}" {ends}>{_data("edge", _relation(each))}</edge>\n')
        stream.write("</graph>\n</graphml>\n")
    lost = sum(any(map(_UNWRITABLE.search, (each.name, each.description, *each.types))) for each in entities)
    lost += sum(any(map(_UNWRITABLE.search, (each.predicate, each.description))) for each in relations)
    notes = (f"{lost:,} rows have signs that XML cannot hold; each is U+FFFD now",) if lost else ()
    return ExportResult((to,), {"entities": len(entities), "relations": len(relations)}, notes)


def _communities(communities: Iterable[Community]) -> Mapping[int, dict[str, str]]:
    """Return the id of the community that each entity is in, by level."""
    found: dict[int, dict[str, str]] = {}
    for each in communities:
        found.setdefault(each.level, {}).update(dict.fromkeys(each.entity_ids, each.id))
    return found


def _keys(domain: str, columns: Mapping[str, str]) -> Iterator[str]:
    for name, kind in columns.items():
        yield f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'


def _entity(each: Entity) -> dict[str, object]:
    return {
        "label": each.name,
        "name": each.name,
        "type": each.type,
        "types": json.dumps(each.types, ensure_ascii=False),
        "description": each.description,
        "frequency": each.frequency,
        "degree": each.degree,
    }


def _relation(each: Relation) -> dict[str, object]:
    return {
        "label": each.predicate,
        "predicate": each.predicate,
        "description": each.description,
        "weight": each.weight,
        "strength": each.strength,
        "chunk_ids": json.dumps(each.chunk_ids),
    }


def _data(domain: str, cells: Mapping[str, object]) -> str:
    return "".join(
        f'<data key="{domain}_{name}">{_text(str(value))}</data>'
        for name, value in cells.items()
        if value is not None and value != ""
    )


def _text(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text), {"\r": "&#13;"})
