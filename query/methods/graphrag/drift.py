"""DRIFT search: dynamic reasoning and inference with flexible traversal (Microsoft Research, 2024).

    1. primer       the reports nearest to the question and to a hypothetical answer (HyDE) give a first answer and
                    follow-up questions, in several calls at once
    2. follow-ups   local search answers the best open questions of a round; each answer may ask further ones
    3. reduce       the notes of all branches are folded into one cited answer

Notes carry their supporting units from step to step, so the final answer cites documents and never an
intermediate text. Without a language model, local search quotes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.prose import Score
from conspectus.prompts.replies.structured import ask_for
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.answer_writing.cited_answer import write
from conspectus.query.answer_writing.context_windows import (
    Unit,
    Units,
    Window,
    every,
    evidence,
    filled,
    sources,
)
from conspectus.query.answering import assembling
from conspectus.query.citations.forms import Numbers
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.local import LocalSearch, find_context
from conspectus.query.methods.graphrag.map_input import nearest_reports
from conspectus.query.methods.graphrag.map_step import Note, material_of
from conspectus.query.types import Answer, Answerer, Step
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Report
from conspectus.storage.text.names import words
from pydantic import BaseModel, ConfigDict, Field

PRIMER, HYPOTHESIS, FOLLOW_UP, REDUCE = "primer", "hypothesis", "follow_up", "reduce"
"""The steps of a question, as named in usage and cache."""
_FOLDS = 2  # calls that share the nearest reports: of the usual 20, each reads ten


class DriftPoint(BaseModel):
    """One point of an intermediate answer, with the numbers of its supporting units."""

    model_config = ConfigDict(frozen=True)

    text: str
    sources: Numbers = []


class DriftReply(BaseModel):
    """The reply of one call: see prompts/query/graphrag/drift_primer.txt and drift_follow_up.txt."""

    model_config = ConfigDict(frozen=True)

    answer: list[DriftPoint]
    score: Score = Field(ge=0, le=100)
    follow_ups: list[str] = []


@dataclass(frozen=True, slots=True)
class Branch:
    """The result of one call.

    Attributes:
        score: How well the notes answer the whole question, 0 to 100; a branch of score 0 has no notes.
        notes: The points, each with its supporting units.
        follow_ups: Follow-up questions, the most useful first.
        units: The material that was shown.
        n_tokens: Its tokens.
        baseless: The number of points without a supporting unit among those shown.
        dropped: The number of source numbers that do not resolve.
    """

    score: int
    notes: tuple[Note, ...]
    follow_ups: tuple[str, ...]
    units: tuple[Unit, ...]
    n_tokens: int
    baseless: int = 0
    dropped: int = 0


async def _branch(
    context: Context,
    model: LanguageModel,
    prompt: str,
    step: str,
    units: Sequence[Unit],
    n_tokens: int,
    places: Mapping[str, str],
) -> Branch:
    """Return the branch of a prompt that shows `units`, unit i under the number i + 1.

    One call, and a second one if the reply has the wrong form. ModelError if that fails too.
    """
    most = context.settings.drift_search.follow_ups
    asked = messages(prompt, follow_ups=str(most), **places)
    reply = await ask_for(model, Request(asked, step, sources=sources(context, units)), DriftReply)
    notes: list[Note] = []
    baseless = dropped = 0
    for point in reply.answer:
        numbers = dict.fromkeys(point.sources)
        named = tuple(units[number - 1] for number in numbers if 1 <= number <= len(units))
        text = " ".join(point.text.split())
        dropped += len(numbers) - len(named)
        baseless += not (named and text)
        if named and text and reply.score:
            notes.append(Note(text, reply.score, named))
    follow_ups = tuple(cleaned for follow_up in reply.follow_ups if (cleaned := " ".join(follow_up.split())))
    return Branch(reply.score, tuple(notes), follow_ups, tuple(units), n_tokens, baseless, dropped)


async def _hypothesis(context: Context, model: LanguageModel, question: str, reports: Units) -> str:
    example = reports[int(reports.weights.argmax())]
    summary = example.text.split("\n\n- ")[0]  # without its findings
    asked = messages("query/graphrag/drift_hypothesis", example=summary, question=question)
    request = Request(asked, HYPOTHESIS, sources=sources(context, [example]))
    return without_thinking((await model.complete(request)).text).strip()


def _folds(near: list[Unit]) -> list[Window]:
    """Deal out the reports to the calls so that every call gets some of the nearest, and fill their windows."""
    count = min(_FOLDS, len(near))
    dealt = [filled(near[place::count], CONTEXT_TOKENS) for place in range(count)]
    return [window for window in dealt if window]


class DriftSearch:
    """DRIFT search with a language model.

    The calls of one question are at most 1 (hypothetical answer) + `_FOLDS` (primer) + `rounds` x `follow_ups` (local
    searches) + 1 (final answer); a primer or local search whose reply has the wrong form is repeated once. The calls of
    one stage run concurrently.
    """

    def __init__(self, name: str, context: Context, model: LanguageModel) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._settings = context.settings.drift_search

    async def answer(self, question: str) -> Answer:
        """Answer by primer, follow-up questions and reduce.

        Args:
            question: The question.

        Returns:
            The answer; its citations are sentences of the documents. A branch whose call fails is left out, and the
            trace counts it.

        Raises:
            ModelError: Every call before the final one fails, or the final one does.
        """
        with assembling(question, self._name) as assembly:
            walk = _Traversal()
            await self._primer(question, walk)
            for number in range(1, self._settings.rounds + 1):
                if not await self._round(number, question, walk):
                    break
            if walk.failures and not walk.branches:
                raise walk.failures[0]
            notes = walk.notes()
            material = material_of(notes, CONTEXT_TOKENS)
            assembly.add(*walk.trace)
            assembly.step(REDUCE, material.told(len(notes)))
            read = {unit.id for branch in walk.branches for unit in branch.units}
            assembly.over(len(read), sum(branch.n_tokens for branch in walk.branches))
            return await write(
                assembly,
                self._context,
                self._model,
                material.text,
                material.units,
                evidence(self._context, material.scored()),
                prompt="query/graphrag/drift_reduce",
                step=REDUCE,
                dropped=sum(branch.dropped for branch in walk.branches),
            )

    async def _primer(self, question: str, walk: "_Traversal") -> None:
        """Answer from the nearest reports, in up to `_FOLDS` calls after one for a hypothetical answer.

        No call is made if the index has no reports. If nothing is found, the question itself is the first open one.
        """
        context, model = self._context, self._model
        if reports := every(context, Report):
            expanded = await gather_settled([_hypothesis(context, model, question, reports)])
            texts = [question, *(text for text in expanded if isinstance(text, str) and text)]
            near = [report.unit for report in nearest_reports(context, texts)]
            windows = _folds(near)
            given = [{"reports": window.text, "question": question} for window in windows]
            replies = await gather_settled(
                _branch(context, model, "query/graphrag/drift_primer", PRIMER, window.units, window.n_tokens, places)
                for window, places in zip(windows, given, strict=True)
            )
            query = "with a hypothetical answer" if len(texts) > 1 else "without a hypothetical answer"
            shown = sum(len(window.units) for window in windows)
            what = f"{shown} of the {len(near)} nearest reports, found {query}, in {len(windows)} calls"
            walk.take([*expanded, *replies], PRIMER, what)
        else:
            walk.trace.append(Step(PRIMER, "the index has no reports"))
        walk.begin(question)

    async def _round(self, number: int, question: str, walk: "_Traversal") -> bool:
        """Answer the best open questions; return whether any was open."""
        chosen = walk.best(self._settings.follow_ups)
        if chosen:
            replies = await gather_settled(self._follow_up(question, follow_up) for follow_up in chosen)
            walk.take(replies, f"round {number}", "; ".join(f'"{follow_up}"' for follow_up in chosen))
        return bool(chosen)

    async def _follow_up(self, question: str, follow_up: str) -> Branch:
        found = find_context(self._context, follow_up)
        units = tuple(scored.unit for scored in found.units)
        if not units:
            return Branch(0, (), (), (), 0)
        places = {"material": found.text, "question": question, "follow_up": follow_up}
        prompt = "query/graphrag/drift_follow_up"
        return await _branch(self._context, self._model, prompt, FOLLOW_UP, units, found.n_tokens, places)


_OpenQuestion = tuple[int, int, str]
"""A follow-up question behind minus the best score of a branch that asks it, and its position in that branch."""


@dataclass(slots=True)
class _Traversal:
    """The branches so far and the open questions. No question is answered twice."""

    branches: list[Branch] = field(default_factory=list)
    failures: list[ModelError] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    _open: dict[str, _OpenQuestion] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    def begin(self, question: str) -> None:
        """Leave the question itself open if the primer found nothing."""
        if any(branch.notes or branch.follow_ups for branch in self.branches):
            self._asked.add(_key(question))
            self._open.pop(_key(question), None)
        else:
            self._add((0, 0, question))

    def best(self, count: int) -> list[str]:
        """Remove and return the best open questions: those of the branches with the highest score, in their order."""
        chosen = [question for *_, question in sorted(self._open.values())[:count]]
        for best in chosen:
            del self._open[_key(best)]
            self._asked.add(_key(best))
        return chosen

    def notes(self) -> list[Note]:
        """Return the distinct notes, the most helpful first."""
        distinct: dict[str, Note] = {}
        for note in sorted((note for branch in self.branches for note in branch.notes), key=lambda note: -note.score):
            distinct.setdefault(note.text, note)
        return sorted(distinct.values(), key=lambda note: (-note.score, note.text))

    def take(self, replies: Sequence[Branch | ModelError | str], step: str, what: str) -> None:
        """Add the branches and failures among replies, and the step that counts them."""
        branches = [reply for reply in replies if isinstance(reply, Branch)]
        failures = [reply for reply in replies if isinstance(reply, ModelError)]
        self.branches += branches
        self.failures += failures
        for branch in branches:
            for place, follow_up in enumerate(branch.follow_ups):
                self._add((-branch.score, place, follow_up))
        notes = sum(len(branch.notes) for branch in branches)
        follow_ups = sum(len(branch.follow_ups) for branch in branches)
        baseless = sum(branch.baseless for branch in branches)
        scores = ", ".join(str(branch.score) for branch in branches) or "none"
        detail = f"{what}: {notes} notes, {follow_ups} follow-up questions, scores {scores}"
        detail += f"; {baseless} points that rested on nothing shown" if baseless else ""
        detail += f"; {len(failures)} calls failed: {failures[0]}" if failures else ""
        self.trace.append(Step(step, detail))

    def _add(self, question: _OpenQuestion) -> None:
        key = _key(question[-1])
        if key not in self._asked:
            self._open[key] = min(question, self._open.get(key, question))


def _key(question: str) -> str:
    return " ".join(word.key for word in words(question)) or question.strip()


def open_drift(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return DRIFT search, or local search without a language model: nothing asks follow-up questions then."""
    return DriftSearch(name, context, model) if model else LocalSearch(name, context, None)


CONTEXT_TOKENS = 8000  # of reports or notes: the windows of small models hold so many
