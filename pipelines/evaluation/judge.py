"""Judge pairs of answers by a language model, criterion by criterion, without references.

The comparison of GraphRAG (Edge et al. 2024, section 4.1.3): comprehensiveness, diversity and empowerment, with
directness as the control. Every pair of answers is judged in both orders, several times, which exposes a judge that
decides by the order.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

from conspectus.pipelines.evaluation.metrics import Interval, bootstrap
from conspectus.pipelines.evaluation.questions import sources_of_reports
from conspectus.pipelines.evaluation.suites import SuiteQuestion
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages, prompt_text
from conspectus.prompts.replies.prose import comparison_in_words
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.citations.marks import without_marks
from conspectus.query.context import Context
from conspectus.query.menu import find_method
from conspectus.query.types import Answer, Answerer
from conspectus.storage.errors import ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.records import Failure
from pydantic import BaseModel

STEP = "judge"
CRITERIA = ("comprehensiveness", "diversity", "empowerment", "directness")
MOST_INCONSISTENT = 0.25
"""A judge that tosses a coin contradicts itself in half of the swapped pairs; half of that share is too much."""
_TEMPERATURE = 0.7
"""Repeating a prompt is only informative if the model samples its replies."""
_ANSWERS_AT_ONCE = 8


class Verdict(BaseModel):
    """The reply to judge/compare.txt; the reason comes first, so that the choice follows from it."""

    reason: str
    better: Literal["1", "2", "tie"]

    @classmethod
    def in_words(cls, reply: str) -> "Verdict | None":
        """Parse a verdict in prose, or the scores of both answers."""
        better = comparison_in_words(reply)
        return cls.model_validate({"reason": reply.strip(), "better": better}) if better else None


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A method's answer to a question, and the hashes of its source chunks."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """One repeat of a comparison: the first method's score in both orders, 1 for a win, 0.5 for a tie, 0 for a loss.

    `straight`: its answer is shown first. `swapped`: its answer is shown second.
    """

    question: str
    criterion: str
    first: str
    second: str
    repeat: int
    straight: float
    swapped: float


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often `method` wins against `other`, a tie being half a win: mean over questions, 95 % interval."""

    method: str
    other: str
    rate: Interval


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """All pairs of methods by one criterion.

    `ties` is the share of verdicts that are ties; `first_shown` the share of decided ones that go to the answer shown
    first (0.5 for a fair judge); `inconsistent` the share of swapped pairs with contradictory verdicts. `reliable`
    is whether this share is below MOST_INCONSISTENT.
    """

    criterion: str
    rates: tuple[WinRate, ...]
    ties: float
    first_shown: float
    inconsistent: float

    @property
    def reliable(self) -> bool:
        """Whether the judge is mostly consistent when the answers are swapped."""
        return self.inconsistent < MOST_INCONSISTENT


@dataclass(frozen=True, slots=True)
class Judgement:
    """The results of a judge, and the failures: answers of methods and verdicts of the judge that are missing."""

    methods: tuple[str, ...]
    questions: int
    repeats: int
    criteria: tuple[CriterionResult, ...]
    failures: tuple[Failure, ...]


async def answer_all(
    context: Context, methods: Sequence[str], questions: Sequence[SuiteQuestion]
) -> tuple[dict[tuple[str, str], JudgedAnswer], list[Failure]]:
    """Return each method's answer by (method, question id), without citation marks, and the failures."""
    turn = asyncio.Semaphore(_ANSWERS_AT_ONCE)
    answerers = {name: find_method(name).answerer(context) for name in methods}

    async def ask(answerer: Answerer, question: SuiteQuestion) -> Answer:
        async with turn:
            return await answerer.answer(question.question)

    wanted = [(name, question) for name in methods for question in questions]
    made = await gather_settled(ask(answerers[name], item) for name, item in wanted)
    texts: dict[tuple[str, str], JudgedAnswer] = {}
    failures = []
    for (name, question), answer in zip(wanted, made, strict=True):
        if isinstance(answer, ModelError):
            failures.append(Failure("answer", f"{name}: {question.id}", "no answer could be had", str(answer)))
        else:
            texts[name, question.id] = JudgedAnswer(without_marks(answer.text), _sources(context, answer))
    return texts, failures


def _sources(context: Context, answer: Answer) -> tuple[str, ...]:
    reports = sources_of_reports(context, [report.report for report in answer.evidence.reports])
    return tuple(sorted({*reports, *(digest(passage.text) for passage in answer.evidence.passages)}))


