"""The decisions of ToG and ToG-2 by a language model, and the parsing of its replies.

Every decision is one call, plus one if a reply cannot be used. BudgetReached ends the walk. Any other failure is
recorded in the trace and the decision keeps nothing, except that topics fall back to the first ones, and texts to their
ranking by embedding.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages, prompt_text
from conspectus.prompts.replies.choose import choose, numbered
from conspectus.prompts.replies.structured import CountedModel, ask
from conspectus.query.abstention import is_unknown
from conspectus.query.answer_writing.own_words import told_anew
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import (
    CONTEXT_CHUNKS,
    BeamPath,
    BeamState,
    DirectedPredicate,
    EvidenceText,
    NextQuery,
    RankedTexts,
    RelationOption,
    relations_to,
    restrict,
)
from conspectus.query.methods.tog.evidence import NumberedEvidence, most_relevant, path_step, rank_texts, with_title
from conspectus.query.question.tasks import as_question, prompt_for
from conspectus.query.types import Passage
from conspectus.query.walk.decisions import Choice, Verdict, chosen, failure_reason, weighed
from conspectus.query.walk.graph import (
    is_id,
    names_as_written,
    near_predicates,
    open_walk_graph,
    predicate_words,
    spoken,
)
from conspectus.query.walk.verdicts import asked_question, in_braces, listed_names, read_reasoning
from conspectus.storage.errors import ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

TOPICS, RELATIONS, ENTITIES, SCORE, REASON, CLUE, ANSWER = (
    "tog_topics", "tog_relations", "tog_entities", "tog_score", "tog_reason", "tog_clue", "tog_answer",
)  # fmt: skip
_EXPLORE_TEMPERATURE, _REASON_TEMPERATURE = 0.4, 0.0
"""Temperatures of pruning and of reasoning (ToG, section 3.1)."""
_NOTHING = "(nothing yet)"
_FIRST_STEP = "(this is the first step)"
_MOST_TRIPLES = 20
"""Maximum triples of the paths shown for a verdict."""
_MOST_RELATIONS = 60
"""Maximum relations of an entity that are shown, those nearest to the question."""
_LEAST_SCORE = 1e-9
"""Minimum score of a helpful entity: above 0."""
_RELATION_THRESHOLD = 0.2
"""Relations with a lower score are dropped, as in ToG-2's code."""
_CANDIDATES = 50
"""Maximum entities behind one relation that are shown to the model."""
_MAX_TOKENS, _ENTITIES_SHOWN = 1024, 3
"""Maximum number of tokens in a reply, and of entities of a path in a prompt."""


_NO_VERDICT = "it has no verdict, or no answer"


class Reasoned(BaseModel):
    """The schema of a verdict; `read_reasoning` reads the reply."""

    reason: str
    sufficient: bool
    answer: str
    facts: list[int]


