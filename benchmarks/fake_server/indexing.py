"""Fake replies to the prompts used for indexing: records, triples, summaries, reports and votes."""

import json
import re
import zlib

from conspectus.prompts.replies.records import (
    ClaimRecord,
    EntityRecord,
    Records,
    RelationRecord,
    is_writable,
    write_records,
)

from benchmarks.fake_server.facts import facts, key_words, kind_of, names, one_line, sentences
from benchmarks.fake_server.filled_prompt import FilledPrompt

_MOST_ENTITIES = 24
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_RECORD = re.compile(r"^\[([ERCS]\d+(?:\.\d+)?)\] (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^Pair (\d+)\n- (.*)(?:\n {2}.*)*\n- (.*)", re.MULTILINE)
_NOTE = re.compile(r" \([^()]*\)$")
_HELD_BACK = 4
"""Lines of a second reply: three records and the end."""
_LONGEST_DESCRIPTION = 2
"""Sentences of an entity's description."""


def extracted(asked: FilledPrompt) -> str:
    """Return the entities and relationships of a text."""
    text, subject = asked.first.get("text") or asked.values.get("text", ""), _subject(asked)
    offered = (asked.first.get("entity_types") or asked.values.get("entity_types", "")).split(",")
    found = facts(text, subject)
    ends = [end for fact in found for end in (fact.source, fact.target)]
    named = list(dict.fromkeys([*([subject] if subject else []), *names(text), *ends]))[:_MOST_ENTITIES]
    lines = sentences(text)
    entities = []
    for name in named:
        told = [line for line in lines if name in line][:_LONGEST_DESCRIPTION] or lines[:1]
        entities.append(EntityRecord(name, kind_of(name, text, offered), " ".join(told)))
    pairs = {(fact.source, fact.target): fact for fact in reversed(found)}
    relations = [
        RelationRecord(fact.source, fact.target, fact.sentence, float(fact.strength), fact.predicate)
        for fact in reversed(pairs.values())
        if fact.source != fact.target and {fact.source, fact.target} <= set(named)
    ]
    return _written(entities=tuple(entities), relations=tuple(relations))


def in_two_replies(asked: FilledPrompt, share: float) -> tuple[str, str]:
    """Return the records of a text, for this share of texts without the last ones, and those; "" if none are left."""
    records = extracted(asked).splitlines()
    text = asked.first.get("text") or asked.values.get("text", "")
    if zlib.crc32(text.encode()) / 2**32 >= share or len(records) <= _HELD_BACK:
        return "\n".join(records), ""
    return "\n".join([*records[:-_HELD_BACK], records[-1]]), "\n".join(records[-_HELD_BACK:])


def claims(asked: FilledPrompt) -> str:
    """Return a claim for each sentence with a name and a year."""
    found = []
    for sentence in sentences(asked.values.get("text", "")):
        year, named = _YEAR.search(sentence), names(sentence)
        if year and named:
            other = named[1] if len(named) > 1 else None
            found.append(
                ClaimRecord(named[0], other, "statement", "TRUE", year[0], year[0], one_line(sentence), sentence)
            )
    return _written(claims=tuple(found))


def _written(**kinds: tuple[EntityRecord | RelationRecord | ClaimRecord, ...]) -> str:
    kept = {kind: tuple(record for record in records if is_writable(record)) for kind, records in kinds.items()}
    return write_records(Records(**kept))  # type: ignore[arg-type]


def _subject(asked: FilledPrompt) -> str:
    """Return the subject of a text: its title, if the prompt gives it."""
    return one_line(asked.first.get("title") or asked.values.get("title", ""))


def named_entities(asked: FilledPrompt) -> dict[str, object]:
    """Return the names of a text."""
    found = names(asked.values.get("text", ""))
    subject = _subject(asked)
    return {"entities": [subject, *(name for name in found if name != subject)] if subject else found}


def triples(asked: FilledPrompt) -> dict[str, object]:
    """Return subject, predicate and object of each fact."""
    found = facts(asked.values.get("text", ""), _subject(asked))
    return {"triples": [[fact.source, fact.predicate, fact.target] for fact in found]}


def summary(asked: FilledPrompt) -> dict[str, object]:
    """Return the distinct sentences of some descriptions, as many as fit."""
    lines = [line.removeprefix("- ") for line in asked.values.get("descriptions", "").splitlines()]
    room, told = int(asked.values.get("words", "150") or 150), []
    for sentence in dict.fromkeys(sentence for line in lines for sentence in sentences(line)):
        room -= len(sentence.split())
        if room < 0:
            break
        told.append(sentence)
    return {"description": " ".join(told) or one_line(asked.values.get("thing", "")) or "It is named here."}


def report(asked: FilledPrompt) -> dict[str, object]:
    """Return a report whose findings each cite a record: relationships and claims first."""
    records = _RECORD.findall(asked.values.get("records", ""))
    members = [_NOTE.sub("", text.partition(":")[0]) for label, text in records if label[0] in "ES"]
    ranked = sorted(records, key=lambda record: ("SRCE".index(record[0][0]) if record[0][0] != "S" else 0,))
    most = max(map(int, re.findall(r"\d+", asked.values.get("findings", "5"))), default=5)
    findings = []
    for label, text in ranked[:most]:
        told = sentences(text.partition(": ")[2] or text)
        findings.append({"summary": told[0], "explanation": " ".join(told), "records": [label]})
    title = ", ".join(dict.fromkeys(members[:3])) or "A group of things"
    rating = min(10, 2 + len(records) // 4)
    return {
        "title": title,
        "summary": f"{title} are named together. {findings[0]['explanation'] if findings else ''}".strip(),
        "rating_explanation": f"{len(records)} records of the collection are about the group.",
        "rating": rating,
        "findings": findings,
    }


def votes(asked: FilledPrompt) -> dict[str, object]:
    """Return which pairs of names denote the same entity: those with the same content words."""
    pairs = _PAIR.findall(asked.values.get("pairs", ""))
    told = [(int(number), _NOTE.sub("", one), _NOTE.sub("", two)) for number, one, two in pairs]
    return {
        "votes": [
            {"pair": number, "why": "the names were compared", "same": key_words(one) == key_words(two)}
            for number, one, two in told
        ]
    }


def as_json(content: object) -> str:
    """Return a reply in JSON."""
    return json.dumps(content, ensure_ascii=False)
