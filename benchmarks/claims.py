"""Measure the check of claims against their sources, and train it.

The claims are in `benchmarks/data/claims`: in each language, passages with two claims that follow from each and two
that are wrong by one change. The weights are learned from every second passage; the other half is only measured. The
last lines leave out the language that they measure.

    python -m benchmarks.claims [--train] [--json FILE]
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conspectus.query.citations.claim_check import FEATURES, features
from conspectus.storage.arrays import Floats
from scipy.optimize import minimize

FOLDER = Path(__file__).parent / "data" / "claims"
WEIGHTS = Path(__file__).parents[1] / "query" / "citations" / "claim_weights.json"
LEAST = 0.5
"""The probability of being wrong from which a claim is doubted."""
PENALTY = 0.3


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a passage; `change` is what makes it wrong, "" for a right one."""

    language: str
    passage: int
    source: str
    text: str
    change: str


def read_claims(folder: Path = FOLDER) -> list[Claim]:
    """Return all claims, by language and passage."""
    found = []
    for path in sorted(folder.glob("*.txt")):
        source, passage = "", 0
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("+ "):
                found.append(Claim(path.stem, passage, source, line[2:], ""))
            elif line.startswith("- "):
                change, _, text = line[2:].partition(" | ")
                found.append(Claim(path.stem, passage, source, text, change))
            elif line.strip() and not line.startswith("#"):
                source, passage = line, passage + 1
    return found


def fit(rows: Floats, wrong: Floats) -> Floats:
    """Return the weight of each feature, none below 0, and the constant: (len(FEATURES) + 1,).

    Args:
        rows: The features of each claim, (n, len(FEATURES)).
        wrong: 1 for a wrong claim, (n,).
    """
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    ridge = np.array([PENALTY] * len(FEATURES) + [1e-6])

    def loss(found: Floats) -> tuple[float, Floats]:
        logits = rows @ found
        slope = rows.T @ (1 / (1 + np.exp(-logits)) - wrong) + ridge * found
        return float((np.logaddexp(0, logits) - wrong * logits).sum() + (ridge * found**2).sum() / 2), slope

    bounds = [(0.0, None)] * len(FEATURES) + [(None, None)]
    return np.asarray(minimize(loss, np.zeros(len(ridge)), jac=True, method="L-BFGS-B", bounds=bounds).x)


def doubted(weights: Floats, rows: Floats) -> Floats:
    """Return 1 for each claim that is doubted, (n,)."""
    return (1 / (1 + np.exp(-(rows @ weights[:-1] + weights[-1]))) >= LEAST).astype(float)


def shares(claims: Sequence[Claim], told: Floats) -> dict[str, float]:
    """Return the share of the wrong claims that are doubted, of the right ones, and of each kind of change."""
    groups = {"wrong": [bool(each.change) for each in claims], "right": [not each.change for each in claims]}
    for change in sorted({each.change for each in claims} - {""}):
        groups[change] = [each.change == change for each in claims]
    return {name: round(float(told[group].mean()), 3) for name, group in groups.items() if any(group)}


def main() -> None:
    """Run the command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--train", action="store_true", help="write the weights")
    options.add_argument("--json", type=Path, metavar="FILE")
    options = options.parse_args()
    claims = read_claims()
    rows = np.array([features(each.text, each.source) for each in claims])
    wrong = np.array([float(bool(each.change)) for each in claims])
    known = np.array([each.passage % 2 == 1 for each in claims])
    languages = np.array([each.language for each in claims])
    weights = fit(rows[known], wrong[known])
    figures = {"held out": shares([each for each in claims if each.passage % 2 == 0], doubted(weights, rows[~known]))}
    figures["learned from"] = shares([each for each in claims if each.passage % 2], doubted(weights, rows[known]))
    for language in sorted(set(languages)):
        own = languages == language
        without = fit(rows[known & ~own], wrong[known & ~own])
        figures[f"{language}, held out and not learned from"] = shares(
            [each for each in claims if each.language == language and each.passage % 2 == 0],
            doubted(without, rows[own & ~known]),
        )
    for name, told in figures.items():
        print(f"{name}: " + ", ".join(f"{change} {share:.2f}" for change, share in told.items()))
    *of_features, constant = (round(float(weight), 4) for weight in weights)
    if options.train:
        learned = {"weights": dict(zip(FEATURES, of_features, strict=True)), "constant": constant}
        found = learned | {"least": LEAST, "share doubted": figures}
        WEIGHTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