class LlmBeamPolicy:
    """Asks a language model about one question.

    Args:
        context: The open index.
        model: The model.
        question: The question, claim or slot (`tog.task`).
        combined: Whether one call prunes the relations of all paths (ToG-2, equation 3) or each has its own (ToG).
        own_answer: Whether an inconclusive walk ends with an answer from the paths and the model's knowledge (ToG).
    """

    def __init__(
        self, context: Context, model: LanguageModel, question: str, *, combined: bool, own_answer: bool
    ) -> None:
        self._context = context
        self._model = model if isinstance(model, CountedModel) else CountedModel(model)
        self._graph = open_walk_graph(context)
        self._settings = context.settings.tog
        self._statement = question
        self._question = as_question(context.settings.tog.task, question)
        self._combined = combined
        self._own_answer = own_answer and context.settings.walk.own_knowledge
        self._seen: dict[str, Passage] = {}

    async def keep_topics(self, rows: Sequence[int]) -> Choice:
        """Choose at most W topics in one call."""
        names = [spoken(self._graph.names[row]) for row in rows]
        width = self._settings.width
        if len(rows) == 1:
            return Choice((0,), considered=weighed(names, (0,), "the only one"))
        prompt = messages("query/tog2/topics", question=self._question, entities=numbered(names), most=str(width))
        choice = await chosen(self._model, self._request(TOPICS, prompt), names, most=width)
        if not choice.failed:
            return choice
        kept = tuple(range(len(rows)))[:width]
        why = f"{choice.why}: the first {len(kept)} are taken"
        return replace(choice, kept=kept, considered=weighed(names, kept, why), why=why)

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
        asked = zip(state.paths, options, strict=True)
        scored = await gather_all(self._score_relations(query, [path], [offered]) for path, offered in asked)
        return [choice for of_path in scored for choice in of_path]

    async def _score_relations(
        self, query: str, paths: Sequence[BeamPath], options: Sequence[Sequence[RelationOption]]
    ) -> list[Choice]:
        shown: list[tuple[int, int]] = []
        near = near_predicates(self._context, self._question)
        for number, offered in enumerate(options):
            nearest = np.argsort([-near[option.relation.predicate] for option in offered], kind="stable").tolist()
            shown += [(number, at) for at in sorted(nearest[:_MOST_RELATIONS])]
        if not shown:
            return [Choice((), why="there is no further relation") for _ in paths]
        short = [self._relation(options[number][at].relation) for number, at in shown]
        lines = [f"{self._entities(paths[number])}: {said}" for (number, _), said in zip(shown, short, strict=True)]
        drawn = [self._step(paths[number], options[number][at].relation) for number, at in shown]
        prompt = messages(
            "query/tog/relations",
            question=self._question,
            clue=query or _FIRST_STEP,
            relations=numbered(drawn),
            most=str(self._settings.width),
        )
        request = self._request(RELATIONS, prompt)
        choice = await chosen(self._model, request, short, lines, most=len(shown), least=_RELATION_THRESHOLD)
        score_of = dict(zip(choice.kept, choice.scores, strict=True))
        choices = []
        for number in range(len(paths)):
            own = [place for place, (of, _) in enumerate(shown) if of == number]
            kept = [place for place in choice.kept if place in own][: self._settings.width]
            considered = tuple(replace(choice.considered[place], kept=place in kept) for place in own)
            why = choice.why or ("" if kept else "the model finds none that helps")
            places, scores = tuple(shown[place][1] for place in kept), tuple(score_of[place] for place in kept)
            choices.append(Choice(places, scores, considered, 0 if number else choice.calls, why))
        return choices

    def candidates(self, reached: BeamPath) -> list[BeamPath]:
        """Return one candidate per entity; if there are many, the `_CANDIDATES` nearest to the question."""
        rows = most_relevant(self._context, self._question, reached.entities.tolist(), _CANDIDATES)
        return [restrict(reached, [row]) for row in rows]

    async def keep_entities(self, path: BeamPath, candidates: Sequence[BeamPath]) -> Choice:
        """Choose the entities behind one relation that the model scores highest."""
        names = [self._entities(candidate) for candidate in candidates]
        width = self._settings.width
        if len(names) == 1:
            return Choice((0,), (1.0,), weighed(names, (0,), "the only one"))
        if all(is_id(self._graph.names[row]) for candidate in candidates for row in candidate.entities.tolist()):
            kept = tuple(range(len(names)))[:width]  # unnamed connecting nodes mean nothing to a model (ToG's code)
            why = "an unnamed node, walked through"
            return Choice(kept, (1.0 / len(names),) * len(kept), weighed(names, kept, why))
        prompt = messages(
            "query/tog/entities",
            question=self._question,
            path=self._step(path, candidates[0].relations[-1]),
            entities=numbered(names),
            most=str(width),
        )
        return await chosen(self._model, self._request(ENTITIES, prompt), names, most=width, least=_LEAST_SCORE)

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
        most = 2 * CONTEXT_CHUNKS
        near = rank_texts(self._context, query, texts, "embedding")[:most]
        pieces = "\n\n".join(f"[{number}] {text.text}" for number, text in enumerate(near, start=1))
        prompt = messages("query/tog2/score", question=self._question, clue=state.query or _FIRST_STEP, pieces=pieces)
        before = self._model.calls
        try:
            pieces_of = [f"piece {number}" for number in range(1, len(near) + 1)]
            scores = await choose(self._model, self._request(SCORE, prompt, near), pieces_of)
        except ModelError as error:
            calls = self._model.calls - before
            return RankedTexts(near, calls, f"not scored by the model, ranked by embedding: {failure_reason(error)}")
        scored = [replace(text, score=scores.get(place, 0.0)) for place, text in enumerate(near)]
        why = "" if any(scores.values()) else "the model finds no text that helps"
        return RankedTexts(sorted(scored, key=lambda text: -text.score), self._model.calls - before, why)

    async def judge(self, state: BeamState) -> Verdict:
        """Judge from all paths, each with the texts it led to; if nothing is found yet, without a call.

        Texts of earlier rounds fill the remaining room within `CONTEXT_CHUNKS`.
        """
        shown = self._evidence(state)
        if not shown.items:
            return Verdict(False, clues=state.clues, why="nothing is found yet")
        values = {"question": self._statement, "known": state.clues or _NOTHING, "evidence": "\n".join(shown.lines)}
        task = self._settings.task
        if state.last:
            allowed = "knowledge" if self._context.settings.walk.own_knowledge else "evidence"
            values["allowed"] = prompt_text(f"query/tog2/from_{allowed}")
        prompt = messages(f"query/tog2/last_{task}" if state.last else f"query/tog2/{task}", **values)
        before = self._model.calls
        request = self._request(REASON, prompt, state.texts, explores=False)
        try:
            read = await ask(
                self._model, request, Reasoned, lambda reply: read_reasoning(reply.text, len(shown.items)), _NO_VERDICT
            )
        except ModelError as error:
            calls = self._model.calls - before
            return Verdict(False, clues=state.clues, calls=calls, why=failure_reason(error))
        text = told_anew(read.text, prompt, self._statement) if task == "qa" else read.text
        answered = (read.sufficient or state.last) and not is_unknown(text)
        names = self._as_written(text, state.paths) if answered else ()
        cited = [shown.items[number - 1] for number in read.numbers if 1 <= number <= len(shown.items)]
        relations = tuple(item for item in cited if isinstance(item, int))
        passages = tuple(item for item in cited if isinstance(item, Passage))
        if answered and not cited:
            shown_passages = [item for item in shown.items if isinstance(item, Passage)]
            relations, passages = self._behind(names, state.paths, shown_passages)
        return Verdict(
            read.sufficient and answered,
            text if answered else "",
            "" if read.sufficient else text,
            names,
            relations,
            passages,
            calls=self._model.calls - before,
            why="" if read.sufficient else "the model finds this insufficient",
            repeats=bool(read.text and not text),
        )

    def _evidence(self, state: BeamState) -> NumberedEvidence:
        """Return the paths, each with the texts that it led to, then all other texts; every item is numbered once."""
        shown = NumberedEvidence()
        texts = {text.passage.chunk_id: text.passage for text in state.texts if text.passage}
        room = max(0, CONTEXT_CHUNKS - len(texts))
        earlier = {id_: passage for id_, passage in self._seen.items() if id_ not in texts}
        texts |= dict(list(earlier.items())[:room])
        self._seen |= texts
        behind: dict[int, list[str]] = {}
        for text in state.texts:
            if text.passage:
                behind.setdefault(text.relation, []).append(text.passage.chunk_id)
        left = dict(texts)
        triples = set(self._triples(state.paths))
        for number, path in enumerate((path for path in state.paths if path.relations), start=1):
            rows = [row for row in relations_to(path, path.entities[:_ENTITIES_SHOWN].tolist()) if row in triples]
            shown.lines.append(f"Path {number}:")
            for row in rows:
                shown.number(row, path_step(self._graph, row))
            for id_ in dict.fromkeys(id_ for row in rows for id_ in behind.get(row, ())):
                if id_ in left:
                    passage = left.pop(id_)
                    shown.number(passage, with_title(passage))
        if left:
            shown.lines.append("Further texts:")
            for passage in left.values():
                shown.number(passage, with_title(passage))
        return shown

    def _behind(
        self, names: Sequence[str], paths: Sequence[BeamPath], passages: Sequence[Passage]
    ) -> tuple[tuple[int, ...], tuple[Passage, ...]]:
        """Return the support of an answer that cites nothing: paths to the names in it, else a passage with it."""
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
        paths = "\n".join(path_step(self._graph, row) for row in self._triples(state.paths))
        if not (state.clues or paths):
            return NextQuery("", why="nothing is found yet")
        prompt = messages(
            "query/tog2/clue", question=self._question, found=state.clues or _NOTHING, paths=paths or _NOTHING
        )
        try:
            reply = await self._model.complete(self._request(CLUE, prompt))
        except ModelError as error:
            return NextQuery(state.clues, 1, failure_reason(error))
        query = asked_question(reply.text)
        return NextQuery(query, 1) if query else NextQuery(state.clues, 1, "the reply is empty")

    async def finish(self, state: BeamState) -> Verdict:
        """Return the model's answer from the paths and its own knowledge (ToG), else its best effort.

        A walk that ended before its last round is judged once more, as the last.
        """
        if not self._own_answer:
            if state.last:
                return state.verdict
            state.last = True
            return await self.judge(state) if self._evidence(state).items else state.verdict
        found = [path for path in state.paths if path.relations]
        facts = "\n".join(path_step(self._graph, row) for row in self._triples(found)) or _NOTHING
        prompt = messages(prompt_for(self._settings.task, "query/tog/answer"), question=self._statement, facts=facts)
        try:
            reply = await self._model.complete(self._request(ANSWER, prompt, explores=False))
        except ModelError as error:
            return Verdict(False, calls=1, why=failure_reason(error))
        said = in_braces(reply.text)
        text = told_anew(said, prompt, self._statement) if self._settings.task == "qa" else said
        if is_unknown(text):
            why = "the model does not know" if reply.text.strip() else "the reply is empty"
            return Verdict(False, calls=1, why=why, repeats=bool(said and not text))
        names = self._as_written(text, found)
        return Verdict(False, text, names=names, calls=1, why="from the model's own knowledge")

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
        names = [self._graph.names[row] for row in path.entities[:_ENTITIES_SHOWN].tolist()]
        return ", ".join(name if is_id(name) else spoken(name) for name in names)

    def _step(self, path: BeamPath, relation: DirectedPredicate) -> str:
        """Return a relation as a fact with a gap: (Ada) -[born in]-> (?)."""
        words = predicate_words(self._graph.predicates[relation.predicate]) or "related to"
        here = self._entities(path)
        return f"({here}) -[{words}]-> (?)" if relation.outgoing else f"(?) -[{words}]-> ({here})"

    def _relation(self, relation: DirectedPredicate) -> str:
        words = predicate_words(self._graph.predicates[relation.predicate]) or "related to"
        return f"{words} ({'forward' if relation.outgoing else 'backward'})"

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
