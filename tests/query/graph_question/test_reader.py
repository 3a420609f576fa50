"""Questions that are read as queries of a graph, without a model."""

from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.question_form import read_asked
from conspectus.query.graph_question.reader import GraphReading, read_graph_question
from conspectus.query.walk.graph import open_graph, sentence

from tests.query import films as made_up


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return made_up.build(tmp_path_factory.mktemp("films"), made_up.TRIPLES)


def answer(context: Context, question: str) -> object:
    reading = read_graph_question(context, question)
    if not (reading.answered or reading.best_effort) or reading.answer is None or reading.query is None:
        return None
    form = reading.query.form
    if form == "yes_no":
        return reading.answer.verdict
    if form == "count":
        return reading.answer.count
    return {open_graph(context).names[found.entity] for found in reading.answer.found}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who made Port Alma", {"Ada Mirren"}),
        ("who driected port alma?", {"Ada Mirren"}),
        ("When did Salt Pans come out?", {"1974"}),
        ("Which movies did Ada Mirren shoot?", {"Grey Heron", "Salt Pans", "Port Alma"}),
        ("actors in the films of Hugo Wren", {"Lena Fisk"}),
        ("What other films did the director of Salt Pans make?", {"Grey Heron", "Port Alma"}),
        ("Which film by Ada Mirren has Hugo Wren in it?", {"Salt Pans"}),
        ("how many movies did ada mirren direct", 3),
        ("How many films came out before 1975?", 3),
        ("Did Hugo Wren write Salt Pans?", False),
        ("did mary quill write salt pans", True),
        ("What is Ada Mirren's newest film?", {"Port Alma"}),
        ("Which is older, Grey Heron or Night Ferry?", {"Grey Heron"}),
    ],
)
def test_questions_are_read_and_answered(films: Context, question: str, expected: object) -> None:
    assert answer(films, question) == expected


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What was the budget of Salt Pans?", "no relation of the graph expresses 'budget' of Salt Pans"),
        ("Who is the mayor of Pelluci?", "'mayor'"),
        ("Who met Otto Brand in Port Alma?", "'met'"),
        ("Who directed Xanadu Rising?", "nothing called"),
    ],
)
def test_what_the_graph_lacks_is_declined_and_told(films: Context, question: str, told: str) -> None:
    reading = read_graph_question(films, question)
    assert not reading.answered
    assert told in reading.declined


def test_bounds_are_read_with_their_values() -> None:
    asked = read_asked("films longer than two hours made after 1990")
    assert [(bound.comparison, bound.value) for bound in asked.bounds] == [("more", "2 hours"), ("more", "1990")]


def test_chains_of_relations_run_in_the_order_in_which_they_are_said(tmp_path: Path) -> None:
    """Words nearest to the name come first, those after 's before all others; each word is a step of its own."""
    triples = [
        ("olan the elder", "parents", "brida"), ("brida", "children", "olan the elder"),
        ("brida", "children", "sune"), ("brida", "parents", "gerd"), ("brida", "spouse", "tove"),
        ("olan the elder", "children", "kari"), ("kari", "parents", "olan the elder"), ("kari", "parents", "maren"),
        ("kari", "spouse", "nils"), ("kari", "nationality", "norge"), ("brida", "nationality", "eire"),
        ("maren", "nationality", "suomi"), ("sune", "nationality", "sverige"), ("gerd", "children", "brida"),
    ]  # fmt: skip
    family = made_up.build(tmp_path, triples)
    assert answer(family, "who is the kid of olan the elder 's mom ?") == {"olan the elder", "sune"}
    assert answer(family, "who is the mom of olan the elder 's heir ?") == {"maren", "olan the elder"}
    assert answer(family, "what is the olan the elder 's heir 's other half ?") == {"nils"}
    assert answer(family, "what is the nation of dad of olan the elder 's kid ?") == {"suomi"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wer führte bei Night Ferry Regie?", {"Hugo Wren"}),
        ("Wie viele Filme hat Ada Mirren vor 1975 gedreht?", 2),
        ("Hat Hugo Wren Grey Heron gedreht?", False),
        ("Où est née la réalisatrice de Grey Heron ?", {"Pelluci"}),
        ("Quel est le film le plus récent d'Ada Mirren ?", {"Port Alma"}),
        ("¿Quién dirigió Grey Heron?", {"Ada Mirren"}),
        ("cual es la pelicula mas antigua de ada mirren", {"Grey Heron"}),
        ("Quanti film ha diretto Ada Mirren?", 3),
        ("Hugo Wren ha diretto Grey Heron?", False),
        ("Wanneer kwam Salt Pans uit?", {"1974"}),
        ("Onde nasceu o diretor de Grey Heron?", {"Pelluci"}),
    ],
)
def test_questions_in_other_languages_are_read_word_by_word(films: Context, question: str, expected: object) -> None:
    assert answer(films, question) == expected