async def judge(
    model: LanguageModel,
    questions: Sequence[SuiteQuestion],
    methods: Sequence[str],
    texts: Mapping[tuple[str, str], JudgedAnswer],
    repeats: int,
) -> Judgement:
    """Judge every pair of methods on the questions that both answered.

    Each pair is judged by each criterion in both orders: questions x pairs x 4 x 2 x repeats calls. Identical answers
    tie without a call. If a verdict fails, the one of the other order is dropped too, to keep both orders balanced.

    Args:
        model: The judge.
        questions: The questions.
        methods: The names of the methods to compare.
        texts: The answers by (method, question id).
        repeats: How often each pair is judged in each order.

    Returns:
        The win rates by criterion, and a Failure for each missing verdict.
    """
    matches, failures = await compare(model, questions, methods, texts, repeats)
    criteria = tuple(summed_up(criterion, methods, matches) for criterion in CRITERIA)
    return Judgement(tuple(methods), len(questions), repeats, criteria, tuple(failures))


async def compare(
    model: LanguageModel,
    questions: Sequence[SuiteQuestion],
    methods: Sequence[str],
    texts: Mapping[tuple[str, str], JudgedAnswer],
    repeats: int,
) -> tuple[list[Match], list[Failure]]:
    """Return every match, in the order of questions, pairs, criteria and repeats, and the failures."""

    async def play(question: SuiteQuestion, first: str, second: str, criterion: str, repeat: int) -> Match | Failure:
        mine, theirs = texts[first, question.id], texts[second, question.id]
        if mine.text == theirs.text:
            return Match(question.id, criterion, first, second, repeat, 0.5, 0.5)
        straight, swapped = await gather_settled(
            _verdict(model, question.question, one, other, criterion, repeat)
            for one, other in ((mine, theirs), (theirs, mine))
        )
        item = f"{question.id}: {first}, {second}: {criterion}, {repeat}"
        if isinstance(straight, ModelError) or isinstance(swapped, ModelError):
            error = straight if isinstance(straight, ModelError) else swapped
            return Failure(STEP, item, "no verdict could be had", str(error))
        return Match(question.id, criterion, first, second, repeat, straight, 1.0 - swapped)

    played = await asyncio.gather(
        *(
            play(question, first, second, criterion, repeat)
            for question in questions
            for first, second in combinations(methods, 2)
            if (first, question.id) in texts and (second, question.id) in texts
            for criterion in CRITERIA
            for repeat in range(repeats)
        )
    )
    return [item for item in played if isinstance(item, Match)], [item for item in played if isinstance(item, Failure)]


async def _verdict(
    model: LanguageModel, question: str, first: JudgedAnswer, second: JudgedAnswer, criterion: str, repeat: int
) -> float:
    """Return the score of the answer shown first."""
    prompt = messages(
        "judge/compare",
        criterion=prompt_text(f"judge/{criterion}"),
        question=question,
        first_answer=first.text,
        second_answer=second.text,
    )
    sources = tuple(sorted({*first.sources, *second.sources}))
    request = Request(prompt, STEP, temperature=_TEMPERATURE, sample=repeat, sources=sources)
    verdict = await ask_for(model, request, Verdict)
    return {"1": 1.0, "2": 0.0, "tie": 0.5}[verdict.better]


def summed_up(criterion: str, methods: Sequence[str], matches: Sequence[Match]) -> CriterionResult:
    """Return the win rates of all ordered pairs of compared methods, and how consistent the judge was.

    A question's score is the mean of its verdicts; the interval is over questions, because the repeats of one question
    are not independent.
    """
    own = [match for match in matches if match.criterion == criterion]
    scores: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for entry in own:
        mean = (entry.straight + entry.swapped) / 2
        scores[entry.first, entry.second, entry.question].append(mean)
        scores[entry.second, entry.first, entry.question].append(1.0 - mean)
    means: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for (one, other, _), values in scores.items():
        means[one, other].append(sum(values) / len(values))
    rates = tuple(
        WinRate(one, other, bootstrap(means[one, other]))
        for one in methods
        for other in methods
        if (one, other) in means
    )
    verdicts = [score for item in own for score in (item.straight, 1.0 - item.swapped)]  # of the answer shown first
    decided = [score for score in verdicts if score != 0.5]
    return CriterionResult(
        criterion,
        rates,
        ties=_share(len(verdicts) - len(decided), len(verdicts), 0.0),
        first_shown=_share(sum(decided), len(decided), 0.5),
        inconsistent=_share(sum(item.straight != item.swapped for item in own), len(own), 0.0),
    )


def _share(part: float, whole: int, without: float) -> float:
    return part / whole if whole else without


def as_json(found: Judgement) -> dict[str, Any]:
    """Return a judgement in the form that `conspectus judge --json` writes."""
    return {
        **asdict(found),
        "criteria": {each.criterion: _criterion_json(found.methods, each) for each in found.criteria},
    }


def _criterion_json(methods: Sequence[str], found: CriterionResult) -> dict[str, Any]:
    rates = {name: {rate.other: asdict(rate.rate) for rate in found.rates if rate.method == name} for name in methods}
    shares = {name: getattr(found, name) for name in ("ties", "first_shown", "inconsistent", "reliable")}
    return {"win_rates": rates, **shares}
