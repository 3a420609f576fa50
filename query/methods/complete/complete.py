"""The method `all`: a set is read whole, and counted, added, compared or listed; nothing is ranked.

1. Sets (`sets`): tables, messages, documents, headings and names, as rows of columns.
2. Plan (`plan`): the question over each set, word by word; only one set may have a plan. A model, if there is one,
   makes it instead (`model_plan`); a plan that does not fit the sets is dropped for that of the words.
3. Computing (`conditions`): exact numbers over the rows that meet the conditions.
4. Answer: the result, of how many rows it is, and a citation for each row that is shown or counted, up to `_SHOWN`.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np
import regex
from conspectus.query.abstention import no_answer
from conspectus.query.answering import Assembly, ModelMethod, assembling
from conspectus.query.citations.numbered import Citations, documents_by_id
from conspectus.query.context import Context, remembered
from conspectus.query.methods.complete import sets
from conspectus.query.methods.complete.conditions import Group, NoPlan, Plan, Result, Unclear, compute
from conspectus.query.methods.complete.definitions import definitions
from conspectus.query.methods.complete.marks import tokens_of
from conspectus.query.methods.complete.model_plan import plan_by_model
from conspectus.query.methods.complete.plan import MOST_TOKENS, plan_for
from conspectus.query.methods.complete.question_words import LANGUAGES, keys_of, phrases, small_words, without_request
from conspectus.query.methods.complete.sets import DOCUMENT, SHEET, TITLE, Table
from conspectus.query.methods.complete.statements import statements
from conspectus.query.methods.complete.vocabulary import Vocabulary
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.question.kinds import kind_of
from conspectus.query.sayings import said
from conspectus.query.types import Answer
from conspectus.storage.arrays import Bools, Ints
from conspectus.storage.cancellation import check
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.records import Span
from conspectus.storage.text.language import language_of_question
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.words import base_form, stem

_SHOWN = 20
"""The most rows or values that an answer lists, and the most rows that it cites."""
_ALL_SHOWN = 30
"""The most rows or values that are all shown: nobody wants the first 20 of 24."""
_LONGEST_ROW = 240
"""Characters of a row that are shown and cited."""
_MOST_SETS = 50
"""Sets that a question is read over; of more, those with one of its words in their names or those of their columns."""
_OF_ONE = frozenset({"who", "when", "where", "why", "definition"})
"""Kinds of questions that a whole table does not answer."""
_MOST_UNASKED = 20_000  # passages; of more, sets are read for the method `all` only: it takes .2 ms a passage, once
_LEAST_ALIKE = 0.55  # cosine of "sold" and "sales": 27 of 32 such pairs have more, 2 of 25 others ("eaten", "harvest")
_MOST_NAMED = 3  # rows whose names are a short answer
_MOST_ADDENDS = 9  # of a sum that are shown


class Complete(ModelMethod):
    """Answers about whole sets."""

    async def answer(self, question: str) -> Answer:
        """Return what the plan of the question computes, or why there is no plan.

        Raises:
            ModelError: The model's server failed, and the words of the question have no plan either.
        """
        with assembling(question, self._name) as assembly:
            plan = await self._plan_by_model(assembly, question)
            return _declined(assembly, plan) if isinstance(plan, NoPlan) else self._answered(assembly, plan)

    async def _plan_by_model(self, assembly: Assembly, question: str) -> Plan | NoPlan:
        """Return the plan of the model; without one that can be run, which the trace tells, that of the words."""
        if self._model is None:
            return self.plan(question)
        index = self._context.index
        try:
            return await plan_by_model(self._model, question, (*sets.tables(index), sets.documents(index)))
        except (ModelError, Unclear) as error:
            assembly.step("plan", f"that of the model is not used: {error}")
            plan = self.plan(question)
            if isinstance(plan, NoPlan) and isinstance(error, ModelError) and not isinstance(error, BadAnswer):
                raise
            return plan

    def computed(self, question: str) -> Answer | None:
        """Return the answer if all words of the question name something of one set; a model is not asked.

        It may be that the number cannot be computed. Entities do not count: which names are those of people was only
        recognised. Neither do statements among which nothing is found, as other sentences may say it.
        """
        if self._context.index.manifest.rows["chunks"] > _MOST_UNASKED:
            return None
        plan = self.plan(question)
        with assembling(question, self._name) as assembly:
            if not isinstance(plan, NoPlan) and plan.operation == "list":
                kind, all_rows = kind_of(without_request(question)), not plan.conditions and plan.target is None
                subjects = all(plan.table.columns[each.column].name.startswith("…") for each in plan.conditions)
                if plan.table.kind == "statements" and (kind == "definition" or (kind == "who" and subjects)):
                    return None  # "Who is Ada?" asks who she is, not for the sentences that begin with her
                if plan.table.kind == "rows" and all_rows and kind in _OF_ONE:
                    return None  # "Who wrote the article?" does not ask for the rows of its table
            if isinstance(plan, NoPlan):
                declined = plan.matched and (plan.computes or (plan.beyond and self._only_tables()))
                return _declined(assembly, plan) if declined else None
            answer = None if plan.table.kind == "entities" else self._answered(assembly, plan)
        return answer if answer and (answer.known or plan.table.kind not in ("statements", "lines")) else None

    def plan(self, question: str) -> Plan | NoPlan:
        """Return the plan of a question over the only set that has one, or why there is none.

        A few words do not tell their language: the likeliest is tried first, then the others.
        """
        question = without_request(question)
        tokens = tokens_of(question)
        long = len(question) > 1_000 or len(tokens) > MOST_TOKENS or first_words(question, MOST_CLOSELY) != question
        if long or kind_of(question) in ("why", "how to", "yes or no"):
            return NoPlan("a question about a set is short, and does not ask why, how to or whether")
        likely, *others = _languages(question)
        found = self._plan_in(question, tokens, likely)
        for language in others:
            if isinstance(found, NoPlan):
                other = self._plan_in(question, tokens, language)
                found = other if isinstance(other, Plan) else found
        return found

    def _plan_in(self, question: str, tokens: Sequence[str], language: str) -> Plan | NoPlan:
        context, sets = self._context, self._sets(question, language)
        tried = [
            plan_for(tokens, table, _vocabulary(context, table, language), language, partial(self._is_about, table))
            for table in sets
        ]
        plans = [plan for plan in tried if isinstance(plan, Plan)]
        plans = [plan for plan in plans if plan.table.kind not in ("entities", "lines")] or plans
        refused = [plan for plan in tried if isinstance(plan, NoPlan)]
        if any(plan.matched for plan in refused):  # no line has what is asked of another set
            plans = [plan for plan in plans if plan.table.kind != "lines" or self._mentioning(plan, language).any()]
        if not plans:
            return max(refused, key=lambda plan: (plan.matched, plan.beyond), default=NoPlan("there is no such set"))
        most = max(plan.matched for plan in plans)
        plans = [plan for plan in plans if plan.matched == most]
        if len(plans) > 1:
            why = "several sets have what it asks for: " + "; ".join(_named(plan.table) for plan in plans)
            return NoPlan(why, most, all(plan.operation != "list" and plan.table.kind == "rows" for plan in plans))
        return plans[0]

    def _is_about(self, table: Table, verb: str) -> bool:
        """Return whether a verb means what a set is called, by an encoder that knows the language."""
        called = tuple(sorted({word for name in (*table.names, *table.above) for word in keys_of(name)}))
        return table.kind == "rows" and bool(called) and _is_alike(self._context, base_form(verb.casefold()), called)

    def _only_tables(self) -> bool:
        """Return whether all documents are tables, so that no other text answers."""
        index = self._context.index
        of_tables = {id_ for table in sets.tables(index) if table.kind == "rows" for id_ in table.documents}
        return len(of_tables) == index.manifest.rows["documents"]

    def _sets(self, question: str, language: str) -> Iterator[Table]:
        """Yield the sets that a question may mean: all in the documents, and those that its words name."""
        index = self._context.index
        spoken = f" {' '.join(keys_of(question))} "
        named = {
            role for phrase, roles in phrases(language).items() if f" {' '.join(phrase)} " in spoken for role in roles
        }
        tables = (*sets.tables(index), *statements(index))
        if len(tables) > _MOST_SETS:
            asked = set(map(stem, keys_of(question)))
            tables = tuple(table for table in tables if not asked.isdisjoint(sets.words_of_table(table)))[:_MOST_SETS]
        yield from tables
        for each in (sets.lines(index), definitions(index)):
            if len(each):
                yield each
        if "documents" in named:
            yield sets.documents(index)
        if "tasks" in named and len(sets.tasks(index)):
            yield sets.tasks(index)
        if "headings" in named:
            yield sets.headings(index)
        for role in named & {"people", "organisations", "places"}:
            yield sets.entities(index)[role]

    def _answered(self, assembly: Assembly, plan: Plan) -> Answer:
        language = _languages(assembly.question)[0]
        assembly.step("plan", _in_words(plan))
        result = compute(plan, self._mentioning(plan, language) if plan.mentions else None)
        assembly.step("rows", f"{len(result.rows)} of {len(plan.table)} {plan.table.kind}")
        assembly.over(len(result.rows), 0)
        writer = _Writer(self._context, plan, result, language)
        text = "\n".join(writer.lines())
        if not len(result.rows) and plan.operation != "count":
            return assembly.assemble(f"{no_answer(assembly.question)} ({text})")
        made, dropped = writer.citations.made(), writer.citations.dropped
        return assembly.assemble(text, citations=made, dropped_citations=dropped, span=writer.short, computed=True)

    def _mentioning(self, plan: Plan, language: str) -> Bools:
        """Return which rows of a plan have its words in their texts, in the same order, by their stems."""
        lexical, table = self._context.bm25, plan.table
        analysis = lexical.analysis
        owner_of = {id_: number for number, id_ in enumerate(table.documents)}
        found: Bools = np.ones(len(table), np.bool_)
        for phrase in plan.mentions:
            keys = word_keys(phrase)
            holding: set[int] | None = None
            for key in keys:
                terms = {analysis.stem(key, each) for each in (language, *analysis.known)}
                terms |= {*lexical.starting(key)} if _HANGUL.match(key) else set()  # with endings
                rows = {int(row) for term in terms for row in lexical.rows_with(term)}
                holding = rows if holding is None else holding & rows
            own: Bools = np.zeros(len(table), np.bool_)
            for row in sorted(holding or ()):
                check()
                chunk = self._context.chunks[row]
                if chunk.document_id in owner_of:
                    own[self._having(table, phrase, row, owner_of[chunk.document_id])] = True
            found &= own
        return found

    def _having(self, table: Table, phrase: str, chunk_row: int, owner: int) -> list[int]:
        """Return the rows of a document that have a phrase in the part of their text that a chunk has."""
        chunk, analysis = self._context.chunks[chunk_row], self._context.bm25.analysis
        wanted = f" {' '.join(analysis.stems(phrase, chunk_row))}{'' if _HANGUL.search(phrase) else ' '}"
        found = []
        for row in range(*np.searchsorted(table.owners, (owner, owner + 1)).tolist()):  # documents are in order
            start, end = int(table.starts[row]) - chunk.start, int(table.ends[row]) - chunk.start
            if wanted in f" {' '.join(analysis.stems(chunk.text[max(start, 0) : max(end, 0)], chunk_row))} ":
                found.append(row)
        return found


def _declined(assembly: Assembly, plan: NoPlan) -> Answer:
    assembly.step("plan", f"none: {plan.why}")
    return assembly.assemble(f"{no_answer(assembly.question)} ({plan.why})")


def _languages(question: str) -> list[str]:
    """Return the languages of a question: by how many of its words are function words or words of questions in each.

    Languages with less than half as many as the first are left out.
    """
    keys = set(keys_of(question))
    counts = {each: len(keys & _words_of_questions(each)) for each in LANGUAGES}
    counts["zh" if _KANA.search(question) else "ja"] = 0  # many characters are words of questions in both
    most = max(counts.values())
    first = language_of_question(question, tuple(each for each in LANGUAGES if counts[each] == most))
    return sorted(
        (each for each in LANGUAGES if 2 * counts[each] >= most), key=lambda each: (-counts[each], each != first)
    )


_HANGUL = regex.compile(r"\p{Hangul}")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")


@cache
def _words_of_questions(language: str) -> frozenset[str]:
    return small_words(language) | {key for phrase in phrases(language) for key in phrase}


@remembered(1_000)
def _is_alike(context: Context, verb: str, names: tuple[str, ...]) -> bool:
    embedder = context.embedder
    if embedder.embed_tokens([verb]) is None:  # it is of a server
        return False
    asked, *others = embedder.embed([verb, *names])
    return max(float(asked @ other) for other in others) >= _LEAST_ALIKE


@remembered(256)
def _vocabulary(_context: Context, table: Table, language: str) -> Vocabulary:
    return Vocabulary.of(table, language)


class _Writer:
    """Writes the answer."""

    def __init__(self, context: Context, plan: Plan, result: Result, language: str) -> None:
        self._plan = plan
        self._table = plan.table
        self._result = result
        self._language = language
        self._documents = documents_by_id(context)
        self.citations = Citations(context)
        self.short = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the answer."""
        plan, result = self._plan, self._result
        if plan.operation == "columns":
            names = ", ".join(column.name for column in self._table.columns)
            yield f"{len(self._table.columns)} {self._said('columns')}: {names}{self._marks(result.rows[:1])}"
        elif not len(result.rows):
            yield self._of_all()
        elif plan.group is not None:
            yield from self._groups()
        elif plan.operation == "list" and plan.target is not None:
            yield from self._values(plan.target)
        elif plan.operation in ("list", "max", "min"):
            yield from self._rows(result.groups[0])
        else:
            yield self._total(result.groups[0])

    def _total(self, group: Group) -> str:
        """Return the line of a number, with the numbers that are added if they are few."""
        number = self._number(group)
        places = [column for column in self._table.columns if column.name in (DOCUMENT, SHEET)]
        if self._table.kind != "lines" and (
            self._plan.operation != "sum" or all(len(np.unique(each.codes[group.rows])) == 1 for each in places)
        ):
            self.short = number
        marks = self._marks(group.rows)
        if self._plan.operation == "sum" and self._plan.measure is not None and 1 < len(group.rows) <= _MOST_ADDENDS:
            column = self._table.columns[self._plan.measure]
            cells = (
                f"{column.cells[column.codes[row]]}{self._marks(group.rows[[at]])}" for at, row in enumerate(group.rows)
            )
            number, marks = f"{number} = {' + '.join(cells)}", ""
        return f"{self._what()}: {number} ({self._of_all()}){marks}"

    def _said(self, key: str, *told: object) -> str:
        return said(key, self._language, *told)

    def _of_all(self) -> str:
        """Return how many rows of how many it is about, with the conditions, and what is left out."""
        plan, result = self._plan, self._result
        parts = [self._said("of all", len(result.rows), len(self._table), self._said(self._table.kind))]
        parts += [condition.said for condition in plan.conditions]
        parts += [f"“{phrase}”" for phrase in plan.mentions]
        if self._table.kind == "rows" and 1 < len(self._table.documents) < len(self._table):
            parts.append(f"{len(self._table.documents)} {self._said('documents')}")
        if result.without:
            parts.append(self._said("without a value", result.without))
        if self._table.left_out:
            parts.append(self._said("totals left out", self._table.left_out))
        if self._table.lost:
            parts.append(self._said("rows lost", self._table.lost))
        return "; ".join(parts)

    def _what(self) -> str:
        plan = self._plan
        if plan.operation != "count":
            return self._said(plan.operation, self._name(plan.measure))
        return self._said(self._table.kind if plan.target is None else "values", self._name(plan.target))

    def _name(self, column: int | None) -> str:
        return "" if column is None else self._table.columns[column].name

    def _number(self, group: Group) -> str:
        """Return the number of a group in the form of its column."""
        if group.number is None:
            return ""
        numbers = None if self._plan.measure is None else self._table.numbers[self._plan.measure]
        if numbers is None or self._plan.operation == "count":
            return str(group.number)
        places = numbers.places
        if self._plan.operation == "mean":
            places = max(places, min(2, -int(group.number.normalize().as_tuple().exponent)))
        text = numbers.written(group.number, places)
        if places and group.number != round(group.number, places):
            text = f"≈ {text}"
        return f"{text} {numbers.unit}" if numbers.unit else text

    def _groups(self) -> Iterator[str]:
        plan, result = self._plan, self._result
        assert plan.group is not None
        cells = self._table.columns[plan.group].cells
        shown = result.groups[: _shown(len(result.groups))]
        best = "; " + self._said("best of", plan.best, result.compared) if plan.best else ""
        if plan.best:
            self.short = " / ".join(cells[group.cell] for group in shown if group.cell is not None)
        yield f"{self._what()} / {self._name(plan.group)} ({self._of_all()}{best}):{self._first(len(result.groups))}"
        for group in shown:
            yield f"- {cells[group.cell or 0]}: {self._number(group)} ({len(group.rows)}){self._marks(group.rows[:1])}"

    def _first(self, count: int) -> str:
        return f" {self._said('first of', _SHOWN, count)}" if count > _shown(count) else ""

    def _values(self, column: int) -> Iterator[str]:
        codes = self._table.columns[column].codes
        rows = self._result.groups[0].rows
        values, firsts, uses = np.unique(codes[rows], return_index=True, return_counts=True)
        order = np.argsort(firsts)
        cells = self._table.columns[column].cells
        head = f"{len(values)} {self._said('values', self._name(column))}"
        yield f"{head} ({self._of_all()}):{self._first(len(values))}"
        for at in order[: _shown(len(order))]:
            yield f"- {cells[int(values[at])]} ({int(uses[at])}){self._marks(rows[[int(firsts[at])]])}"
        if len(values) == 1:
            self.short = cells[int(values[0])]

    def _rows(self, group: Group) -> Iterator[str]:
        plan = self._plan
        rows = group.rows
        if plan.measure is not None and len(rows):
            column = self._table.columns[plan.measure]
            values = dict.fromkeys(column.cells[code] for code in column.codes[rows].tolist() if code >= 0)
            if len(values) == 1:
                self.short = next(iter(values))
        head = f"{self._what()}: {self.short} ({self._of_all()})" if plan.operation != "list" else self._of_all()
        told = {plan.measure, *(condition.column for condition in plan.conditions)}
        if plan.subject is not None and plan.subject not in told and 0 < len(rows) <= _MOST_NAMED:
            named = self._table.columns[plan.subject]
            self.short = " / ".join(
                dict.fromkeys(named.cells[code] for code in named.codes[rows].tolist() if code >= 0)
            )
        yield f"{head}:{self._first(len(rows))}"
        for row in rows[: _shown(len(rows))].tolist():
            span = self._span(row)
            yield f"- {' '.join(self._text(row, span).split())}{self._marks(np.array([row]))}"

    def _span(self, row: int) -> Span:
        """Return the characters of a row: the beginning of a long text, the first line of a document."""
        id_ = self._table.documents[int(self._table.owners[row])]
        start, end = int(self._table.starts[row]), int(self._table.ends[row])
        text = self._documents[id_].text[start : min(end, start + _LONGEST_ROW)].rstrip()
        if self._table.kind in ("documents", "headings"):
            text = text.partition("\n")[0]
        elif end - start > _LONGEST_ROW:
            text = text.rpartition(" ")[0] or text
        return Span(id_, "", start, start + len(text))

    def _text(self, row: int, span: Span) -> str:
        """Return the text of a row; of a document and a name what it is called."""
        called = [column for column in self._table.columns if column.name == TITLE]
        if (
            self._table.kind in ("documents", "entities", "headings", "definitions")
            and called
            and called[0].codes[row] >= 0
        ):
            return str(called[0].cells[called[0].codes[row]])
        return self._documents[span.document_id].text[span.start : span.end]

    def _marks(self, rows: Ints) -> str:
        """Return the marks of citations of rows, of the first ones if there are many."""
        numbers = (self.citations.number(self._span(row)) for row in rows[:_SHOWN].tolist())
        return " " + "".join(f"[{number}]" for number in numbers if number)


def _shown(count: int) -> int:
    """Return how many of some rows or values are listed."""
    return count if count <= _ALL_SHOWN else _SHOWN


def _named(table: Table) -> str:
    return f"{', '.join(table.names[:3]) or table.kind} ({', '.join(column.name for column in table.columns[:9])})"


def _in_words(plan: Plan) -> str:
    """Return a plan for the trace."""
    parts: list[str] = [plan.operation]
    for what, column in (("of", plan.measure), ("of the values of", plan.target), ("per", plan.group)):
        parts += [what, plan.table.columns[column].name] if column is not None else []
    parts += ["in", _named(plan.table)]
    return " ".join([*parts, "where " + ", ".join(each.said for each in plan.conditions)] if plan.conditions else parts)
