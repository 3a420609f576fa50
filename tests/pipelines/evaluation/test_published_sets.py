import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.published_sets import SuiteQuestion, brings_graphs, read_published
from conspectus.storage.errors import InputError


def asked(
    id_: str, text: str, answers: Sequence[str], entities: Sequence[str] = (), label: str = "", slot: str = ""
) -> SuiteQuestion:
    return SuiteQuestion(id_, text, tuple(answers), (), tuple(entities), label, slot=slot)


WEBQSP = {
    "Questions": [
        {
            "QuestionId": "WebQTest-1",
            "RawQuestion": "what is Heat?",
            "ProcessedQuestion": "what is heat",
            "Parses": [
                {
                    "TopicEntityName": "Heat",
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.01", "EntityName": "Film"},
                        {"AnswerType": "Value", "AnswerArgument": "1995", "EntityName": None},
                    ],
                },
                {"TopicEntityName": None, "Answers": []},
            ],
        }
    ]
}
CWQ = [{"ID": "c1", "question": "Who?", "answers": [{"answer": "Mann", "answer_id": "m.1", "aliases": ["M. Mann"]}]}]
QALD = {
    "questions": [
        {
            "id": "7",
            "question": [{"language": "de", "string": "Wer?"}, {"language": "en", "string": "Who?"}],
            "answers": [
                {
                    "head": {"vars": ["uri"]},
                    "results": {
                        "bindings": [{"uri": {"type": "uri", "value": "http://dbpedia.org/resource/Michael_Mann"}}]
                    },
                }
            ],
        },
        {"id": "8", "question": [{"language": "en", "string": "Is it?"}], "answers": [{"head": {}, "boolean": True}]},
    ]
}
ROG = {"id": "r", "question": "Who?", "answer": ["Mann"], "q_entity": ["Heat"], "graph": [["Heat", "by", "Mann"]]}
KILT = {"id": "k", "input": "Heat [SEP] director", "output": [{"answer": "Mann"}, {"provenance": []}]}
CREAK = {"ex_id": "t1", "sentence": "Heat is a film.", "label": "true", "entity": "Heat"}
FEVER = {"id": 75, "claim": "Heat is a film.", "label": "NOT ENOUGH INFO", "evidence": []}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("WebQSP.test.json", WEBQSP, [asked("WebQTest-1", "what is heat", ("Film", "1995"), ("Heat",))]),
        ("cwq.json", CWQ, [asked("c1", "Who?", ("Mann",))]),
        (
            "qald.json",
            QALD,
            [asked("7", "Who?", ("Michael_Mann",)), asked("8", "Is it?", (), label="true")],
        ),
    ],
)
def test_files_of_one_value(name: str, content: object, expected: list[SuiteQuestion], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content), "utf-8")
    assert read_published(path) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {**WEBQSP["Questions"][0], "topic_entity": {"m.0": "Heat (film)"}},
            asked("WebQTest-1", "what is heat", ("Film", "1995"), ("Heat (film)",)),
        ),
        (
            {"ID": "c1", "question": "Who?", "answer": "Mann", "qid_topic_entity": {"Q1": "Heat"}},
            asked("c1", "Who?", ("Mann",), ("Heat",)),
        ),
        (
            {"question": "Who?", "answer": {"Q5": "Mann", "Q6": "Pacino"}, "qid_topic_entity": {"Q1": "Heat"}},
            asked("1", "Who?", ("Mann", "Pacino"), ("Heat",)),
        ),
        (
            {
                "input": "Heat [SEP] director", "answer": "Mann", "template_questions": ["Who directed Heat?"],
                "qid_topic_entity": {"Q1": "Heat"},
            },
            asked("1", "Who directed Heat?", ("Mann",), ("Heat",), slot="Heat [SEP] director"),
        ),
        (
            {"sentence": "Heat is a film.", "label": "false", "qid_topic_entity": {"Q1": "Heat", "Q2": "film"}},
            asked("1", "Heat is a film.", (), ("Heat", "film"), "false"),
        ),
        (CREAK, asked("t1", "Heat is a film.", (), ("Heat",), "true")),
    ],
)  # fmt: skip
def test_lists_with_topics(row: dict[str, object], expected: SuiteQuestion, tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([row]), "utf-8")
    assert read_published(path) == [expected]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ROG, asked("r", "Who?", ("Mann",), ("Heat",))),
        (KILT, asked("k", "What is the director of Heat?", ("Mann",), ("Heat",), slot="Heat [SEP] director")),
        (
            {**KILT, "meta": {"template_questions": ["Who directed Heat?"]}},
            asked("k", "Who directed Heat?", ("Mann",), ("Heat",), slot="Heat [SEP] director"),
        ),
        (CREAK, asked("t1", "Heat is a film.", (), ("Heat",), "true")),
        (FEVER, asked("75", "Heat is a film.", (), (), "NOT ENOUGH INFO")),
    ],
)
def test_files_of_one_value_a_line(row: dict[str, object], expected: SuiteQuestion, tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n", "utf-8")
    assert read_published(path) == [expected, expected]
    assert brings_graphs(path) == ("graph" in row)


def test_metaqa(tmp_path: Path) -> None:
    path = tmp_path / "qa_test.txt"
    path.write_text("what is [Heat] about\tcrime|Los Angeles|crime\n\n", "utf-8")
    assert read_published(path) == [asked("qa_test-1", "what is Heat about", ("crime", "Los Angeles"), ("Heat",))]
    path.write_text("no topic\tcrime\n", "utf-8")
    with pytest.raises(InputError, match=r"qa_test\.txt:1: a question of MetaQA"):
        read_published(path)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", '{"x": 1}', "no question set that is known"),
        ("a.json", '[{"ID": 1}]', "question 1: not a question like the others: KeyError 'question'"),
        ("a.jsonl", json.dumps(CREAK) + "\n[]\n", r"a\.jsonl:2: not a question like the others"),
    ],
)
def test_what_is_wrong_is_named(name: str, content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=told):
        read_published(tmp_path / name)
