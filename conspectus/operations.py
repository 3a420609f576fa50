"""Every operation on an index, once: the Python API, the command line, HTTP and the tools for agents are made from it.

An operation is a function. Its signature gives the names, types, limits and defaults of its parameters, and its
docstring what each means. Its first argument is a context of the documents that the caller may see.

The examples call the methods of `Index` that are made from these functions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Interval, Len
from conspectus.query.conversation.history import Conversation
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER, find_method, find_retriever
from conspectus.query.question.bounds import MOST_CHARACTERS, bound_steps, part_read
from conspectus.query.types import Answer, Evidence, TopicAnswerer
from conspectus.rows import (
    ConflictRow,
    Differences,
    Direction,
    DocumentRow,
    DocumentText,
    EntityDetail,
    EntityRow,
    KeyRow,
    MethodRow,
    Neighbour,
    Order,
    PassageRow,
    ReportDetail,
    ReportRow,
    Status,
    TimelineRow,
)
from conspectus.storage.errors import UsageError
from conspectus.storage.records import SKIP, Community, Correction, Failure

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.explain.types import Explanation
    from conspectus.storage.settings import Settings

QUESTIONS_AT_ONCE = 64
"""Number of questions that `retrieve_many` embeds, and sends to a model, together."""
MOST_PASSAGES = 100

Question = Annotated[str, Len(1, MOST_CHARACTERS)]
Method = Annotated[str, Len(0, 60)]
Name = Annotated[str, Len(0, 2_000)]
Count = Annotated[int, Interval(ge=1, le=MOST_PASSAGES)]


async def ask(
    context: "Context",
    question: Question,
    method: Method = DEFAULT_METHOD,
    history: Conversation | None = None,
    topics: Annotated[Sequence[Annotated[str, Len(0, 500)]], Len(0, 20)] = (),
) -> Answer:
    """Answer a question, citing the documents. Says so if they contain no answer.

    Args:
        question: the question, in any language that the index's encoder knows.
        method: a name of `methods`. auto chooses one and gives the reason in the answer's trace; global is for themes
            of the whole, ppr for facts over several passages, all for whole lists and counts, plan and tog2 for paths
            in the graph, bm25, dense and hybrid for plain search.
        history: the previous conversation. The question may then be a follow-up ("and who directed it?");
            `Answer.standalone` has the question as it was understood.
        topics: names of graph entities from which a walk starts, instead of those in the question.

    Returns:
        The answer: its text with marks like [1], the citations that the marks point to, the evidence, its cost, and
        a trace of the steps. `Answer.known` is false if nothing supports an answer.

    Raises:
        UnknownMethod: no method has that name; the message names the nearest one.
        UsageError: the question is empty; or `topics` are given for a method that does not walk, or together with
            `history`.
        NeedsModel: the method takes a model that the settings do not name.
        ModelError: the model's server gave no usable answer.
        BudgetReached: the next call could pass the budget of the settings.

    Example:
        >>> answer = index.ask("Who repaired the lighthouse lamp?", method="ppr")
        >>> [citation.title for citation in answer.citations][:1]
        ['lighthouse']
        >>> "Mara Quill" in answer.text
        True
    """
    from conspectus.query.citations.verification import answered, verified
    from conspectus.query.filter.documents import filter_steps

    _check(question)
    read, long = part_read(question), bound_steps(question)
    chosen = find_method(method, context.settings)
    answerer = chosen.answerer(context)
    if topics:
        if not isinstance(answerer, TopicAnswerer):
            raise UsageError(f"method {method!r} does not walk from topics; choose one that does, such as tog2")
        if history is not None:
            raise UsageError("topics cannot be combined with a conversation")
        answer = await answerer.answer_about(read, topics)
    else:
        if history is not None:
            from conspectus.query.conversation.follow_up import ShapedAnswerer

            answerer = ShapedAnswerer(context, answerer, history)
            answer = await answerer.answer(read)
        else:
            answer = await answered(context, read, chosen, answerer)
    answer = await verified(context, answer, None if topics else chosen)
    steps = filter_steps(context)
    evidence = replace(answer.evidence, trace=(*steps, *answer.evidence.trace))
    trace = (*steps, *long, *answer.trace)
    return replace(answer, question=question, narrowed=context.narrowed, evidence=evidence, trace=trace)


async def retrieve(
    context: "Context",
    question: Question,
    method: Method = DEFAULT_RETRIEVER,
    k: Count = 5,
    history: Conversation | None = None,
) -> Evidence:
    """Find the best passages for a question, without answering it.

    Args:
        question: the question.
        method: a method that finds passages.
        k: the number of passages, at least 1.
        history: the previous conversation, if the question may be a follow-up.

    Returns:
        At most `k` passages, best first, ties by chunk id. Scores compare passages of one call only.

    Raises:
        UnknownMethod: no method has that name.
        UsageError: a question is empty, `k` is below 1, or the method finds no passages.

    Example:
        >>> found = index.retrieve("lighthouse lamp", method="bm25", k=1)
        >>> found.passages[0].title
        'lighthouse'
    """
    return (await retrieve_many(context, [question], method, k, history))[0]


async def retrieve_many(
    context: "Context",
    questions: Sequence[str],
    method: str = DEFAULT_RETRIEVER,
    k: int = 5,
    history: Conversation | None = None,
) -> list[Evidence]:
    """Find the best passages for each of many questions.

    Faster than one question at a time: `QUESTIONS_AT_ONCE` questions are embedded together, and calls to a model
    run concurrently.

    Args:
        questions: the questions.
        method: a method that finds passages.
        k: the number of passages for each question, at least 1.
        history: the previous conversation, the same for each question.

    Returns:
        The result of `retrieve` for each question, in their order.

    Raises:
        UnknownMethod: no method has that name.
        UsageError: a question is empty, `k` is below 1, or the method finds no passages.

    Example:
        >>> found = index.retrieve_many(["lighthouse lamp", "harbour dredging"], method="bm25", k=1)
        >>> [evidence.passages[0].title for evidence in found]
        ['lighthouse', 'harbour']
    """
    from conspectus.prompts.client.event_loop import gather_all
    from conspectus.query.filter.documents import filter_steps

    if k < 1:
        raise UsageError(f"k is the number of passages, at least 1, not {k}")
    _check(*questions)
    retriever = find_retriever(method, context)
    if history is not None:
        from conspectus.query.conversation.follow_up import ShapedRetriever

        retriever = ShapedRetriever(context, retriever, history)
    found: list[Evidence] = []
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        batch = [part_read(question) for question in questions[start : start + QUESTIONS_AT_ONCE]]
        if len(batch) > 1:
            context.embedder.embed_queries(batch)  # cached until each question asks for its vector
        found += await gather_all(retriever.retrieve(question, k) for question in batch)
    return [
        replace(evidence, trace=(*filter_steps(context), *bound_steps(question), *evidence.trace))
        for question, evidence in zip(questions, found, strict=True)
    ]


async def explain(
    context: "Context",
    question: Question,
    method: Method = DEFAULT_RETRIEVER,
    k: Count = 5,
    *,
    passage: Count | None = None,
    chunk: Name | None = None,
    paths: Annotated[int, Interval(ge=1, le=50)] = 5,
) -> "Explanation":
    """Explain why a method ranks passages as it does: the graph paths, shared words and cosines behind each.

    Args:
        question: the question.
        method: ppr, ppr:hipporag1, ppr:hipporag2, bm25, dense or hybrid.
        k: the number of passages to explain.
        passage: explain only the passage of this rank, from 1.
        chunk: explain the chunk with this id, whether it was found or not.
        paths: the maximum number of paths shown for a passage.

    Returns:
        The explanation; `conspectus.render.drawings.explanation_svg` draws it.

    Raises:
        UsageError: the question is empty, the method cannot be explained, or no such passage exists.

    Example:
        >>> index.explain("lighthouse lamp", method="bm25", k=1).passages[0].passage.title
        'lighthouse'
    """
    from conspectus.query.explain.explain import explain as explained

    _check(question)
    found = await explained(context, part_read(question), method, k, passage=passage, chunk=chunk, paths=paths)
    return replace(found, question=question, trace=(*bound_steps(question), *found.trace))


def _check(*questions: str) -> None:
    if not all(question.strip() for question in questions):
        raise UsageError("the question is empty")


def status(context: "Context") -> Status:
    """Tell what an index contains: the numbers of documents, passages, entities and relations; models; corrections."""
    made, model = context.index.manifest, context.settings.llm.model or ""
    communities = context.index.arrow(Community, "same_as").column("same_as").null_count  # one can be on several levels
    rows = {**made.rows, "communities": communities}
    corrections = [] if context.narrowed else context.index.rows(Correction)
    return Status(made.version, made.format_version, rows, dict(made.models), model, corrections)


def methods(context: "Context") -> list[MethodRow]:
    """List the methods that can answer here, each with what it is for."""
    return runnable(context.settings)


def runnable(settings: "Settings") -> list[MethodRow]:
    """Return the methods that can run with these settings."""
    from conspectus.query import menu
    from conspectus.query.explain.explain import EXPLAINED

    return [
        MethodRow(each.name, each.about, each.needs_model, each.retrieves, each.name in EXPLAINED)
        for each in menu.methods().values()
        if each.missing(settings) is None
    ]


def documents(context: "Context", title: Name = "", sort: Order = "id") -> Sequence[DocumentRow]:
    """List the documents.

    Args:
        title: words of the title, the URI or the id.
        sort: id, title, date (of the metadata, the latest first) or size (the largest first).
    """
    from conspectus.documents import document_rows

    return document_rows(context, title, sort)


def document(
    context: "Context",
    document: Annotated[str, Len(0, 10_000)],
    start: Annotated[int, Ge(0)] = 0,
    end: Annotated[int | None, Ge(0)] = None,
) -> DocumentText:
    """Read characters of a document, at most 100,000.

    Args:
        document: its id (`document_id`), or else its URI or title.
        start: the first character.
        end: the end (exclusive).
    """
    from conspectus.documents import document_text

    return document_text(context, document, start, end)


def passages(context: "Context", chunk: Annotated[list[str], Len(1, 50)]) -> list[PassageRow]:
    """Read passages, in this order; unknown ids are skipped.

    Args:
        chunk: ids of passages (`chunk_id`).
    """
    from conspectus.documents import passage_rows

    return passage_rows(context, chunk)


def filters(context: "Context") -> list[KeyRow]:
    """List the keys of the documents' metadata that a filter (`where`) can use, most frequent first, with values."""
    from conspectus.documents import key_rows

    return key_rows(context)


