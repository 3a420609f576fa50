"""Ask 100 questions about whole sets: counts, sums, averages, extremes, groups and lists, with known answers.

    python benchmarks/complete_answers.py [--folder FOLDER] [--json] [--method auto,all]

Tables in four languages are generated, with the numbers, dates and missing cells that people write there (1.234,56;
1,234.56; 1 234,56), and texts, headings and a chat. What is asked is computed here from the values before they are
written. An answer is

    exact       the number is right, or all items are there and no others (up to "first 20 of 36")
    declined    no citation supports it; right for questions about what the tables do not have
    partial     items are missing, and it does not say of how many
    wrong       anything else

The target is that none is wrong or partial. FOLDER keeps the indexes for the next run.
"""

import argparse
import csv
import json
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import mean

import conspectus

Row = dict[str, str | Decimal | date | None]
SHOWN = 20


@dataclass(frozen=True)
class Question:
    """A question to one folder. It expects a number, or items; neither is to be declined.

    Attributes:
        folder: The folder that is asked.
        text: The question.
        number: The right number, as `Decimal`.
        items: The right items.
        others: Items that must not be in the answer.
    """

    folder: str
    text: str
    number: Decimal | None = None
    items: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """How a language writes a table: names of columns, numbers, dates, and the questions."""

    folder: str
    file: str
    columns: tuple[str, str, str, str, str, str]
    delimiter: str
    number: Callable[[Decimal], str]
    day: Callable[[date], str]
    people: tuple[str, ...]
    cities: tuple[str, ...]
    goods: tuple[str, ...]


def grouped(thousands: str, decimal: str, unit: str = "") -> Callable[[Decimal], str]:
    """Return how a number is written with its separators and unit."""

    def written(number: Decimal) -> str:
        text = f"{number:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)
        return f"{text} {unit}" if unit else text

    return written


FORMS = (
    Form("en", "orders.csv", ("Order", "Customer", "City", "Product", "Amount (GBP)", "Date"), ",", grouped(",", "."),
         date.isoformat, ("Orla Finch", "Hugh Barley", "Petra Lund", "Simon Achebe"),
         ("Leeds", "Truro", "Fishguard"), ("Kettle", "Rope ladder", "Lantern", "Trowel")),
    Form("de", "bestellungen.csv", ("Bestellung", "Kunde", "Stadt", "Artikel", "Betrag in EUR", "Datum"), ";",
         grouped(".", ","), lambda day: f"{day:%d.%m.%Y}", ("Jutta Brenner", "Knut Albers", "Selma Yıldız", "Ivo Rapp"),
         ("Köln", "Ulm", "Bad Elster"), ("Wasserkessel", "Strickleiter", "Laterne", "Kelle")),
    Form("fr", "commandes.csv", ("Commande", "Client", "Ville", "Article", "Montant", "Date"), ";",
         grouped("\u202f", ",", "€"), lambda day: f"{day:%d/%m/%Y}",
         ("Aude Mercier", "Loïc Tanguy", "Nour Haddad", "Rémi Sauvage"),
         ("Quimper", "Le Mans", "Besançon"), ("Bouilloire", "Lanterne", "Truelle", "Corde")),
    Form("es", "pedidos.csv", ("Pedido", "Cliente", "Ciudad", "Producto", "Importe", "Fecha"), ";", grouped(".", ","),
         lambda day: f"{day:%d.%m.%Y}", ("Lucía Prado", "Tomás Vidal", "Nerea Ochoa", "Gael Rius"),
         ("Cádiz", "Burgos", "Lugo"), ("Tetera", "Linterna", "Paleta", "Cuerda")),
)  # fmt: skip

