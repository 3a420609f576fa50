"""Claims and slots put to every method with a scripted model: each is asked as what it is."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.evaluate import evaluate
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion
from conspectus.pipelines.runner import no_progress
from conspectus.query.context import Context

from benchmarks.fake_server import FakeRequest, Rule
from tests.pipelines.evaluation.published_sets import FEVER, ZERO_SHOT_RE, published
from tests.query.graph_serving import prompts, served
from tests.tags import inside

TRUTH = {
    "Grey Heron was directed by Ada Mirren.": "SUPPORTS",
    "Night Ferry was directed by Mary Quill.": "REFUTES",
    "Night Ferry was written by Otto Brand.": "REFUTES",
    "Salt Pans won a prize in 1975.": "NOT ENOUGH INFO",
    "Grey Heron [SEP] director": "Ada Mirren",
    "Mary Quill [SEP] place of birth": "Tarn",
}
WALKS = ["tog", "tog2", "fasttog", "kaping", "groups", "mixed"]
DIRECT = ["io", "cot", "cot_sc"]


def knowing(task: str) -> list[Rule]:
    """A model that knows the truth of what its last claim or slot is, and follows every lead."""

    def answer(request: FakeRequest) -> str:
        said = TRUTH[inside(request.last, task.removesuffix("s"))]
        if '"facts": [1]' in request.prompt:
            return json.dumps({"answer": said, "names": [] if task == "claims" else [said], "facts": [1]})
        if '"sufficient"' in request.prompt:
            return f"{{Yes}} {{{said}}} [1]"
        return f"{{{said}}}" if "in braces" in request.prompt else f"So the answer is: {said}"

    return [
        Rule('{"subjects": ["Grey Heron", "Night Ferry", "Salt Pans", "Mary Quill"]}', "You name the subjects"),
        Rule('{"picks": [1]}', "Choose the groups of facts from which"),
        Rule('{"answer": "A"}', "Choose the group to go to next"),
        Rule('{"1": "x"}', "You choose the entities of a knowledge graph"),
        Rule('{"relations": [{"number": 1, "score": 9}]}', "you choose the relations to follow"),
        Rule('{"entities": [{"number": 1, "score": 9}]}', "you choose the entities from"),
        Rule("What else?", "Write the question to look up next"),
        Rule(answer),
    ]


def measured(
    suite: Suite, films: Context, memo: Path, task: str, methods: list[str]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    with served(films, memo, knowing(task)) as (context, server):
        scores = evaluate(suite, context, methods, [5], no_progress)
        asked = prompts(server)
    assert all(each.failures == 0 for each in scores.values())
    return {
        name: {metric: value.mean for metric, value in each.metrics.items()} for name, each in scores.items()
    }, asked


def test_claims_are_checked_by_every_method(films: Context, tmp_path: Path) -> None:
    suite = published(tmp_path / "set", *FEVER)
    assert {each.task for each in suite.questions} == {"claims"}
    found, asked = measured(suite, films, tmp_path / "memo", "claims", [*WALKS, *DIRECT])
    assert {name: each["accuracy"] for name, each in found.items()} == dict.fromkeys([*WALKS, *DIRECT], 1.0)
    assert not any("hits@1" in each for each in found.values())
    for each in suite.questions:
        assert any(f"<question>\nIs this claim true? {each.question}" in prompt for prompt in asked), "what prunes"
    for prompt in asked:
        assert f"<question>\n{suite.questions[0].question}" not in prompt


def test_slots_are_filled_by_every_method(films: Context, tmp_path: Path) -> None:
    suite = published(tmp_path / "set", *ZERO_SHOT_RE)
    assert [(each.slot, each.question) for each in suite.questions] == [
        ("Grey Heron [SEP] director", "Who directed Grey Heron?"),
        ("Mary Quill [SEP] place of birth", "Where was Mary Quill born?"),
    ]
    found, asked = measured(suite, films, tmp_path / "memo", "slots", [*WALKS, *DIRECT])
    assert {name: each["hits@1"] for name, each in found.items()} == dict.fromkeys([*WALKS, *DIRECT], 1.0)
    for each in suite.questions:
        assert any(f"<question>\nWhat stands in this relation to this thing? {each.slot}" in one for one in asked)
    assert not any("Who directed Grey Heron?" in one for one in asked)


@pytest.mark.parametrize(
    ("asked", "said", "metric"),
    [
        (
            SuiteQuestion("c", "Eva Brandt wrote The Oak House.", (), (), label="SUPPORTS"),
            "SUPPORTS. She did [1].",
            "accuracy",
        ),
        (
            SuiteQuestion("s", "?", ("Eva Brandt",), (), slot="The Oak House [SEP] author"),
            "Eva Brandt [1]",
            "exact_match",
        ),
    ],
    ids=["claims", "slots"],
)
def test_passages_are_read_for_what_is_asked(
    asked: SuiteQuestion, said: str, metric: str, sample_context: Context, tmp_path: Path
) -> None:
    suite = Suite("documents", tmp_path, (asked,))
    with served(sample_context, tmp_path / "memo", [Rule(said)]) as (context, server):
        scores = evaluate(suite, context, ["dense"], [5], no_progress, answers=True)
        (prompt,) = prompts(server)
    assert inside(prompt, "slot" if asked.slot else "claim") == (asked.slot or asked.question)
    assert scores["dense"].metrics[metric].mean == 1.0
