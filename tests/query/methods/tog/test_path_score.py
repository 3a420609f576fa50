"""What a path scores: laws that hold whatever the constants are."""

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import BeamPath, RelationOption, discover, extend
from conspectus.query.methods.tog.path_score import PathScorer
from conspectus.query.methods.tog.policy_offline import open_offline_policy
from conspectus.query.question.topics import rows_of
from conspectus.query.walk.graph import open_graph
from conspectus.query.walk.question_predicates import Coverage

from tests.query.methods.tog.test_tog2 import ask


def opened(context: Context, question: str, topic: str) -> tuple[PathScorer, BeamPath, dict[str, RelationOption]]:
    graph = open_graph(context)
    rows, _ = rows_of(context, [topic])
    start = BeamPath(np.array(rows, np.int64))
    options = {graph.predicates[option.relation.predicate]: option for option in discover(graph, start)}
    return open_offline_policy(context, question, rows, consuming=True).scorer, start, options


def best(scorer: PathScorer, path: BeamPath, before: Coverage, option: RelationOption) -> float:
    (coverages,) = scorer.extend(path, [before], [option])
    return max(scorer.score(coverage, len(path.relations) + 1) for coverage in coverages)


def test_a_step_scores_what_it_matches(films_index: Context) -> None:
    scorer, start, options = opened(films_index, "who directed Grey Heron", "Grey Heron")
    scores = {name: best(scorer, start, scorer.question.nothing_matched(), option) for name, option in options.items()}
    assert max(scores, key=scores.__getitem__) == "directed_by"
    assert scores["directed_by"] > 0
    assert scores["release_year"] < 0, "it matches no word"


def test_every_further_step_costs(films_index: Context) -> None:
    scorer, start, options = opened(films_index, "what is directed by Ada Mirren", "Ada Mirren")
    (coverage, *_), *_ = scorer.extend(start, [scorer.start()], [options["directed_by"]])
    assert scorer.score(coverage, 1) > scorer.score(coverage, 2) > scorer.score(coverage, 3)


def test_nothing_that_goes_on_scores_more_than_the_bound(films_index: Context) -> None:
    scorer, start, options = opened(films_index, "where was the director of Grey Heron born", "Grey Heron")
    option = options["directed_by"]
    (first, *_), *_ = scorer.extend(start, [scorer.start()], [option])
    path = extend(start, option)
    bound = scorer.bound(first.cost, 1)
    for onward in discover(open_graph(films_index), path):
        (coverage, *_), *_ = scorer.extend(path, [first], [onward])
        end = extend(path, onward)
        assert scorer.answer_score(scorer.with_kind(coverage, onward.relation), end) <= bound + 1e-9


def test_a_topic_is_no_answer_beside_others(films_index: Context) -> None:
    answer = ask(films_index, question="Which films have the same director as Grey Heron?")
    assert answer.names
    assert "Grey Heron" not in answer.names
