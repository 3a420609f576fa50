"""Decisions of ToG and ToG-2 by a language model. Each is one call; a reply that cannot be used decides nothing."""

from collections.abc import Sequence
from typing import TypeVar

from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import prompt_text, render
from conspectus.prompts.replies.structured import ask_for
from conspectus.prompts.replies.typed import read_answer
from conspectus.query.abstention import is_unknown
from conspectus.query.methods.tog.beam import Branch, Option, hops_to
from conspectus.query.methods.tog.policy import Material, Ruling, Verdict
from conspectus.query.methods.tog.replies import (
    Entities,
    Pieces,
    Relations,
    Scored,
    Topics,
    in_braces,
    listed_names,
    on_unit_scale,
    read_reasoning,
)
from conspectus.query.question.tasks import as_question, prompt_for
from conspectus.query.types import Passage
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import KnowledgeGraph, predicate_words, sentence, spoken
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.settings import TogSettings
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

_EXPLORE_TEMPERATURE, _REASON_TEMPERATURE = 0.4, 0.0
"""Temperatures of pruning and of reasoning, as in Think-on-Graph (Sun et al. 2024)."""

TOPICS, RELATIONS, ENTITIES, SCORE, REASON, CLUE, ANSWER = (
    "tog_topics", "tog_relations", "tog_entities", "tog_score", "tog_reason", "tog_clue", "tog_answer",
)  # fmt: skip
_NOTHING = "(nothing)"
_GOES_ON = "Do not guess: what is missing can still be looked up."
_LAST = "Nothing more can be looked up: where it is not settled, give the best answer that they allow after {No}."
_MOST_PATHS = 20
_MOST_RELATIONS = 60

Form = TypeVar("Form", bound=BaseModel)