def entities(context: "Context", name: Name = "") -> Sequence[EntityRow]:
    """List the entities of the graph: names, then nouns, most frequent first.

    Args:
        name: part of the name.
    """
    from conspectus.entities import entity_rows

    return entity_rows(context, name)


def entity(context: "Context", entity: Name, limit: Annotated[int, Interval(ge=1, le=1_000)] = 50) -> EntityDetail:
    """Describe an entity: the passages that name it, its relations, and entities that share passages with it.

    Args:
        entity: its id or name.
        limit: the maximum length of each list.
    """
    from conspectus.entities import entity_detail

    return entity_detail(context, entity, limit)


def neighbours(
    context: "Context", entity: Name, direction: Direction = "both", predicate: Name | None = None
) -> Sequence[Neighbour]:
    """List the relations of an entity and the entities at their other ends, the heaviest first.

    Args:
        entity: its id or name.
        direction: out of the entity, in to it, or both.
        predicate: only relations with this predicate.
    """
    from conspectus.entities import neighbours as found

    return found(context, entity, direction, predicate)


def timeline(context: "Context", entity: Name) -> Sequence[TimelineRow]:
    """List the dated facts about an entity, earliest first.

    Args:
        entity: its id or name.

    Example:
        >>> [row.when for row in index.timeline("Mara Quill")]
        []
    """
    from conspectus.timeline import timeline_rows

    return timeline_rows(context, entity)


