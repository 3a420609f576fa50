import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from conspectus.pipelines.exchange.kg.builder import _distinct
from conspectus.storage.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.made import graph_of, triples

FILMS = "Heat\tdirected_by\tMichael Mann\nHeat\tstarred\tAl Pacino\nAli\tdirected_by\tMichael Mann\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_lines_that_are_no_triples_are_failures_and_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(
        b"\xef\xbb\xbfHeat\tstarred\tAl Pacino\r\n\nonly two\tcolumns\nempty\t \tmiddle\na\tb\tc\td\n\xff\t\xff\tz\n"
    )
    graph = graph_of(path)
    assert triples(graph) == {("Heat", "starred", "Al Pacino")}
    assert [(each.stage, each.item_id, each.reason) for each in graph.failures] == [
        ("kg", "a.tsv:3", "2 columns, not 3"),
        ("kg", "a.tsv:4", "a column is empty"),
        ("kg", "a.tsv:5", "4 columns, not 3"),
        ("kg", "a.tsv:6", "not UTF-8"),
    ]


def test_labels_name_ids_and_two_ids_with_one_label_stay_two_things(tmp_path: Path) -> None:
    lines = "Q1\tP1\tQ2\nQ3\tP1\tQ2\nQ3\tP2\tQ4\nQ3\tP2\tplain\n"
    labels = "Q1\tParis\nQ3\tParis\tthe capital\nQ2\tFrance\nP1\tcountry\nP2\tcountry\nQ9\tnobody\nno tab\n"
    graph = graph_of(written(tmp_path / "a.tsv", lines), labels=(written(tmp_path / "labels.tsv", labels),))
    # The one with most triples bears the label alone.
    assert triples(graph) == {
        ("Paris (Q1)", "country (P1)", "France"),
        ("Paris", "country (P1)", "France"),
        ("Paris", "country (P2)", "Q4"),
        ("Paris", "country (P2)", "plain"),
    }
    assert [each.item_id for each in graph.failures] == ["labels.tsv:7"]


N_TRIPLES = r"""
# a comment
<http://ex.org/r/Heat> <http://ex.org/o/directedBy> <http://ex.org/r/Michael_Mann> .
<http://ex.org/r/Heat> <http://www.w3.org/2000/01/rdf-schema#label> "Heat \u0028film\u0029"@en .
<http://ex.org/r/Heat> <http://www.w3.org/2000/01/rdf-schema#label> "Hitze"@de .
<http://ex.org/r/Heat> <http://ex.org/o/released> "1995"^^<http://www.w3.org/2001/XMLSchema#gYear> . # it was
<http://ex.org/r/Heat> <http://ex.org/o/tagline> "A \"Los Angeles\" story\t\u00E9" .
<http://ex.org/r/Heat> <http://ex.org/o/tagline> "Eine Geschichte"@de .
_:b0 <http://ex.org/p/released> _:b1 <http://ex.org/graph> .
<http://ex.org/r/Heat> <http://ex.org/o/no end>
<http://ex.org/r/Heat> <http://ex.org/o/tagline> "bad \q escape" .
<http://ex.org/r/Heat> <http://ex.org/o/tagline> "" .
<http://ex.org/r/Heat> <http://ex.org/o/likes> <http://ex.org/\ud800> .
""".strip()


def test_n_triples_with_literals_escapes_languages_and_blank_nodes(tmp_path: Path) -> None:
    graph = graph_of(written(tmp_path / "a.nt", N_TRIPLES))
    assert triples(graph) == {
        ("Heat (film)", "directedBy", "Michael_Mann"),
        ("Heat (film)", "http://ex.org/o/released", "1995"),
        ("Heat (film)", "tagline", 'A "Los Angeles" story é'),
        ("_:b0@a.nt", "http://ex.org/p/released", "_:b1@a.nt"),
    }
    assert [(each.item_id, each.reason) for each in graph.failures] == [
        ("a.nt:9", "not a triple of N-Triples"),
        ("a.nt:10", "not a triple of N-Triples"),
        ("a.nt:11", "an empty literal"),
        ("a.nt:12", "not a triple of N-Triples"),
    ]
    assert graph.notes == ("1 texts of a.nt in other languages left out (kg.language is en)",)
    german = graph_of(tmp_path / "a.nt", language="de")
    assert ("Hitze", "tagline", "Eine Geschichte") in triples(german)


