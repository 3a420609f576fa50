"""The method `all` over an index of tables, texts and a chat: exact, or declined."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.filter.documents import filtered
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document
from conspectus.storage.settings import load_settings
from openpyxl import Workbook

from benchmarks.fake_server import Rule
from tests.conftest import Build
from tests.query.graph_serving import prompts, served

RENTALS = """Station;Bike;Rentals;Fee (EUR);Day
Lido;Tandem;25;1.234,50;03.04.2024
Lido;Cargo;7;88,00;25.04.2024
Quarry;Tandem;30;;02.05.2024
Quarry;Cargo;12;15,25;
"""
CREW = """# Crew

| Name | Voyages |
| --- | --- |
| Nell | 12 |
| Oskar | 31 |
| Total | 43 |

## Boats

Two boats are in the shed.
"""
CHAT = """14/05/25, 19:10 - Mara: the tide is at six
14/05/25, 19:11 - Jory: I bring the soup
14/05/25, 19:12 - Mara: who has the key?
"""
ANIMALS = {"Alma": ("goat", "Ruben"), "Bela": ("pony", "Edda"), "Cleo": ("goat", "Ruben"), "Dora": ("mule", "Ruben")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("sets")
    inputs = folder / "inputs"
    inputs.mkdir()
    (inputs / "rentals.csv").write_text(RENTALS, "utf-8")
    (inputs / "crew.md").write_text(CREW, "utf-8")
    (inputs / "boat chat.txt").write_text(CHAT, "utf-8")
    for name, (kind, keeper) in ANIMALS.items():
        (inputs / f"{name}.txt").write_text(f"{name} is a {kind}. The keeper of {name} is {keeper}.\n", "utf-8")
    lines = [{"text": f"Letter {at}.", "access": ["staff"] if at else ["all"], "Weight": f"{at} kg"} for at in range(3)]
    (inputs / "letters.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return indexed(folder, inputs)


def indexed(folder: Path, *inputs: Path) -> Context:
    """Return the context of an index of files, made without spaCy in a folder."""
    chosen = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    build_index([*inputs], folder / "index", chosen)
    return Context(StoredIndex.open(folder / "index"), chosen)


def ask(context: Context, question: str, method: str = "all") -> Answer:
    return asyncio.run(METHODS[method].answerer(context).answer(question))


@pytest.mark.parametrize(
    ("question", "short", "said"),
    [
        ("How many tandems were rented at the Lido?", "25", "1 of 4 rows; Bike = Tandem; Station = Lido"),
        ("Wie hoch ist die Summe der Fee?", "1.337,75", "4 von 4 Zeilen; 1 ohne Wert"),
        ("What is the average fee?", "≈ 445,92", "4 of 4 rows; 1 without a value"),
        ("Which station had the most rentals?", "Quarry", "max of 2"),
        ("rentals at the quarry in May 2024", "30", "1 of 4 rows; Station = Quarry; Day = May 2024"),
        ("¿Cuántos rentals en total?", "74", "4 de 4 filas"),
        ("What is the total number of voyages?", "43", "2 of 2 rows"),
        ("How many rentals in April or May?", "62", "3 of 4 rows; Day = April / May"),
        ("How many messages did Mara send?", "2", "2 of 3 messages; sender = Mara"),
        ("Who wrote the most messages?", "Mara", "3 of 3 messages; max of 2"),
        ("How many documents mention the keeper?", "4", "4 of 10 documents; “keeper”"),
        ("How many headings are there?", "2", "2 of 2 headings"),
    ],
)
def test_a_number_says_of_how_many_it_is(question: str, short: str, said: str, place: Context) -> None:
    answer = ask(place, question)
    assert (answer.span, answer.known, answer.method) == (short, True, "all:offline")
    assert said in answer.text
    texts = {document.id: document.text for document in place.index.each(Document)}
    assert all(texts[each.document_id][each.start : each.end] == each.quote for each in answer.citations)


@pytest.mark.parametrize(
    ("question", "first", "items"),
    [
        ("List all stations", "2 different values of Station (4 of 4 rows):", ["Lido (2)", "Quarry (2)"]),
        ("Which rentals are above 20 at the Lido?", "1 of 4 rows; Rentals > 20; Station = Lido:",
         ["Station: Lido; Bike: Tandem; Rentals: 25; Fee (EUR): 1.234,50; Day: 03.04.2024"]),
        ("rows after 10 April 2024", "2 of 4 rows; Day > 10 April 2024:",
         ["Station: Lido; Bike: Cargo; Rentals: 7; Fee (EUR): 88,00; Day: 25.04.2024",
          "Station: Quarry; Bike: Tandem; Rentals: 30; Day: 02.05.2024"]),
        ("total rentals per bike", "Total of Rentals / Bike (4 of 4 rows):", ["Tandem: 55 (2)", "Cargo: 19 (2)"]),
        ("List the headings", "2 of 2 headings:", ["Crew", "Boats"]),
        ("Which messages mention the key?", "1 of 3 messages; “key”:", ["14/05/25, 19:12 - Mara: who has the key?"]),
        ("Which animals does Ruben keep?", "3 of 4 statements; is … = Ruben:",
         [f"The keeper of {name} is Ruben." for name in ("Alma", "Cleo", "Dora")]),
    ],
)  # fmt: skip
def test_a_list_is_whole_and_cites_every_item(question: str, first: str, items: list[str], place: Context) -> None:
    answer = ask(place, question)
    lines = [re.sub(r" \[\d+\]$", "", line) for line in answer.text.split("\n")]
    assert lines[0] == first
    assert sorted(lines[1:]) == sorted(f"- {item}" for item in items)
    assert len(answer.citations) == len(items)


@pytest.mark.parametrize(
    "question",
    [
        "How many scooters were rented at the Lido?", "What is the total weight of the tandems?",
        "How many tandems did Zora rent?", "fee above 20 USD", "top 3 stations", "How many animals had colic?",
        "How many sheep are there?", "How many people are in the chat?",
        "How many documents do not mention the keeper?", "second highest fee",
        "What percentage of rentals is from the Lido?",
    ],
)  # fmt: skip
def test_what_a_set_does_not_have_is_declined(question: str, place: Context) -> None:
    answer = ask(place, question)
    assert not answer.known, answer.text
    assert answer.trace[0].detail.startswith("none: ")


def test_a_long_list_says_how_many_there_are(tmp_path: Path) -> None:
    rows = [f"{number},{'ab'[number % 2]}" for number in range(1, 367)]
    (tmp_path / "days.csv").write_text("\n".join(["Day number,Shift", *rows]), "utf-8")
    context = indexed(tmp_path, tmp_path / "days.csv")
    answer = ask(context, "List all rows")
    assert answer.text.startswith("366 of 366 rows: first 20 of 366\n")
    assert len(answer.citations) == 20
    assert ask(context, "How many rows have the shift b?").span == "183"
    assert not ask(context, "What is the total of the day numbers?").known  # they name days


def test_rows_that_could_not_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "sold.csv").write_text("Town,Sold\nWick,3\nHull,4,5\nHull,6\n", "utf-8")
    answer = ask(indexed(tmp_path, tmp_path / "sold.csv"), "What is the total sold?")
    assert answer.text == "Total of Sold: 9 = 3 [1] + 6 [2] (2 of 2 rows; rows that could not be read: 1)"


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (["Region,Sold\nA,3\nB,4\nTotal A and B,7\n"], "a row may be a total of others"),
        (["Region,Sold\nA,3\nB,4\n,7\n"], "a row without a name may be a total of others"),
        (["Region,Sold\nA,3\nB,4\nC,5\nD,6\nE,7\n", "Region,Sold\nA,3\nB,4\nC,5\nD,6\nE,8\n"],
         "two documents have the same rows"),
        (["Region,Sold\nA,1.234\nB,5.678\n"], "the numbers of Sold are not clear"),
        (["Region,Sold\nA,3 kg\nB,4 g\n"], "the numbers of Sold are not clear"),
    ],
)  # fmt: skip
def test_a_total_in_doubt_is_not_computed(tables: list[str], why: str, tmp_path: Path) -> None:
    for number, table in enumerate(tables):
        (tmp_path / f"{number}.csv").write_text(table, "utf-8")
    answer = ask(indexed(tmp_path, *tmp_path.glob("*.csv")), "What is the total of Sold?", "auto")
    assert (answer.known, answer.text.partition(" (")[2]) == (False, f"{why})")


def test_statements_of_one_form_are_rows_in_german(build: Build) -> None:
    kinds = {"Alma": "eine Ziege", "Bela": "ein Esel", "Cleo": "eine Ziege", "Dora": "ein Pony", "Emil": "ein Esel"}
    said = "{0} ist {1}. Beim Besuch im Mai hatte {0} {2}."
    texts = [(name, said.format(name, kind, "Husten" if name < "C" else "Fieber")) for name, kind in kinds.items()]
    stable = build(texts)
    assert "2 von 5 Aussagen; ist … = Ziege" in ask(stable, "Wie viele Tiere sind Ziegen?").text
    assert "3 von 5 Aussagen" in ask(stable, "Welche Tiere hatten Fieber?").text
    denied = build([*texts, ("Fred", "Fred ist ein Esel. Beim Besuch im Mai hatte Fred kein Fieber.")])
    assert not ask(denied, "Welche Tiere hatten Fieber?").known


def test_a_filter_hides_rows(place: Context) -> None:
    assert ask(place, "How many letters are there?").span == "3"
    assert ask(filtered(place, None, ["all"]), "How many letters are there?").span == "1"
    assert not ask(filtered(place, "Weight == '9 kg'", None), "How many letters are there?").known


def test_auto_computes_only_what_every_word_accounts_for(place: Context) -> None:
    computed = ask(place, "How many rentals did the Quarry have?", "auto")
    assert (computed.method, computed.span) == ("all:offline", "42")
    assert ask(place, "Why were the rentals at the Quarry so low?", "auto").method != "all:offline"
    assert ask(place, "What are these documents about?", "auto").method == "global:offline"


PLAN = {"set": 1, "operation": "sum", "measure": "Rentals", "values_of": "", "group": "Station", "best": "max"}


def test_a_model_plans_and_the_program_computes(place: Context, memo: Path) -> None:
    number = next(at for at, line in enumerate(_sets(place, memo), start=1) if "rentals (4 rows)" in line)
    reply = PLAN | {"set": number, "conditions": [{"column": "Day", "test": "at most", "value": "2024-04"}]}
    with served(place, memo, [Rule(json.dumps(reply))]) as (context, _):
        answer = ask(context, "Where was the most going on in spring?")
    assert (answer.span, answer.usage.calls, answer.method) == ("Lido", 1, "all")
    assert answer.text.startswith("Total of Rentals / Station (2 of 4 rows; Day ≤ 2024-04; max of 1):")


def _sets(place: Context, memo: Path) -> list[str]:
    """Return the lines of the prompt that begin a set."""
    with served(place, memo, [Rule(json.dumps(PLAN | {"set": 0, "conditions": []}))]) as (context, server):
        ask(context, "Which sets are there?")
    return [line for line in prompts(server)[0].split("\n") if re.match(r"\d+\. ", line)]


@pytest.mark.parametrize(
    "reply",
    [
        "I would add the rentals.", json.dumps(PLAN | {"set": 99, "conditions": []}),
        json.dumps(PLAN | {"measure": "Weight of the moon", "conditions": []}),
        json.dumps(PLAN | {"measure": "", "conditions": []}),
    ],
)  # fmt: skip
def test_without_a_usable_plan_of_the_model_the_words_plan(reply: str, place: Context, memo: Path) -> None:
    with served(place, memo, [Rule(reply)]) as (context, _):
        answer = ask(context, "How many rentals did the Quarry have?")
    assert answer.span == "42"
    assert answer.trace[0].detail.startswith("that of the model is not used")


CODE = """class LeakError(Exception):
    pass


