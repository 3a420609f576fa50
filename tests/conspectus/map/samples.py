"""Indexes in memory: one with names that mean harm, and large ones that are made up."""

import random
from collections.abc import Sequence
from pathlib import Path

from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import FORMAT_VERSION, Manifest
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import (
    Chunk,
    Community,
    Document,
    Entity,
    Finding,
    Mention,
    Relation,
    Report,
    Span,
)
from conspectus.storage.tables import TABLES

HOSTILE = "</script><img src=x onerror=\"document.title='harmed'\"><!-- & <b>\u202eback\x07"
ARABIC, CHINESE = "جامعة القاهرة", "北京大学图书馆"

HOSTILE_NAMES = (HOSTILE, ARABIC, CHINESE, "__proto__", "constructor", "Ångström")


def index_of(*rows: object, root: str = "made.index") -> StoredIndex:
    """Return an index of these rows; each goes into the table of its type."""

    def nothing() -> None:
        raise AssertionError("a map needs tables only")

    tables = {kind: [each for each in rows if type(each) is kind] for kind in TABLES.values()}
    manifest = Manifest(FORMAT_VERSION, "0123456789ab", {}, "", {}, {}, {}, {})
    made = {kind: (lambda of=of: of) for kind, of in tables.items()}
    return MemoryIndex(
        Path(root).absolute(),
        manifest,
        Parts(made, made[Entity], {}, nothing, nothing),  # type: ignore[arg-type]
    )


def entity(name: str, degree: int = 0, kind: str = "PERSON", description: str = "", id_: str = "") -> Entity:
    """Return an entity whose id is its name unless it is given one."""
    return Entity(id_ or name, name, kind, (kind,), description, 1, degree)


def relation(source: str, target: str, predicate: str = "knows", weight: float = 1.0) -> Relation:
    """Return a relation between two entities."""
    said = f"{source} {predicate} {target}."
    return Relation(f"{source}-{target}-{predicate}", source, target, predicate, said, weight, ())


def community(
    id_: str, level: int, members: Sequence[str], parent: str | None = None, same_as: str | None = None
) -> Community:
    """Return a community of entities."""
    return Community(id_, level, parent, same_as, False, tuple(members), (), (), len(members))


def report(of: Community, title: str, findings: Sequence[Finding] = (), summary: str = "") -> Report:
    """Return a report on a community."""
    return Report(f"report {of.id}", of.id, of.level, title, summary, tuple(findings), 5.0, "", 0)


def hostile_index() -> StoredIndex:
    """Return an index in which every text means harm, or is written from right to left, or without spaces."""
    text = f"{HOSTILE} is what {ARABIC} says of {CHINESE}. Nothing else."
    document = Document(HOSTILE, HOSTILE, "javascript:harm()", text, {}, len(text), "")
    chunk = Chunk("c", document.id, 0, 0, len(text), text, 9)
    ids = {name: f"e{row}" for row, name in enumerate(HOSTILE_NAMES)}
    top = community("top", 0, list(ids.values()))
    parts = [community("east", 1, ["e1", "e2"], "top"), community("west", 1, ["e0", "e3", "e4", "e5"], "top")]
    finding = Finding(HOSTILE, HOSTILE, (Span(document.id, "c", 0, len(text) - 14),))
    return index_of(
        *(entity(name, 3, HOSTILE if name == HOSTILE else "PERSON", HOSTILE, id_) for name, id_ in ids.items()),
        relation("e0", "e1", HOSTILE),
        relation("e1", "e2", "تعرف"),
        relation("e2", "e2", "是"),
        top,
        *parts,
        report(top, HOSTILE, [finding], HOSTILE),
        report(parts[0], f"{ARABIC}, {CHINESE}", [finding]),
        document,
        chunk,
        Mention("m", "c", "e0", None, 0, len(HOSTILE), "exact", HOSTILE, ""),
    )


def large_index(n: int, seed: int = 0) -> StoredIndex:
    """Return an index of n entities in a hierarchy of four levels, with relations, reports and a citation each."""
    draw = random.Random(seed)
    sizes = [0] * n
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < int(n * 1.2):  # few have many, most have few, and most are near
        one = int(n * draw.random() ** 1.5)
        other = one // 50 * 50 + draw.randrange(50) if draw.random() < 0.8 else int(n * draw.random() ** 2)
        if other < n and one != other and (one, other) not in pairs:
            pairs.add((one, other))
            sizes[one] += 1
            sizes[other] += 1
    names = [f"Entity {number}" for number in range(n)]
    text = "Each of these sentences is cited by a report. " * 40
    document = Document("d", "The document", "d.txt", text, {}, len(text), "")
    rows: list[object] = [document, Chunk("c", "d", 0, 0, len(text), text, 400)]
    rows += [entity(name, sizes[row], f"TYPE {row % 7}", text[:300]) for row, name in enumerate(names)]
    rows += [relation(names[one], names[other], f"predicate {one % 40}") for one, other in sorted(pairs)]
    rows += [Mention(f"m{row}", "c", name, None, 0, 5, "exact", name, "") for row, name in enumerate(names)]
    findings = [Finding("What is found", text[46 * at : 46 * (at + 5)], (Span("d", "c", 0, 200),)) for at in range(4)]

    def divide(first: int, end: int, level: int, parent: str | None) -> None:
        width = (600, 150, 40, 10)[level]
        for start in range(first, end, width):
            last = min(start + width, end)
            each = community(f"c{level}-{start}", level, names[start:last], parent)
            rows.extend([each, report(each, f"Community {start} of level {level}", findings, text[:400])])
            if level < 3:
                divide(start, last, level + 1, each.id)

    divide(0, n, 0, None)
    return index_of(*rows)
