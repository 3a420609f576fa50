"""A question becomes a plan over one set: conditions, an operation, and the columns that it takes.

Every word of the question is accounted for, or there is no plan: it is a word of an operation or a test (`words.txt`),
a column, a cell or the name of the set, a number or a date, or a word that changes nothing. So a question about
something that a table does not have is never answered with another total of it.

1. `marks`: what the words are, the longest phrases first.
2. `_conditions`: cells, and numbers and dates with the test before them.
3. `_operation`: what is counted, added, compared or listed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Literal

import regex
from conspectus.query.methods.complete.conditions import (
    TESTS,
    Condition,
    NoPlan,
    Operation,
    Plan,
    Test,
    Unclear,
    compute,
    merged,
    of_cells,
    of_days,
    of_numbers,
)
from conspectus.query.methods.complete.marks import BEST, Mark, Marker, is_unit, tests_first
from conspectus.query.methods.complete.question_words import (
    BEHIND,
    DECIMAL_COMMA,
    has_word,
    is_character,
    joined,
    keys_of,
    small_words,
    words_of,
)
from conspectus.query.methods.complete.sets import SENDER, TITLE, Table, yes_and_no
from conspectus.query.methods.complete.values import Days, day_of, number_in, unit_of, units_of
from conspectus.query.methods.complete.vocabulary import Vocabulary
from conspectus.query.question.kinds import kind_of
from conspectus.query.question.measures import measure_of
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.literals import Literal as DateOrNumber
from conspectus.storage.text.literals import parse_literal

MOST_TOKENS = 40
"""Words of a question that can have a plan."""
_LONGEST_CODE = 12
_CLOCK = regex.compile(r"(?<![\d.,])(?:[01]?\d|2[0-3]) [0-5]\d(?: [0-5]\d)?(?![\d.,])")
"""A time of day; its colons stand between words."""
_MANY_NAMES = 3
"""Cells of one column that are named by a question of which no later word has to be known: it asks for their rows."""
_SETS = frozenset(
    (
        *("rows", "readings", "documents", "messages", "headings", "columns", "tasks"),
        *("people", "organisations", "places", "thing"),
    )
)
"""Roles of words that mean a set."""
_ASKING = frozenset(("count", "list", "which"))
_UNSETTLED = frozenset(("unclear", "unsupported", "not", "often"))
"""Roles of words that have to belong to something."""
_PREPOSITIONS = frozenset(("since", "after", "before", "per"))
"""Roles of words that are other prepositions too: "desde", "nach", "voor", "by"."""
_NOUN_FIRST = frozenset(("zh", "ja", "ko", "tr"))
"""Languages in which "how many" may stand behind what is counted."""


def plan_for(
    tokens: Sequence[str],
    table: Table,
    vocabulary: Vocabulary,
    language: str,
    is_about: Callable[[str], bool] = lambda _: False,
) -> Plan | NoPlan:
    """Return the plan of a question over a set.

    Args:
        tokens: The words of the question, at most `MOST_TOKENS`.
        table: The set.
        vocabulary: Its names.
        language: The language of the question, one of `LANGUAGES`.
        is_about: Whether a verb that the set does not have says what its names do: "sold" of "Sales".
    """
    reading = _Reading(table, vocabulary, language, tokens, is_about)
    try:
        return reading.plan()
    except Unclear as unclear:
        matched = sum(mark.of_table for mark in reading.marks)
        return NoPlan(str(unclear), matched, reading.computes, reading.beyond)


def _form(code: str) -> str:
    """Return the form of a code of letters and digits, "" for anything else: Q3 and Q4 have the same."""
    mixed = (
        len(code) <= _LONGEST_CODE and regex.search(r"\d", code) and regex.search(r"\p{L}", code) and " " not in code
    )
    return regex.sub(r"\d", "9", regex.sub(r"\p{L}", "a", code)) if mixed else ""


class _Reading:
    """The reading of one question over one set."""

    def __init__(
        self,
        table: Table,
        vocabulary: Vocabulary,
        language: str,
        tokens: Sequence[str],
        is_about: Callable[[str], bool],
    ) -> None:
        self._table = table
        self._is_about = is_about
        self._language = language
        self._tokens = tokens
        self._plain = small_words(language) | small_words("en")
        self.marks = Marker(table, vocabulary, language, tokens).marks()
        self._roles = {role for mark in self.marks for role in mark.roles}
        self._used: set[int] = set()
        self.computes = False
        self.beyond = False

    # Conditions.

    def plan(self) -> Plan:
        """Return the plan; raises Unclear."""
        if "mention" in self._roles:
            return self._mentioning()
        if self._table.kind == "lines":
            return self._lines()
        conditions, mentioned, group = self._conditions()
        self.beyond = self._table.kind == "rows" and self._is_beyond(conditions, mentioned)
        self._check_words()
        asked = self._roles & {"sum", "mean", "count", *BEST}
        one = asked == {"sum"} and "how much" in self._roles  # of one thing, unless it says "in all"
        self.computes = self._table.kind != "statements" and bool(asked) and not one
        plan = self._operation(mentioned, group, conditions)
        own = bool(self._roles & self._own_sets() and self._table.kind != "statements")
        matched = own + sum(mark.of_table + mark.named for mark in self.marks)
        return replace(plan, matched=matched, subject=self._subject())

    def _is_beyond(self, conditions: Sequence[Condition], mentioned: Sequence[Mark]) -> bool:
        """Return whether no rows can answer, whatever other words mean: a total, a row or a cell that is not there."""
        if self._roles & {"sum", "mean"} and "how much" not in self._roles and mentioned and conditions:
            return True
        columns = self._table.columns
        of_texts = tuple(each for each in conditions if not self._table.numbers[each.column] and "≠" not in each.said)
        if len(of_texts) > 1 and not len(compute(Plan(self._table, "list", of_texts)).rows):
            return True
        known = {place for mark in self.marks for place in range(mark.first, mark.last)}
        codes = (form for at, token in enumerate(self._tokens) if at not in known and (form := _form(token)))
        shared = {
            _form(column.cells[0]) for column in columns if column.cells and len(set(map(_form, column.cells))) == 1
        }
        return bool(conditions or mentioned) and any(form in shared for form in codes)

    def _subject(self) -> int | None:
        """Return the column that "which kettle" asks for: that of the noun, or of the titles if it names the rows."""
        title = next((at for at, column in enumerate(self._table.columns) if column.name == TITLE), None)
        which = next((mark for mark in self.marks if "which" in mark.roles), None)
        if which is None:
            return None
        if title is None and kind_of(joined(self._tokens)) == "who":
            return self._names()
        own, last = self._own_sets(), which.last
        noun = next((each for each in self.marks if each.first >= last and (each.of_table or each.roles & own)), None)
        if noun is None or noun.column is None or noun.cells or yes_and_no(self._table.columns[noun.column]):
            return title
        # "Which has the longest cable?" does not ask for the cable.
        return noun.column if noun.first == last or self._tokens[which.first].casefold() != "which" else title

    def _names(self) -> int | None:
        """Return the first column of texts, which names the rows."""
        table = self._table
        texts = (at for at, column in enumerate(table.columns) if not table.numbers[at] and not table.days[at])
        return next(texts, None)

    def _conditions(self) -> tuple[tuple[Condition, ...], list[Mark], int | None]:
        """Return the conditions, the marks of columns that are none of them, and the column after "per"."""
        found: list[Condition] = []
        mentioned: list[Mark] = []
        group: int | None = None
        pending: list[Mark] = []
        waiting: list[Mark] = []  # the first value after "between"
        marks = tests_first(self.marks)
        for mark, after in zip_longest(marks, marks[1:]):
            near = [each for each in pending if not each.roles & {*BEST} or each.last == mark.first]
            roles = {role for each in near for role in each.roles}
            if mark.cells:
                found.append(of_cells(self._table, mark.column or 0, mark.cells, negated="not" in roles))
                self._used |= {each.first for each in near if "not" in each.roles}
            elif mark.is_value:
                counted = [after] if mark.number and after is not None and after.first == mark.last else []
                self._check_counted(mark, counted)
                behind = max((each.last for each in near), default=0)
                if mark.number and after is not None and after.first == behind and self._has_numbers(after):
                    counted = [after]  # "10'dan fazla kiralama"
                if "between" in roles and not waiting:
                    waiting.append(mark)
                    continue
                compared = [*mentioned, *(each for each in counted if each.column is not None)]
                found.append(self._of_values(roles, [*waiting, mark], compared))
                self._used |= {each.first for each in near if "not" not in each.roles}
                waiting = []
            elif mark.column is not None:
                answers = yes_and_no(self._table.columns[mark.column])
                of_cell = after is not None and bool(after.cells) and after.column == mark.column
                if answers and "per" not in roles:  # "with a filter", "no filter"
                    found.append(of_cells(self._table, mark.column, answers["not" in roles]))
                    self._used |= {each.first for each in near if "not" in each.roles}
                elif "per" in roles and not of_cell:  # "na stacji Lido" is no group
                    if group is not None:
                        raise Unclear("it asks for groups of groups")
                    group = mark.column
                    self._used |= {each.first for each in pending}
                else:
                    mentioned.append(mark)
            else:
                pending += [mark] if mark.roles & {*TESTS, "per", "not"} else []
                continue
            pending = []
        if waiting:
            raise Unclear("it gives one end of a range")
        return merged(self._table, found), self._without_qualifiers(mentioned), group

    def _check_counted(self, mark: Mark, counted: Sequence[Mark]) -> None:
        """Raise Unclear if a number counts what the next word names ("2 kettles", "5 July") and no column has it."""
        for each in counted:
            if (each.of_table and not self._has_numbers(each)) or each.month or each.roles & _SETS:
                raise Unclear(f"what {mark.number} counts, is not clear")

    def _has_numbers(self, mark: Mark) -> bool:
        """Return whether a mark is a column of numbers."""
        return mark.column is not None and not mark.cells and self._table.numbers[mark.column] is not None

    def _of_values(self, roles: set[str], marks: Sequence[Mark], mentioned: Sequence[Mark]) -> Condition:
        """Return the condition of a number or date, and of the test before it."""
        test = next((test for test in TESTS if test in roles), None)
        dated = [at for at, days in enumerate(self._table.days) if days]
        last = mentioned[-1].column if mentioned else None
        if test is None and mentioned and mentioned[-1].last == marks[0].first and self._has_numbers(mentioned[-1]):
            test = "exactly"  # "level 3"
        if marks[0].number and not self._is_year(marks[0], test, dated):
            if test is None or test in ("after", "since", "before"):
                raise Unclear(f"what {marks[0].number} is, is not said")
            usual = "," if self._language in DECIMAL_COMMA else "."
            wanted = [number for mark in marks if (number := number_in(mark.number, usual)) is not None]
            said = " – ".join(mark.number for mark in marks)
            return of_numbers(self._table, self._compared(marks[0], mentioned), test, wanted, said)
        column = last if last in dated else dated[0] if len(dated) == 1 else None
        if column is None:
            raise Unclear("no column of dates" if not dated else "several columns of dates")
        if last == column:
            self._used.add(mentioned[-1].first)
        return self._of_days(test or "exactly", marks, column)

    def _is_year(self, mark: Mark, test: Test | None, dated: Sequence[int]) -> bool:
        number = number_in(mark.number, ".")
        year = mark.number.isdigit() and number is not None and 1000 <= number <= 2100
        return bool(dated) and year and test in (None, "after", "since", "before", "between")

    def _compared(self, mark: Mark, mentioned: Sequence[Mark]) -> int:
        """Return the column that a number is compared with: the one named before it, or the only one of its unit."""
        numeric = self._measured()
        names, unit = [column.name for column in self._table.columns], unit_of(mark.number)
        units = list(map(units_of, names, self._table.numbers))
        if mentioned and mentioned[-1].column is not None and self._table.numbers[mentioned[-1].column]:
            self._used.add(mentioned[-1].first)
            numeric = [mentioned[-1].column]
        elif unit:
            numeric = [at for at in numeric if unit in units[at]] or numeric
        if len(numeric) != 1:
            raise Unclear(f"which column {mark.number} is compared with, is not said")
        if unit and units[numeric[0]] and unit not in units[numeric[0]]:
            raise Unclear(f"{mark.number} has another unit than {names[numeric[0]]}")
        return numeric[0]

    def _of_days(self, test: Test, marks: Sequence[Mark], column: int) -> Condition:
        said = " – ".join(joined(self._tokens[mark.first : mark.last]) for mark in marks)
        if marks[0].month:
            if test != "exactly":
                raise Unclear(f"the year of {marks[0].month} is not said")
            return of_days(self._table, column, test, [self._month(marks[0].month, column)], said)
        years = [parse_literal(mark.number) for mark in marks if mark.number]
        spans = [year.day for year in years if year and year.day] + [mark.days for mark in marks if mark.days]
        return of_days(self._table, column, test, [(int(first), int(last)) for first, last in spans], said)

    def _month(self, month: str, column: int) -> Days:
        """Return the days of a month of the only year that a column has."""
        years = {DateOrNumber("time", *own).date()[0] for own in self._table.days[column] or () if own}
        days = day_of(f"{month} {years.pop()}") if len(years) == 1 else None
        if days is None:
            raise Unclear(f"the year of {month} is not said")
        return days

    def _without_qualifiers(self, mentioned: Sequence[Mark]) -> list[Mark]:
        """Return the columns that are asked for: neither compared, nor named beside one of their cells."""
        beside = {(mark.column, place) for mark in self.marks if mark.cells for place in (mark.first, mark.last)}
        cells = {mark.column: mark.last for mark in reversed(self.marks) if mark.cells}
        return [
            mark
            for mark in mentioned
            if mark.first not in self._used
            and (mark.column, mark.last) not in beside
            and (mark.column, mark.first) not in beside
            and mark.first < cells.get(mark.column, len(self._tokens))  # "did Ada keep" of a keeper
        ]

    # The operation.

    def _check_words(self) -> None:
        """Raise Unclear if a word of the question is not accounted for."""
        known = {place for mark in self.marks for place in range(mark.first, mark.last)}
        known |= {self._thing_counted()}
        above = {stem_in_language(key, self._language) for text in self._table.above for key in keys_of(text)}
        first_name = next(mark.first for mark in self.marks if mark.cells) if self._names_many() else len(self._tokens)
        for place, token in enumerate(self._tokens[:first_name]):  # "the telephone numbers of Ada, Ben and Cleo"
            keys = keys_of(token) if place not in known else ()
            unknown = [
                key for key in keys if key not in self._plain and stem_in_language(key, self._language) not in above
            ]
            if unknown and not (self._is_verb(place) and self._is_about(token)):
                raise Unclear(f"what {joined([token])!r} is, is not known")
        nouns = [noun for mark, noun in pairwise(self.marks) if mark.roles & _ASKING and not noun.roles & _ASKING]
        for mark in self.marks:
            if mark.first in self._used or mark.of_table:
                continue
            other = mark.roles & _SETS and not mark.roles & self._own_sets()
            if other and not (mark.roles == {"documents"} and mark not in nouns):
                raise Unclear(f"it asks for other sets: {', '.join(sorted(mark.roles))}")
            words = joined(self._tokens[mark.first : mark.last])
            preposition = words.casefold() in self._plain and mark.roles & _PREPOSITIONS
            if mark.roles & _UNSETTLED or (mark.roles and mark.roles <= {*TESTS, "per", BEHIND} and not preposition):
                raise Unclear(f"what {words!r} means here, is not clear")

    def _is_verb(self, place: int) -> bool:
        """Return whether a word may be a verb: one behind an auxiliary verb, and not what is counted or chosen."""
        noun = any(mark.last == place and mark.roles & {*_ASKING, *BEST} for mark in self.marks)
        written = joined(self._tokens[place : place + 1])
        return not noun and written.islower() and any(map(self._is_auxiliary, range(place)))

    def _is_auxiliary(self, place: int) -> bool:
        return keys_of(self._tokens[place]) in words_of("auxiliary column", (self._language,))

    def _is_participle(self, mark: Mark) -> bool:
        """Return whether a mark is another form of its column's name right behind an auxiliary verb ("were rented")."""
        own = set(keys_of(self._table.columns[mark.column or 0].name))
        behind = mark.first > 0 and self._is_auxiliary(mark.first - 1)
        return behind and own.isdisjoint(keys_of(self._tokens[mark.first]))

    def _names_many(self) -> bool:
        """Return whether rows are asked for by so many names that no word behind them has to be known."""
        named = Counter(mark.column for mark in self.marks if mark.cells)
        measured = measure_of(joined(self._tokens)) is not None  # "how tall" has to be a column
        computed = self._roles & {"sum", "mean", "count", *BEST}
        return max(named.values(), default=0) >= _MANY_NAMES and not measured and not computed

    def _thing_counted(self) -> int:
        """Return the place of the noun after "how many", which statements need not say ("pupils" who "sing alto")."""
        if self._table.kind != "statements" or not any(mark.cells or mark.is_value for mark in self.marks):
            return -1
        count = next((mark.last for mark in self.marks if "count" in mark.roles), len(self._tokens))
        places = range(count, len(self._tokens))  # "how many of the pupils"
        return next((place for place in places if not self._plain.issuperset(keys_of(self._tokens[place]))), -1)

    def _own_sets(self) -> set[str]:
        """Return the roles of words that mean the rows of the set."""
        kind = self._table.kind
        own = {kind, "columns"} if kind == "rows" else {kind}
        own |= {"people", "thing"} if kind == "rows" and self._lists_people() else set()
        own |= {"readings"} if kind == "rows" and self._measured() else set()
        return own | ({"thing"} if kind == "statements" else {*self._table.names} if kind == "entities" else set())

    def _lists_people(self) -> bool:
        """Return whether each row is a person: the first column of texts is called so, and differs in all rows."""
        at = self._names()
        column = self._table.columns[at] if at is not None else None
        return column is not None and len(column.cells) == len(column.codes) and has_word(column.name, "person")

    def _measured(self) -> list[int]:
        """Return the columns of numbers that were read or measured: they are no names of things, such as years."""
        table = self._table
        return [at for at, each in enumerate(table.numbers) if each and not table.names_things[at]]

    def _mentioning(self) -> Plan:
        """Return the plan for the rows whose texts have the words of the question that are no words of questions."""
        found: list[list[str]] = [[]]
        spoken = {place for mark in self.marks if mark.roles for place in range(mark.first, mark.last)}
        parts = (mark for mark in self.marks if mark.roles & _SETS and mark.last - mark.first == 1)
        spoken -= {mark.first for mark in parts if is_character(keys_of(self._tokens[mark.first]))}  # 列 of 列车
        for place, token in enumerate(self._tokens):
            if place in spoken or (not found[-1] and not set(keys_of(token)) - self._plain):
                found += [[]] if found[-1] else []
            else:
                found[-1].append(token)
        while found[-1] and not set(keys_of(found[-1][-1])) - self._plain:
            found[-1].pop()
        phrases_ = tuple(joined(each) for each in found if each)
        if self._table.kind not in ("documents", "messages") or self._table.kind not in self._roles:
            raise Unclear("texts of other sets are not searched")
        if not phrases_ or self._roles & {*_UNSETTLED, *BEST, "or", "sum", "mean"}:
            raise Unclear("what is mentioned, is not clear")
        operation: Operation = "count" if "count" in self._roles else "list"
        return Plan(self._table, operation, mentions=phrases_, matched=len(phrases_))

    def _lines(self) -> Plan:
        """Return the plan that counts the lines with all words of the question that are no words of questions.

        A time of day lists those that have it.
        """
        spoken = {place for mark in self.marks if mark.roles for place in range(mark.first, mark.last)}
        left = [token for place, token in enumerate(self._tokens) if place not in spoken]
        wanted = tuple(token for token in left if set(keys_of(token)) - self._plain)
        counts, roles = not self._roles.isdisjoint(("count", "often")), self._roles - {"often"}
        if not counts and (clock := _CLOCK.search(joined(self._tokens))):
            return Plan(self._table, "list", mentions=(clock[0].replace(" ", ":"),), matched=1)
        if not counts or len(wanted) < 2 or roles & {*_UNSETTLED, *BEST, "sum", "mean"}:
            raise Unclear("which lines are counted, is not clear")
        return Plan(self._table, "count", mentions=wanted, matched=len(wanted))

    def _operation(self, mentioned: Sequence[Mark], group: int | None, conditions: tuple[Condition, ...]) -> Plan:
        table, roles = self._table, self._roles
        plan = Plan(table, "list", conditions, group=group)
        several = sum(bool(mark.cells) for mark in self.marks) > 1  # names: "rooms of Ada and Ben?"
        if table.kind == "statements" and not roles & _ASKING and not several:
            raise Unclear("what is asked of the statements, is not clear")
        by_name = any(mark.named for mark in self.marks)
        named = by_name or (bool(roles & self._own_sets()) and table.kind != "statements")
        numeric = set(self._measured())
        measures = list(dict.fromkeys(mark.column for mark in mentioned if mark.column in numeric))
        given = {each.column for each in conditions}  # "Who has the slot at 14:48?" does not ask for the slot
        nouns = (mark for mark in mentioned if not self._is_participle(mark))
        labels = list(dict.fromkeys(mark.column for mark in nouns if mark.column not in numeric | given))
        unused = [mark for mark in self.marks if mark.first not in self._used or mark.of_table]
        bests = list(dict.fromkeys(role for mark in unused for role in BEST if role in mark.roles))
        best = bests[0] if bests else ""
        if bests or "mean" in roles:  # "how much is the highest fee?"
            roles = {role for mark in self.marks if not {"how much", "sum"} <= mark.roles for role in mark.roles}
        told = [Mark(0, 0), *(mark for mark in self.marks if mark.roles != {"filler"})]
        counts = sum("count" in mark.roles and "count" not in before.roles for before, mark in pairwise(told))
        if len(bests) > 1 or counts > 1 or ("sum" in roles and "mean" in roles):
            raise Unclear("it asks for several things")
        if table.doubt and (best or roles & {"sum", "mean", "count"}):
            raise Unclear(table.doubt)
        if "columns" in roles and not mentioned and not conditions:
            return replace(plan, operation="columns")
        if "mean" in roles or ("sum" in roles and "count" not in roles):
            if labels and not measures:
                raise Unclear(f"the numbers of {table.columns[labels[0] or 0].name} are not clear")
            plan = replace(plan, operation="mean" if "mean" in roles else "sum", measure=self._only(measures, numeric))
            if labels and not best:
                raise Unclear(f"what {table.columns[labels[0] or 0].name} has to do with it, is not clear")
            return self._best_group(plan, best, labels) if best else self._added(plan)
        if best and "count" in roles and not measures:
            best = {"highest": "most", "lowest": "least"}.get(best, best)
        if best:
            return self._extreme(plan, best, measures, labels, numeric, named)
        if "count" in roles:
            return self._count(plan, measures, labels, named)
        if group is not None and measures:
            raise Unclear("what is computed of each group, is not said")
        if len(labels) + len(measures) > 1 and not conditions:
            raise Unclear("several columns are named")
        if labels and not measures and not (conditions and (named or (several and table.kind == "statements"))):
            by_row = bool(roles & self._own_sets() & {"people"})  # "everybody's slot" has the names beside it
            return replace(plan, target=labels[0]) if len(labels) == 1 and not by_row else plan
        columns = any(
            mark.column is not None and (not mark.cells or table.days[mark.column] is not None) for mark in self.marks
        )  # or what happened at a time
        if conditions and (
            columns or named or "list" in roles or table.kind in ("statements", "messages") or self._names_many()
        ):
            measures = [at for at in measures if at not in given]
            return replace(plan, measure=measures[0] if len(measures) == 1 else None)
        if (named and roles & {"list", "which"}) or (measures and "list" in roles):
            return plan
        raise Unclear("what is asked of the set, is not clear")

    def _only(self, measures: Sequence[int | None], numeric: set[int]) -> int:
        """Return the column that is computed with."""
        found = [at for at in measures if at is not None] or sorted(numeric)
        if len(found) != 1:
            raise Unclear("which column is meant, is not said")
        return found[0]

    def _added(self, plan: Plan) -> Plan:
        numbers = None if plan.measure is None else self._table.numbers[plan.measure]
        if plan.operation == "sum" and numbers and numbers.unit == "%":
            raise Unclear("shares are not added")
        return plan

    def _best_group(self, plan: Plan, best: str, labels: Sequence[int | None]) -> Plan:
        groups = [at for at in (*labels, plan.group) if at is not None]
        if len(groups) != 1 or best not in ("most", "least", "highest", "lowest"):
            raise Unclear("what is compared, is not clear")
        if any(each.column == groups[0] for each in plan.conditions):
            raise Unclear("what is compared, is a condition too")
        largest: Literal["max", "min"] = "max" if best in ("most", "highest") else "min"
        return self._added(replace(plan, group=groups[0], best=largest))

    def _extreme(
        self, plan: Plan, best: str, measures: Sequence[int | None], labels: Sequence[int | None], numeric: set[int],
        named: bool,
    ) -> Plan:  # fmt: skip
        """Return the plan of the highest, the latest or the cheapest row, or of the group with the most."""
        table = self._table
        operation: Operation = "max" if best in ("most", "highest", "latest", "dearest") else "min"
        if best in ("latest", "earliest"):
            dated = [at for at in labels if at is not None and table.days[at]]
            dated = dated or [at for at, days in enumerate(table.days) if days]
            if len(dated) != 1 or measures:
                raise Unclear("which column of dates is meant, is not said")
            return replace(plan, operation=operation, measure=dated[0])
        if best in ("dearest", "cheapest"):
            priced = [at for at in numeric if has_word(table.columns[at].name, "price")]
            priced = priced or [at for at in measures if at is not None][:1]  # "dearest at the weekend"
            if not set(priced).issuperset(measures):
                raise Unclear("what is asked of the dearest or cheapest, is another number")
            return replace(plan, operation=operation, measure=self._only(measures, set(priced)))
        if best in ("most", "least") and not measures:
            return self._most_rows(plan, best, labels, named=named)
        asked = next(mark for mark in self.marks if mark.roles & {*BEST})
        if not measures and any(mark.first >= asked.last and mark.column in labels for mark in self.marks):
            raise Unclear("which column is compared, is not said")
        plan = replace(plan, operation=operation, measure=self._only(measures, numeric))
        if best in ("most", "least") and len(labels) == 1 and labels[0] is not None:
            codes = table.columns[labels[0]].codes
            if len(codes) > len(table.columns[labels[0]].cells):
                return self._best_group(replace(plan, operation="sum"), best, labels)
        return plan

    def _most_rows(self, plan: Plan, best: str, labels: Sequence[int | None], *, named: bool) -> Plan:
        """Return the plan of the group with the most rows, or with the most cells of the column after "most"."""
        asked = [mark for mark in self.marks if mark.roles & {*BEST, "count"}][-1]
        after = next(
            (mark for mark in self.marks if mark.first >= asked.last and (mark.of_table or mark.roles & _SETS)), None
        )
        target = None if after is None else after.column
        groups = [label for label in labels if label != target]
        if self._table.kind == "messages" and not groups:
            groups = [at for at, column in enumerate(self._table.columns) if column.name == SENDER]
        if after is None or after.cells or (target is None and not named):
            raise Unclear("what is counted, is not clear")
        return self._best_group(replace(plan, operation="count", target=target), best, groups)

    def _count(self, plan: Plan, measures: Sequence[int | None], labels: Sequence[int | None], named: bool) -> Plan:
        """Return the plan of a number: of rows, of different cells, or a sum where the rows count already."""
        table = self._table
        count = next(mark for mark in self.marks if "count" in mark.roles)
        of_cell = self._language in _NOUN_FIRST or any(mark.first == count.last and mark.cells for mark in self.marks)
        if table.kind == "statements" and plan.conditions and not of_cell and not measures and len(labels) < 2:
            return replace(plan, operation="count", target=next(iter(labels), None))
        noun = next((mark for mark in self.marks if mark.first >= count.last and mark.of_table), None)
        if noun is None and self._language in _NOUN_FIRST:
            noun = next((mark for mark in reversed(self.marks) if mark.of_table), None)
        things = self._roles & self._own_sets()
        word = "" if noun is None else joined(self._tokens[noun.first : noun.last])
        if noun is not None and noun.cells and is_unit(word):  # "hours" of "hour of the day"
            raise Unclear(f"what {word!r} counts, is not clear")
        if noun and table.kind == "statements":
            follows = noun.first == count.last
            if follows and noun.column in measures and table.columns[noun.column or 0].name.endswith("…"):
                return replace(plan, operation="count", target=noun.column)  # "lockers", each with a number behind it
            if not noun.whole or (measures and not follows):
                raise Unclear("what is counted, is not clear")  # "attempts" of "fetch: attempts"
        if noun is None and not things:
            raise Unclear("what is counted, is not clear")
        of_readings = "readings" in things
        if noun is not None and not noun.named and (noun.cells or noun.column in measures) and not of_readings:
            if len(measures) == 1 and not labels:
                return self._added(replace(plan, operation="sum", measure=measures[0]))
            counted = [
                at for at, each in enumerate(table.numbers) if each and has_word(table.columns[at].name, "quantity")
            ]
            if not measures and len(counted) == 1 and not labels:
                return replace(plan, operation="sum", measure=counted[0])
            measured = [each for at in self._measured() if (each := table.numbers[at])]
            loose = [each for each in measured if not each.unit and not each.places]
            named = any(mark.named for mark in self.marks)
            if measures or counted or labels or (table.kind == "rows" and loose and (named or len(loose) > 1)):
                raise Unclear("what is counted, is not clear")
            return replace(plan, operation="count")
        if measures or len(labels) > 1 or (table.kind == "statements" and not things):
            raise Unclear("what is counted, is not clear")
        if labels and (labels[0] == plan.group or (named and (noun is None or noun.column != labels[0]))):
            raise Unclear("what is counted, is not clear")
        read = self._measured()
        measure = read[0] if of_readings and len(read) == 1 else None
        return replace(plan, operation="count", target=labels[0] if labels else None, measure=measure)
