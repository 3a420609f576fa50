"""FastToG: reasoning on a knowledge graph community by community.

Liang and Gu 2025, "Fast Think-on-Graph: Wider, Deeper and Faster Reasoning of Large Language Model on Knowledge Graph",
algorithm 1. A walk grows W chains of communities from the subjects of the question:

1. Start: a local community search around every subject, a choice of W communities among all of their candidates, and a
   first reasoning.
2. Up to D rounds: every active chain, in order, is extended by one community that a local search around its last one
   finds; then one reasoning call over all chains gives the answer, or "unknown".
3. A chain ends if no candidate helps; a walk ends with an answer, or when all chains have ended.

The local community search is algorithm 2 (local_search.py), a model makes the choices and reasons
(`LlmCommunityPolicy`), without one the best reading of the question answers (`methods/tog/by_reading.py`). Differences
from the paper: the text of an ended chain remains evidence, and no question is asked twice about the same evidence.
With a model the calls are at most 1 for the subjects, 1 + W·D choices, 1 + D reasonings, and those of the fallback: WD
+ D + 3 + f.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.choose import numbered
from conspectus.prompts.replies.prose import ListReply
from conspectus.prompts.replies.structured import CountedModel, ask_for
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.local_search import (
    CommunityCandidate,
    CommunityChain,
    CommunitySearch,
    Members,
    Searched,
)
from conspectus.query.methods.fasttog.text import CommunityStatement, join_statements, open_community_text
from conspectus.query.methods.tog.by_reading import answer_by_reading
from conspectus.query.question.tasks import as_question, prompt_for
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer, Evidence, Step, Topics
from conspectus.query.types.trace import Chain, Considered, Hop
from conspectus.query.walk.decisions import Choice, Verdict, WalkLog, chosen, failure_reason, log_verdict
from conspectus.query.walk.graph import KnowledgeGraph, names_as_written, open_graph, predicate_vectors, spoken
from conspectus.query.walk.passages import unanswered
from conspectus.query.walk.provenance import answer_by_triples, open_grounds
from conspectus.query.walk.verdicts import AnswerReply, answer_from_facts
from conspectus.storage.errors import ModelError

SUBJECTS, PRUNE, REASON = "fasttog_subjects", "fasttog_prune", "fasttog_reason"
MAX_TOKENS = 1024
"""Maximum number of tokens in a reply."""
_PRUNE_TEMPERATURE, _REASONING_TEMPERATURE = 0.4, 0.1
"""Temperatures of choosing communities, and of answering (FastToG)."""


class SubjectReply(ListReply):
    """The subjects of a question."""

    subjects: list[str]


class LlmCommunityPolicy:
    """Asks a language model about one question.

    Every decision is one call, and one more if a reply cannot be used. BudgetReached ends the walk; any other
    failure ends the chain or the verdict, with the reason in the trace.
    """

    def __init__(self, context: Context, model: LanguageModel, question: str, subjects: Sequence[int]) -> None:
        self._context = context
        self._model = model
        self._graph = open_graph(context)
        self._task = context.settings.tog.task
        self._question = question
        self._subjects = tuple(subjects)
        self._text = open_community_text(self._graph, context.settings.fasttog)

    async def pick(
        self, chain: Sequence[CommunityCandidate], candidates: Sequence[CommunityCandidate], most: int
    ) -> Choice:
        """Return the model's choice among numbered texts; at the start the premise is the subjects."""
        shown = [*chain, *candidates]
        texts = [join_statements(statements) for statements in self._text.statements(shown)]
        rows = [row for candidate in shown for row in candidate.relations]
        own = texts[len(chain) :]
        given = {"question": as_question(self._task, self._question), "selections": numbered(own)}
        if chain:
            most, prompt = 1, messages("query/fasttog/step", premise=numbered(texts[: len(chain)]), **given)
        else:
            premise = self._in_words({node for candidate in candidates for node in candidate.origin})
            prompt = messages("query/fasttog/start", premise=premise, most=str(most), **given)
        return await chosen(self._model, self._request(PRUNE, prompt, rows), own, most=most)

    async def reason(self, chains: Sequence[CommunityChain]) -> Verdict:
        """Return the model's answer from all chains, including ended ones; every fact is numbered once."""
        facts: list[CommunityStatement] = []
        numbers: dict[str, int] = {}
        blocks: list[str] = []
        for number, chain in enumerate(chains, start=1):
            lines = [f"Chain {number}:"]
            for statements in self._text.statements(chain.steps):
                for statement in statements:
                    if statement.text not in numbers:
                        facts.append(statement)
                        numbers[statement.text] = len(facts)
                lines.append(f"- {' '.join(f'[{numbers[one.text]}] {join_statements([one])}' for one in statements)}")
            blocks.append("\n".join(lines))
        prompt = messages(
            prompt_for(self._task, "query/fasttog/reason"),
            question=self._question,
            subjects=self._in_words(self._subjects),
            chains="\n\n".join(blocks),
        )
        request = self._request(REASON, prompt, [row for fact in facts for row in fact.relations], explores=False)
        asked = self._question if self._task == "qa" else ""
        told = [fact.text for fact in facts]
        try:
            reply, cited, why = await answer_from_facts(self._model, request, AnswerReply, told, asked)
        except ModelError as error:
            return Verdict(False, why=failure_reason(error), calls=1)
        if why:
            return Verdict(False, why="the model says that the facts are not enough", calls=1)
        graph, rows = self._graph, {row for fact in facts for row in fact.relations}
        ends = {int(end) for row in rows for end in (graph.sources[row], graph.targets[row])}
        relations = tuple(dict.fromkeys(row for place in cited for row in facts[place].relations))
        why = "" if relations else "the model names no fact that it rests on"
        names = names_as_written(graph, reply.names, ends)
        return Verdict(True, reply.answer, names=names, relations=relations, calls=1, why=why)

    def _in_words(self, entities: Iterable[int]) -> str:
        return ", ".join(sorted(spoken(self._graph.names[row]) for row in entities))

    def _request(
        self, step: str, prompt: tuple[Message, ...], rows: Sequence[int], *, explores: bool = True
    ) -> Request:
        temperature = _PRUNE_TEMPERATURE if explores else _REASONING_TEMPERATURE
        sources = open_grounds(self._context).sources(rows)
        return Request(prompt, step, max_tokens=MAX_TOKENS, temperature=temperature, sources=sources)