def conflicts(context: "Context") -> Sequence[ConflictRow]:
    """List pairs of statements that cannot both hold, such as two births of one person, each with its source.

    Example:
        >>> index.conflicts()
        []
    """
    from conspectus.timeline import conflict_rows

    return conflict_rows(context)


def reports(context: "Context", level: Annotated[str, Len(0, 10)] | None = None) -> Sequence[ReportRow]:
    """List the reports on what the communities of the graph are about: the themes, best rated first on each level.

    Args:
        level: c0 (the coarsest), c1, ...; all levels if it is not given.

    Raises:
        UsageError: the hierarchy has no such level.

    Example:
        >>> all(report.title for report in index.reports("c0"))
        True
    """
    from conspectus.reports import report_rows

    return report_rows(context, level)


def report(context: "Context", community: Name) -> ReportDetail:
    """Read the report on one community: its findings with their citations.

    Args:
        community: the id of the community (`community_id`), or of its report.
    """
    from conspectus.reports import report_detail

    return report_detail(context, community)


def diff(context: "Context", before: Name = "", after: Name = "", limit: Count = 20) -> Differences:
    """Tell which documents, entities, relations, statements and communities came, went or changed between two versions.

    A statement is a place where a relation is stated, or a claim. A community has changed if its members are the same
    and its report is another.

    Args:
        before: the earlier version; by default the one published before. The beginning of its name suffices.
        after: the later version; by default the current one.
        limit: the maximum number of names for each kind of change.

    Raises:
        UsageError: there is no such version, or no earlier one.
    """
    from conspectus.versions import differences

    return differences(context, before, after, limit)


def failures(context: "Context") -> Sequence[Failure]:
    """List, with the reason, everything that could not be read, extracted or reported.

    Example:
        >>> index.failures()
        []
    """
    return [failure for failure in context.index.rows(Failure) if failure.stage != SKIP]
