"""DRIFT with a language model: dynamic reasoning and inference with flexible traversal (Microsoft, 2024).

A primer over the reports nearest to the question gives a first answer and follow-up questions; local search answers
these, the most promising first, and each answer may ask further ones, round by round; all that was found is folded
into one cited answer. What is carried from step to step are notes with the units that they rest on, so that the final
answer cites documents and never an intermediate text.
"""

from dataclasses import dataclass, field

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.drift_branch import Asker, Branch
from conspectus.query.methods.graphrag.drift_offline import ExtractiveDriftSearch
from conspectus.query.methods.graphrag.drift_primer import Primed, failed, gained, prime
from conspectus.query.methods.graphrag.local import find_context
from conspectus.query.methods.graphrag.map_step import Material, Note, material_of
from conspectus.query.reader.cited_answer import Written, write
from conspectus.query.reader.material import evidence
from conspectus.query.types import Answer, Answerer, Say, Step
from conspectus.storage.errors import ModelError
from conspectus.storage.text.names import words

STEP = "follow_up"
_REDUCE = "reduce"


class DriftSearch:
    """Answers with a model that asks itself follow-up questions.

    The calls of one question are at most 1 (a hypothetical answer) + `folds` (the primer) + `rounds` x `follow_ups`
    (local searches) + 1 (the final answer); a reply of the primer or of a local search that is not of the form asked
    for is asked for once more. The calls of one step run at the same time.
    """

    def __init__(self, name: str, context: Context, model: LanguageModel) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._settings = context.settings.drift_search

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the model's answer; what it cites are sentences of the documents.

        A call that fails leaves out its branch and is counted in the trace; ModelError where all before the last one
        fail, or the last one does.
        """
        with assembling(question, self._name) as assembly:
            primed = await prime(self._context, self._model, question)
            walk = _Walk.begun(question, primed)
            for number in range(1, self._settings.rounds + 1):
                if not await self._round(number, question, walk):
                    break
            if walk.failures and not walk.branches:
                raise walk.failures[0]
            material = material_of(walk.notes(), self._settings.context_tokens)
            written = await self._written(question, material, say)
            told = (
                f"{len(material.notes)} of {len(walk.notes())} notes on {len(material.units)} pieces of material, "
                f"{material.n_tokens} tokens; {len(written.citations)} citations made"
            )
            assembly.add(*walk.trace)
            assembly.step(_REDUCE, told if material.notes else "nothing helps to answer")
            read = {unit.id for branch in walk.branches for unit in branch.units}
            assembly.over(len(read), sum(branch.n_tokens for branch in walk.branches))
            return assembly.assemble(
                written.text,
                citations=written.citations,
                evidence=evidence(self._context, material.scored()),
                dropped_citations=sum(branch.dropped for branch in walk.branches) + written.dropped,
            )

    async def _round(self, number: int, question: str, walk: "_Walk") -> bool:
        """Answer the best open questions; return whether there were any."""
        chosen = walk.best(self._settings.follow_ups)
        if not chosen:
            return False
        replies = await gather_settled(self._followed(question, each) for each in chosen)
        branches = tuple(each for each in replies if isinstance(each, Branch))
        failures = tuple(each for each in replies if isinstance(each, ModelError))
        asked = "; ".join(f'"{each}"' for each in chosen)
        told = f"{asked}: {gained(branches)}{failed(failures)}"
        walk.grow(branches, failures, Step(f"round {number}", told))
        return True

    async def _followed(self, question: str, follow_up: str) -> Branch:
        found = find_context(self._context, follow_up)
        units = tuple(each.unit for each in found.units)
        if not units:
            return Branch(0, (), (), (), 0)
        places = {"material": found.text, "question": question, "follow_up": follow_up}
        asker = Asker(self._context, self._model)
        return await asker.branch("query/drift_follow_up", STEP, units, found.n_tokens, places)

    async def _written(self, question: str, material: Material, say: Say) -> Written:
        return await write(
            self._context,
            self._model,
            question,
            material.text,
            material.units,
            say,
            prompt="query/drift_reduce",
            step=_REDUCE,
            most_words=self._settings.words,
        )


@dataclass(frozen=True, slots=True)
class _Open:
    """A question that waits: the score of the best branch that asks it, and its place among that one's questions."""

    question: str
    score: int
    place: int

    @property
    def order(self) -> tuple[int, int, str]:
        """What is best comes first."""
        return (-self.score, self.place, self.question)


@dataclass(slots=True)
class _Walk:
    """What was found so far, and what is still to be asked. No question is asked twice."""

    branches: list[Branch] = field(default_factory=list)
    failures: list[ModelError] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    @classmethod
    def begun(cls, question: str, primed: Primed) -> "_Walk":
        """Return the walk after the primer; where that gave nothing, the question itself is the first to be asked."""
        walk = cls(trace=list(primed.trace))
        if any(each.notes or each.follow_ups for each in primed.branches):
            walk._asked.add(_key(question))
        else:
            walk._add(_Open(question, 0, 0))
        walk._take(primed.branches, primed.failures)
        return walk

    def best(self, count: int) -> list[str]:
        """Take out the best open questions: those that the branches of highest score ask, in their order."""
        chosen = sorted(self._open.values(), key=lambda each: each.order)[:count]
        for each in chosen:
            del self._open[_key(each.question)]
            self._asked.add(_key(each.question))
        return [each.question for each in chosen]

    def grow(self, branches: tuple[Branch, ...], failures: tuple[ModelError, ...], step: Step) -> None:
        """Add what a round gave."""
        self._take(branches, failures)
        self.trace.append(step)

    def notes(self) -> list[Note]:
        """Return all notes, the most helpful first, each text once."""
        found: dict[str, Note] = {}
        for each in sorted((note for one in self.branches for note in one.notes), key=lambda each: -each.score):
            found.setdefault(each.text, each)
        return sorted(found.values(), key=lambda each: (-each.score, each.text))

    def _take(self, branches: tuple[Branch, ...], failures: tuple[ModelError, ...]) -> None:
        self.branches += branches
        self.failures += failures
        for branch in branches:
            for place, follow_up in enumerate(branch.follow_ups):
                self._add(_Open(follow_up, branch.score, place))

    def _add(self, fresh: _Open) -> None:
        key = _key(fresh.question)
        if key not in self._asked:
            self._open[key] = min(fresh, self._open.get(key, fresh), key=lambda each: each.order)


def _key(question: str) -> str:
    return " ".join(word.key for word in words(question)) or question.strip()


def open_drift(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return DRIFT search, or its stand-in without a language model."""
    return DriftSearch(name, context, model) if model else ExtractiveDriftSearch(name, context)