async def name_subjects(context: Context, model: LanguageModel, question: str) -> tuple[list[str], str]:
    """Return the subjects that a model finds in a question, and the reason in brackets if it gave no usable reply."""
    prompt = messages("query/fasttog/subjects", question=as_question(context.settings.tog.task, question))
    request = Request(prompt, SUBJECTS, max_tokens=MAX_TOKENS, temperature=_REASONING_TEMPERATURE)
    try:
        return (await ask_for(model, request, SubjectReply)).subjects, ""
    except ModelError as error:
        return [], f" ({failure_reason(error)})"


@dataclass(slots=True)
class CommunityWalk:
    """One walk: W chains of communities, each grown from its last one (algorithm 1)."""

    search: CommunitySearch
    policy: LlmCommunityPolicy
    subjects: tuple[int, ...]
    log: WalkLog = field(default_factory=WalkLog)
    chains: list[CommunityChain] = field(default_factory=list)
    _visited: set[Members] = field(default_factory=set)

    async def run(self) -> Verdict:
        """Walk until the chains give an answer, all have ended, or D rounds are over."""
        self._visited = {(subject,) for subject in self.subjects}
        self.chains = await self._start(self.search.settings.width)
        verdict = Verdict(False, why="nothing was picked at the start")
        if self.chains:
            verdict = await self._reason(0)
        for depth in range(1, self.search.settings.max_depth + 1):
            alive = [(number, chain) for number, chain in enumerate(self.chains, 1) if not chain.ended]
            if verdict.sufficient or not alive:
                break
            stepped = [await self._step(depth, number, chain) for number, chain in alive]
            if any(stepped):
                verdict = await self._reason(depth)
        for chain in self.chains:
            hops = [hop for step in chain.steps for hop in hops_of(self.search.graph, step)]
            communities = (chain.steps[0].origin, *(step.nodes for step in chain.steps))
            self.log.chains.append(Chain(communities, tuple(hops), chain.ended))
        return verdict

    @property
    def depth(self) -> int:
        """The number of communities in the longest chain."""
        return max((len(chain.steps) for chain in self.chains), default=0)

    async def _start(self, width: int) -> list[CommunityChain]:
        found = [self.search.around((subject,), self._visited) for subject in self.subjects]
        pool = _pooled([candidate for searched in found for candidate in searched.kept])
        picked = await self.policy.pick((), pool, width) if pool else Choice((), why="no candidates")
        self._visited |= {pool[place].nodes for place in picked.kept}
        at = ", ".join(spoken(self.search.graph.names[subject]) for subject in self.subjects)
        self._log_pick(0, at or "the question", found, pool, picked)
        return [CommunityChain([pool[place]]) for place in picked.kept]

    async def _step(self, depth: int, number: int, chain: CommunityChain) -> bool:
        """Extend a chain by one community, or end it; return whether the evidence changed."""
        found = self.search.around(chain.steps[-1].nodes, self._visited)
        picked = Choice((), why="no candidates")
        if found.kept:
            picked = await self.policy.pick(chain.steps, found.kept, 1)
        self._log_pick(depth, f"chain {number}", [found], found.kept, picked)
        if not picked.kept:
            chain.ended = picked.why or "none of the candidates was picked"
            return False
        chain.steps.append(found.kept[picked.kept[0]])
        self._visited.add(chain.steps[-1].nodes)
        return True

    async def _reason(self, depth: int) -> Verdict:
        verdict = await self.policy.reason(self.chains)
        log_verdict(self.log, "reasoning", depth, verdict, f"{len(self.chains)} chains")
        return verdict

    def _log_pick(
        self, depth: int, at: str, found: Sequence[Searched], pool: Sequence[CommunityCandidate], picked: Choice
    ) -> None:
        """Log a choice and the candidates pruned by the search before it."""
        score_of = dict(zip(picked.kept, picked.scores, strict=False))
        considered = [
            Considered(
                self._label(candidate),
                place in picked.kept,
                "picked" if place in picked.kept else "not picked",
                score_of.get(place),
            )
            for place, candidate in enumerate(pool)
        ]
        considered += [
            Considered(
                self._label(candidate), False, f"coarse pruning: Q(c) {candidate.modularity:.3g}", candidate.modularity
            )
            for searched in found
            for candidate in searched.pruned
        ]
        outcome = (
            f"{sum(searched.n_nodes for searched in found)} entities in "
            f"{sum(searched.n_communities for searched in found)} communities; "
            f"{sum(searched.seen for searched in found)} visited before, "
            f"{sum(searched.apart for searched in found)} without an edge here, "
            f"{sum(len(searched.pruned) for searched in found)} pruned, {len(pool)} to choose from: "
            f"{len(picked.kept)} picked" + (f" ({picked.why})" if picked.why else "")
        )
        self.log.add("communities", depth, at, considered, outcome, picked.calls)

    def _label(self, candidate: CommunityCandidate) -> str:
        return ", ".join(spoken(self.search.graph.names[node]) for node in candidate.nodes)


