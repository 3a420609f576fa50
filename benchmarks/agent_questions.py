"""Ten questions to the tools for agents, over stdio, by a program that knows only what the server says of them.

    python benchmarks/agent_questions.py [--index FOLDER] [--json]

There is no language model here. The "agent" is a short program: it chooses the tool whose name and description share
the rarest words with the question, fills parameters by the words of their descriptions (a name or title that the
question has, or an id from an earlier result), and goes on with what results, errors and descriptions name. What ends
with "?" counts as a question; the other questions were worded by somebody who knew the descriptions, such as "list".

It stops when the expected words are in what it has read, or after six calls; a result's echo of the question does not
count. It cannot weigh, plan or doubt, so an answer counts as found that a reader could have mistaken: this shows that
descriptions, ids and messages lead on, not that a model would follow them. The expected words are known to what stops
the program, not to what chooses tools.

Without --index, an index of examples/world/pages and examples/office is built in a temporary folder.
"""

import argparse
import asyncio
import json
import math
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conspectus import build
from mcp import Client, StdioServerParameters
from mcp.types import Tool

EXAMPLES = Path(__file__).parent.parent / "examples"
CALLS = 6
_WORD = re.compile(r"[a-z]{3,}")
_NAME = re.compile(r"'([^']+)'|\b(?:[A-Z][a-z]+ )*[A-Z][a-z]+\b|\b[a-z-]+\.html\b")
_PRONOUN = re.compile(r"\b(?:he|she|it)\b")
_COMMON = frozenset("the and for with are what which that has its from does was were them".split())


@dataclass(frozen=True)
class Task:
    """A question and the words that an answer must have read, none of which are in the question."""

    kind: str
    question: str
    expected: tuple[str, ...]


TASKS = (
    Task("fact", "Who founded the Tidal Institute?", ("Ilse Varn", "1902")),
    Task("follow-up", "Where was she born?", ("Lowmere",)),
    Task("documents by title", "List the documents with 'Sallow' in the title.", ("henrik-sallow", "greta-sallow")),
    Task("entities by part of a name", "List the entities with 'Roke' as part of the name.", ("Roke Medal",)),
    Task("neighbours", "List the relations of 'Drowned' and what is at the other ends.", ("Anselm Roke", "poem by")),
    Task("passages by id", "Read the passages that name the entity 'Edda Marsh'.", ("tracer of drawings",)),
    Task("document by uri", "Read the characters of the document cold-harbour.html.", ("lasts four minutes",)),
    Task("methods", "List the methods: which can fuse plain searches?", ("reciprocal rank fusion",)),
    Task(
        "filter", "Find the passages where the metadata key from is 'Greg Fenwick'.", ("Both numbers are above 4100",)
    ),
    Task("timeline", "List the dated facts about 'Skerran Lifeboat Society'.", ("1898 to 1934",)),
)


@dataclass
class Run:
    """What came of a question: the tools called, the bytes of their results, and whether the answer was read."""

    kind: str
    question: str
    tools: list[str] = field(default_factory=list)
    bytes: int = 0
    found: bool = False


def words(text: str) -> set[str]:
    """Return the words of a text, singular, without the most common ones.

    >>> sorted(words("List the entities and passages"))
    ['entity', 'list', 'passage']
    """
    found = set(_WORD.findall(text.lower())) - _COMMON
    return {re.sub(r"ies$", "y", word) if word.endswith("ies") else word.removesuffix("s") for word in found}


def described(tool: Tool) -> str:
    """Return all that a server says of a tool: its name, description and parameters."""
    parameters = tool.input_schema["properties"].items()
    told = [f"{name} {each.get('description', '')}" for name, each in parameters]
    return " ".join([tool.name, tool.name, tool.description or "", *told])


def ranked(tools: Sequence[Tool], question: str) -> list[str]:
    """Return the names of the tools, best first: by the rarity of the words that they share with a question.

    The name and the description count twice what parameters count. Ties are in the order of the server.
    """
    said = {tool.name: words(described(tool)) for tool in tools}
    asked = words(question) | ({"question", "answer"} if question.endswith("?") else set())

    def weight(tool: Tool) -> float:
        main = words(f"{tool.name} {tool.description}")
        return sum(
            math.log(1 + len(tools) / sum(word in each for each in said.values())) * (2 if word in main else 1)
            for word in sorted(asked & said[tool.name])
        )

    return [tool.name for tool in sorted(tools, key=weight, reverse=True)]


def values(found: Any, key: str) -> list[str]:  # noqa: ANN401  (JSON)
    """Return the texts at a key, or at its plural, anywhere in a result.

    >>> values({"rows": [{"chunk_ids": ["a", "b"]}, {"chunk_id": "c"}]}, "chunk_id")
    ['a', 'b', 'c']
    """
    if isinstance(found, list):
        return [one for each in found for one in values(each, key)]
    if not isinstance(found, Mapping):
        return []
    here = [found.get(key), *(found.get(f"{key}s") or [])]
    return [one for one in here if isinstance(one, str)] + [one for each in found.values() for one in values(each, key)]