def test_a_hostile_depth_is_refused(tmp_path: Path) -> None:
    deep = "<x:a> <x:b> " + "<<( <x:a> <x:b> " * 20_000 + "<x:c>" + " )>>" * 20_000 + " .\n"
    graph = graph_of(
        written(tmp_path / "a.nt", deep + "<x:a> <x:b> <x:c> .\n<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> .\n")
    )
    assert triples(graph) == {("x:a", "x:b", "x:c")}
    assert [(each.item_id, each.reason) for each in graph.failures] == [
        ("a.nt:1", "not a triple of N-Triples"),
        ("a.nt:3", "a triple within a triple"),
    ]
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 7))
    for ending, text in (
        (".ttl", deep),
        (".jsonld", '{"x:a":' * 4_000 + "1" + "}" * 4_000),
        (".rdf", "<a>" * 300 + "</a>" * 300),
        (".rdf", f'<!DOCTYPE r [<!ENTITY e0 "aaaaaaaaaaaa">{entities}]><r>&e8;</r>'),
    ):
        with pytest.raises(InputError, match="cannot be read"):
            graph_of(written(tmp_path / f"b{ending}", text))


def statement(target: object, rank: str = "normal", snak: str = "value") -> dict[str, object]:
    value = {"snaktype": snak, "datavalue": {"type": "wikibase-entityid", "value": target}}
    return {"mainsnak": value, "rank": rank, "type": "statement"}


def entity(id_: str, label: str, claims: object, language: str = "en") -> dict[str, object]:
    return {"id": id_, "type": "item", "labels": {language: {"language": language, "value": label}}, "claims": claims}


def dump(rows: list[object]) -> bytes:
    lines = ",\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return f"[\n{lines}\n]\n".encode()


ENTITIES: list[object] = [
    entity(
        "Q1",
        "Heat",
        {
            "P57": [statement({"id": "Q2"}), statement({"id": "Q9"}, rank="deprecated")],
            "P161": [
                statement({"entity-type": "item", "numeric-id": 3}, rank="preferred"),
                statement({"id": "Q8"}, snak="somevalue"),
                statement("a text"),
            ],
        },
    ),
    entity("Q2", "Michael Mann", []),
    entity("Q3", "Al Pacino", {}, language="mul"),
    entity("Q77", "nobody names it", {}),
    {"id": "P57", "type": "property", "labels": {"en": {"language": "en", "value": "director"}}},
    '{"id": "Q5", broken',
    {"type": "item"},
]


@pytest.mark.parametrize("ending", ["json", "json.gz", "json.bz2"])
def test_a_wikidata_dump(ending: str, tmp_path: Path) -> None:
    pack = {"json": bytes, "json.gz": gzip.compress, "json.bz2": bz2.compress}[ending]
    path = tmp_path / f"dump.{ending}"
    path.write_bytes(pack(dump(ENTITIES)))
    graph = graph_of(path)
    assert triples(graph) == {("Heat", "director", "Michael Mann"), ("Heat", "P161", "Al Pacino")}
    assert [each.reason for each in graph.failures] == ["not JSON", "not an entity of Wikidata"]


def snak(kind: str, value: object, datatype: str = "") -> dict[str, object]:
    found: dict[str, object] = {"snaktype": "value", "datavalue": {"type": kind, "value": value}}
    return {**found, "datatype": datatype} if datatype else found