def hops_of(graph: KnowledgeGraph, step: CommunityCandidate) -> list[Hop]:
    """Return the triples of a step; those to its origin are directed away from it."""
    found = []
    for row in step.bridges:
        source, target = int(graph.sources[row]), int(graph.targets[row])
        found.append(Hop(row, source, target, True) if target in step.nodes else Hop(row, target, source, False))
    return found + [Hop(row, int(graph.sources[row]), int(graph.targets[row]), True) for row in step.inside]


def _pooled(candidates: Sequence[CommunityCandidate]) -> list[CommunityCandidate]:
    """Return the candidates of all subjects, merged by their entities, with the edges to all subjects."""
    found: dict[Members, CommunityCandidate] = {}
    for candidate in candidates:
        first = found.get(candidate.nodes)
        bridges = (*first.bridges, *candidate.bridges) if first else candidate.bridges
        found[candidate.nodes] = replace(first or candidate, bridges=tuple(dict.fromkeys(bridges)))
    return list(found.values())


class FastToG(TopicMethod):
    """FastToG (Liang and Gu 2025, algorithm 1): answers from chains of communities."""

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        """Return the answer of a walk from the given subjects, or those that a model or the question reader finds."""
        with assembling(question, self._name) as assembly:
            if self._model is None:
                return answer_by_reading(assembly, self._context, given, "subjects")
            subjects = find_topics(self._context, question, given, step="subjects") if given is not None else None
            model = CountedModel(self._model)
            subjects = subjects or await self._named_subjects(assembly, model)
            subjects = subjects or find_topics(self._context, question, step="subjects")
            policy = LlmCommunityPolicy(self._context, model, question, subjects.rows)
            return await self._walk(assembly, subjects, policy, model)

    async def _named_subjects(self, assembly: Assembly, model: LanguageModel) -> Topics | None:
        """Return the subjects that the model names; None (and a step) if the graph has none of them."""
        names, failure = await name_subjects(self._context, model, assembly.question)
        found = find_topics(self._context, assembly.question, names, step="subjects")
        if failure or not names:
            assembly.step("subjects", f"the model names no subjects{failure}")
        elif found.rows:
            return Topics(found.rows, Step("subjects", f"by the model, {found.step.detail}"))
        else:
            assembly.step("subjects", f"by the model, {found.step.detail}")
        return None

    async def _walk(
        self,
        assembly: Assembly,
        subjects: Topics,
        policy: LlmCommunityPolicy,
        model: CountedModel,
    ) -> Answer:
        near = predicate_vectors(self._context) @ self._context.embedder.embed_query(assembly.question)
        search = CommunitySearch(open_graph(self._context), self._context.settings.fasttog, near)
        walk = CommunityWalk(search, policy, subjects.rows)
        verdict = await walk.run()
        assembly.add(subjects.step, *walk.log.steps())
        assembly.depth = walk.depth
        evidence = Evidence(walk=walk.log.trace())
        if verdict.sufficient:
            answer = answer_by_triples(
                assembly,
                self._context,
                verdict.text,
                verdict.relations,
                names=verdict.names,
                evidence=evidence,
                unproved=UNVERIFIED,
            )
        elif not self._context.settings.walk.own_knowledge:
            model.check(answered=False)
            lack = f" {verdict.why[:1].upper()}{verdict.why[1:]}." if verdict.why else ""
            nothing = unanswered(self._context, assembly.question)
            answer = assembly.assemble(f"{nothing}{lack}", evidence=evidence)
        else:
            from conspectus.query.menu import METHODS

            assembly.step("fallback", f"the chains give no answer ({verdict.why}): io, from no fact of the graph")
            own = await METHODS["io"].answerer(self._context).answer(assembly.question)
            answer = assembly.adopt(own, evidence)
            if own.names:  # from the model's memory, not from the graph
                answer = replace(answer, text=f"{own.text} {UNVERIFIED}")
        return answer
