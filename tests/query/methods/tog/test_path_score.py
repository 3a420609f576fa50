"""What a path is worth."""

from dataclasses import replace

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch, Option, discover, extend
from conspectus.query.methods.tog.path_score import Worth
from conspectus.query.methods.tog.policy_offline import open_decider
from conspectus.query.methods.tog.unmatched import Match
from conspectus.query.question.topics import rows_of
from conspectus.query.walk.graph import open_graph

from tests.query.methods.tog.test_tog2 import ask


def weighed(context: Context, question: str, topic: str) -> tuple[Worth, Branch, dict[tuple[str, bool], Option]]:
    graph = open_graph(context)
    rows, _ = rows_of(context, [topic])
    start = Branch(np.array(rows, np.int64))
    ways = {(graph.predicates[each.way.predicate], each.way.outgoing): each for each in discover(graph, start)}
    return open_decider(context, question, rows).weighed, start, ways


def nothing(worth: Worth) -> Match:
    count = len(worth.asked.words)
    return Match(np.zeros(count, bool), np.zeros(count))


def best(worth: Worth, branch: Branch, before: list[Match], option: Option) -> float:
    (matches,) = worth.steps(branch, before, [option])
    return max(worth.worth(each, (*branch.ways, option.way)) for each in matches)


def test_a_step_is_worth_what_it_matches(films_index: Context) -> None:
    worth, start, ways = weighed(films_index, "who directed Grey Heron", "Grey Heron")
    found = {said: best(worth, start, [nothing(worth)], option) for (said, _), option in ways.items()}
    assert max(found, key=found.__getitem__) == "directed_by"
    assert found["directed_by"] > 0.9
    assert found["release_year"] < 0, "it matches no word"


def test_a_word_that_another_predicate_says_better_is_held_against_a_step(films_index: Context) -> None:
    worth, start, ways = weighed(films_index, "who directed Grey Heron", "Grey Heron")
    option = ways["directed_by", True]
    sure = best(worth, start, [nothing(worth)], option)
    beside = np.array(worth.asked.beside)
    span = int(worth.asked.single[worth.asked.words.index("directed")])
    beside[span, option.way.predicate] = 0.8
    weak = replace(worth, asked=replace(worth.asked, beside=beside))
    (match, *_), *_ = weak.steps(start, [nothing(worth)], [option])
    assert match.held == pytest.approx(0.3 * 0.35 * 0.2, abs=1e-6), "a share of what a step without a word costs"
    assert best(weak, start, [nothing(worth)], option) == pytest.approx(sure - 0.2 - match.held)


def test_each_further_step_and_each_against_a_relation_costs(films_index: Context) -> None:
    worth, start, ways = weighed(films_index, "what is directed by Ada Mirren", "Ada Mirren")
    option = ways["directed_by", False]
    (match, *_), *_ = worth.steps(start, [nothing(worth)], [option])
    assert match.held == pytest.approx(0.12)
    assert worth.worth(match, (option.way,)) - worth.worth(match, (option.way,) * 3) == pytest.approx(0.08)


def test_nothing_that_goes_on_can_be_worth_more_than_the_bound(films_index: Context) -> None:
    worth, start, ways = weighed(films_index, "where was the director of Grey Heron born", "Grey Heron")
    option = ways["directed_by", True]
    (first, *_), *_ = worth.steps(start, [nothing(worth)], [option])
    onward = extend(start, option)
    graph = open_graph(films_index)
    bound = worth.bound(first.held, 1)
    for way in discover(graph, onward):
        (made, *_), *_ = worth.steps(onward, [first], [way])
        assert worth.ended(worth.with_kinds(made, way.way), (option.way, way.way)) <= bound + 1e-9


def test_what_is_asked_about_is_no_answer_beside_others(films_index: Context) -> None:
    rows, _ = rows_of(films_index, ["Grey Heron"])
    decider = open_decider(films_index, "which films share their director with Grey Heron", rows)
    answer = ask(films_index, question="Which films share their director with Grey Heron?")
    assert answer.names
    assert "Grey Heron" not in answer.names
    branch = Branch(np.array(sorted({*rows, *rows_of(films_index, ["Salt Pans"])[0]}), np.int64))
    assert decider._answers(branch)[0] == ("Salt Pans",)  # the beam itself keeps such a branch
    assert decider._answers(Branch(np.array(rows, np.int64)))[0] == ("Grey Heron",), "where it stands alone it answers"
