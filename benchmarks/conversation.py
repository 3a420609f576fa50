"""Accuracy of question rewriting in conversations: follow-ups are resolved, standalone questions stay unchanged.

    python benchmarks/conversation.py SUITE [SUITE ...] [--method ppr] [--names 1,2,3] [--questions 60] [--answers]

First turns are the suite's own questions. A follow-up is about one of the documents that support the first question: a
template ("Who directed it?") for a fact that the document states, with the pronoun that the text uses for its subject.
Second follow-ups ask for the next such fact about the same document. Everything is answered without a model. Variants:
the follow-up alone, after the previous question, after all previous questions, rewritten by the conversation, and with
the name instead of the pronoun (the upper bound for rewriting). The output shows recall@5 of the document and, with
--answers, the share of answers that cite it. Documents that the first question names are distinguished from those that
only its answer can have introduced.

Then every question of the suite is asked after an unrelated turn, the question before it in the suite: the share left
unchanged, character by character, and recall@5 of its own supporting documents.
"""

import argparse
import asyncio
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus import Conversation, Index, build, load_settings
from conspectus.pipelines.evaluation.metrics import bootstrap, rank_documents, recall_at
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite, suite_index
from conspectus.query.conversation import focus
from conspectus.query.conversation.follow_up import shape
from conspectus.storage.records import Document
from conspectus.storage.text.normalise import title_names

K = 5
FORMS = (
    (r"\bdirected by\b", "Who directed {them}?", "it"),
    (r"\bborn\b", "When was {they} born?", "he she"),
    (r"\b(?:written|composed) by\b", "Who wrote {them}?", "it"),
    (r"\b(?:founded|established)\b", "When was {they} founded?", "it"),
    (r"\bpopulation\b", "What is {their} population?", "it"),
    (r"\blocated\b", "Where is {they} located?", "it"),
    (r"\bstar(?:s|red|ring)\b", "Who stars in {them}?", "it"),
    (r"\breleased\b", "When was {they} released?", "it"),
    (r"\bpublished\b", "When was {they} published?", "it"),
    (r"\bwon\b", "What did {they} win?", "it he she"),
)
"""For each fact: a pattern that states it, the question it answers, and the pronouns it allows. Fixed beforehand."""
PRONOUNS = {
    "it": {"they": "it", "them": "it", "their": "its"},
    "he": {"they": "he", "them": "him", "their": "his"},
    "she": {"they": "she", "them": "her", "their": "her"},
}


@dataclass(frozen=True)
class Asked:
    """A question with a pronoun, and the same question with the name."""

    text: str
    with_name: str


@dataclass(frozen=True)
class Case:
    """A first question, its follow-ups, and the document that they are about."""

    first: SuiteQuestion
    then: tuple[Asked, ...]
    document_id: str
    named: bool


def cases_of(suite: Suite, documents: dict[str, Document]) -> Iterator[Case]:
    """Yield for each supporting document of each question up to two questions about facts that its text states."""
    for question in suite.questions:
        for document_id in question.supporting:
            document = documents[document_id]
            name, pronoun = title_names(document.title)[-1], pronoun_of(document.text)
            told = {"they": name, "them": name, "their": f"{name}'s"}
            then = tuple(
                Asked(form.format(**PRONOUNS[pronoun]), form.format(**told))
                for pattern, form, of in FORMS
                if pronoun in of.split() and re.search(pattern, document.text, re.IGNORECASE)
            )
            if then:
                yield Case(question, then[:2], document_id, name.casefold() in question.question.casefold())


def pronoun_of(text: str) -> str:
    """Return the pronoun that a text uses most for its subject; "it" if it uses none."""
    forms = {"it": r"\b(?:it|its)\b", "he": r"\b(?:he|his|him)\b", "she": r"\b(?:she|her)\b"}
    return max(forms, key=lambda form: len(re.findall(forms[form], text, re.IGNORECASE)))


class Measured:
    """Values by condition: the recall of every question, and whether its answer cites the wanted document."""

    def __init__(self, index: Index, method: str, *, answers: bool) -> None:
        self._index = index
        self._method = method
        self._answers = answers
        self.recall: defaultdict[str, list[float]] = defaultdict(list)
        self.cited: defaultdict[str, list[float]] = defaultdict(list)

    async def ask(self, condition: str, question: str, wanted: Sequence[str]) -> float:
        """Ask one question under a condition and return its recall."""
        evidence = await self._index.aio.retrieve(question, self._method, 4 * K)
        ranked = rank_documents([passage.document_id for passage in evidence.passages])
        self.recall[condition].append(recall_at(K, ranked, wanted))
        if self._answers:
            answer = await self._index.aio.ask(question, self._method)
            cited = {citation.document_id for citation in answer.citations}
            self.cited[condition].append(len(cited & set(wanted)) / len(set(wanted)))
        return self.recall[condition][-1]

    def lines(self) -> Iterator[str]:
        """Yield one line per condition."""
        yield f"  {'asked':28}{f'recall@{K}':24}{'cited' if self._answers else ''}".rstrip()
        for condition, values in self.recall.items():
            cited = _interval(self.cited[condition]) if self._answers else ""
            yield f"  {condition:28}{_interval(values):24}{cited}".rstrip()


