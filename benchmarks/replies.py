"""Recorded replies of language models, read by the parsers that the methods use.

    python -m benchmarks.replies FOLDER [--json OUT]

FOLDER contains `<category>.jsonl`, one recorded reply per line (`reply`, and if known `prompt`, `gold`, `asked_for`).
A reply counts as *heard* if the parser that a method would use returns what a person reads in it: the cited numbers and
all words of an answer, the verdict, the scores by name, the records, the members of the JSON. This reference reading
comes from `benchmarks/reply_contents.py`, which does not use the parsers. Raising no error is not enough.

The output shows, by category, the share of replies with usable content that are parsed correctly; then the replies
without usable content and those parsed wrongly, each with the reason.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conspectus.pipelines.evaluation.judge import Verdict
from conspectus.pipelines.evaluation.questions import Questions
from conspectus.pipelines.steps.extract.openie import NamedEntities, Triples
from conspectus.pipelines.steps.reports.cite import ReportAnswer
from conspectus.prompts.replies.json_repair import read_values
from conspectus.prompts.replies.prose import read_chosen
from conspectus.prompts.replies.records import read_records
from conspectus.prompts.replies.structured import read_reply
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.prompts.replies.typed import read_choice
from conspectus.query.citations.answer_text import answer_text
from conspectus.query.methods.graphrag.map_step import Points
from conspectus.query.walk.verdicts import final_answer, in_braces, read_reasoning
from conspectus.storage.errors import BadAnswer

from benchmarks import reply_contents as contents
from benchmarks.reply_contents import NoContent, Row, words

Hear = Callable[[Row], str]
"""Returns why a reply is parsed wrongly, "" if it is not; raises NoContent if it has no usable content."""


@dataclass(slots=True)
class Heard:
    """The replies of one category: how many were parsed correctly, and the others with the reason."""

    heard: int = 0
    missed: dict[str, str] = field(default_factory=dict)
    empty: dict[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the replies with usable content that were parsed correctly."""
        usable = self.heard + len(self.missed)
        return self.heard / usable if usable else 1.0


def cited_answer(row: Row) -> str:
    """Compare the words and the cited numbers of an answer as it is read."""
    wanted = contents.cited_text(row)
    told = answer_text(without_thinking(row["reply"]), lambda _sentence, number: [number]).text
    told = contents.without_brackets_in_code(told)
    numbers = re.findall(r"\[(\d+)\]", told)
    if sorted(set(map(int, numbers))) != sorted(set(wanted.numbers)):
        return f"cited {sorted(set(wanted.numbers))[:12]}, read {sorted(set(map(int, numbers)))[:12]}"
    return _same(words(re.sub(r"\[\d+\]", " ", told)), wanted.words)