class ModelDecider:
    """Asks a language model. BudgetReached ends the walk; any other failure is a reason in the trace."""

    def __init__(self, model: LanguageModel, graph: KnowledgeGraph, settings: TogSettings) -> None:
        self._model = model
        self._graph = graph
        self._settings = settings

    async def topics(self, question: str, rows: Sequence[int], most: int) -> Ruling:
        """Return the entities that the model begins from, none where it says {}."""
        names = [spoken(self._graph.names[row]) for row in rows]
        prompt = render("query/tog2_topics", question=self._asks(question), entities=_numbered(names), most=str(most))
        try:
            # A form without fixed keys is none that servers can be held to: the reply is read as it comes.
            said = await self._model.complete(self._request(TOPICS, prompt))
            reply = read_answer(said.text, Topics, cut_off=said.finish == "length").root
        except ModelError as error:
            return Ruling((), considered=_all(names, (), _said(error)), calls=1, why=_said(error))
        numbers = [int(each) for each in reply if each.isdigit()]
        kept = tuple(dict.fromkeys(each - 1 for each in numbers if 1 <= each <= len(rows)))[:most]
        return Ruling(
            kept,
            considered=_all(names, kept, "picked by the model"),
            calls=1,
            why="" if kept else "the model picks none",
        )

    async def relations(
        self, question: str, clue: str, branches: Sequence[Branch], options: Sequence[Sequence[Option]], width: int
    ) -> list[Ruling]:
        """Return for each branch the relations that the model scores highest, asked for in one call.

        Relations below `tog.relation_threshold` are dropped. Of many at one entity those of most triples are shown.
        """
        shown: list[tuple[int, int]] = []
        for number, each in enumerate(options):
            most = sorted(range(len(each)), key=lambda at: (-len(each[at].edges.relation), at))[:_MOST_RELATIONS]
            shown += [(number, at) for at in sorted(most)]
        if not shown:
            return [Ruling((), why="no relation leads on") for _ in branches]
        lines = [f"{self._at(branches[number])}: {self._way(options[number][at])}" for number, at in shown]
        prompt = render(
            "query/tog_relations",
            question=self._asks(question),
            clue=clue or _NOTHING,
            relations=_numbered(lines),
            most=str(width),
        )
        try:
            reply = (await self._asked(RELATIONS, prompt, Relations)).relations
        except ModelError as error:
            first = Ruling((), considered=_all(lines, (), _said(error)), calls=1, why=_said(error))
            return [first, *(Ruling((), why=_said(error)) for _ in branches[1:])]
        scores = _by_place(reply, len(shown))
        rulings = []
        for number in range(len(branches)):
            mine = [
                (scores[place], at, place) for place, (of, at) in enumerate(shown) if of == number and place in scores
            ]
            good = [each for each in mine if each[0] > 0 and each[0] >= self._settings.relation_threshold]
            kept = sorted(good, key=lambda each: (-each[0], each[1]))[:width]
            places = {each[2] for each in kept}
            considered = tuple(
                Considered(
                    lines[place],
                    place in places,
                    "scored by the model" if place in scores else "not named",
                    scores.get(place),
                )
                for place, (of, _) in enumerate(shown)
                if of == number
            )
            why = "" if kept else "the model finds no relation that helps"
            rulings.append(
                Ruling(
                    tuple(each[1] for each in kept), tuple(each[0] for each in kept), considered, int(number == 0), why
                )
            )
        return rulings

    async def entities(self, question: str, branch: Branch, found: Branch, width: int) -> Ruling:
        """Return the entities behind a relation that the model scores highest."""
        rows = found.entities.tolist()
        names = [spoken(self._graph.names[row]) for row in rows]
        path = f"{self._at(branch)}: {self._said_way(found)}"
        prompt = render(
            "query/tog_entities", question=self._asks(question), path=path, entities=_numbered(names), most=str(width)
        )
        try:
            reply = (await self._asked(ENTITIES, prompt, Entities)).entities
        except ModelError as error:
            return Ruling((), considered=_all(names, (), _said(error)), calls=1, why=_said(error))
        scores = _by_place(reply, len(rows))
        kept = tuple(
            sorted((at for at, score in scores.items() if score > 0), key=lambda at: (-scores[at], at))[:width]
        )
        considered = tuple(
            Considered(name, at in kept, "scored by the model", scores.get(at)) for at, name in enumerate(names)
        )
        why = "" if kept else "the model finds no entity that helps"
        return Ruling(kept, tuple(scores[at] for at in kept), considered, 1, why)

    async def score(
        self, question: str, clue: str, candidates: Sequence[Branch], material: Sequence[Material]
    ) -> list[float]:
        """Return the model's scores of the material, on a scale from 0 to 1; all 0 where the reply cannot be used."""
        pieces = "\n\n".join(f"[{number}] {each.text}" for number, each in enumerate(material, start=1))
        prompt = render("query/tog2_score", question=self._asks(question), clue=clue or _NOTHING, pieces=pieces)
        try:
            reply = (await self._asked(SCORE, prompt, Pieces, material)).pieces
        except ModelError:
            return [0.0] * len(material)
        scores = _by_place(reply, len(material))
        return [scores.get(at, 0.0) for at in range(len(material))]

    async def judge(
        self, question: str, clue: str, branches: Sequence[Branch], material: Sequence[Material], *, last: bool
    ) -> Verdict:
        """Return what the model makes of all paths and texts; paths are numbered first, then texts."""
        triples = self._triples(branches)
        texts = [each.passage for each in material if each.passage is not None]
        paths = [f"[{number}] {sentence(self._graph, row)}" for number, row in enumerate(triples, start=1)]
        told = [f"[{number}] {_read(each)}" for number, each in enumerate(texts, start=len(triples) + 1)]
        prompt = render(
            f"query/tog2_{self._settings.task}",
            examples=prompt_text(f"query/tog2_{self._settings.task}_examples"),
            question=question,
            clue=clue or _NOTHING,
            paths="\n".join(paths) or _NOTHING,
            texts="\n".join(told) or _NOTHING,
            last=_LAST if last else _GOES_ON,
        )
        try:
            reply = await self._model.complete(self._request(REASON, prompt, material, explores=False))
        except ModelError as error:
            return Verdict(False, clue=clue, calls=1, why=_said(error))
        read = read_reasoning(reply.text)
        if read is None:
            why = "the reply is empty" if not reply.text.strip() else "the reply begins with neither {Yes} nor {No}"
            return Verdict(False, clue=clue, calls=1, why=why)
        rests_on = tuple(triples[number - 1] for number in read.numbers if 1 <= number <= len(triples))
        offset = len(triples)
        passages = tuple(
            texts[number - offset - 1] for number in read.numbers if offset < number <= offset + len(texts)
        )
        answered = read.sufficient or last
        names = self._known(listed_names(read.text), branches) if answered else ()
        clues = "" if read.sufficient else read.text
        why = "" if read.sufficient else "the model says that this does not suffice"
        return Verdict(
            read.sufficient, read.text if answered else "", clues, names, rests_on, passages, calls=1, why=why
        )

    async def clue(self, question: str, clues: str, branches: Sequence[Branch]) -> tuple[str, int, str]:
        """Return the model's next question; the clues themselves where it gives none."""
        paths = "; ".join(sentence(self._graph, row) for row in self._triples(branches)) or _NOTHING
        prompt = render("query/tog2_clue", question=self._asks(question), clues=clues or _NOTHING, paths=paths)
        try:
            reply = await self._model.complete(self._request(CLUE, prompt))
        except ModelError as error:
            return clues, 1, _said(error)
        said = in_braces(reply.text)
        return (said, 1, "") if said else (clues, 1, "the reply is empty")

    async def own_answer(self, question: str, branches: Sequence[Branch]) -> Verdict:
        """Return what the model itself answers, beside the triples that were found (ToG's last call)."""
        triples = self._triples(branches)
        facts = "\n".join(sentence(self._graph, row) for row in triples) or _NOTHING
        prompt = render(prompt_for(self._settings.task, "query/tog_answer"), question=question, facts=facts)
        try:
            reply = await self._model.complete(self._request(ANSWER, prompt, explores=False))
        except ModelError as error:
            return Verdict(False, calls=1, why=_said(error))
        text = in_braces(reply.text)
        if is_unknown(text):
            return Verdict(False, calls=1, why="the model does not know" if text else "the reply is empty")
        return Verdict(
            False, text, names=self._known(listed_names(text), branches), calls=1, why="from what the model knows"
        )

    def _asks(self, question: str) -> str:
        return as_question(self._settings.task, question)

    def _triples(self, branches: Sequence[Branch]) -> list[int]:
        rows = [hop.relation for each in branches for end in each.entities[:3].tolist() for hop in hops_to(each, end)]
        return list(dict.fromkeys(rows))[:_MOST_PATHS]

    def _known(self, names: Sequence[str], branches: Sequence[Branch]) -> tuple[str, ...]:
        """Return names as the graph writes them where the paths hold them, each once."""
        rows = {row for each in branches for row in each.entities.tolist()}
        rows |= {
            int(end)
            for each in self._triples(branches)
            for end in (self._graph.sources[each], self._graph.targets[each])
        }
        written = {entity_key(spoken(self._graph.names[row])): self._graph.names[row] for row in sorted(rows)}
        return tuple(dict.fromkeys(written.get(entity_key(spoken(name)), name) for name in names))

    def _at(self, branch: Branch) -> str:
        return ", ".join(spoken(self._graph.names[row]) for row in branch.entities[:3].tolist())

    def _way(self, option: Option) -> str:
        said = predicate_words(self._graph.predicates[option.way.predicate]) or "related to"
        return f"{said} ({'forward' if option.way.outgoing else 'backward'})"

    def _said_way(self, branch: Branch) -> str:
        way = branch.ways[-1]
        said = predicate_words(self._graph.predicates[way.predicate]) or "related to"
        return f"{said} ({'forward' if way.outgoing else 'backward'})"

    async def _asked(self, step: str, prompt: str, form: type[Form], material: Sequence[Material] = ()) -> Form:
        return await ask_for(self._model, self._request(step, prompt, material), form, again=0)

    def _request(self, step: str, prompt: str, material: Sequence[Material] = (), *, explores: bool = True) -> Request:
        chosen = self._settings
        return Request(
            (Message("user", prompt),),
            step,
            max_tokens=chosen.max_tokens,
            temperature=_EXPLORE_TEMPERATURE if explores else _REASON_TEMPERATURE,
            sources=tuple(sorted({digest(each.passage.text) for each in material if each.passage})),
        )


def _by_place(scored: Sequence[Scored], count: int) -> dict[int, float]:
    good = [each for each in scored if 1 <= each.number <= count]
    scores = on_unit_scale([each.score for each in good])
    return {each.number - 1: score for each, score in zip(good, scores, strict=True)}


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _all(names: Sequence[str], kept: Sequence[int], why: str) -> tuple[Considered, ...]:
    return tuple(
        Considered(name, at in kept, why if at in kept or not kept else "not picked") for at, name in enumerate(names)
    )


def _said(error: ModelError) -> str:
    if isinstance(error, BadAnswer):
        return f"the reply cannot be used ({error.reason})"
    return f"no reply ({error})"


def _read(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
