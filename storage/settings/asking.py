"""The sections on how questions are answered."""

from typing import Literal

from pydantic import Field, model_validator

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


class HippoRagSettings(Section):
    """HippoRAG 2's link from a question to facts; damping and solver are those of ppr."""

    facts: int = Field(5, ge=1, description="facts nearest to the question, and most phrases of theirs as seeds")
    fact_filter: bool = Field(True, description="with a model: it leaves out the facts that do not help")
    passage_weight: float = Field(
        0.05, ge=0, description="weight of the passages as seeds, by their closeness, against the phrases of the facts"
    )


class IrcotSettings(Section):
    """IRCoT: a model thinks sentence by sentence, and passages are looked up with each thought."""

    retriever: Literal["bm25", "dense", "hybrid", "rerank", "ppr", "ppr:hipporag1", "ppr:hipporag2"] = Field(
        "ppr", description="method that finds the passages for the question and for each thought"
    )
    max_steps: int = Field(4, ge=1, description="most thoughts, each one call of the model; the answer is one more")
    passages: int = Field(
        10, ge=1, description="best passages so far that each thought, and then the answer, is read from"
    )


class AnswerSettings(Section):
    """How an answer is made without a language model."""

    passages: int = Field(5, ge=1, description="best passages that an answer is read from")
    sentences: int = Field(3, ge=1, description="most sentences quoted in an answer")


class ConversationSettings(Section):
    """How a follow-up question is understood."""

    turns: int = Field(6, ge=0, description="last questions and answers that a follow-up is read with; 0: none")
    tokens: int = Field(2000, ge=64, description="most tokens of these")
    names: int = Field(2, ge=1, description="without a model: most names of earlier turns that a follow-up is given")


class GlobalSettings(Section):
    """Map-reduce over community reports."""

    level: Literal["c0", "c1", "c2", "c3"] = Field("c1", description="level of the hierarchy, c0 the coarsest")
    reports: int = Field(5, ge=1, description="without a model: most reports that the final answer rests on")
    quoted_words: int = Field(150, ge=10, description="without a model: most words that an answer quotes")
    least_support: float = Field(
        0.4,
        ge=0,
        description="without a model: least support of a question by the documents for which it is answered",
    )
    about_the_whole: float = Field(
        0.42,
        ge=0,
        le=1,
        description="without a model: least likeness to a typical question about a whole of one that is about it",
    )
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports or passages that a model is shown in one call"
    )
    map_words: int = Field(500, ge=10, description="most words of the notes that a model takes from one such call")
    reduce_words: int = Field(1000, ge=10, description="most words of a model's final answer")
    dynamic_threshold: int = Field(
        1, ge=1, le=5, description="global:dynamic: least relevance, 0 to 5, of a report whose parts are looked into"
    )
    seed: int = Field(7, ge=0, description="seed of the order in which reports and passages are shown")


class LocalSettings(Section):
    """Local search: entities that belong to the question, what is known of them, and text."""

    entities: int = Field(10, ge=1, description="most entities linked to the question, by name, then by embedding")
    relations: int = Field(
        10, ge=0, description="for each linked entity: most relations to entities that are not linked, and most claims"
    )
    level: Literal["c0", "c1", "c2", "c3"] = Field("c2", description="deepest level that reports are taken from")
    context_tokens: int = Field(8000, ge=256, description="most tokens of reports, records and text that are read")
    report_share: float = Field(0.15, ge=0, le=1, description="most of these tokens that reports may take")
    text_share: float = Field(
        0.5, ge=0, le=1, description="least of these tokens that is left for text; the rest is for records"
    )
    words: int = Field(500, ge=10, description="most words of a model's answer")

    @model_validator(mode="after")
    def _shares_fit(self) -> "LocalSettings":
        if self.report_share + self.text_share > 1:
            raise ValueError("report_share and text_share are more than 1 together")
        return self


class DriftSettings(Section):
    """DRIFT: a first answer from reports, then follow-up questions that local search answers."""

    reports: int = Field(20, ge=1, description="reports nearest to the question that the first answer is made from")
    folds: int = Field(2, ge=1, description="calls that these reports are divided among")
    follow_ups: int = Field(5, ge=0, description="most follow-up questions answered in one round")
    rounds: int = Field(2, ge=0, description="rounds of follow-up questions")
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports in one call, and of notes in the last one"
    )
    words: int = Field(1000, ge=10, description="most words of a model's final answer")
