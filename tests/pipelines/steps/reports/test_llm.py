import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from conspectus.pipelines.steps.reports.llm import StandIn, write_reports
from conspectus.pipelines.steps.reports.prompt import Elements, without
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.window import Window
from conspectus.prompts.language_model import Reply, Request
from conspectus.storage.hashing import short_id
from conspectus.storage.memo import Memo
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    Entity,
    Failure,
    Finding,
    Mention,
    Relation,
    Report,
    Span,
)
from conspectus.storage.settings import LlmSettings, ReportSettings
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeRequest, FakeServer, Faults, Recorded
from tests.tags import inside, prompt_of

CHUNKS = [
    Chunk("c1", "d", 0, 0, 60, "Ada met Bob in Paris. Cy came later; Ada left. Dee wrote it. ", 15),
    Chunk("c2", "d", 1, 60, 100, "Eve knew Fay. Gus knew Hal. Ida waited. ", 12),
]
NAMES = "Ada Bob Cy Dee Eve Fay Gus Hal".split()


def entity(name: str, degree: int = 1, description: str = "") -> Entity:
    return Entity(name.lower(), name, "PERSON", ("PERSON",), description or f"{name} is a person.", 1, degree)


def relation(source: str, target: str, description: str = "") -> Relation:
    text = description or f"{source} knows {target}."
    return Relation(f"{source}-{target}".lower(), source.lower(), target.lower(), "knows", text, 1.0, ("c1",))


def claim(subject: str, text: str, target: str | None = None) -> Claim:
    return Claim(text, subject.lower(), target, "EVENT", "TRUE", text, "1900", None, "c2", 60, 73)


def community(
    name: str, members: Sequence[str], relations: Sequence[str] = (), level: int = 0, parent: str | None = None
) -> Community:
    ids = tuple(sorted(each.lower() for each in members))
    return Community(name, level, parent, None, False, ids, tuple(relations), ("c1", "c2"), len(ids))


def model_of(server: FakeServer, memo: Memo | None = None, **settings: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, **settings), memo)


def written(
    communities: Sequence[Community],
    elements: Elements,
    model: Any,  # noqa: ANN401
    stand_in: StandIn | None = None,
    **settings: Any,  # noqa: ANN401
) -> tuple[list[Report], list[Failure]]:
    return asyncio.run(write_reports(communities, elements, model, ReportSettings(**settings), stand_in))


def records_of(prompt: str) -> str:
    return inside(prompt, "records")


def sent(request: Recorded) -> str:
    assert request.body is not None
    return records_of(prompt_of(request.body))


def answer(title: str = "A title", records: Sequence[str] = ("R1",), **changes: object) -> str:
    finding = {"summary": "They met.", "explanation": "It is told that they met.", "records": list(records)}
    whole = {"title": title, "summary": "On people.", "rating": 6.5, "rating_explanation": "Why not."}
    return json.dumps({**whole, "findings": [finding], **changes})


PEOPLE = [entity(name, degree) for name, degree in zip(NAMES, (3, 1, 2, 2, 1, 1, 1, 1), strict=True)]
TIES = [relation("Ada", "Cy"), relation("Ada", "Bob"), relation("Cy", "Dee"), relation("Ada", "Dee")]
MENTIONS = [
    Mention("m1", "c1", "ada", None, 0, 3, "exact", "Ada", ""),
    Mention("m2", "c1", "ada", None, 37, 40, "exact", "Ada", ""),
    Mention("m3", "c2", "eve", None, None, None, "chunk", "", ""),
    Mention("m4", "c1", None, "ada-bob", 0, 21, "exact", CHUNKS[0].text[:21], ""),
]
SMALL = community("small", ["Ada", "Bob", "Cy", "Dee"], [each.id for each in TIES])


def elements(claims: Sequence[Claim] = (), people: Sequence[Entity] = PEOPLE) -> Elements:
    return Elements(people, TIES, claims, MENTIONS, CHUNKS)