class Agent:
    """A program that chooses and calls tools for one question."""

    def __init__(self, client: Client, tools: Sequence[Tool], question: str) -> None:
        self.client, self.question = client, question
        self.tools = {tool.name: tool for tool in tools}
        self.waiting = ranked(tools, question)
        self.seen: list[Any] = []
        self.refused: set[str] = set()

    async def answer(self, task: Task) -> Run:
        """Call tools until the expected words are read, at most `CALLS` times."""
        run, read = Run(task.kind, self.question), ""
        while len(run.tools) < CALLS and not run.found:
            name, given = self._next()
            if not name:
                break
            self.waiting.remove(name)
            result = await self.client.call_tool(name, given)
            text = "".join(getattr(each, "text", "") for each in result.content)
            run.tools.append(name)
            run.bytes += len(text.encode())
            read += text.replace(json.dumps(self.question, ensure_ascii=False), "")
            run.found = all(each in read for each in task.expected)
            if result.is_error:
                self.refused.add(name)
                self._first(re.findall(r"`(\w+)`", text), again=name)
            else:
                self.seen.append(json.loads(text))
                self._first([each for each in self.tools if self._takes_an_id_of(each, self.seen[-1])])
        return run

    def _next(self) -> tuple[str, dict[str, Any]]:
        """Return the next tool whose arguments are known, or the one that its description says to call before."""
        for name in self.waiting:
            given = self._arguments(self.tools[name])
            if given is None:
                continue  # it takes an id that no result has shown yet
            for key, each in self.tools[name].input_schema["properties"].items():
                about = each.get("description", "")
                before = [one for one in re.findall(r"`(\w+)`", about) if one in self.waiting and one != name]
                if before and key not in given and "enum" not in each and words(self.question) & words(about):
                    return before[0], self._arguments(self.tools[before[0]]) or {}
            return name, given
        return "", {}

    def _first(self, names: Sequence[str], again: str = "") -> None:
        """Put these tools before the others, best for the question first, then that which failed."""
        some = [each for each in self.waiting if each in names]
        retried = [again] if some and again else []
        self.waiting = some + retried + [each for each in self.waiting if each not in some]

    def _takes_an_id_of(self, name: str, found: Any) -> bool:  # noqa: ANN401  (JSON)
        described = str(self.tools[name].input_schema["properties"])
        return any(values(found, key) for key in re.findall(r"`(\w+_id)`", described))

    def _arguments(self, tool: Tool) -> dict[str, Any] | None:
        """Return arguments for a tool; None if it takes an id and none was seen."""
        named = [match.group(1) or match.group(0) for match in _NAME.finditer(self.question)]
        named = [each for each in named if each != self.question.split()[0]]  # its first word is no name
        given: dict[str, Any] = {}
        for name, each in tool.input_schema["properties"].items():
            about, needed = each.get("description", ""), name in tool.input_schema.get("required", ())
            ids = [one for key in re.findall(r"`(\w+_id)`", about) for found in self.seen for one in values(found, key)]
            if needed and "question" in about:
                given[name] = self.question
            elif needed and tool.name in self.refused:
                given[name] = next((one for one in values(self.seen[-1:], "id")), "")
            elif needed and ids:
                given[name] = ids[:5] if each["type"] == "array" else ids[0]
            elif named and re.search(r"part of the name|words of the title" + r"|\b(?:name|title)\.?$" * needed, about):
                given[name] = named[-1]
            elif needed:
                return None
            elif "metadata" in about and named and self._condition(named[-1]):
                given[name] = self._condition(named[-1])
        return given

    def _condition(self, value: str) -> str:
        """Return a condition on the key, among those that a result listed, that the question names."""
        keys = [one for found in self.seen for one in values(found, "key")]
        named = [key for key in keys if key in self.question.lower().split()]
        return f'{named[0]} contains "{value}"' if named else ""


async def ask_all(index: Path, tasks: Sequence[Task] = TASKS) -> list[Run]:
    """Serve an index over stdio and answer the questions in order; a follow-up's pronoun is the short answer before."""
    started = StdioServerParameters(command=sys.executable, args=["-m", "conspectus.cli", "mcp", str(index)])
    runs, before = [], ""
    async with Client(started) as client:
        tools = (await client.list_tools()).tools
        for task in tasks:
            asked = task.question
            if task.kind == "follow-up" and before:
                asked = before.join(_PRONOUN.split(asked, maxsplit=1))
            agent = Agent(client, tools, asked)
            runs.append(await agent.answer(task))
            before = next((one for found in agent.seen for one in values(found, "span")), "")
    return runs


def table(runs: Sequence[Run]) -> str:
    """Return a table of the runs in Markdown."""
    lines = ["| kind | question | tools called | bytes read | found |", "| --- | --- | --- | ---: | --- |"]
    for run in runs:
        found = "yes" if run.found else "no"
        lines.append(f"| {run.kind} | {run.question} | {', '.join(run.tools)} | {run.bytes:,} | {found} |")
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index of the examples, built before")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = given.index or build_examples(Path(folder) / "index")
        runs = asyncio.run(ask_all(index))
    print(json.dumps([asdict(run) for run in runs], indent=2, ensure_ascii=False) if given.json else table(runs))


def build_examples(target: Path) -> Path:
    """Build the index that the questions are about."""
    build([EXAMPLES / "world" / "pages", EXAMPLES / "office"], target)
    return target


if __name__ == "__main__":
    main()