def _interval(values: Sequence[float]) -> str:
    made = bootstrap(values)
    return f"{made.mean:.3f} [{made.low:.3f}, {made.high:.3f}]"


class FirstTurns:
    """Conversations of one turn, each question asked once."""

    def __init__(self, index: Index, method: str) -> None:
        self._index = index
        self._method = method
        self._asked: dict[str, Conversation] = {}

    async def after(self, question: str) -> Conversation:
        """Return the conversation after this first question."""
        if question not in self._asked:
            answer = await self._index.aio.ask(question, self._method, history=Conversation())
            self._asked[question] = Conversation().after(answer)
        return self._asked[question]


async def shaped(index: Index, history: Conversation, question: str, names: Iterable[int]) -> dict[str, str]:
    """Return the rewritten question by the maximum number of names it may be given."""
    found = {}
    for count in names:
        focus.NAMES = count
        asked = await shape(index.context, history, question)
        found[f"shaped, names: {count}"] = asked.standalone
    return found


async def follow_ups(
    index: Index,
    method: str,
    cases: Iterable[Case],
    first: FirstTurns,
    measured: Measured,
    *,
    names: Iterable[int],
    second: bool,
    show: bool,
) -> Iterator[str]:
    """Ask first or second follow-ups and return the lines of the table."""
    count = 0
    for case in cases:
        history = await first.after(case.first.question)
        for turn in case.then[:1] if second else ():
            history = history.after(await index.aio.ask(turn.text, method, history=history))
        turns = [turn.question for turn in history.turns]
        asked = case.then[1 if second else 0]
        conditions = {
            "alone": asked.text,
            "behind the last question": f"{turns[-1]} {asked.text}",
            "behind all questions": " ".join((*turns, asked.text)),
            **await shaped(index, history, asked.text, names),
            "with the name": asked.with_name,
        }
        reached = {name: await measured.ask(name, text, [case.document_id]) for name, text in conditions.items()}
        count += 1
        if show:
            for name in (condition for condition in conditions if condition.startswith("shaped")):
                print(f"    {reached[name]:.0f} {conditions[name]}  <- {asked.with_name}")
    which = "second" if second else "first"
    return iter([f"{count} {which} follow-ups", *(measured.lines() if count else ())])


async def unrelated(
    index: Index, questions: Sequence[SuiteQuestion], first: FirstTurns, measured: Measured, *, show: bool
) -> Iterator[str]:
    """Ask every question after the one before it, and return the lines of the table."""
    untouched = 0
    for before, question in zip((questions[-1], *questions), questions, strict=False):
        history = await first.after(before.question)
        ours = (await shape(index.context, history, question.question)).standalone
        untouched += ours == question.question
        if show and ours != question.question:
            print(f"    touched: {ours}")
        conditions = {
            "alone": question.question,
            "behind the last question": f"{before.question} {question.question}",
            "shaped": ours,
        }
        for name, text in conditions.items():
            await measured.ask(name, text, question.supporting)
    head = f"{len(questions)} questions after an unrelated turn, {untouched} left untouched"
    return iter([head, *measured.lines()])


async def tables(suite: Suite, index: Index, method: str, *, names: Sequence[int], answers: bool, show: bool) -> None:
    """Print the tables of one suite."""
    first = FirstTurns(index, method)
    documents = {document.id: document for document in index.context.index.rows(Document)}
    cases = list(cases_of(suite, documents))
    for of, named in (("a document that the first question names", True), ("one that it does not name", False)):
        for second in (False, True):
            chosen = [case for case in cases if case.named == named and len(case.then) > second]
            measured = Measured(index, method, answers=answers)
            head, *rest = await follow_ups(
                index, method, chosen, first, measured, names=names, second=second, show=show
            )
            print(f"{suite.name}, {method}: {head} about {of}", *rest, sep="\n", flush=True)
    measured = Measured(index, method, answers=answers)
    head, *rest = await unrelated(index, suite.questions, first, measured, show=show)
    print(f"{suite.name}, {method}: {head}", *rest, sep="\n", flush=True)


def main() -> None:
    """Build the suites' indexes where needed and print the tables."""
    settings = load_settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", type=Path)
    parser.add_argument("--method", default="ppr")
    parser.add_argument("--names", default=str(focus.NAMES), help="numbers to compare, 1,2,3")
    parser.add_argument("--questions", type=int, default=0, help="how many of a suite's are used; 0: all")
    parser.add_argument("--answers", action="store_true", help="answer every question too")
    parser.add_argument("--show", action="store_true", help="print every follow-up as it was asked")
    options = parser.parse_args()
    for folder in options.suites:
        whole = read_suite(folder)
        count = min(options.questions or len(whole.questions), len(whole.questions))
        suite = replace(whole, questions=tuple(random.Random(7).sample(whole.questions, count)))
        index = build(suite.corpus, suite_index(suite, settings), settings)
        names = [int(part) for part in options.names.split(",")]
        work = tables(suite, index, options.method, names=names, answers=options.answers, show=options.show)
        asyncio.run(work)


if __name__ == "__main__":
    main()
