"""Triples in JSON lines: a triple a line, or the graph around a question as RoG's sets bring it."""

import json
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import Collector
from conspectus.pipelines.exchange.kg.files import lines_of


def read_jsonl(path: Path, into: Collector, language: str = "") -> None:
    """Read lines of `[head, relation, tail]`, or of objects whose `graph` is a list of such."""
    for number, line in lines_of(path):
        if not line.strip():
            continue
        item = f"{path.name}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            into.fail(item, "not JSON", str(error))
            continue
        triples = row.get("graph") if isinstance(row, dict) else [row]
        if not isinstance(triples, list):
            into.fail(item, "no triple and no graph", line[:100].decode("utf-8", "replace"))
            continue
        for each in triples:
            if (
                isinstance(each, list)
                and len(each) == 3
                and all(isinstance(part, str) and part.strip() for part in each)
            ):
                source, predicate, target = (part.strip() for part in each)
                into.add(into.name(source), into.predicate(predicate), into.name(target))
            else:
                into.fail(item, "no triple of texts", repr(each))