def test_relations_with_labels_of_another_language(tmp_path: Path) -> None:
    graph = made_up.build(tmp_path, [
        ("Graureiher", "Regisseur", "Ada Mirren"), ("Graureiher", "Erscheinungsjahr", "1971"),
        ("Salzpfannen", "Regisseur", "Ada Mirren"), ("Salzpfannen", "Erscheinungsjahr", "1974"),
        ("Ada Mirren", "geboren in", "Pelluci"),
    ])  # fmt: skip
    assert answer(graph, "Wer hat Salzpfannen gedreht?") == {"Ada Mirren"}
    assert answer(graph, "Where was the director of Graureiher born?") == {"Pelluci"}
    assert answer(graph, "Was ist der neueste Film von Ada Mirren?") == {"Salzpfannen"}


def test_classes_and_measures_with_labels_of_another_language(tmp_path: Path) -> None:
    huts = (("Refuge Gris", "92", "Odile"), ("Refuge Vert", "31", "Ada"), ("Refuge Noir", "47", "Yves"))
    graph = made_up.build(tmp_path, [
        *((hut, relation, value) for hut, length, keeper in huts
          for relation, value in (("est_un", "refuge"), ("longueur_m", length), ("gardien", keeper))),
        ("Ada", "né_à", "Bern"), ("Yves", "est_un", "guide"),
    ])  # fmt: skip
    assert answer(graph, "Combien de refuges y a-t-il ?") == 3
    assert answer(graph, "Qui garde le Refuge Vert ?") == {"Ada"}
    assert answer(graph, "Quel refuge est le plus long, le Refuge Vert ou le Refuge Noir ?") == {"Refuge Noir"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("films without Otto Brand", {"Salt Pans", "Night Ferry"}),
        ("which films by ada mirren don't star otto brand?", {"Salt Pans"}),
        ("How many films were not directed by Ada Mirren?", 1),
        ("films released between 1972 and 1978", {"Salt Pans", "Night Ferry"}),
        ("Which director made the most films?", {"Ada Mirren"}),
        ("which film came out first, Port Alma or Night Ferry", {"Night Ferry"}),
        ("directors born in Pelluci", {"Ada Mirren", "Hugo Wren"}),
        ("Is Port Alma a drama or a comedy?", {"Comedy"}),
        ("pls tell me who directed salt pans", {"Ada Mirren"}),
        ("where was otto brand born", None),  # the graph knows where the directors of his films were
        ("does hugo wren act or direct", None),
    ],
)
def test_negations_ranges_most_and_choices(films: Context, question: str, expected: object) -> None:
    assert answer(films, question) == expected


