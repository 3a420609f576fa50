"""Measure which method `auto` chooses for the questions of a suite.

    python benchmarks/routing.py SUITE [SUITE ...]

Questions are grouped by their field `kind` if they have one (QMSum's are general or specific). Multi-hop questions
belong to `ppr`, general ones to `global`.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from conspectus import build, load_settings
from conspectus.pipelines.evaluation.suites import read_suite, suite_index


def main() -> None:
    """Print one line per suite and kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", type=Path)
    options = parser.parse_args()
    settings = load_settings()
    print("suite         kind        questions  global")
    for folder in options.suites:
        suite = read_suite(folder)
        index = build(suite.corpus, suite_index(suite, settings), settings)
        asked: Counter[str] = Counter()
        whole: Counter[str] = Counter()
        for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
            question = json.loads(line)
            kind = question.get("kind", "-")
            asked[kind] += 1
            whole[kind] += index.ask(question["question"], "auto").method.startswith("global")
        for kind, count in sorted(asked.items()):
            print(f"{suite.name:12}  {kind:10}  {count:9}  {whole[kind]:6}", flush=True)


if __name__ == "__main__":
    main()