def test_what_a_prompt_shows() -> None:
    of = elements([claim("Ada", "Ada won."), claim("Eve", "Eve lost.", "bob")])
    with FakeServer(answer()) as server:
        ((report,), failures) = written([SMALL], of, model_of(server))
        (request,) = server.requests
        assert sent(request) == (
            "[E1] Ada (PERSON, 1 passage, 3 relationships): Ada is a person.\n"
            "[E2] Bob (PERSON, 1 passage, 1 relationship): Bob is a person.\n"
            "[E3] Cy (PERSON, 1 passage, 2 relationships): Cy is a person.\n"
            "[E4] Dee (PERSON, 1 passage, 2 relationships): Dee is a person.\n"
            "[R1] Ada -> Bob (knows): Ada knows Bob.\n"
            "[R2] Ada -> Cy (knows): Ada knows Cy.\n"
            "[R3] Ada -> Dee (knows): Ada knows Dee.\n"
            "[R4] Cy -> Dee (knows): Cy knows Dee.\n"
            "[C1] Ada (EVENT, TRUE, 1900): Ada won.\n"
            "[C2] Eve -> Bob (EVENT, TRUE, 1900): Eve lost."
        )
        assert failures == []
        assert report == Report(
            id=short_id("report", "small"),
            community_id="small",
            level=0,
            title="A title",
            summary="On people.",
            findings=(Finding("They met.", "It is told that they met.", (Span("d", "c1", 0, 21),)),),
            rating=6.5,
            full_text="# A title\n\nOn people.\n\n- They met: It is told that they met.",
            n_tokens=count_tokens(report.full_text),
            rating_explanation="Why not.",
        )
        assert request.body
        assert "The collection: about 2 passages, about 8 entities." in prompt_of(request.body)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_least_size_and_each_community_once(size: int) -> None:
    carried = Community("again", 1, "small", "small", False, *_members(SMALL))
    part = community("part", ["Ada", "Bob", "Cy", "Dee"], [each.id for each in TIES], 1, "whole")
    whole = community("whole", ["Ada", "Bob", "Cy", "Dee", "Eve"], [each.id for each in TIES])
    with FakeServer(answer()) as server:
        reports, _ = written([SMALL, carried], elements(), model_of(server), min_size=size)
        assert len(reports) == len(server.requests) == 1, "on the coarsest level small ones have reports, too"
        reports, _ = written([whole, part], elements(), model_of(server), min_size=size)
        assert len(reports) == 1 + (size < 5)


def test_on_the_coarsest_level_every_entity_is_shown_to_a_report() -> None:
    large, pair = (replace(each, chunk_ids=("c1",)) for each in (SMALL, community("pair", ["Fay", "Gus"])))
    alone = replace(community("alone", ["Eve"]), chunk_ids=("c2",))
    with FakeServer(lambda _: answer(records=["E1"])) as server:
        reports, failures = written([large, pair, alone], elements(), model_of(server), min_size=3)
        shown = " ".join(map(sent, server.requests))
        assert not [name for name in NAMES[:7] if f"{name} (PERSON" not in shown]
        assert len(server.requests) == 2, "a pair is told of where its passage is"
        assert {report.community_id for report in reports} == {"small", "alone"}
        assert failures == []


def test_a_graph_without_documents_has_reports_that_cite_no_place() -> None:
    brought = replace(SMALL, chunk_ids=())
    ties = [replace(tie, chunk_ids=()) for tie in TIES]
    with FakeServer(answer()) as server:
        of = Elements(PEOPLE, ties, [], [], [])
        assert written([brought], of, model_of(server)) == ([], []), "a graph may have very many communities"
        ((report,), failures) = written([brought], of, model_of(server), method="model")
        assert failures == []
        assert report.findings == (Finding("They met.", "It is told that they met.", ()),)


def _members(of: Community) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], int]:
    return of.entity_ids, of.relation_ids, of.chunk_ids, of.size


# A hierarchy: everything, divided into three parts; `ties` relations between the parts.
def hierarchy(sizes: Sequence[int], words: int = 30, cross: int = 1) -> tuple[list[Community], Elements]:
    people, ties, communities = [], [], []
    members: list[list[str]] = []
    for part, size in enumerate(sizes):
        names = [f"P{part}x{i}" for i in range(size)]
        members.append(names)
        people += [entity(name, 2, f"{name} " + "word " * words) for name in names]
        inside = [relation(first, second) for first, second in pairwise(names)]
        ties += inside
        communities.append(community(f"part{part}", names, [each.id for each in inside], 1, "root"))
    between = [relation(members[0][0], names[0]) for names in members[1:]][:cross]
    ties += between
    everyone = [name for names in members for name in names]
    communities.append(community("root", everyone, [each.id for each in ties]))
    return communities, Elements(people, ties, [], [], CHUNKS)


def of_part(request: FakeRequest) -> str:
    """Report on the part that the prompt is about, or on the whole."""
    parts = sorted(set(re.findall(r"P\dx", records_of(request.prompt))))
    reports = re.findall(r"Part P\d", records_of(request.prompt))
    title = f"Part {parts[0][:2]}" if len(parts) == 1 and not reports else "The whole"
    return answer(title, ["R1", "S1"] if reports else ["R1"])


def root_prompt(server: FakeServer) -> str:
    (found,) = [text for text in map(sent, server.requests) if len(set(re.findall(r"P(\d)", text))) > 1]
    return found


