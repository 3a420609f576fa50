"""ToG: a beam search over the graph in which relations are pruned, then the entities behind them.

Sun et al. 2024, "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph" (arXiv
2307.07697, section 2). The walk keeps W paths. Every round it

1. finds the relations at the end of each path, and prunes them (section 2.1.2, relation exploration);
2. finds the entities behind the W best relations, and prunes them (entity exploration);
3. keeps the W paths of highest score = score of the relation · score of the entity;
4. judges whether the paths suffice for an answer (section 2.1.3, reasoning), and otherwise continues, at most D rounds.

If they never suffice, the model answers from the paths and its own knowledge. With a model a walk takes at most W
relation prunings, W entity prunings and 1 reasoning a round, and 1 final answer: 2WD + D + 1 calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import CountedModel
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.methods.tog.beam import (
    BeamPath,
    BeamState,
    RelationOption,
    chain_to,
    discover,
    extend,
    path_label,
)
from conspectus.query.methods.tog.by_reading import answer_by_reading
from conspectus.query.methods.tog.evidence import beam_answer
from conspectus.query.methods.tog.pruning_llm import LlmBeamPolicy
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer
from conspectus.query.walk.decisions import WalkLog, log_choice, log_verdict
from conspectus.query.walk.graph import WalkGraph, open_walk_graph


class Tog(TopicMethod):
    """Answers from paths of the graph; with or without a language model."""

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        with assembling(question, self._name) as assembly:
            if self._model:
                return await self._with_model(self._model, assembly, given)
            return answer_by_reading(assembly, self._context, given)

    async def _with_model(self, model: LanguageModel, assembly: Assembly, given: Sequence[str] | None) -> Answer:
        context, settings, question = self._context, self._context.settings.tog, assembly.question
        counted = CountedModel(model)
        policy = LlmBeamPolicy(context, counted, question, combined=False, own_answer=True)
        topics = find_topics(context, question, given, most=max(settings.width, 3))
        assembly.add(topics.step)
        log = WalkLog()
        advance = partial(_advance, open_walk_graph(context), policy, log, settings.width)
        state = BeamState(question, policy.start(topics.rows))
        await beam_search(state, policy, log, rounds=settings.depth, advance=advance)
        counted.check(answered=bool(state.verdict.text))
        return beam_answer(assembly, context, state, log)


async def _advance(
    graph: WalkGraph, policy: LlmBeamPolicy, log: WalkLog, width: int, state: BeamState
) -> list[BeamPath]:
    """Return the W best extended paths of one round (steps 1 to 3)."""
    options = [discover(graph, path) for path in state.paths]
    choices = await policy.keep_relations(state, options)
    relations: list[tuple[float, BeamPath, RelationOption]] = []
    for path, offered, choice in zip(state.paths, options, choices, strict=True):
        log_choice(log, "relations", state.depth, path_label(graph, path), choice)
        scored = zip(choice.kept, choice.scores, strict=True)
        relations += [(score, path, offered[place]) for place, score in scored]
    found: list[tuple[float, BeamPath]] = []
    best = sorted(relations, key=lambda scored: -scored[0])[:width]
    reached = [policy.candidates(extend(path, option)) for _, path, option in best]
    asked = zip(best, reached, strict=True)
    kept = await gather_all(policy.keep_entities(path, candidates) for (_, path, _), candidates in asked)
    for (relation_score, path, _), candidates, choice in zip(best, reached, kept, strict=True):
        log_choice(log, "entities", state.depth, path_label(graph, path), choice)
        for place, entity_score in zip(choice.kept, choice.scores, strict=True):
            found.append((relation_score * entity_score, candidates[place]))
    return [path for _, path in sorted(found, key=lambda scored: -scored[0])[:width]]


async def beam_search(
    state: BeamState,
    policy: LlmBeamPolicy,
    log: WalkLog,
    *,
    rounds: int,
    advance: Callable[[BeamState], Awaitable[list[BeamPath]]],
    refocus: Callable[[BeamState], Awaitable[None]] | None = None,
    answer_in_last_round: bool = False,
) -> None:
    """Walk up to `rounds` steps; the state then has the verdict and the depth reached.

    Args:
        state: The initial state; updated in place.
        policy: Makes the decisions.
        log: Records every decision and the final paths.
        rounds: The maximum depth D.
        advance: One round of pruning; returns the W best extended paths and may set the texts of the state.
        refocus: Called between rounds to set the next query.
        answer_in_last_round: Whether the verdict of the last round is a best effort.
    """
    ended = ""
    for depth in range(1, rounds + 1) if state.paths else ():
        previous, state.depth, state.last = state.depth, depth, answer_in_last_round and depth == rounds
        paths = await advance(state)
        if not paths:
            state.depth, ended = previous, "nothing leads on"
            if answer_in_last_round and (state.texts or previous):  # a walk that ends early also gives its best effort
                state.last = True
                state.verdict = await policy.judge(state)
                log_verdict(log, "reasoning", state.depth, state.verdict, "the last step")
            break
        state.paths = paths
        state.verdict = await policy.judge(state)
        log_verdict(log, "reasoning", state.depth, state.verdict, f"{len(paths)} paths")
        if state.verdict.sufficient:
            break
        if refocus and depth < rounds:
            await refocus(state)
    log.chains += [chain_to(path, int(path.entities[0]), ended) for path in state.paths if path.relations]
    if not state.verdict.sufficient:
        final = await policy.finish(state)
        if final is not state.verdict:
            state.verdict = final
            log_verdict(log, "answer", state.depth, state.verdict)