ASKED = {
    "en": (
        "How many orders are there?", "How many orders are from {city}?", "How many orders did {person} place?",
        "What is the total amount?", "What is the total amount for {city}?", "total amount of {good} in {city}",
        "What is the average amount?", "average amount for {good}", "What is the highest amount?",
        "lowest amount in {city}",
        "Which orders are above {limit} GBP?", "List all customers", "How many different products are there?",
        "total amount per city", "Which customer has the highest total amount?",
        "Which orders did {person} place in {city}?",
        "How many orders are after {day}?", "How many orders are not from {city}?",
    ),
    "de": (
        "Wie viele Bestellungen gibt es?", "Wie viele Bestellungen aus {city}?", "Wie viele Bestellungen hat {person}?",
        "Wie hoch ist die Summe der Beträge?", "Summe Betrag für {city}", "Summe der Beträge für {good} in {city}",
        "Was ist der durchschnittliche Betrag?", "Durchschnitt Betrag für {good}", "Was ist der höchste Betrag?",
        "niedrigster Betrag in {city}", "Welche Bestellungen sind über {limit} EUR?", "Liste aller Kunden",
        "Wie viele verschiedene Artikel gibt es?", "Summe der Beträge je Stadt",
        "Welcher Kunde hat die höchste Summe der Beträge?", "alle Bestellungen von {person} aus {city}",
        "Wie viele Bestellungen sind nach dem {day}?", "Wie viele Bestellungen sind nicht aus {city}?",
    ),
    "fr": (
        "Combien de commandes y a-t-il ?", "Combien de commandes de {city} ?", "Combien de commandes a {person} ?",
        "Quel est le montant total ?", "montant total pour {city}", "montant total de {good} à {city}",
        "Quel est le montant moyen ?", "montant moyen pour {good}", "Quel est le montant le plus élevé ?",
        "montant minimum à {city}", "Quelles commandes sont supérieures à {limit} € ?", "Liste de tous les clients",
        "Combien d'articles différents y a-t-il ?", "montant total par ville",
        "Quel client a le montant total le plus élevé ?",
        "toutes les commandes de {person} à {city}", "Combien de commandes après le {day} ?",
        "Combien de commandes ne sont pas de {city} ?",
    ),
    "es": (
        "¿Cuántos pedidos hay?", "¿Cuántos pedidos son de {city}?", "¿Cuántos pedidos tiene {person}?",
        "¿Cuál es el importe total?", "importe total de {city}", "importe total de {good} en {city}",
        "¿Cuál es el importe medio?", "importe medio de {good}", "¿Cuál es el importe más alto?",
        "importe mínimo en {city}",
        "¿Qué pedidos son superiores a {limit}?", "Lista de todos los clientes",
        "¿Cuántos productos distintos hay?", "importe total por ciudad",
        "¿Qué cliente tiene el importe total más alto?",
        "todos los pedidos de {person} en {city}", "¿Cuántos pedidos hay después del {day}?",
        "¿Cuántos pedidos no son de {city}?",
    ),
}  # fmt: skip
"""The same eighteen questions in each language, in the order of `answers`."""

TRAPS = {
    "en": ("How many parcels are from {city}?", "What is the total weight?", "How many orders did Bella Strand place?",
           "What is the median amount?", "Which orders were cancelled?", "What is the second highest amount?",
           "What are the highest and the lowest amount?", "Which orders are above the average?",
           "How many orders are from Leeds and how many from Truro?", "orders with more than 2 kettles",
           "What percentage of orders is from Leeds?", "total amount per customer and per city", "amount above 20 USD",
           "Which customer is the oldest?", "top 3 customers by amount"),
    "de": ("Wie viele Pakete gibt es aus {city}?", "Summe der Gewichte", "Wie viele Bestellungen hat Bella Strand?",
           "Bestellungen über dem Durchschnitt", "Wie viel Prozent der Bestellungen sind aus Köln?"),
    "fr": ("Combien de colis de {city} ?", "poids total", "Combien de commandes a Bella Strand ?"),
    "es": ("¿Cuántos paquetes son de {city}?", "peso total", "¿Cuántos pedidos tiene Bella Strand?"),
}  # fmt: skip
"""Questions about what the tables do not have."""


def table(form: Form, chance: random.Random) -> list[Row]:
    """Return the rows of a table with missing amounts, and equal ones."""
    names = form.columns
    rows: list[Row] = []
    for number in range(36):
        amount = Decimal(chance.randrange(500, 250_000)) / 100
        day = date(2024, 1, 1) + timedelta(days=chance.randrange(360))
        rows.append({
            names[0]: f"{form.folder.upper()}-{1001 + number}", names[1]: chance.choice(form.people),
            names[2]: chance.choice(form.cities), names[3]: chance.choice(form.goods),
            names[4]: None if number % 12 == 7 else amount, names[5]: day,
        })  # fmt: skip
    return rows


