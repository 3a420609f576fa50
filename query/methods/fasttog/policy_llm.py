"""FastToG's decisions by a language model: communities are chosen, not scored, and the chains are reasoned over."""

from collections.abc import Callable, Sequence
from string import ascii_uppercase

from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_choice, ask_for
from conspectus.query.abstention import is_unknown
from conspectus.query.methods.fasttog.chains import Grown, Outcome, Picked
from conspectus.query.methods.fasttog.community_text import Community2Text, Statement, whole_text
from conspectus.query.methods.fasttog.local_search import Candidate
from conspectus.query.question.tasks import Task, as_question, prompt_for
from conspectus.query.walk.graph import KnowledgeGraph, spoken
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.settings import FastTogSettings
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

_PRUNE_TEMPERATURE, _REASONING_TEMPERATURE = 0.4, 0.1
"""Temperatures of choosing communities, and of answering."""

Sources = Callable[[Sequence[int]], tuple[str, ...]]
"""The hashes of the chunks that state relations, given by their rows: what a reply over them depends on."""

SUBJECTS, PRUNE, REASON = "fasttog_subjects", "fasttog_prune", "fasttog_reason"
NONE = "none"


class Subjects(BaseModel):
    """What a question is about."""

    subjects: list[str]


class Picks(BaseModel):
    """The letters of communities."""

    picks: list[str]


class Reasoned(BaseModel):
    """An answer, or "Unknown"."""

    answer: str
    names: list[str] = []
    facts: list[int] = []


