"""The decisions of ToG and ToG-2 by a language model, and the parsing of its replies.

Every decision is one call, and one more where a reply cannot be used. BudgetReached ends the walk. Any other failure is
recorded in the trace: nothing is kept but, of topics, the first ones and, of texts, the ranking by embedding.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import messages, prompt_text
from conspectus.prompts.replies.scored import read_scores
from conspectus.prompts.replies.structured import CountedModel, ask_for, ask_in_words
from conspectus.query.abstention import is_unknown
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import (
    BeamPath,
    BeamState,
    BeamVerdict,
    Choice,
    DirectedPredicate,
    EvidenceText,
    NextQuery,
    RankedTexts,
    RelationOption,
    relations_to,
    restrict,
)
from conspectus.query.methods.tog.evidence import most_relevant, rank_texts
from conspectus.query.question.tasks import as_question, prompt_for
from conspectus.query.types import Passage
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import (
    names_as_written,
    open_graph,
    predicate_vectors,
    predicate_words,
    sentence,
    spoken,
)
from conspectus.query.walk.log import failure_reason
from conspectus.query.walk.replies import asked_question, in_braces, listed_names, read_named, read_reasoning
from conspectus.storage.errors import ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

TOPICS, RELATIONS, ENTITIES, SCORE, REASON, CLUE, ANSWER = (
    "tog_topics", "tog_relations", "tog_entities", "tog_score", "tog_reason", "tog_clue", "tog_answer",
)  # fmt: skip
_EXPLORE_TEMPERATURE, _REASON_TEMPERATURE = 0.4, 0.0
"""Temperatures of pruning and of reasoning (ToG, section 3.1)."""
_NOTHING = "(nothing)"
_MORE_FOLLOWS = "Do not guess: what is missing can still be looked up."
_LAST_ROUND = "Nothing more can be looked up: where it is not settled, give the best answer that they allow after {No}."
_MOST_TRIPLES = 20
"""Maximum triples of the paths shown for a verdict."""
_MOST_RELATIONS = 60
"""Maximum relations of an entity that are shown, those nearest to the question."""
_LEAST_SCORE = 1e-9
"""Minimum score of an entity that helps: above 0."""
_RELATION_THRESHOLD = 0.2
"""Relations with a lower score are dropped, as in ToG-2's code."""
_CANDIDATES = 50
"""Maximum entities behind one relation that are shown to the model."""
_MAX_TOKENS = 1024
_ENTITIES_SHOWN = 3
"""Maximum entities of a path in a prompt."""


class Scored(BaseModel):
    """The number of an item and its score."""

    number: int
    score: float


class RelationReply(BaseModel):
    """Relations that help."""

    relations: list[Scored]


class EntityReply(BaseModel):
    """Entities that help."""

    entities: list[Scored]


class TextReply(BaseModel):
    """Pieces of text that help."""

    pieces: list[Scored]


Form = TypeVar("Form", bound=BaseModel)
Said = TypeVar("Said")
_NO_TOPIC = "it names none of the entities"
_NO_VERDICT = "it begins with neither {Yes} nor {No}, or gives no answer"