def write_table(form: Form, rows: Sequence[Row], folder: Path) -> None:
    """Write a table as CSV, and a note beside it."""
    folder.mkdir(parents=True)
    with (folder / form.file).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=form.delimiter)
        writer.writerow(form.columns)
        for row in rows:
            numbers = (form.number(cell) if isinstance(cell, Decimal) else cell for cell in row.values())
            written = (form.day(cell) if isinstance(cell, date) else cell for cell in numbers)
            writer.writerow(["" if cell is None else cell for cell in written])
    (folder / "note.txt").write_text("The shop in the harbour closes at noon on Mondays.\n", "utf-8")


def answers(form: Form, rows: Sequence[Row], chance: random.Random) -> Iterator[Question]:
    """Yield the questions to a table with their answers."""
    key, who, where, what, paid, when = form.columns
    city, good, person = chance.choice(form.cities), chance.choice(form.goods), chance.choice(form.people)
    limit, day = Decimal(1500), date(2024, 7, 15)

    def amounts(kept: Iterable[Row]) -> list[Decimal]:
        return [cell for row in kept if isinstance(cell := row[paid], Decimal)]

    def rows_of(**wanted: str) -> list[Row]:
        names = {"city": where, "good": what, "person": who}
        return [row for row in rows if all(row[names[name]] == value for name, value in wanted.items())]

    def keys(kept: Iterable[Row]) -> tuple[str, ...]:
        return tuple(str(row[key]) for row in kept)

    def average(kept: Iterable[Row]) -> Decimal:
        return mean(amounts(kept)).quantize(Decimal("0.01"))

    by_city = [sum(amounts(rows_of(city=name))) for name in form.cities]
    by_person = {name: sum(amounts(rows_of(person=name))) for name in form.people}
    above = [row for row in rows if isinstance(cell := row[paid], Decimal) and cell > limit]
    after = [row for row in rows if isinstance(cell := row[when], date) and cell > day]
    both = rows_of(person=person, city=city)
    best = max(by_person, key=lambda name: by_person[name])
    rest = tuple(name for name in form.people if name != best)
    others = [tuple(set(keys(rows)) - set(keys(kept))) for kept in (above, both)]
    expected: list[tuple[Decimal | None, tuple[str, ...], tuple[str, ...]]] = [
        (Decimal(len(rows)), (), ()), (Decimal(len(rows_of(city=city))), (), ()),
        (Decimal(len(rows_of(person=person))), (), ()), (sum(amounts(rows), Decimal()), (), ()),
        (sum(amounts(rows_of(city=city)), Decimal()), (), ()),
        (sum(amounts(rows_of(city=city, good=good)), Decimal()), (), ()), (average(rows), (), ()),
        (average(rows_of(good=good)), (), ()), (max(amounts(rows)), (), ()), (min(amounts(rows_of(city=city))), (), ()),
        (None, keys(above), others[0]), (None, form.people, ()), (Decimal(len(form.goods)), (), ()),
        (None, tuple(form.number(Decimal(total)).replace("\u202f", " ").removesuffix(" €") for total in by_city), ()),
        (None, (best,), rest), (None, keys(both), others[1]), (Decimal(len(after)), (), ()),
        (Decimal(len(rows) - len(rows_of(city=city))), (), ()),
    ]  # fmt: skip
    words = {"city": city, "good": good, "person": person, "limit": limit, "day": form.day(day)}
    for text, (number, items, wrong) in zip(ASKED[form.folder], expected, strict=True):
        yield Question(form.folder, text.format(**words), number, items, wrong)
    for text in TRAPS[form.folder]:
        yield Question(form.folder, text.format(**words))


