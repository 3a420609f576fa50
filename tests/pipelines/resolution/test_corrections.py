"""Corrections: the file, what they change, and that an index is then what texts that say so give."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import conspectus
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.incremental import change_documents
from conspectus.pipelines.resolution.corrections import Rule, read_rules, rule_of, write_rule
from conspectus.query.question.topics import rows_of
from conspectus.storage.errors import SettingsError, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Claim, Correction, Entity, Mention, Merge, Relation
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus as run
from tests.graph_model import reply
from tests.pipelines.resolution.test_built import overrides

TEXTS = {
    "a.txt": "Sherlock Holmes met John Watson in Baker Street. He knew Holmes. Holmes smoked. He was tall.",
    "b.txt": "Anna Berg met Otto Brand in Port Alma. Mary Quill taught Anna Berg. Otto Brand left Port Alma.",
    "c.txt": "The god Mercury met Otto Brand. The planet Mercury orbits near Port Alma. Mercury rose.",
    "d.txt": "Anne Berk met Otto Brand in Port Alma. Mary Quill painted Anne Berk.",
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture(params=["rules", "model", "grammar"])
def how(request: pytest.FixtureRequest, server: FakeServer) -> dict[str, dict[str, object]]:
    """Settings with which the regex pipeline, a model, or the grammar of the usual pipeline extracts."""
    chosen = overrides(server)
    if request.param == "model":
        return {**chosen, "llm": {"model": "m", "base_url": server.url}}
    return {**chosen, "extraction": {}} if request.param == "grammar" else chosen


def built(
    place: Path, how: Mapping[str, Mapping[str, object]], corrections: str = "", texts: Mapping[str, str] = TEXTS
) -> StoredIndex:
    """Build an index of texts with corrections, and check it."""
    place.mkdir(parents=True, exist_ok=True)
    root = place / "index"
    build_index([], root, settings_of(place, how, corrections), texts=texts)
    index = StoredIndex.open(root)
    assert verify(index) == []
    return index


def settings_of(place: Path, how: Mapping[str, Mapping[str, object]], corrections: str) -> Settings:
    file = place / "corrections.yaml"
    file.write_text(corrections, "utf-8")
    return load_settings(overrides={**how, "build": {"corrections": str(file)}})


Plain = Callable[..., StoredIndex]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """Return the index of texts without corrections; it is made once for each way of extracting, and only read."""
    made: dict[str, StoredIndex] = {}

    def of(how: Mapping[str, Mapping[str, object]], texts: Mapping[str, str] = TEXTS) -> StoredIndex:
        key = repr((how, texts))
        if key not in made:
            made[key] = built(tmp_path_factory.mktemp("plain"), how, "", texts)
        return made[key]

    return of


def entities(index: StoredIndex) -> dict[str, Entity]:
    return {each.name: each for each in index.rows(Entity)}


def triples(index: StoredIndex) -> set[tuple[str, str, str]]:
    names = {each.id: each.name for each in index.rows(Entity)}
    return {(names[each.source_id], each.predicate, names[each.target_id]) for each in index.rows(Relation)}


def places(index: StoredIndex) -> list[int]:
    return [row.places for row in index.rows(Correction)]


def knowledge(index: StoredIndex, *replaced: tuple[str, str]) -> tuple[list[Entity], list[Relation]]:
    """Return the tables of entities and relations.

    Descriptions by a model, and those of entities, are left out: what is quoted depends on all texts. In those of
    relations names are replaced.
    """

    def told(text: str) -> str:
        if "llm" in index.manifest.settings:
            return ""
        for old, new in replaced:
            text = text.replace(old, new)
        return text

    return (
        [replace(each, description="") for each in index.rows(Entity)],
        [replace(each, description=told(each.description)) for each in index.rows(Relation)],
    )


def assert_equal(one: tuple[list[Entity], list[Relation]], other: tuple[list[Entity], list[Relation]]) -> None:
    for own, said in zip(one, other, strict=True):
        assert [each for each in own if each not in said] == [each for each in said if each not in own]
    assert one == other


@pytest.mark.parametrize(
    ("corrections", "old", "new"),
    [
        ("- rename: Anna Berg\n  to: Lena Bork\n", "Anna Berg", "Lena Bork"),
        ("- merge: [Anne Berk, Anna Berg]\n", "Anna Berg", "Anne Berk"),
        ("- same: {en: Anne Berk, de: Anna Berg}\n", "Anna Berg", "Anne Berk"),
        ("- merge: [Hugo Valen, Mary Quill]\n- type: Hugo Valen\n  is: SHIP\n", "Mary Quill", "Hugo Valen"),
    ],
    ids=["rename", "merge", "same", "new name"],
)
def test_the_tables_are_those_of_texts_that_say_so(
    tmp_path: Path, how: dict[str, dict[str, object]], plain: Plain, corrections: str, old: str, new: str
) -> None:
    own = built(tmp_path / "corrected", how, corrections)
    said = {name: text.replace(old, new) for name, text in TEXTS.items()}
    typed = "- type: Hugo Valen\n  is: SHIP\n"
    other = built(tmp_path / "said", how, typed, said) if "type" in corrections else plain(how, said)
    assert_equal(knowledge(own, (old, new)), knowledge(other))
    assert all(places(own))


def test_a_split_is_that_of_texts_that_say_so(tmp_path: Path, how: dict[str, dict[str, object]]) -> None:
    corrections = "- split: Mercury\n  into: Neptune\n  words: [orbits, sun]\n"
    own = built(tmp_path / "corrected", how, corrections)
    said = {**TEXTS, "c.txt": TEXTS["c.txt"].replace("planet Mercury", "planet Neptune")}
    other = built(tmp_path / "said", how, "", said)
    of_own, of_other = knowledge(own, ("planet Mercury", "planet Neptune")), knowledge(other)
    if "llm" not in how:  # the model's replies depend on the text around a name
        assert_equal(of_own, of_other)
    if {"Neptune", "Mercury"} & entities(other).keys() == {"Neptune", "Mercury"}:
        assert {each.name for each in of_own[0]} == {each.name for each in of_other[0]}
        assert sum(places(own)) == entities(own)["Neptune"].frequency == 1


@pytest.mark.parametrize("where", ["document: c.txt", "document: [nothing, c.txt]", "passage: [{chunk}]"])
def test_a_split_by_document_or_passage(
    tmp_path: Path, how: dict[str, dict[str, object]], plain: Plain, where: str
) -> None:
    before = plain(how)
    (chunk,) = (each.id for each in before.rows(Chunk) if "Mercury" in each.text)
    split = f"- split: Otto Brand\n  into: Otto Brand (god)\n  {where.format(chunk=chunk)}\n"
    index = built(tmp_path / "split", how, split)
    found = entities(index)
    mentions = [each for each in index.rows(Mention) if each.entity_id == found["Otto Brand (god)"].id]
    assert {each.chunk_id for each in mentions} == {chunk}
    assert places(index) == [len(mentions)]
    assert found["Otto Brand"].frequency == entities(before)["Otto Brand"].frequency - 1


def test_a_forbidden_entity_and_its_relations_are_gone(
    tmp_path: Path, how: dict[str, dict[str, object]], plain: Plain
) -> None:
    before = plain(how)
    index = built(tmp_path / "forbidden", how, "- forbid: otto BRAND\n- forbid: Nobody\n- forbid: Baker Street\n")
    assert "Otto Brand" in entities(before)
    assert "Otto Brand" not in entities(index)
    left = {each for each in triples(before) if not {"Otto Brand", "Baker Street"} & {*each}}
    assert triples(index) == left
    assert sorted(places(index))[0] == 0 < sorted(places(index))[1]
    ids = {each.id for each in index.rows(Entity)}
    assert all({each.subject_id, each.object_id or each.subject_id} <= ids for each in index.rows(Claim))


def test_a_relation_is_forbidden_or_fixed(tmp_path: Path, how: dict[str, dict[str, object]], plain: Plain) -> None:
    stated = sorted(triples(plain(how)))
    if how["extraction"] == {"pipeline": "regex"} and "llm" not in how:
        assert not stated  # nothing to correct
        return
    source, predicate, target = stated[0]
    said = [source, predicate or "knows", target]
    index = built(tmp_path / "forbidden", how, f"- forbid: {said}\n")
    assert triples(index) == {*stated[1:]}
    assert places(index)[0] > 0
    index = built(tmp_path / "fixed", how, f"- fix: {said}\n  to: [{target}, belongs to, {source}]\n")
    assert triples(index) == {*stated[1:], (target, "belongs to", source)}
    index = built(tmp_path / "pair", how, f"- forbid: [{target}, {source}]\n")
    assert not any({source, target} == {one, other} for one, _, other in triples(index))


def test_names_are_kept_apart_and_merged_again(tmp_path: Path, server: FakeServer) -> None:
    how = overrides(server)
    plain = built(tmp_path / "index", how)
    assert "Holmes" not in entities(plain)
    apart = "- apart: [Holmes, Sherlock Holmes]\n"
    index = built(tmp_path / "index", how, apart)
    assert {"Holmes", "Sherlock Holmes"} <= entities(index).keys()
    assert [each.undone for each in index.rows(Merge) if each.alias == "Holmes"] == [True]
    assert places(index)[0] > 0
    again = built(tmp_path / "index", how, "# nothing\n")
    assert again.manifest.version == plain.manifest.version
    both = built(tmp_path / "both", how, f"{apart}- rename: Sherlock Holmes\n  to: S. Holmes\n")
    assert {"Holmes", "S. Holmes"} <= entities(both).keys()


def test_a_correction_means_an_entity_by_any_of_its_names(tmp_path: Path, server: FakeServer) -> None:
    how = overrides(server)
    index = built(tmp_path / "one", how, "- rename: Holmes\n  to: The Detective\n- type: Sherlock Holmes\n  is: HERO\n")
    assert entities(index)["The Detective"].type == "HERO"
    assert {each.alias for each in index.rows(Merge) if each.name == "The Detective"} == {"Holmes", "Sherlock Holmes"}
    opened = conspectus.open(tmp_path / "one" / "index", settings_of(tmp_path / "one", how, ""))
    (row,), _ = rows_of(opened.context, ["Sherlock Holmes"])
    assert opened.context.index.rows(Entity)[row].name == "The Detective"
    assert len(opened.status().corrections) == 2
    assert opened.filter('lang = "en"').status().corrections == []
    assert opened.filter('lang = "en"').tables()["corrections"].num_rows == 0


def test_an_update_keeps_corrections_and_says_which_match_nothing(tmp_path: Path, server: FakeServer) -> None:
    corrections = "- merge: [The Detective, Sherlock Holmes]\n- forbid: Port Alma\n"
    settings = settings_of(tmp_path, overrides(server), corrections)
    build_index([], tmp_path / "index", settings, texts={"a.txt": TEXTS["a.txt"]})
    change_documents([], (), tmp_path / "index", settings, texts={"b.txt": TEXTS["b.txt"]})
    build_index([], tmp_path / "whole", settings, texts={name: TEXTS[name] for name in ("a.txt", "b.txt")})
    updated, whole = (StoredIndex.open(tmp_path / name) for name in ("index", "whole"))
    assert updated.manifest == whole.manifest
    assert all(places(updated))
    change_documents((), ["a.txt"], tmp_path / "index", settings)
    gone = {row.text: row.places for row in StoredIndex.open(tmp_path / "index").rows(Correction)}
    assert gone['merge: ["The Detective", "Sherlock Holmes"]'] == 0 < gone['forbid: "Port Alma"']


def test_a_graph_without_documents_is_corrected(tmp_path: Path, server: FakeServer) -> None:
    graph = tmp_path / "graph.tsv"
    graph.write_text("Renée Holt\tknows\tNSO\nRene Holt\tpart of\tPort Alma\nNSO\tin\tPort Alma\n", "utf-8")
    corrections = "- merge: [Renée Holt, Rene Holt]\n- forbid: [NSO, in, Port Alma]\n- type: NSO\n  is: OFFICE\n"
    index = built(tmp_path / "graph", {**overrides(server), "kg": {"files": [str(graph)]}}, corrections, {})
    assert triples(index) == {("Renée Holt", "knows", "NSO"), ("Renée Holt", "part of", "Port Alma")}
    assert entities(index)["NSO"].type == "OFFICE"
    assert places(index) == [1, 1, 1]
    fixed = "- fix: [Rene Holt, part of, Port Alma]\n  to: [Renée Holt, KNOWS, NSO]\n"
    index = built(tmp_path / "fixed", {**overrides(server), "kg": {"files": [str(graph)]}}, fixed, {})
    assert triples(index) == {("Renée Holt", "KNOWS", "NSO"), ("NSO", "in", "Port Alma")}
    assert sorted(each.weight for each in index.rows(Relation)) == [1.0, 2.0]
    itself = "- merge: [NSO, Port Alma]\n- rename: Rene Holt\n  to: R. Holt\n- forbid: R. Holt\n"
    index = built(tmp_path / "itself", {**overrides(server), "kg": {"files": [str(graph)]}}, itself, {})
    assert triples(index) == {("Renée Holt", "knows", "NSO")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- merge: [a]", "line 1: merge has two or more different names"),
        ("# x\n- merg: [a, b]", "line 2: .*did you mean 'merge'"),
        ("a: b", "line 1: corrections are a list"),
        ("- merge: [a, b]\n- merge: [c, b]", "line 2: line 1 merges 'b' with 'a' already"),
        ("- rename: a\n  to: b\n- rename: b\n  to: a", "line 3: other lines merge 'b' with itself"),
        ("- merge: [a, b]\n- apart: [a, b]", "line 2: other lines merge"),
        ("- split: a\n  into: b", "line 1: split needs one of document, passage, words"),
        ("- split: a\n  into: b\n  word: c", "line 1: split has no 'word'"),
        ("- fix: [a, b, c]\n  to: [a]", "line 1: fix needs to: a list of 3 names"),
        ("- forbid: a\n- forbid: a", "line 2: it repeats line 1"),
        ("- merge: [a, [b]]", "line 1: merge takes a name"),
        ("- merge: [a, b", "line 1: "),
        ("- merge: [a, b]\n  to: !!python/object:os.system x", "line 1: merge has no 'to'"),
        ("[" * 5000, "not YAML"),
    ],
)
def test_a_wrong_file_is_one_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "corrections.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=message) as raised:
        read_rules(file)
    assert len(str(raised.value).splitlines()) == 1


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "corrections.yaml"
    rules = [
        rule_of("merge", ['Ada: "x"', "1984", "系统管理员"]),
        rule_of("split", ["Mercury", "Mercury (planet)"], "words", ["sun"]),
        rule_of("fix", ["a", "b", "c", "d", "e", "f"]),
        rule_of("rename", ["ibm", "IBM"]),
    ]
    for rule in rules:
        write_rule(file, rule, "2026-11-27: why\nnot")
    assert read_rules(file) == tuple(rules)
    with pytest.raises(SettingsError, match="already"):
        write_rule(file, Rule("rename", ("1984",), ("x",)), "")
    assert read_rules(file) == tuple(rules)
    with pytest.raises(UsageError, match="rename needs to"):
        rule_of("rename", ["a"])


def test_the_command_writes_lists_and_applies(tmp_path: Path, server: FakeServer) -> None:
    root, file = tmp_path / "index", tmp_path / "corrections.yaml"
    options = [
        f"--set={section}.{key}={value}" for section, keys in overrides(server).items() for key, value in keys.items()
    ]
    where = ["--index", str(root), "--corrections", str(file), *options]
    (tmp_path / "a.txt").write_text(TEXTS["a.txt"], "utf-8")
    run("index", str(tmp_path / "a.txt"), "--index", str(root), *options)
    assert "Sherlock Holmes\n  Holmes  the family name alone" in run("correct", "merges", "--index", str(root)).out
    assert "no corrections" in run("correct", "--index", str(root)).out
    done = run("correct", "apart", "Holmes", "Sherlock Holmes", "--comment", "a brother", *where)
    assert 'apart: ["Holmes", "Sherlock Holmes"]' in done.out
    assert ": a brother\n- apart:" in file.read_text("utf-8")
    assert run("correct", "rename", "John Watson", "J. Watson", "--apply", *where).status == 0
    told = run("status", "--index", str(root)).out
    assert 'apart: ["Holmes", "Sherlock Holmes"]  in force at ' in told
    assert '"places": ' in run("status", "--index", str(root), "--json").out
    assert "1 kept apart" in run("correct", "merges", "holmes", "--index", str(root)).out
    file.write_text("- forbid: Moriarty\n", "utf-8")
    assert run("correct", "--apply", *where).status == 0
    assert "matches nothing any more" in run("correct", "--index", str(root)).out
    for wrong in (["merge", "a"], ["join", "a", "b"], ["merge", "a", "b", "--words", "c"], ["split", "a", "b"]):
        done = run("correct", *wrong, *where)
        assert done.status == 2
        assert len(done.err.strip().splitlines()) == 1