class LlmBeamPolicy:
    """Asks a language model about one question (see `BeamPolicy` for the decisions).

    Args:
        context: The open index.
        model: The model.
        question: The question, claim or slot (`tog.task`).
        combined: Whether one call prunes the relations of all paths (ToG-2, equation 3), or one each (equation 2, ToG).
        own_answer: Whether an inconclusive walk ends with an answer from the paths and the model's knowledge (ToG).
    """

    def __init__(
        self, context: Context, model: LanguageModel, question: str, *, combined: bool, own_answer: bool
    ) -> None:
        self._context = context
        self._model = CountedModel(model)
        self._graph = open_graph(context)
        self._settings = context.settings.tog
        self._statement = question
        self._question = as_question(context.settings.tog.task, question)
        self._combined = combined
        self._own_answer = own_answer

    async def keep_topics(self, rows: Sequence[int]) -> Choice:
        """Choose at most W topics in one call."""
        names = [spoken(self._graph.names[row]) for row in rows]
        width = self._settings.width
        if len(rows) == 1:
            return Choice((0,), considered=_considered(names, (0,), "the only one"))
        prompt = messages("query/tog2_topics", question=self._question, entities=_numbered(names), most=str(width))
        before = self._model.calls
        try:
            # The reply has no fixed keys, so no JSON schema can be requested.
            picked = await self._said(self._request(TOPICS, prompt), lambda reply: read_named(reply, names), _NO_TOPIC)
        except ModelError as error:
            kept = tuple(range(len(rows)))[:width]
            why = f"{failure_reason(error)}: the first {len(kept)} are taken"
            return Choice(kept, considered=_considered(names, kept, why), calls=self._model.calls - before, why=why)
        kept = tuple(picked)[:width]
        why = "" if kept else "the model picks none"
        considered = _considered(names, kept, "picked by the model")
        return Choice(kept, considered=considered, calls=self._model.calls - before, why=why)

    def start(self, rows: Sequence[int]) -> list[BeamPath]:
        """Return one path for each of the first W topics."""
        return [BeamPath(np.array([row], np.int64)) for row in rows[: self._settings.width]]

    async def keep_relations(self, state: BeamState, options: Sequence[Sequence[RelationOption]]) -> list[Choice]:
        """Choose the relations that the model scores highest; those below `_RELATION_THRESHOLD` are dropped.

        The next query is included from the second round on.
        """
        query = state.query if state.depth > 1 else ""
        if self._combined:
            return await self._score_relations(query, state.paths, options)
        choices: list[Choice] = []
        for path, offered in zip(state.paths, options, strict=True):
            choices += await self._score_relations(query, [path], [offered])
        return choices

    async def _score_relations(
        self, query: str, paths: Sequence[BeamPath], options: Sequence[Sequence[RelationOption]]
    ) -> list[Choice]:
        shown: list[tuple[int, int]] = []
        near = predicate_vectors(self._context) @ self._context.embedder.embed_query(self._question)
        for number, offered in enumerate(options):
            most = sorted(range(len(offered)), key=lambda at: (-near[offered[at].relation.predicate], at))[
                :_MOST_RELATIONS
            ]
            shown += [(number, at) for at in sorted(most)]
        if not shown:
            return [Choice((), why="there is no further relation") for _ in paths]
        lines = [
            f"{self._entities(paths[number])}: {self._relation(options[number][at].relation)}" for number, at in shown
        ]
        prompt = messages(
            "query/tog_relations",
            question=self._question,
            clue=query or _NOTHING,
            relations=_numbered(lines),
            most=str(self._settings.width),
        )
        before = self._model.calls
        try:
            reply = await self._ask(RELATIONS, prompt, RelationReply, lambda text: _relations(text, lines))
        except ModelError as error:
            reason = failure_reason(error)
            return [_failed(lines, error, self._model.calls - before), *(Choice((), why=reason) for _ in paths[1:])]
        scores = _by_place(reply.relations, len(shown))
        least = _RELATION_THRESHOLD
        choices = []
        for number in range(len(paths)):
            own = [place for place, (of, _) in enumerate(shown) if of == number]
            helpful = [place for place in own if scores.get(place, 0.0) >= least]
            kept = sorted(helpful, key=lambda place: -scores[place])[: self._settings.width]
            considered = tuple(
                Considered(
                    lines[place],
                    place in kept,
                    "scored by the model" if place in scores else "not named",
                    scores.get(place),
                )
                for place in own
            )
            why = "" if kept else "the model finds no relation that helps"
            places, kept_scores = tuple(shown[place][1] for place in kept), tuple(scores[place] for place in kept)
            calls = self._model.calls - before if number == 0 else 0
            choices.append(Choice(places, kept_scores, considered, calls, why))
        return choices

    def candidates(self, reached: BeamPath) -> list[BeamPath]:
        """Return one candidate for each entity, of many the `_CANDIDATES` that are nearest to the question."""
        rows = most_relevant(self._context, self._question, reached.entities.tolist(), _CANDIDATES)
        return [restrict(reached, [row]) for row in rows]

    async def keep_entities(self, path: BeamPath, candidates: Sequence[BeamPath]) -> Choice:
        """Choose the entities behind one relation that the model scores highest."""
        names = [self._entities(candidate) for candidate in candidates]
        relation = self._relation(candidates[0].relations[-1])
        prompt = messages(
            "query/tog_entities",
            question=self._question,
            path=f"{self._entities(path)}: {relation}",
            entities=_numbered(names),
            most=str(self._settings.width),
        )
        before = self._model.calls
        try:
            reply = await self._ask(ENTITIES, prompt, EntityReply, lambda text: _entities(text, names))
        except ModelError as error:
            return _failed(names, error, self._model.calls - before)
        scores = _by_place(reply.entities, len(candidates))
        helpful = sorted(
            (at for at, score in scores.items() if score >= _LEAST_SCORE), key=lambda at: (-scores[at], at)
        )
        kept = tuple(helpful[: self._settings.width])
        considered = tuple(
            Considered(name, at in kept, "scored by the model", scores.get(at)) for at, name in enumerate(names)
        )
        why = "" if kept else "the model finds no entity that helps"
        return Choice(kept, tuple(scores[at] for at in kept), considered, self._model.calls - before, why)

    async def rank(
        self, state: BeamState, _candidates: Sequence[BeamPath], texts: list[EvidenceText], /
    ) -> RankedTexts:
        """Rank texts with `tog.scorer`; `model` scores the nearest by embedding in one call, from 0 to 1.

        If the model gives no scores, the ranking by embedding is used, and `why` gives the reason.
        """
        settings = self._settings
        query = f"{self._statement} {state.query}".strip()
        if settings.scorer != "model" or not texts:
            return RankedTexts(rank_texts(self._context, query, texts, settings.scorer))
        most = 2 * settings.context_chunks
        near = rank_texts(self._context, query, texts, "embedding")[:most]
        pieces = "\n\n".join(f"[{number}] {text.text}" for number, text in enumerate(near, start=1))
        prompt = messages("query/tog2_score", question=self._question, clue=state.query or _NOTHING, pieces=pieces)
        before = self._model.calls
        try:
            reply = await self._ask(SCORE, prompt, TextReply, lambda text: _pieces(text, len(near)), near)
        except ModelError as error:
            calls = self._model.calls - before
            return RankedTexts(near, calls, f"not scored by the model, ranked by embedding: {failure_reason(error)}")
        scores = _by_place(reply.pieces, len(near))
        scored = [replace(text, score=scores.get(place, 0.0)) for place, text in enumerate(near)]
        why = "" if any(scores.values()) else "the model finds no text that helps"
        return RankedTexts(sorted(scored, key=lambda text: -text.score), self._model.calls - before, why)

    async def judge(self, state: BeamState) -> BeamVerdict:
        """Judge from all paths and texts; the triples of the paths are numbered first, then the texts."""
        triples = self._triples(state.paths)
        passages = [text.passage for text in state.texts if text.passage is not None]
        paths = [f"[{number}] {sentence(self._graph, row)}" for number, row in enumerate(triples, start=1)]
        texts = [f"[{number}] {_titled(passage)}" for number, passage in enumerate(passages, start=len(triples) + 1)]
        prompt = messages(
            f"query/tog2_{self._settings.task}",
            examples=prompt_text(f"query/tog2_{self._settings.task}_examples"),
            question=self._statement,
            clue=state.clues or _NOTHING,
            paths="\n".join(paths) or _NOTHING,
            texts="\n".join(texts) or _NOTHING,
            last=_LAST_ROUND if state.last else _MORE_FOLLOWS,
        )
        before, n_triples = self._model.calls, len(triples)
        shown = n_triples + len(passages)
        request = self._request(REASON, prompt, state.texts, explores=False)
        try:
            read = await self._said(request, lambda reply: read_reasoning(reply, shown), _NO_VERDICT)
        except ModelError as error:
            calls = self._model.calls - before
            return BeamVerdict(False, clues=state.clues, calls=calls, why=failure_reason(error))
        answered = read.sufficient or state.last
        names = self._as_written(read.text, state.paths) if answered else ()
        relations = tuple(triples[number - 1] for number in read.numbers if 1 <= number <= n_triples)
        cited = tuple(passages[number - n_triples - 1] for number in read.numbers if n_triples < number <= shown)
        if answered and not (relations or cited):
            relations, cited = self._behind(names, state.paths, passages)
        return BeamVerdict(
            read.sufficient,
            read.text if answered else "",
            "" if read.sufficient else read.text,
            names,
            relations,
            cited,
            calls=self._model.calls - before,
            why="" if read.sufficient else "the model finds this insufficient",
        )

    def _behind(
        self, names: Sequence[str], paths: Sequence[BeamPath], passages: Sequence[Passage]
    ) -> tuple[tuple[int, ...], tuple[Passage, ...]]:
        """Return what an answer that cites nothing rests on: the paths to what it names, else a passage that has it."""
        keys = {entity_key(name) for name in names if name}
        graph = self._graph
        for path in paths:
            named = [row for row in path.entities.tolist() if entity_key(spoken(graph.names[row])) in keys]
            if named and path.relations:
                return relations_to(path, named), ()
        ends = [row for row in self._triples(paths) if keys & {entity_key(spoken(graph.names[end])) for end in (
            int(graph.sources[row]), int(graph.targets[row]))}]  # fmt: skip
        if ends:
            return tuple(ends[:1]), ()
        return (), tuple(one for one in passages if any(key in entity_key(one.text) for key in keys))[:1]

    async def next_query(self, state: BeamState) -> NextQuery:
        """Return the model's next query, or the clues if it gives none."""
        paths = "; ".join(sentence(self._graph, row) for row in self._triples(state.paths)) or _NOTHING
        prompt = messages("query/tog2_clue", question=self._question, clues=state.clues or _NOTHING, paths=paths)
        try:
            reply = await self._model.complete(self._request(CLUE, prompt))
        except ModelError as error:
            return NextQuery(state.clues, 1, failure_reason(error))
        query = asked_question(reply.text)
        return NextQuery(query, 1) if query else NextQuery(state.clues, 1, "the reply is empty")

    async def finish(self, state: BeamState) -> BeamVerdict:
        """Return the last verdict (ToG-2), or the model's answer from the paths and its own knowledge (ToG)."""
        if not self._own_answer:
            return state.verdict
        found = [path for path in state.paths if path.relations]
        facts = "\n".join(sentence(self._graph, row) for row in self._triples(found)) or _NOTHING
        prompt = messages(prompt_for(self._settings.task, "query/tog_answer"), question=self._statement, facts=facts)
        try:
            reply = await self._model.complete(self._request(ANSWER, prompt, explores=False))
        except ModelError as error:
            return BeamVerdict(False, calls=1, why=failure_reason(error))
        text = in_braces(reply.text)
        if is_unknown(text):
            why = "the model does not know" if reply.text.strip() else "the reply is empty"
            return BeamVerdict(False, calls=1, why=why)
        names = self._as_written(text, found)
        return BeamVerdict(False, text, names=names, calls=1, why="from the model's own knowledge")

    def _triples(self, paths: Sequence[BeamPath]) -> list[int]:
        rows = [row for path in paths for row in relations_to(path, path.entities[:_ENTITIES_SHOWN].tolist())]
        return list(dict.fromkeys(rows))[:_MOST_TRIPLES]

    def _as_written(self, answer: str, paths: Sequence[BeamPath]) -> tuple[str, ...]:
        """Return the names in an answer, in the graph's spelling if they are on the paths."""
        graph = self._graph
        rows = [row for path in paths for row in path.entities.tolist()]
        rows += [int(end) for row in self._triples(paths) for end in (graph.sources[row], graph.targets[row])]
        return names_as_written(graph, listed_names(answer), rows)

    def _entities(self, path: BeamPath) -> str:
        return ", ".join(spoken(self._graph.names[row]) for row in path.entities[:_ENTITIES_SHOWN].tolist())

    def _relation(self, relation: DirectedPredicate) -> str:
        words = predicate_words(self._graph.predicates[relation.predicate]) or "related to"
        return f"{words} ({'forward' if relation.outgoing else 'backward'})"

    async def _ask(
        self,
        step: str,
        prompt: tuple[Message, ...],
        form: type[Form],
        in_words: Callable[[str], Form | None],
        texts: Sequence[EvidenceText] = (),
    ) -> Form:
        return await ask_for(self._model, self._request(step, prompt, texts), form, in_words=in_words)

    async def _said(self, request: Request, read: Callable[[str], Said | None], reason: str) -> Said:
        """Return what is read of a reply in words, asked for once more where nothing can be read."""
        return await ask_in_words(self._model, request, read, reason)

    def _request(
        self, step: str, prompt: tuple[Message, ...], texts: Sequence[EvidenceText] = (), *, explores: bool = True
    ) -> Request:
        return Request(
            prompt,
            step,
            max_tokens=_MAX_TOKENS,
            temperature=_EXPLORE_TEMPERATURE if explores else _REASON_TEMPERATURE,
            sources=tuple(sorted({digest(text.passage.text) for text in texts if text.passage})),
        )


