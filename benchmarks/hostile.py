"""The processor time of hostile questions with every method that needs no model: the worst of each method.

    python -m benchmarks.hostile INDEX [--json FILE]

The questions are those of tests/query/test_hostile_questions.py: 8,000 to 100,000 characters of repeated signs, names,
numbers and unknown words. Each should take less than two seconds on a machine that does nothing else.
"""

import argparse
import asyncio
import json
from pathlib import Path
from time import process_time

from conspectus.api import open_index

from tests.query.test_hostile_questions import ORDINARY, QUESTIONS, answering, works

BOUND = 2.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    options = parser.parse_args()
    index = open_index(options.index).aio
    for question in ORDINARY:  # everything is loaded that is loaded once
        for method in answering():
            if method != "rerank":
                asyncio.run(index.ask(question, method))
    seconds: dict[str, dict[str, float]] = {}
    for name, question in QUESTIONS.items():
        for way, ask in works(index, question):
            if way == "rerank":  # needs a cross-encoder
                continue
            before = process_time()
            ask()
            seconds.setdefault(way, {})[name] = round(process_time() - before, 2)
    print(f"{'':24} {'median s':>9} {'worst s':>9}  question")
    for way, figures in seconds.items():
        worst = max(figures, key=figures.__getitem__)
        print(f"{way:24} {sorted(figures.values())[len(figures) // 2]:>9.2f} {figures[worst]:>9.2f}  {worst}")
    above = [(way, name) for way, figures in seconds.items() for name, value in figures.items() if value > BOUND]
    print(f"{len(above)} of {sum(map(len, seconds.values()))} took more than {BOUND:g} s: {above}")
    if options.json:
        options.json.write_text(json.dumps(seconds, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
