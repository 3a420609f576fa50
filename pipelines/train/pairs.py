"""Training data of graph-to-text: pairs of triples and a text that verbalises them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from conspectus.pipelines.evaluation.graphqa.questions import first_of, shuffled
from conspectus.pipelines.evaluation.jsonl import lines_of
from conspectus.query.methods.fasttog.text import Triple
from conspectus.storage.errors import InputError
from pydantic import BaseModel, Field, ValidationError


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """Triples, and a text that verbalises them."""

    triples: tuple[Triple, ...]
    text: str


class _PairLine(BaseModel):
    text: str = Field(min_length=1)
    triples: list[tuple[str, str, str]] = Field(min_length=1)


def read_pairs(path: Path) -> list[TrainingPair]:
    """Return the pairs of a file of JSON lines, `{"text": ..., "triples": [[s, p, o], ...]}`, or of all in a folder.

    Raises:
        InputError: Names the file, the line and the fault.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    pairs = [item for file in files for item in _read(file)]
    if not pairs:
        raise InputError(f"{path} contains no pairs: expected JSON lines with `text` and `triples`")
    return pairs


def _read(file: Path) -> Iterator[TrainingPair]:
    for where, line in lines_of(file):
        try:
            made = _PairLine.model_validate_json(line)
        except ValidationError as error:
            raise InputError(f"{where}: {first_of(error)}") from error
        yield TrainingPair(tuple(made.triples), " ".join(made.text.split()))


def divided(
    pairs: Sequence[TrainingPair], validation: float, seed: int
) -> tuple[list[TrainingPair], list[TrainingPair]]:
    """Return training pairs and validation pairs, drawn with the seed; at least one of each.

    Pairs with the same triples are in the same part.
    """
    groups = shuffled(((pair.triples, pair) for pair in pairs), seed)
    if len(groups) < 2:
        raise InputError("the pairs are of the same triples: there is nothing to validate with")
    n_held_out = min(max(round(validation * len(groups)), 1), len(groups) - 1)
    return list(chain(*groups[n_held_out:])), list(chain(*groups[:n_held_out]))
