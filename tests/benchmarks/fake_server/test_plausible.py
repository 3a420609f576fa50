from conspectus.prompts.language_model import Message
from conspectus.prompts.render import messages, render
from conspectus.prompts.replies.records import read_records

from benchmarks.fake_server import FakeRequest, Plausible
from benchmarks.fake_server.filled_prompt import asked

TEXT = "Nadia Frey directed Cold Harbour. She was born in Brennick in 1925."


def request(*turns: Message) -> FakeRequest:
    said = [{"role": turn.role, "content": turn.content} for turn in turns]
    return FakeRequest("/v1/chat/completions", {"messages": said})


def extract_prompt() -> tuple[Message, ...]:
    places = {"title": "Cold Harbour", "section": "(none)", "persona": "", "examples": "none"}
    return messages("index/extract", entity_types="person, work, geo", text=TEXT, **places)


def test_a_prompt_is_known_by_its_template_and_gives_its_values() -> None:
    wanted = asked(request(*extract_prompt()))
    assert wanted is not None
    assert (wanted.name, wanted.values["text"]) == ("index/extract", TEXT)
    assert wanted.values["entity_types"] == "person, work, geo"
    more = (Message("assistant", "<|COMPLETE|>"), Message("user", render("index/glean_check")))
    gleaned = asked(request(*extract_prompt(), *more))
    assert gleaned is not None
    assert (gleaned.name, gleaned.first["text"]) == ("index/glean_check", TEXT)
    assert asked(request(Message("user", "Which river is this?"))) is None


def test_extraction_states_what_the_text_says() -> None:
    found = read_records(Plausible()(request(*extract_prompt())))
    assert {each.name for each in found.entities} == {"Nadia Frey", "Cold Harbour", "Brennick"}
    (directed,) = [each for each in found.relations if each.target == "Cold Harbour"]
    assert (directed.source, directed.predicate) == ("Nadia Frey", "directed")
    assert not found.lost


def test_gleaning_finds_the_records_that_the_first_reply_left_out() -> None:
    whole, model = Plausible()(request(*extract_prompt())), Plausible(gleaned=1.0)
    first = model(request(*extract_prompt()))
    so_far = (*extract_prompt(), Message("assistant", first))
    assert '"answer": "Yes"' in model(request(*so_far, Message("user", render("index/glean_check"))))
    second = model(request(*so_far, Message("user", render("index/glean"))))
    replies = [read_records(each) for each in (first, second)]
    assert all(each.entities or each.relations for each in replies)
    for kind in ("entities", "relations"):
        assert sum((getattr(each, kind) for each in replies), ()) == getattr(read_records(whole), kind)