def _by_place(scored: Sequence[Scored], count: int) -> dict[int, float]:
    """Return scores on a scale from 0 to 1 by the place of their item; numbers out of range are dropped."""
    known = [item for item in scored if 1 <= item.number <= count]
    scores = on_unit_scale([item.score for item in known])
    return {item.number - 1: score for item, score in zip(known, scores, strict=True)}


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _considered(names: Sequence[str], kept: Sequence[int], why: str) -> tuple[Considered, ...]:
    return tuple(
        Considered(name, at in kept, why if at in kept or not kept else "not picked") for at, name in enumerate(names)
    )


def _failed(names: Sequence[str], error: ModelError, calls: int) -> Choice:
    reason = failure_reason(error)
    return Choice((), considered=_considered(names, (), reason), calls=calls, why=reason)


def _scored(text: str, offered: Sequence[str]) -> list[Scored]:
    return [Scored(number=place + 1, score=score) for place, score in read_scores(text, offered).items()]


def _relations(text: str, offered: Sequence[str]) -> RelationReply | None:
    scored = _scored(text, [line.partition(": ")[2] for line in offered]) or _scored(text, offered)
    return RelationReply(relations=scored) if scored else None


def _entities(text: str, offered: Sequence[str]) -> EntityReply | None:
    scored = _scored(text, offered)
    return EntityReply(entities=scored) if scored else None


def _pieces(text: str, count: int) -> TextReply | None:
    scored = _scored(text, [f"piece {number}" for number in range(1, count + 1)])
    return TextReply(pieces=scored) if scored else None


def _titled(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def on_unit_scale(scores: list[float]) -> list[float]:
    """Return scores on a scale from 0 to 1; scores up to 10 are divided by 10 if any is above 1.

    >>> on_unit_scale([8, 2]), on_unit_scale([0.8, 0.2])
    ([0.8, 0.2], [0.8, 0.2])
    """
    scale = 10.0 if max(scores, default=0.0) > 1 else 1.0
    return [min(1.0, max(0.0, score / scale)) for score in scores]
