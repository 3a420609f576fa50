"""The steps of the retrieval that need no index."""

import numpy as np
from conspectus.query.methods.gretriever.retrieval import relations_at_starts, without_names

from tests.query.methods.gretriever.test_textualise import made


def test_of_a_long_list_at_a_topic_only_some_fill_the_room() -> None:
    graph = made([(0, row, 1) for row in range(2, 32)] + [(32, 0, 2), (5, 33, 2)])
    distance = np.array([0] + [1] * 32 + [2])
    closeness = np.where(np.arange(32) < 30, 0.5, 0.1)
    room = relations_at_starts(graph, np.arange(32), closeness, distance)
    assert list(room) == [*range(10), 30]


def test_a_relation_from_a_topic_to_itself_or_to_another_topic_counts_once() -> None:
    graph = made([(0, 0, 1), (0, 1, 1), (2, 3, 1)])
    assert list(relations_at_starts(graph, np.arange(3), np.array([0.1, 0.2, 0.3]), np.array([0, 0, 1, 2]))) == [1, 0]
    assert relations_at_starts(graph, np.arange(0), np.zeros(0), np.array([0, 0, 1, 2])) == {}


def test_a_question_without_the_names_of_its_topics() -> None:
    assert without_names("Who is Bram Tolliver's sister?", ["Bram_Tolliver"]) == "Who is 's sister"
    assert without_names("法国的首都在哪里", ["法国"]) == "的 首 都 在 哪 里"
    assert without_names("Cuba", ["Cuba"]) == "Cuba"
    assert without_names("", ["Cuba"]) == ""
    assert without_names("what is it?", []) == "what is it?"
