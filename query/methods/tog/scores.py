"""The scores that a model gives to relations, entities and pieces of text, and how its replies are parsed.

A reply is JSON of these forms, or scores in prose, which `read_scores` parses.
"""

from collections.abc import Sequence

from conspectus.prompts.replies.scored import read_scores
from pydantic import BaseModel


class Scored(BaseModel):
    """The number of an item, a brief reason why it helps, and its score."""

    number: int
    why: str = ""
    score: float


class RelationReply(BaseModel):
    """Helpful relations."""

    relations: list[Scored]


class EntityReply(BaseModel):
    """Helpful entities."""

    entities: list[Scored]


class ScoredPiece(BaseModel):
    """The number of a piece of text and its score."""

    number: int
    score: float


class TextReply(BaseModel):
    """Helpful pieces of text."""

    pieces: list[ScoredPiece]


def scores_by_place(scored: Sequence[Scored | ScoredPiece], count: int) -> dict[int, float]:
    """Return scores on a scale from 0 to 1 by the position of their item; numbers out of range are dropped."""
    known = [item for item in scored if 1 <= item.number <= count]
    scores = on_unit_scale([item.score for item in known])
    return {item.number - 1: score for item, score in zip(known, scores, strict=True)}


def _scored(text: str, offered: Sequence[str]) -> list[Scored]:
    return [Scored(number=place + 1, score=score) for place, score in read_scores(text, offered).items()]


def read_relations(text: str, offered: Sequence[str]) -> RelationReply | None:
    """Return the scores of relations from a reply in prose, or None if it gives none."""
    scored = _scored(text, [line.partition(": ")[2] for line in offered]) or _scored(text, offered)
    return RelationReply(relations=scored) if scored else None


def read_entities(text: str, offered: Sequence[str]) -> EntityReply | None:
    """Return the scores of entities from a reply in prose, or None if it gives none."""
    scored = _scored(text, offered)
    return EntityReply(entities=scored) if scored else None


def read_pieces(text: str, count: int) -> TextReply | None:
    """Return the scores of pieces of text from a reply in prose, or None if it gives none."""
    scored = _scored(text, [f"piece {number}" for number in range(1, count + 1)])
    return TextReply(pieces=[ScoredPiece(number=one.number, score=one.score) for one in scored]) if scored else None


def on_unit_scale(scores: list[float]) -> list[float]:
    """Return scores on a scale from 0 to 1; scores up to 10 are divided by 10 if any is above 1.

    >>> on_unit_scale([8, 2]), on_unit_scale([0.8, 0.2])
    ([0.8, 0.2], [0.8, 0.2])
    """
    scale = 10.0 if max(scores, default=0.0) > 1 else 1.0
    return [min(1.0, max(0.0, score / scale)) for score in scores]