def texts(folder: Path) -> Iterator[Question]:
    """Write texts, headings, a table in Markdown, a workbook of two sheets and a chat; yield the questions."""
    from openpyxl import Workbook

    notes, guide, stock, chat = (folder / name for name in ("notes", "guide", "stock", "chat"))
    for each in (notes, guide, stock, chat):
        each.mkdir(parents=True)
    birds = {"Ada": ("heron", "Rufus"), "Bel": ("owl", "Tamsin"), "Cyr": ("heron", "Tamsin"), "Dov": ("crane", "Rufus"),
             "Eli": ("owl", "Rufus"), "Fia": ("heron", "Odile"), "Gus": ("owl", "Odile")}  # fmt: skip
    ill = {"Bel", "Dov", "Gus"}
    for name, (kind, keeper) in birds.items():
        more = f"In spring {name} had mites." if name in ill else f"In spring {name} had fever."
        (notes / f"{name.lower()}.txt").write_text(
            f"{name} is a {kind}. The keeper of {name} is {keeper}. {more}\n", "utf-8"
        )
    yield Question("notes", "How many documents are there?", Decimal(len(birds)))
    yield Question("notes", "what is in here", items=tuple(name.lower() for name in birds))
    yield Question("notes", "How many documents mention mites?", Decimal(len(ill)))
    yield Question(
        "notes", "Which documents mention Tamsin?", items=("bel", "cyr"), others=("ada", "dov", "eli", "fia", "gus")
    )
    yield Question("notes", "How many animals are herons?", Decimal(3))
    yield Question("notes", "how many animals does Rufus keep?", Decimal(3))
    yield Question("notes", "Which animals had mites?", items=tuple(ill), others=tuple(set(birds) - ill))
    yield Question("notes", "How many animals are storks?")
    yield Question("notes", "How many animals had gout?")
    heads = ("Setting up", "First voyage", "Knots", "Weather", "Coming home")
    body = "\n\n".join(f"## {head}\n\nRead this before you go on. It takes a while." for head in heads)
    crew = (("Nell", "12", "Hull"), ("Oskar", "31", "Hull"), ("Ptolemy", "7", "Wick"), ("**Total**", "50", ""))
    lines = ["| Name | Voyages | Port |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in crew)]
    (guide / "handbook.md").write_text(f"# Handbook\n\n{body}\n\n## Crew\n\n" + "\n".join(lines) + "\n", "utf-8")
    yield Question("guide", "List the headings", items=("Handbook", *heads, "Crew"))
    yield Question("guide", "How many headings are there?", Decimal(len(heads) + 2))
    yield Question("guide", "Who has the most voyages?", items=("Oskar",), others=("Nell", "Ptolemy"))
    yield Question("guide", "What is the total number of voyages?", Decimal(50))
    yield Question("guide", "total voyages for Hull", Decimal(43))
    yield Question("guide", "How many voyages did Quentin make?")
    book = Workbook()
    for sheet, rows in (
        ("Q1", (("Anvil", 1310, 870), ("Bellows", 640, 512))),
        ("Q2", (("Anvil", 1475, 930), ("Bellows", 702, 498))),
    ):
        page = book.create_sheet(sheet)
        page.append(("Product", "North", "South"))
        for row in rows:
            page.append(row)
    book.remove(book.worksheets[0])
    book.save(stock / "sold.xlsx")
    yield Question("stock", "How many anvils were sold in the North in Q2?", Decimal(1475))
    yield Question("stock", "total of North for bellows", Decimal(1342))
    yield Question("stock", "How many anvils were sold in the East?")
    yield Question("stock", "How many bellows were sold in the South in Q3?")
    hidden, copies = folder / "hidden", folder / "copies"
    hidden.mkdir()
    (hidden / "regions.csv").write_text("Region,Sold\nNorth A,3\nNorth B,4\nTotal North,7\n", "utf-8")
    yield Question("hidden", "What is the total sold?")
    copies.mkdir()
    towns = [f"{name};{sold}" for sold, name in enumerate(("Wick", "Hull", "Leith", "Oban", "Ayr", "Troon"), start=3)]
    for name in ("sold", "sold-old"):
        (copies / f"{name}.csv").write_text("\n".join(["Town;Sold", *towns, f"Tain;{len(name)}"]), "utf-8")
    yield Question("copies", "What is the total sold?")
    yield Question("copies", "How many towns are there?")
    said = (("Mara", "the tide is at six"), ("Jory", "I bring the soup"), ("Mara", "who has the key?"),
            ("Wen", "the key is under the pot"), ("Mara", "thanks"))  # fmt: skip
    lines = [f"14/05/25, 19:{10 + at} - {name}: {text}" for at, (name, text) in enumerate(said)]
    (chat / "WhatsApp Chat with Boat.txt").write_text("\n".join(lines) + "\n", "utf-8")
    yield Question("chat", "How many messages are there?", Decimal(5))
    yield Question("chat", "How many messages did Mara send?", Decimal(3))
    yield Question("chat", "Which messages did Mara send?", items=("the tide is at six", "who has the key", "thanks"),
                   others=("soup", "under the pot"))  # fmt: skip
    yield Question(
        "chat", "Which messages mention the key?", items=("who has the key", "under the pot"), others=("soup", "thanks")
    )
    yield Question("chat", "How many messages did Silas send?")


def grade(question: Question, answer: conspectus.Answer) -> str:
    """Return exact, declined, partial or wrong."""
    if not answer.known:
        return "declined"
    text = re.sub(r"\s*\[\d+\]", "", answer.text).replace("\u202f", " ")
    if question.number is None and not question.items:
        return "wrong"
    if question.number is not None:
        told = re.search(r":\s*(-?[\d.,\u202f ]*\d)", text.partition("\n")[0])
        numbers = [told[1] if told else "", answer.span]
        return (
            "exact" if all(value_of(each) == question.number for each in numbers if each) and any(numbers) else "wrong"
        )
    folded = text.casefold()
    listed = folded.partition("\n")[2] or folded
    if any(re.search(rf"(?<!\w){re.escape(other.casefold())}(?!\w)", listed) for other in question.others):
        return "wrong"
    missing = [item for item in question.items if not re.search(rf"(?<!\w){re.escape(item.casefold())}(?!\w)", folded)]
    if not missing:
        return "exact"
    said = re.search(rf"{SHOWN} \w+ {len(question.items)}\b", text)
    return "exact" if said and len(missing) == len(question.items) - SHOWN else "partial"


def value_of(text: str) -> Decimal | None:
    """Return a number with two decimals or none, whatever its separators are."""
    found = re.search(r"-?\d[\d.,\u202f ]*\d|\d", text)
    if not found:
        return None
    whole, _, places = re.fullmatch(r"(.*?)(?:([.,])(\d{1,2}))?", found[0]).groups()  # type: ignore[union-attr]
    return Decimal(re.sub(r"\D", "", whole) + "." + (places or "0"))


def main() -> None:
    """Ask all questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the inputs and indexes stay")
    parser.add_argument("--method", default="auto,all", help="methods to ask")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        inputs = folder / "inputs"
        if inputs.exists():
            parser.error(f"{inputs} exists")
        questions: list[Question] = []
        for form in FORMS:
            chance = random.Random(form.folder)
            rows = table(form, chance)
            write_table(form, rows, inputs / form.folder)
            questions += answers(form, rows, chance)
        questions += texts(inputs)
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for name in sorted({question.folder for question in questions}):
            index = conspectus.build(inputs / name, folder / "indexes" / name)
            for question in (question for question in questions if question.folder == name):
                answerable = question.number is not None or bool(question.items)
                for method in options.method.split(","):
                    answer = index.ask(question.text, method=method)
                    outcome = grade(question, answer)
                    counts[method][f"{outcome}{'' if answerable else ' (no answer)'}"] += 1
                    if outcome != ("exact" if answerable else "declined"):
                        print(*failed(question, answer, outcome), sep="\n    ", file=sys.stderr)
        print(report(counts, len(questions), as_json=options.json))


def failed(question: Question, answer: conspectus.Answer, outcome: str) -> tuple[str, ...]:
    """Return the lines about an answer that is not right."""
    wanted = ", ".join(question.items) if question.number is None else str(question.number)
    why = next((step.detail for step in answer.trace if step.name == "plan"), answer.trace[0].detail)
    asked = f"{outcome} ({answer.method}, {question.folder}): {question.text}"
    return asked, f"wanted {wanted or 'to decline'}", " ".join(answer.text.split())[:300], why


def report(counts: dict[str, Counter[str]], n_questions: int, *, as_json: bool) -> str:
    """Return the counts as a table or as JSON."""
    if as_json:
        return json.dumps(
            {"questions": n_questions} | {method: dict(found) for method, found in counts.items()}, indent=2
        )
    columns = ["exact", "declined", "partial", "wrong", "declined (no answer)", "wrong (no answer)"]
    lines = [f"{n_questions} questions", f"| method | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    lines += [
        f"| {method} | {' | '.join(str(found[column]) for column in columns)} |" for method, found in counts.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
