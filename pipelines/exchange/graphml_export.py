"""Export the graph of an index as GraphML: entities, relations, and the community of each entity on every level.

The attributes are our columns, and `label`, which Gephi displays. Lists are JSON. Characters that XML cannot contain
(most control characters) become U+FFFD. `conspectus index --kg` reads the file.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Relation

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
"""
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow."""
_ENTITY: Mapping[str, tuple[str, Callable[[Entity], object]]] = {
    "label": ("string", lambda entity: entity.name),
    "name": ("string", lambda entity: entity.name),
    "type": ("string", lambda entity: entity.type),
    "types": ("string", lambda entity: json.dumps(entity.types, ensure_ascii=False)),
    "description": ("string", lambda entity: entity.description),
    "frequency": ("int", lambda entity: entity.frequency),
    "degree": ("int", lambda entity: entity.degree),
}
_RELATION: Mapping[str, tuple[str, Callable[[Relation], object]]] = {
    "label": ("string", lambda relation: relation.predicate),
    "predicate": ("string", lambda relation: relation.predicate),
    "description": ("string", lambda relation: relation.description),
    "weight": ("double", lambda relation: relation.weight),
    "strength": ("double", lambda relation: relation.strength),
    "chunk_ids": ("string", lambda relation: json.dumps(relation.chunk_ids)),
}


def write_graphml(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of the file `to`, with their columns as attributes."""
    entities, relations = index.rows(Entity), index.rows(Relation)
    community_of = _communities(index.rows(Community))
    columns = {name: kind for name, (kind, _) in _ENTITY.items()}
    columns.update((f"c{level}", "string") for level in sorted(community_of))
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_HEAD)
        stream.writelines(_keys("node", columns))
        stream.writelines(_keys("edge", {name: kind for name, (kind, _) in _RELATION.items()}))
        stream.write('<graph id="conspectus" edgedefault="directed">\n')
        for entity in entities:
            cells = {name: read(entity) for name, (_, read) in _ENTITY.items()}
            cells.update((f"c{level}", found.get(entity.id)) for level, found in sorted(community_of.items()))
            stream.write(f'<node id="{entity.id}">{_data("node", cells)}</node>\n')
        for relation in relations:
            cells = {name: read(relation) for name, (_, read) in _RELATION.items()}
            ends = f'source="{relation.source_id}" target="{relation.target_id}"'
            stream.write(f'<edge id="{relation.id}" {ends}>{_data("edge", cells)}</edge>\n')
        stream.write("</graph>\n</graphml>\n")
    lost = sum(any(map(_UNWRITABLE.search, (entity.name, entity.description, *entity.types))) for entity in entities)
    lost += sum(any(map(_UNWRITABLE.search, (relation.predicate, relation.description))) for relation in relations)
    notes = (f"{lost:,} rows contain characters that XML cannot contain; these are U+FFFD now",) if lost else ()
    return ExportResult((to,), {"entities": len(entities), "relations": len(relations)}, notes)


def _communities(communities: Iterable[Community]) -> Mapping[int, dict[str, str]]:
    """Return the id of the community that each entity is in, by level."""
    found: dict[int, dict[str, str]] = {}
    for community in communities:
        found.setdefault(community.level, {}).update(dict.fromkeys(community.entity_ids, community.id))
    return found


def _keys(domain: str, columns: Mapping[str, str]) -> Iterator[str]:
    for name, kind in columns.items():
        yield f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'


def _data(domain: str, cells: Mapping[str, object]) -> str:
    return "".join(
        f'<data key="{domain}_{name}">{_text(str(value))}</data>'
        for name, value in cells.items()
        if value is not None and value != ""
    )


def _text(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text), {"\r": "&#13;"})