def test_literals_and_qualifiers_of_a_wikidata_dump(tmp_path: Path) -> None:
    def time(text: str, precision: int) -> dict[str, object]:
        return snak("time", {"time": text, "precision": precision})

    def amount(number: str, unit: str) -> dict[str, object]:
        return snak("quantity", {"amount": number, "unit": f"http://www.wikidata.org/entity/{unit}"})

    def plain(main: dict[str, object], **qualifiers: list[object]) -> dict[str, object]:
        return {"mainsnak": main, "rank": "normal", "qualifiers": qualifiers}

    days = [("+1952-03-11T00:00:00Z", 11), ("+1952-03-00T00:00:00Z", 10), ("+1952-00-00T00:00:00Z", 9)]
    days += [
        ("-0044-03-15T00:00:00Z", 11),
        ("-0044-00-00T00:00:00Z", 9),
        ("+1850-00-00T00:00:00Z", 7),
        ("nonsense", 11),
    ]
    mayor = snak("wikibase-entityid", {"id": "Q2"})
    term = {"P580": [time(*days[0])], "P39": [snak("wikibase-entityid", {"id": "Q3"})]}
    claims = {
        "P569": [plain(time(*day)) for day in days],
        "P2048": [plain(amount("+1.8", "Q11573")), plain(amount("+12", "Q77")), plain(amount("3", ""))],
        "P6": [plain(mayor, **term), plain(mayor, P580=[time(*days[2])])],
        "P214": [plain(snak("string", "12345", "external-id"))],
    }
    rows = [
        entity("Q1", "Tarn", claims),
        entity("Q2", "Ada", {}),
        entity("Q3", "Chair", {}),
        entity("Q77", "stone", {}),
    ]
    start = {"id": "P580", "type": "property", "labels": {"en": {"language": "en", "value": "start"}}}
    path = tmp_path / "dump.json"
    path.write_bytes(dump([*rows, start]))
    graph = graph_of(path)
    born = {target for _, said, target in triples(graph) if said == "P569"}
    assert born == {"1952-03-11", "1952-03", "1952", "-0043-03-15", "44 BC", "19th century"}
    assert {target for _, said, target in triples(graph) if said == "P2048"} == {"1.8 metre", "12 stone", "3"}
    assert graph.notes == ("values of dump.json left out: 1 of type external-id",)
    [told] = graph.triple_attributes.values()
    assert told.statements == ((("start", "1952-03-11"), ("P39", "Chair")), (("start", "1952"),))


def test_further_columns_that_a_header_names_are_qualifiers(tmp_path: Path) -> None:
    terms = "Ada\tmayor of\tTarn\t1990\t1995\nAda\tmayor of\tTarn\t2001\t\n"
    rows = f"head\trelation\ttail\tstart\tend\n{terms}Bo\tborn in\tTarn\n"
    graph = graph_of(written(tmp_path / "a.tsv", rows + "Bo\tborn in\tTarn\t1\t2\t3\n"))
    assert triples(graph) == {("Ada", "mayor of", "Tarn"), ("Bo", "born in", "Tarn")}
    assert [each.reason for each in graph.failures] == ["6 columns, not 5"]
    [told] = graph.triple_attributes.values()
    assert told.statements == ((("start", "1990"), ("end", "1995")), (("start", "2001"),))
    commas = written(tmp_path / "a.csv", rows.replace("\t", ","))
    assert graph_of(commas).triple_attributes == graph.triple_attributes


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a graph is read from"):
        graph_of(written(tmp_path / "a.xls", FILMS))
    with pytest.raises(InputError, match=r"its columns \(one\) are not understood"):
        graph_of(written(tmp_path / "a.tsv", "one\n"))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(FILMS.encode() * 50)[:60])
    with pytest.raises(InputError, match="cannot be read"):
        graph_of(tmp_path / "a.tsv.gz")


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1))
def test_triples_are_made_distinct_alike_whatever_their_number(triples: list[tuple[int, int, int]]) -> None:
    columns = [np.array(each, np.int64) for each in zip(*triples, strict=True)]
    expected = sorted(set(triples))
    for n_names, n_predicates in ((5, 5), (1 << 31, 1 << 20)):
        found = _distinct(*columns, n_names, n_predicates)
        assert list(zip(*(each.tolist() for each in found), strict=True)) == expected
