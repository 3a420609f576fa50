"""FastToG with communities told by a trained model."""

import json
from pathlib import Path

from conspectus.query.context import Context
from conspectus.query.methods.fasttog.local_search import CommunityCandidate
from conspectus.query.methods.fasttog.text import Graph2Text, join_statements, linearised, open_graph2text
from conspectus.query.walk.graph import open_graph

from tests.query.films import TRIPLES
from tests.query.graph_serving import prompts, served
from tests.query.methods.fasttog.test_fasttog import REASON, ask, rules
from tests.tiny_t5 import save_t5


class CountingWriter:
    """Writes how many triples there are."""

    def write(self, communities: object) -> list[str]:
        return ["" if len(each) == 1 else f"{len(each)} facts" for each in communities]  # type: ignore[attr-defined]


def test_a_community_is_one_statement(films_index: Context) -> None:
    graph = open_graph(films_index)
    some = [CommunityCandidate((1,), (), (0,), 0.0, (0,)), CommunityCandidate((1, 2), (1,), (0,), 0.0, (0,))]
    told = Graph2Text(graph, CountingWriter()).statements(some)
    assert told[0] == ()
    assert [(each.text, each.relations) for each in told[1]] == [("2 facts", (0, 1))]
    assert join_statements(told[1]) == "2 facts."


def test_prompts_hold_what_the_model_wrote_and_its_facts_can_be_cited(
    films_index: Context, memo: Path, tmp_path: Path
) -> None:
    save_t5(tmp_path, [linearised([each]) for each in TRIPLES])
    chosen = {"graph2text": str(tmp_path)}
    reason = json.dumps({"answer": "In Pelluci.", "names": ["Pelluci"], "facts": [1]})
    with served(films_index, memo, rules(start='{"picks": [1]}', reason=reason), fasttog=chosen) as (context, server):
        answer = ask(context, ["Grey Heron"])
        (asked,) = [each for each in prompts(server) if REASON in each]
    walk = answer.evidence.walk
    assert walk
    written = open_graph2text(str(tmp_path)).write([[("a", "b", "c")]])
    assert len(written) == 1
    assert "Grey Heron directed by" not in asked, "no triple is told by rule"
    if answer.triples:  # a model that has learned nothing may write nothing
        assert {each.relation_id for each in answer.triples} <= set(open_graph(context).relation_ids[:])