def test_the_largest_part_is_substituted_first_and_no_more_than_needed() -> None:
    communities, of = hierarchy([3, 5, 4])
    with FakeServer(of_part) as server:
        model = model_of(server)
        seen = []
        for most in (1000, 780, 450, 200):
            before = len(server.requests)
            written(communities, of, model, max_input_tokens=most)
            texts = [text for text in map(sent, server.requests[before:]) if "x" in text]
            text = max(texts, key=lambda each: len(set(re.findall(r"P(\d)", each))))
            assert count_tokens(text) <= most
            seen.append(
                (sorted(set(re.findall(r"Part P(\d)", text))), sorted(set(re.findall(r"\[E\d+\] P(\d)", text))))
            )
        assert seen[0] == ([], ["0", "1", "2"])
        assert seen[1] == (["1"], ["0", "2"])
        assert seen[2] == (["1", "2"], ["0"])
        assert seen[3] == (["0", "1", "2"], [])


def test_relations_between_parts_stay_when_the_parts_are_substituted() -> None:
    communities, of = hierarchy([4, 4], cross=1)
    with FakeServer(of_part) as server:
        reports, _ = written(communities, of, model_of(server), max_input_tokens=220)
        text = root_prompt(server)
        assert re.findall(r"^\[(\w+)\]", text, re.M) == ["S1", "S2", "R1"]
        assert "[R1] P0x0 -> P1x0 (knows)" in text
        assert "[S1] Part P0: On people.\n[S1.1] They met: It is told that they met.\n[S2]" in text
        assert len(reports) == 3


def test_a_claim_goes_with_its_subject() -> None:
    _, of = hierarchy([4, 4], cross=1)
    people = [each.id for each in of.entities]
    claims = Elements(
        [entity(each.upper().replace("X", "x")) for each in people],
        [],
        [claim("p0x1", "gone with part 0", "p1x1"), claim("p1x1", "stays with part 1")],
        [],
        CHUNKS,
    ).claims_of
    part0, whole = frozenset(each for each in people if each.startswith("p0")), frozenset(people)
    left = without([*claims["p0x1"], *claims["p1x1"]], part0, whole)
    assert {each.text.split(": ")[1] for each in left} == {"stays with part 1"}
    outside = without(claims["p0x1"], frozenset({"p1x1"}), frozenset({"p1x1", "p1x2"}))
    assert outside == [], "of what is inside, it belongs to its object"


def test_many_reports_are_shortened_before_any_is_left_out() -> None:
    communities, of = hierarchy([4] * 8, cross=0)
    with FakeServer(of_part) as server:
        written(communities, of, model_of(server), max_input_tokens=200)
        text = root_prompt(server)
        assert count_tokens(text) <= 200
        assert len(re.findall(r"^\[S\d\] ", text, re.M)) == 8
        whole = re.findall(r"^\[S(\d)\.1\] ", text, re.M)
        assert whole == [str(i + 1) for i in range(len(whole))]
        assert 0 < len(whole) < 8


def test_a_report_that_fails_leaves_its_parent_the_elements() -> None:
    communities, of = hierarchy([4, 5, 3], words=20)
    stand_in = Report("x", "part1", 1, "Extracted", "", (), 1.0, "", 0)
    faults = Faults(script={lambda_of_part(1): "500"})
    with FakeServer(of_part, faults=faults) as server:
        reports, failures = written(
            communities,
            of,
            model_of(server, attempts=1),
            lambda lost: stand_in if lost.id == "part1" else None,
            max_input_tokens=360,
        )
        assert {each.title for each in reports} == {"Extracted", "Part P0", "Part P2", "The whole"}
        (failure,) = failures
        assert (failure.stage, failure.item_id, failure.reason) == ("report", "part1", "the model gave no report")
        assert failure.detail.startswith("an extractive report stands in; ")
        text = root_prompt(server)
        assert "Extracted" not in text
        assert "[S1] Part P0" in text
        assert "P1x0 (PERSON" in text


def lambda_of_part(part: int) -> str:
    """Match prompts whose first record is an entity of the part: those of the part itself."""
    return rf"<records>\n\[E1\] P{part}x"