class Burst(LeakError):
    pass


class Pump:
    def run(self):
        pass


def fill(can):
    pass
"""


def asked_of(folder: Path, question: str, **files: str) -> Answer:
    (folder / "inputs").mkdir()
    for name, text in files.items():
        (folder / "inputs" / name.replace("_", ".")).write_text(text, "utf-8")
    return ask(indexed(folder, folder / "inputs"), question, "auto")


@pytest.mark.parametrize(
    ("question", "first", "items"),
    [
        ("Which exceptions are there?", "2 of 5 definitions", ["LeakError", "Burst"]),
        ("Kannst du mir sagen, welche Klassen es gibt?", "3 von 5 Definitionen", ["LeakError", "Burst", "Pump"]),
        ("How many functions are there?", "definitions: 1 (1 of 5 definitions; function = yes)", []),
    ],
)
def test_definitions_in_code_are_a_set(question: str, first: str, items: list[str], tmp_path: Path) -> None:
    answer = asked_of(tmp_path, question, pump_py=CODE)
    lines = [re.sub(r" \[\d+\]$", "", line) for line in answer.text.split("\n")]
    assert lines[0].startswith(first)
    assert lines[1:] == [f"- {item}" for item in items]


FARES = "Fares of the ferry\n\nline,class,fare\nNorth,first,90\nNorth,second,50\nSouth,second,40\n"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Could you tell me the fare of the first class on the line South?", "0 of 3 rows"),
        ("What is the total fare of the North line on horseback?", "horseback"),
        ("Could you tell me how high the fare of the second class to the South is?", "South"),
    ],
)
def test_what_no_row_of_a_table_says_is_declined(question: str, said: str, tmp_path: Path) -> None:
    answer = asked_of(tmp_path, question, fares_csv=FARES)
    assert said in answer.text
    assert answer.known == ("second" in question)


def test_units_do_not_count_the_rows_that_have_their_names(tmp_path: Path) -> None:
    text = "feature,source\nhour of the day,clock\ncars in the last hour,loop\nrain,gauge\n"
    assert not asked_of(tmp_path, "How many hours of data do they have?", features_csv=text).known


def test_the_title_of_an_article_does_not_name_the_rows_of_its_table(tmp_path: Path) -> None:
    text = "# Nails of copper on the roofs of slate\n\n| Nail | Loss |\n| --- | --- |\n| Copper | 2 |\n| Steel | 61 |\n"
    answer = asked_of(tmp_path, "How many roofs are there?", article_md=text)
    assert not answer.known


def test_the_sheets_of_a_workbook_are_its_years(tmp_path: Path) -> None:
    book = Workbook()
    for year, logs in (("2023", 7), ("2024", 9)):
        sheet = book.create_sheet(year)
        for row in (["Sawmills of the valley"], ["Mill", "Logs"], ["Upper", logs], ["Lower", 3 * logs]):
            sheet.append(row)
    (tmp_path / "inputs").mkdir()
    book.save(tmp_path / "inputs" / "mills.xlsx")
    context = indexed(tmp_path, tmp_path / "inputs")
    asked = {
        "How many logs did the Upper mill use in 2023?": "7",
        "In which year did the Lower need the most logs?": "2024",
    }
    assert {question: ask(context, question).span for question in asked} == asked


def test_a_table_is_asked_by_what_its_names_say(tmp_path: Path) -> None:
    """By the folder and the sheets, the seasons that these are, and verbs that say what they do."""
    book = Workbook()
    for season, sold in (("Spring", 1629), ("Summer", 279)):
        sheet = book.create_sheet(season)
        for row in (["Item", "Town", "Island"], ["Lantern", 619, 122], ["Ladder", 1016, sold]):
            sheet.append(row)
    folder = tmp_path / "inputs" / "sales"
    folder.mkdir(parents=True)
    book.save(folder / "shop.xlsx")
    context = indexed(tmp_path, tmp_path / "inputs")
    asked = {
        "How many ladders were sold in the Town in summer?": "1016",
        "In which season did the Island buy the most ladders?": "Spring",
        "Which season has the dearest ladder on the Island?": "Spring",
        "How many ladders were stolen in the Town in summer?": "",
    }
    assert {question: ask(context, question).span for question in asked} == asked


def test_columns_are_named_in_any_order_and_numbers_of_things_are_counted(tmp_path: Path) -> None:
    fees = "Marina;Boat;Summer per day;Winter per day\nOre;Canoe;9;5\nPell;Canoe;8;6\nOre;Barge;47;9\nPell;Barge;52;8\n"
    (tmp_path / "fees.csv").write_text(fees, "utf-8")
    owners = {107: "Ada", 170: "Bea", 132: "Cleo", 104: "Dora"}
    (tmp_path / "hall.txt").write_text("".join(f"Locker {n} belongs to {who}.\n" for n, who in owners.items()), "utf-8")
    for boat, who in {"Ibis": "Ruth", "Knot": "Saul", "Rook": "Ruth", "Tern": "Hana", "Wren": "Ruth"}.items():
        (tmp_path / f"{boat}.txt").write_text(f"{boat} is looked after by {who}.\n", "utf-8")
    context = indexed(tmp_path, tmp_path)
    assert ask(context, "Which marina is the most expensive for a barge per day in summer?").span == "Pell"
    assert "Summer per day: 52" in ask(context, "What is the most expensive barge per day in summer?").text
    assert ask(context, "How many lockers are there?").span == "4"
    assert "513" not in ask(context, "How many people have a locker?").text, "numbers of lockers are not added"
    assert ask(context, "How many of the boats does Ruth look after?").span == "3"