def _same(read: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    if read == wanted:
        return ""
    place = next(
        (at for at, (one, two) in enumerate(zip(read, wanted, strict=False)) if one != two), min(len(read), len(wanted))
    )
    told, found = (" ".join(some[place : place + 6]) for some in (wanted, read))
    return f"{len(wanted)} words, read {len(read)}; from word {place}: {told!r}, read {found!r}"


def verdict(row: Row) -> str:
    """Compare the verdict of a walk and the answer in its braces."""
    wanted = contents.yes_or_no(row)
    read = read_reasoning(row["reply"])
    if read is None:
        return "no verdict is read"
    return _verdict(wanted, read.sufficient, read.text)


def _verdict(wanted: contents.YesOrNo, yes: bool, text: str) -> str:
    if yes != wanted.yes:
        return f"the verdict is {'Yes' if wanted.yes else 'No'}, read the other"
    if yes and wanted.braced and words(text) != words(wanted.braced):
        return f"answers {wanted.braced[:60]!r}, read {text[:60]!r}"
    if yes and wanted.gold and not wanted.braced and not contents._holds(text, wanted.gold):
        return f"names {wanted.gold!r}, read {text[:60]!r}"
    return ""


def relation_scores(row: Row) -> str:
    """Compare the scores of relations or entities."""
    wanted = contents.scores(row)
    offered = contents.offered(row)
    if "shortened" in (row.get("prompt") or "") or not set(wanted) & set(offered):
        offered = list(dict.fromkeys([*wanted, *offered]))
    read = {offered[place]: score for place, score in (read_chosen(row["reply"], offered) or {}).items()}
    told = {name: score for name, score in wanted.items() if name in offered}
    if read == told:
        return ""
    lost = {name: score for name, score in told.items() if read.get(name) != score}
    more = {name: score for name, score in read.items() if name not in told}
    return f"{len(lost)} of {len(told)} not read: {list(lost.items())[:2]}; others {list(more.items())[:2]}"


def extraction_records(row: Row) -> str:
    """Compare the names of entities and the ends of relationships."""
    wanted = contents.records(row)
    found = read_records(row["reply"])
    read = {(" ".join(words(entity.name)),) for entity in found.entities}
    read |= {(" ".join(words(one.source)), " ".join(words(one.target))) for one in found.relations}
    lost, more = wanted - read, read - wanted
    return (
        f"{len(lost)} of {len(wanted)} records not read: {sorted(lost)[:2]}; {len(more)} others {sorted(more)[:2]}"
        if lost or more
        else ""
    )


def points(row: Row) -> str:
    """Compare the descriptions and scores of a map step."""
    (wanted,) = contents.json_values(row)
    read = read_reply(row["reply"], Points)
    found = [(" ".join(words(point.description)), float(point.score)) for point in read.points]
    told = [(" ".join(words(point["description"])), float(point["score"])) for point in wanted["points"]]
    return "" if found == told else f"{len(told)} points, read {len(found)}, or others"


def report(row: Row) -> str:
    """Compare title, summary, rating and findings of a report."""
    (wanted,) = contents.json_values(row)
    read = read_reply(row["reply"], ReportAnswer)
    told = [
        wanted["title"],
        wanted["summary"],
        float(wanted["rating"]),
        *(one["summary"] for one in wanted["findings"]),
    ]
    found = [read.title, read.summary, read.rating, *(finding.summary for finding in read.findings)]
    return "" if found == told else "its members differ"


def judgement(row: Row) -> str:
    """Compare the preference of a judge."""
    wanted = contents.comparison(row)
    if wanted in ("True", "False"):
        read = read_choice(row["reply"], ("Yes", "No"))
        return "" if (read == "Yes") == (wanted == "True") else f"says {wanted}, read {read}"
    better = read_reply(row["reply"], Verdict).better
    return "" if better == wanted else f"prefers {wanted}, read {better}"


def open_triples(row: Row) -> str:
    """Compare the triples of a text, or the named entities of a question."""
    wanted = contents.triples(row)
    read: set[tuple[str, ...]]
    if row["reply"].lstrip().startswith("{"):
        read = {(" ".join(words(name)),) for name in read_reply(row["reply"], NamedEntities).entities}
    else:
        found = read_reply(row["reply"], Triples).triples
        read = {(" ".join(words(one[1])), " ".join(words(one[0])), " ".join(words(one[2]))) for one in found}
    lost, more = wanted - read, read - wanted
    return (
        f"{len(lost)} of {len(wanted)} not read: {sorted(lost)[:2]}; others {sorted(more)[:2]}" if lost or more else ""
    )


def graph_answer(row: Row) -> str:
    """Compare the answer from a graph."""
    return _short(contents.graph_answer(row), in_braces(row["reply"]))


def chain_of_thought(row: Row) -> str:
    """Compare the final answer of a chain of thought."""
    return _short(contents.chain(row), final_answer(row["reply"]))


def _short(wanted: contents.Short, read: str) -> str:
    if not wanted.known and wanted.text:
        return f"does not know, read {read[:60]!r}" if read else ""
    options = wanted.text.replace(" ", "").isupper() and all(len(word) == 1 for word in words(wanted.text))
    if options and words(read)[: len(words(wanted.text))] == words(wanted.text):
        return ""
    if wanted.text and words(read) != words(wanted.text):
        return f"answers {wanted.text[:60]!r}, read {read[:60]!r}"
    if wanted.gold and not wanted.text and not contents._holds(read, wanted.gold):
        return f"names {wanted.gold!r}, read {read[:60]!r}"
    return "" if words(read) or not wanted.known else "nothing is read"


def questions(row: Row) -> str:
    """Compare the questions of a list."""
    wanted = contents.listed_questions(row)
    read = tuple(" ".join(words(question)) for question in read_reply(row["reply"], Questions).questions)
    return "" if read == wanted else f"{len(wanted)} questions, read {len(read)}, or others"


def thinking(row: Row) -> str:
    """Compare the text after the reasoning of a model."""
    return _same(words(without_thinking(row["reply"])), contents.answer_behind_thinking(row))


def plain_answer(row: Row) -> str:
    """Compare an answer without marks, which must stay unchanged."""
    told = answer_text(without_thinking(row["reply"]), lambda _sentence, number: [number]).text
    return _same(words(told), contents.plain(row))


def broken_json(row: Row) -> str:
    """Compare the members of JSON embedded in other text, by the task that it was written for."""
    asked = row.get("asked_for")
    if asked == "yes_no_brace":
        return verdict(row)
    if asked == "kg_answer":
        return graph_answer(row)
    wanted = contents.json_values(row)
    reading = read_values(row["reply"])
    if reading.flaw:
        return reading.flaw
    return (
        ""
        if [value.content for value in reading.values] == wanted
        else f"{len(wanted)} values, read {len(reading.values)}, or others"
    )


CATEGORIES: Mapping[str, Hear] = {
    "answer_with_citations": cited_answer,
    "chain_of_thought": chain_of_thought,
    "extraction_records": extraction_records,
    "json_points": points,
    "json_report": report,
    "judge": judgement,
    "kg_answer": graph_answer,
    "malformed_json": broken_json,
    "openie": open_triples,
    "plain_answer": plain_answer,
    "questions": questions,
    "reasoning_wrapped": thinking,
    "relation_scores": relation_scores,
    "yes_no_brace": verdict,
}


def hear(folder: Path) -> dict[str, Heard]:
    """Return the results for the replies in a folder, by category."""
    found: dict[str, Heard] = {}
    for name, listen in CATEGORIES.items():
        path = folder / f"{name}.jsonl"
        if not path.exists():
            continue
        found[name] = heard = Heard()
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            key = str(row.get("id", len(heard.missed)))
            try:
                missed = listen(row)
            except NoContent as nothing:
                heard.empty[key] = str(nothing)
                continue
            except BadAnswer as bad:
                missed = bad.reason
            if missed:
                heard.missed[key] = missed
            else:
                heard.heard += 1
    return found


def as_json(found: Mapping[str, Heard]) -> dict[str, Any]:
    """Return the figures: `heard` over all categories, and by category."""
    every = Heard(
        sum(one.heard for one in found.values()),
        {f"{name} {key}": why for name, one in found.items() for key, why in one.missed.items()},
    )
    return {
        "heard": round(every.share, 4),
        "by_category": {
            name: {
                "heard": round(one.share, 4),
                "usable": one.heard + len(one.missed),
                "without_content": len(one.empty),
            }
            for name, one in found.items()
        },
        "not_heard": {name: one.missed for name, one in found.items() if one.missed},
        "without_usable_content": {name: one.empty for name, one in found.items() if one.empty},
    }


def main() -> None:
    """Print the table, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replies", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder with a .jsonl for each category")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file for the figures")
    given = parser.parse_args()
    found = hear(given.folder)
    figures = as_json(found)
    print(f"{'category':<24}{'usable':>8}{'heard':>8}{'share':>9}{'nothing to use':>17}")
    for name, one in found.items():
        print(f"{name:<24}{one.heard + len(one.missed):>8}{one.heard:>8}{one.share:>9.1%}{len(one.empty):>17}")
    print(f"{'all':<24}{'':>16}{figures['heard']:>9.1%}\n")
    for title, group in (("nothing to use", "without_usable_content"), ("not heard", "not_heard")):
        for name, rows in figures[group].items():
            for key, why in rows.items():
                print(f"{title}: {name} {key}: {why}")
    if given.json:
        given.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
