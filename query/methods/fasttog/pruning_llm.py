"""FastToG's decisions by a language model: it chooses communities and reasons over the chains."""

from collections.abc import Iterable, Sequence

from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.choose import numbered
from conspectus.prompts.replies.prose import ListReply
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.local_search import CommunityCandidate, CommunityChain
from conspectus.query.methods.fasttog.text import CommunityStatement, join_statements, open_community_text
from conspectus.query.question.tasks import as_question, prompt_for
from conspectus.query.walk.decisions import Choice, Verdict, chosen, failure_reason
from conspectus.query.walk.graph import names_as_written, open_graph, spoken
from conspectus.query.walk.provenance import open_grounds
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