def test_a_relation_is_read_in_the_direction_in_which_it_is_said(tmp_path: Path) -> None:
    packages = made_up.build(tmp_path, [("wick", "depends_on", "lamp"), ("lamp", "depends_on", "oil")])

    def ways(question: str) -> dict[bool, int]:
        reading = read_graph_question(packages, question)
        first = [each for each in reading.candidates if len(each.steps) == 1]
        return {each.steps[0][1]: sum(reading.scoring.turned(each)) for each in first}

    assert ways("what does lamp depend on?") == {True: 1, False: -1}
    assert ways("which packages depend on lamp") == {True: -1, False: 1}


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Context:
    classes = [("Watercolour", "subClassOf", "Painting"), ("Painting", "subClassOf", "Artwork")]
    kinds = [("Reeds", "Watercolour"), ("The Orchard", "Painting"), ("The Skater", "Artwork"), ("Harbour", "Painting")]
    makers = [("Reeds", "Hild Okkonen"), ("The Orchard", "Rosa Valdivia"), ("The Skater", "Rosa Valdivia"),
              ("Harbour", "Hild Okkonen")]  # fmt: skip
    sizes = [("Reeds", "27"), ("The Orchard", "120"), ("The Skater", "180"), ("Harbour", "92")]
    years = [("Reeds", "1897"), ("The Orchard", "1951"), ("The Skater", "1937"), ("Harbour", "1884")]
    rooms = [("Reeds", "Green Room"), ("The Orchard", "Green Room"), ("The Skater", "Great Hall"),
             ("Harbour", "Blue Room")]  # fmt: skip
    triples = [
        *classes,
        *((one, "type", other) for one, other in kinds),
        *((one, "madeBy", other) for one, other in makers),
        *((one, "heightInCm", other) for one, other in sizes),
        *((one, "yearMade", other) for one, other in years),
        *((one, "hangsIn", other) for one, other in rooms),
        ("Green Room", "partOf", "North Wing"), ("Blue Room", "partOf", "North Wing"),
        ("Hild Okkonen", "dateOfBirth", "1851-03-04"), ("Hild Okkonen", "dateOfDeath", "1909-11-20"),
        ("Rosa Valdivia", "dateOfBirth", "1902-09-14"), ("Rosa Valdivia", "dateOfDeath", "1988-05-30"),
    ]  # fmt: skip
    return made_up.build(tmp_path_factory.mktemp("museum"), triples)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Can you show me all paintings?", {"Reeds", "The Orchard", "Harbour"}),
        ("how many paintings are there", 3),
        ("What is the second oldest artwork?", {"Reeds"}),
        ("Who died first?", {"Hild Okkonen"}),
        ("Which artworks are taller than 1 m?", {"The Orchard", "The Skater"}),
        ("Which artworks were made in the 19th century?", {"Reeds", "Harbour"}),
        ("Which artworks were made in 1937?", {"The Skater"}),
        ("Which artworks hang in the North Wing?", {"Reeds", "The Orchard", "Harbour"}),
        ("Was Rosa Valdivia born before 1900?", False),
        ("Was Hild Okkonen born before 1900?", True),
        ("Who sold The Orchard?", None),
        ("When was The Orchard sold?", None),
    ],
)
def test_classes_ordinals_and_bounds(museum: Context, question: str, expected: object) -> None:
    assert answer(museum, question) == expected


def test_properties_of_a_class_are_those_of_its_members(museum: Context) -> None:
    found = read_graph_question(museum, "Which properties does an artwork have?").answer
    assert found is not None
    assert set(found.properties) == {"made by", "height in cm", "year made", "hangs in"}
    assert len(found.relations) == len(found.properties)


TRIPLES = [
    ("Tavern", "subClassOf", "FoodHouse"), ("FoodHouse", "subClassOf", "Business"),
    ("Business", "subClassOf", "Organisation"), ("Shop", "subClassOf", "Business"),
    *((name, "type", "Class") for name in ("Tavern", "FoodHouse", "Business", "Shop", "Organisation")),
    ("Blue Boar", "type", "Tavern"), ("Red Cow", "type", "Tavern"), ("Corner Store", "type", "Shop"),
    ("Blue Boar", "located in", "Ashby"), ("Corner Store", "located in", "Norbury"),
    ("Ashby", "located in", "Kent"), ("Norbury", "located in", "Surrey"),
    ("Kent", "located in", "England"), ("Surrey", "located in", "England"),
    ("Blue Boar", "keeper", "Ann Poole"), ("Red Cow", "keeper", "Tom Reed"), ("Blue Boar", "operator", "Inns Ltd"),
    ("Ann Poole", "born in", "Ashby"), ("Inns Ltd", "based in", "Norbury"),
    ("Blue Boar", "opened", "1902"), ("Red Cow", "opened", "1950"),
]  # fmt: skip


