"""The sections on how questions are answered."""

from typing import Literal

from pydantic import Field

from storage.settings.section import Section


class PprSettings(Section):
    """Personalised PageRank over passages and names."""

    damping: float = Field(0.5, gt=0, lt=1, description="probability that the walk follows an edge")
    solver: Literal["push", "exact"] = Field(
        "push", description="`push` is local and fast; `exact` iterates to the end"
    )
    epsilon: float = Field(1e-7, gt=0, description="push stops where less than this waits per edge of a node")
    text_seeds: int = Field(5, ge=1, description="passages that seed the walk because words or meaning are near")
    pool: int = Field(100, ge=1, description="best passages of the walk that are ranked again in pairs")
    pair_weight: float = Field(4.0, ge=0, description="weight of what pairs of passages cover against the walk")


class AnswerSettings(Section):
    """How an answer is made without a language model."""

    passages: int = Field(5, ge=1, description="best passages that an answer is read from")
    sentences: int = Field(3, ge=1, description="most sentences quoted in an answer")


class GlobalSettings(Section):
    """Map-reduce over community reports."""

    level: Literal["c0", "c1", "c2", "c3"] = Field("c1", description="level of the hierarchy, c0 the coarsest")
    reports: int = Field(5, ge=1, description="without a model: most reports that the final answer rests on")
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports or passages that a model is shown in one call"
    )
    map_words: int = Field(500, ge=10, description="most words of the notes that a model takes from one such call")
    reduce_words: int = Field(1000, ge=10, description="most words of a model's final answer")
    dynamic_threshold: int = Field(
        1, ge=1, le=5, description="global:dynamic: least relevance, 0 to 5, of a report whose parts are looked into"
    )
    seed: int = Field(7, ge=0, description="seed of the order in which reports and passages are shown")