class ModelDecider:
    """Has a model pick and reason. Each decision is one call, whatever comes of it: a bad reply is not asked again.

    BudgetReached ends the walk; a reply that cannot be used, or none, ends what was being decided, with the reason.
    """

    def __init__(
        self,
        model: LanguageModel,
        graph: KnowledgeGraph,
        text: Community2Text,
        settings: FastTogSettings,
        sources: Sources,
        task: Task = "qa",
    ) -> None:
        self._model = model
        self._graph = graph
        self._text = text
        self._settings = settings
        self._sources = sources
        self._task = task

    async def subjects(self, question: str) -> tuple[list[str], str]:
        """Return the subjects that the model finds in a question, and what is to be said of it."""
        try:
            asked = self._request(
                SUBJECTS, render("query/fasttog_subjects", question=as_question(self._task, question)), explores=False
            )
            found = (await ask_for(self._model, asked, Subjects, again=0)).subjects
        except ModelError as error:
            return [], f"the model names no subjects: {_said(error)}"
        return found, f"the model names {', '.join(found) or 'nothing'}"

    async def pick(
        self, question: str, chain: Sequence[Candidate], candidates: Sequence[Candidate], most: int
    ) -> Picked:
        """Return the model's choice among lettered texts; at the start the premise is what the question is about."""
        question = as_question(self._task, question)
        shown = [*chain, *candidates]
        told = [whole_text(each) for each in self._text.told(shown)]
        rows = [row for each in shown for row in each.relations]
        letters = [lettered(place) for place in range(len(candidates))]
        selections = "\n".join(f"{letter}. {text}" for letter, text in zip(letters, told[len(chain) :], strict=True))
        try:
            if chain:
                premise = "\n".join(f"{number}. {text}" for number, text in enumerate(told[: len(chain)], start=1))
                return await self._one(question, premise, selections, letters, rows)
            return await self._several(question, self._about(candidates), selections, letters, rows, most)
        except ModelError as error:
            return Picked((), _said(error), calls=1)

    async def _one(
        self, question: str, premise: str, selections: str, letters: Sequence[str], rows: Sequence[int]
    ) -> Picked:
        prompt = render("query/fasttog_step", question=question, premise=premise, selections=selections)
        picked = await ask_choice(self._model, self._request(PRUNE, prompt, rows), [*letters, NONE])
        if picked == NONE:
            return Picked((), "the model chose none", calls=1)
        return Picked((letters.index(picked),), "", calls=1)

    async def _several(
        self, question: str, premise: str, selections: str, letters: Sequence[str], rows: Sequence[int], most: int
    ) -> Picked:
        prompt = render(
            "query/fasttog_start", question=question, premise=premise, selections=selections, most=str(most)
        )
        reply = (await ask_for(self._model, self._request(PRUNE, prompt, rows), Picks, again=0)).picks
        named = [each.strip().strip(".()").upper() for each in reply]
        places = dict.fromkeys(letters.index(each) for each in named if each in letters)
        unknown = [each for each in named if each not in letters and each != NONE.upper()]
        why = f"the model chose {', '.join(unknown)}, of which there is none" if unknown else ""
        return Picked(tuple(places)[:most], why or ("" if places else "the model chose none"), calls=1)

    async def reason(self, question: str, subjects: Sequence[int], chains: Sequence[Grown]) -> Outcome:
        """Return the model's answer over all chains, ended ones too, each fact numbered once."""
        facts: list[Statement] = []
        numbers: dict[str, int] = {}
        blocks: list[str] = []
        for number, chain in enumerate(chains, start=1):
            lines = [f"Chain {number}:"]
            for statements in self._text.told(chain.steps):
                said = []
                for each in statements:
                    if each.text not in numbers:
                        facts.append(each)
                        numbers[each.text] = len(facts)
                    said.append(f"[{numbers[each.text]}] {whole_text([each])}")
                lines.append(f"- {' '.join(said)}")
            blocks.append("\n".join(lines))
        about = ", ".join(sorted(spoken(self._graph.names[each]) for each in subjects))
        prompt = render(
            prompt_for(self._task, "query/fasttog_reason"),
            question=question,
            subjects=about,
            chains="\n\n".join(blocks),
        )
        asked = self._request(REASON, prompt, [row for each in facts for row in each.relations], explores=False)
        try:
            reply = await ask_for(self._model, asked, Reasoned, again=0)
        except ModelError as error:
            return Outcome(False, why=_said(error), calls=1)
        if is_unknown(reply.answer):
            return Outcome(False, why="the model says that the facts are not enough", calls=1)
        names = self._known(reply.names, facts)
        cited = [facts[number - 1] for number in dict.fromkeys(reply.facts) if 1 <= number <= len(facts)]
        relations = tuple(dict.fromkeys(row for each in cited for row in each.relations))
        why = "" if relations else "the model names no fact that it rests on"
        return Outcome(True, reply.answer.strip(), names, relations, why, calls=1)

    def _known(self, names: Sequence[str], facts: Sequence[Statement]) -> tuple[str, ...]:
        """Return names as the graph writes them where it does, each once."""
        rows = {row for each in facts for row in each.relations}
        ends = {int(end) for row in rows for end in (self._graph.sources[row], self._graph.targets[row])}
        written = {entity_key(spoken(self._graph.names[each])): self._graph.names[each] for each in sorted(ends)}
        found = [written.get(entity_key(spoken(each)), each.strip()) for each in names if each.strip()]
        return tuple(dict.fromkeys(found))

    def _about(self, candidates: Sequence[Candidate]) -> str:
        origins = {node for each in candidates for node in each.origin}
        return ", ".join(sorted(spoken(self._graph.names[each]) for each in origins))

    def _request(self, step: str, prompt: str, rows: Sequence[int] = (), *, explores: bool = True) -> Request:
        chosen = self._settings
        temperature = _PRUNE_TEMPERATURE if explores else _REASONING_TEMPERATURE
        return Request(
            (Message("user", prompt),),
            step,
            max_tokens=chosen.max_tokens,
            temperature=temperature,
            sources=self._sources(rows),
        )


def lettered(place: int) -> str:
    """Return the letter of a candidate.

    >>> lettered(0), lettered(25), lettered(26)
    ('A', 'Z', 'AA')
    """
    first, last = divmod(place, len(ascii_uppercase))
    return (ascii_uppercase[first - 1] if first else "") + ascii_uppercase[last]


def _said(error: ModelError) -> str:
    if isinstance(error, BadAnswer):
        return f"the reply cannot be used ({error.reason})"
    return f"no reply ({error})"