@pytest.fixture(scope="module")
def inns(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return made_up.build(tmp_path_factory.mktemp("inns"), TRIPLES)


def proof(context: Context, reading: GraphReading) -> list[str]:
    assert reading.answer is not None
    return [sentence(open_graph(context), relation) for relation in reading.answer.relations]


def names(context: Context, reading: GraphReading) -> set[str]:
    assert reading.answer is not None
    return {open_graph(context).names[found.entity] for found in reading.answer.found}


@pytest.mark.parametrize(
    ("question", "verdict", "path"),
    [
        (
            "Is Tavern a subclass of Business?",
            True,
            ["Tavern sub class of FoodHouse", "FoodHouse sub class of Business"],
        ),
        ("Is Business a subclass of Tavern?", False, ["Business sub class of Organisation"]),
        (
            "Is the Blue Boar a Business?",
            True,
            ["Blue Boar type Tavern", "Tavern sub class of FoodHouse", "FoodHouse sub class of Business"],
        ),
        (
            "Was Ann Poole born in England?",
            True,
            ["Ann Poole born in Ashby", "Ashby located in Kent", "Kent located in England"],
        ),
        ("Is the Corner Store in Kent?", False, ["Corner Store located in Norbury"]),
        ("Does Tom Reed keep the Blue Boar?", False, ["Blue Boar keeper Ann Poole"]),
    ],
)
def test_transitive_relations_are_followed_and_their_path_is_cited(
    inns: Context, question: str, verdict: bool, path: list[str]
) -> None:
    reading = read_graph_question(inns, question)
    assert reading.answer is not None
    assert reading.answered or reading.best_effort
    assert reading.answer.verdict is verdict
    assert proof(inns, reading) == path


@pytest.mark.parametrize("question", ["Is Red Cow in England?", "Was Tom Reed born in Ashby?"])
def test_what_is_only_not_stated_is_not_denied(inns: Context, question: str) -> None:
    reading = read_graph_question(inns, question)
    assert not reading.answered
    assert not reading.best_effort


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which businesses are there?", {"Blue Boar", "Red Cow", "Corner Store"}),
        ("How many classes are there?", {"Tavern", "FoodHouse", "Business", "Shop", "Organisation"}),
        ("List all subclasses of Business", {"FoodHouse", "Tavern", "Shop"}),
        ("What are the superclasses of Tavern?", {"FoodHouse"}),
        ("Which taverns are in England?", {"Blue Boar"}),
        ("taverns opened before 1940", {"Blue Boar"}),
        ("who keeps Blue Boar?", {"Ann Poole"}),
        ("Which tavern is older, Red Cow or Blue Boar?", {"Blue Boar"}),
    ],
)
def test_classes_have_the_members_of_those_below_them(inns: Context, question: str, expected: set[str]) -> None:
    reading = read_graph_question(inns, question)
    assert reading.answered or reading.best_effort
    assert names(inns, reading) == expected


def test_a_relation_that_the_graph_declares_transitive_is_followed(tmp_path: Path) -> None:
    context = made_up.build(tmp_path, [
        ("feeds", "type", "TransitiveProperty"), ("Mill Brook", "feeds", "Ardle"), ("Ardle", "feeds", "Tarn Water"),
    ])  # fmt: skip
    reading = read_graph_question(context, "Does Mill Brook feed Tarn Water?")
    assert reading.answer is not None
    assert reading.answer.verdict
    assert proof(context, reading) == ["Mill Brook feeds Ardle", "Ardle feeds Tarn Water"]
