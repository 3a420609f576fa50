"""A small model against none: do answers contain the accepted ones, and how many citations have they?

    python -m benchmarks.small_model MODEL.gguf [--questions 20] [--methods ppr,global,local] [--out FILE]

The sets are examples/world, examples/films and examples/office with their `questions.jsonl`. Each is indexed without a
model; each question is asked without a model (the extractive form) and with it. Questions of the sets come in turn, and
each answer is a line of FILE, so that a run that ends early can be read, and goes on where it ended. A right answer
contains one of the accepted ones; where a question has none, an answer without citations is right.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from conspectus.api import open_index
from conspectus.building import build
from conspectus.pipelines.evaluation.metrics import normalised
from conspectus.storage.errors import ConspectusError
from conspectus.storage.settings import Settings, load_settings

EXAMPLES = Path(__file__).parent.parent / "examples"
SETS = {"world": "pages", "films": "pages", "office": "documents"}


def is_right(text: str, citations: int, accepted: Iterable[str]) -> bool:
    """Return whether an answer contains an accepted one, or cites nothing where there is none.

    >>> is_right("It was Ada Mirren [1].", 1, ["ada mirren"]), is_right("I do not know.", 0, [])
    (True, True)
    """
    told = f" {normalised(text)} "
    wanted = [normalised(answer) for answer in accepted]
    return any(f" {answer} " in told for answer in wanted) if wanted else citations == 0


def questions(most: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the set and the row of each question: the first of each set, then the second of each, and so on."""
    rows = {
        name: [json.loads(line) for line in (EXAMPLES / name / "questions.jsonl").read_text("utf-8").splitlines()]
        for name in SETS
    }
    for turn in zip_longest(*(of_set[:most] for of_set in rows.values())):
        yield from ((name, row) for name, row in zip(rows, turn, strict=True) if row)


def asked(
    folder: Path, settings: Settings, name: str, row: Mapping[str, Any], method: str, model: bool
) -> dict[str, Any]:
    """Return one answer and whether it is right."""
    began = time.monotonic()
    line = {"set": name, "id": row["id"], "method": method, "model": model}
    try:
        answer = open_index(folder / name, settings).ask(row["question"], method=method)
    except ConspectusError as error:
        return {**line, "right": False, "citations": 0, "text": f"{type(error).__name__}: {error}"}
    right = is_right(answer.text, len(answer.citations), row["answers"])
    seconds = round(time.monotonic() - began, 1)
    calls = answer.usage.calls if answer.usage else 0
    cited = len(answer.citations)
    return {**line, "right": right, "citations": cited, "calls": calls, "seconds": seconds, "text": answer.text}


def table(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return the right answers and the citations of each method, over the questions asked both without and with it."""
    of: defaultdict[tuple[str, str], dict[tuple[str, str], Mapping[str, Any]]] = defaultdict(dict)
    for line in lines:
        of[line["method"], "with" if line["model"] else "without"][line["set"], line["id"]] = line
    told = [f"{'method':<10}{'questions':>10}{'right without':>15}{'with':>6}{'citations without':>19}{'with':>6}"]
    for method in dict.fromkeys(method for method, _ in of):
        both = of[method, "without"].keys() & of[method, "with"].keys()
        sums = [
            sum(int(of[method, which][key][what]) for key in both)
            for what in ("right", "citations")
            for which in ("without", "with")
        ]
        told.append(f"{method:<10}{len(both):>10}{sums[0]:>15}{sums[1]:>6}{sums[2]:>19}{sums[3]:>6}")
    return "\n".join(told)


def main() -> None:
    """Ask what has not been asked yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_model", description=__doc__.split("\n")[0])
    parser.add_argument("model", metavar="MODEL.gguf")
    parser.add_argument("--questions", type=int, default=20, metavar="N", help="of each set")
    parser.add_argument("--methods", default="ppr,global,local", metavar="NAME,...")
    parser.add_argument("--context", type=int, default=2048, metavar="N", help="tokens of the model's context")
    parser.add_argument("--out", type=Path, default=Path(".conspectus/small_model.jsonl"), metavar="FILE")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    plain = load_settings()
    folder = given.out.with_suffix(".indexes")
    for name, inputs in SETS.items():
        build([EXAMPLES / name / inputs], folder / name, plain)
    llm = {"model": given.model, "context": given.context, "max_output_tokens": 200}
    settings = {False: plain, True: load_settings(overrides={"llm": llm})}
    lines = [json.loads(line) for line in given.out.read_text("utf-8").splitlines()] if given.out.exists() else []
    known = {(line["set"], line["id"], line["method"], line["model"]) for line in lines}
    with given.out.open("a", encoding="utf-8") as out:
        for name, row in questions(given.questions):
            for method in given.methods.split(","):
                for model in (False, True):
                    if (name, row["id"], method, model) not in known:
                        lines.append(asked(folder, settings[model], name, row, method, model))
                        out.write(json.dumps(lines[-1], ensure_ascii=False) + "\n")
                        out.flush()
    print(table(lines))


if __name__ == "__main__":
    main()