def test_citations_resolve_to_where_the_records_stand() -> None:
    def finding(name: str, *records: object) -> dict[str, object]:
        return {"summary": name, "explanation": f"{name} is explained.", "records": list(records)}

    findings = [
        finding("relation", "R1"),
        finding("entity", "E1"),
        finding("both", "e1", "[R1]"),
        finding("chunk of an entity", "E4"),
        finding("chunk of a relation", "R2"),
        finding("claim", "C1, R77"),
        finding("nothing"),
        finding("unknown", "E99", 3),
        finding("inline [R1]") | {"explanation": "It is so [C1; R2], and (E300) too (R1 and E1)."},
    ]
    people = community("some", ["Ada", "Bob", "Cy", "Eve"], ["ada-cy", "ada-bob"])
    with FakeServer(answer(findings=findings, title="On [E1] Ada", summary="All (R1, R2).")) as server:
        ((report,), failures) = written([people], elements([claim("Eve", "Eve knew.")]), model_of(server))
    ada_bob, ada_cy = Span("d", "c1", 0, 21), Span("d", "c1", 0, 60)
    ada_left = Span("d", "c1", 22, 46)
    eve = Span("d", "c2", 60, 73)
    assert {each.summary: each.citations for each in report.findings} == {
        "relation": (ada_bob,),
        "entity": (ada_bob, ada_left),
        "both": (ada_bob, ada_left),
        "chunk of an entity": (Span("d", "c2", 60, 100),),
        "chunk of a relation": (ada_cy,),
        "claim": (eve,),
        "inline": (ada_bob, ada_cy, eve, ada_left),
    }
    assert report.findings[-1].explanation == "It is so, and (E300) too."
    assert (report.title, report.summary) == ("On Ada", "All.")
    assert [(each.reason, each.detail) for each in failures] == [
        ("citations of no record", "R77, E99, 3"),
        ("finding without support", "nothing"),
        ("finding without support", "unknown"),
    ]


def test_a_cited_report_stands_where_its_findings_stand() -> None:
    communities, of = hierarchy([4, 4], cross=1)

    def reply(request: FakeRequest) -> str:
        whole = "[S1]" in request.prompt
        return answer("Whole", ["S2.1", "S9"]) if whole else of_part(request)

    with FakeServer(reply) as server:
        reports, failures = written(communities, of, model_of(server), max_input_tokens=220)
    (root,) = [each for each in reports if each.title == "Whole"]
    (part,) = [each for each in reports if each.title == "Part P1"]
    assert root.findings[0].citations == part.findings[0].citations == (Span("d", "c1", 0, 60),)
    assert [each.detail for each in failures] == ["S9"]


def test_a_report_without_any_support_is_none() -> None:
    with FakeServer(answer(records=["E99"])) as server:
        reports, failures = written([SMALL], elements(), model_of(server))
    assert reports == []
    assert [each.reason for each in failures] == [
        "citations of no record",
        "finding without support",
        "no finding of the report rests on a record",
    ]


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 60)), min_size=1, max_size=7),
    st.integers(16, 500),
    st.integers(0, 40),
)
def test_no_prompt_is_longer_than_allowed(parts: list[tuple[int, int]], most: int, long: int) -> None:
    communities, of = hierarchy([size for size, _ in parts], cross=9)
    people = [entity(each.name, each.degree, "北京 x1y " * parts[int(each.name[1])][1]) for each in of.entities]
    ends = [id_.upper().replace("X", "x").split("-") for id_ in communities[-1].relation_ids]
    ties = [relation(source, target) for source, target in ends]
    of = Elements(people, ties, [claim(people[0].name, "said " * long)] * 3, [], CHUNKS)
    model = Wordy()
    reports, _ = written(communities, of, model, max_input_tokens=most, min_size=2)
    for prompt in model.prompts:
        assert 0 < count_tokens(records_of(prompt)) <= most
    assert all(each.findings for each in reports)


class Wordy:
    """Reports whatever it is asked about, at length."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Reply:
        prompt = prompt_of(request)
        self.prompts.append(prompt)
        label = re.findall(r"^\[([ERCS][\d.]+)\]", records_of(prompt), re.M)
        length = len(prompt) % 50
        return Reply(answer("Wordy", label[:2], summary="so " * (length + 1)), "m", "stop", 1, 1)


class Babbling:
    """A model on a machine of two slots that writes a report by chance, after so many replies, or never."""

    def __init__(self, chance: int | None) -> None:
        self.calls = 0
        self.chance = chance

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        text = answer() if self.chance and self.calls % self.chance == 0 else "I like trains."
        await asyncio.sleep(0)
        return Reply(text, "babbling", "stop", 1, 1)

    def window(self, _step: str) -> Window:
        return Window(slots=2)


@pytest.mark.parametrize(("chance", "usable"), [(None, {0}), (7, {1}), (2, set(range(20, 41)))])
def test_a_model_that_cannot_write_reports_is_not_asked_for_all(chance: int | None, usable: set[int]) -> None:
    communities = [community(f"c{number}", ["Ada", "Bob", "Cy"], [TIES[0].id]) for number in range(40)]
    model = Babbling(chance)
    reports, failures = written(communities, elements(), model)
    assert len(reports) in usable
    assert 40 in usable or 10 <= model.calls <= 16
    assert len({each.item_id for each in failures}) == 40 - len(reports), "each loss is a row"
