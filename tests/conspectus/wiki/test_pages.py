"""The pages of a wiki: links resolve, sources are exact, and nothing in a text can change a page."""

import html
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import conspectus
import lxml.html
import pytest
import yaml
from conspectus.api import Index
from conspectus.pipelines.build_index import build_index
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import load_settings
from conspectus.storage.text.normalise import entity_key
from markdown_it import MarkdownIt

from tests.conftest import write_rows

WORLD = Path(__file__).parents[3] / "examples" / "world" / "pages"
LINK = re.compile(r"\[\[([^\[\]|#]+)(#[^\[\]|]+)?\|([^\[\]|]+)\]\]")
CITED = re.compile(r"- (?P<text>.*?)(?P<sources>(?: \[\[documents/[^\]]+\]\])+)$", re.MULTILINE)
HOSTILE = """# Heading
---
key: value
1. one [link](javascript:alert(1)) ![image](http://evil.example/x.png) [[entities/Ada]] ![[Ada]]
    indented code `code` ``` fence
> quoted <script>alert(1)</script> &amp; <!-- comment
* * *
- [ ] task *bold* _it_ ~~out~~ ==marked== %% comment $x$ #tag {{ template }} ^block
| a | b |
|---|---|
Ada Lovelace \\* met \u202eBob. See https://evil.example/a_b_c. Setext
===
: definition [^1] a\tb\x0cc"""


def shown(text: str) -> str:
    """Return the text that a page shows, from Markdown on one or several lines."""
    return re.sub(r"\\(.)|&[#\w]+;", lambda sign: sign[1] or html.unescape(sign[0]), text)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("world")
    build_index([WORLD], folder / "index", load_settings(overrides={"extraction": {"pipeline": "regex"}}))
    return conspectus.open(folder / "index")


@pytest.fixture(scope="module")
def wiki(world: Index, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("wiki") / "wiki"
    world.export("wiki", to)
    return to


def pages(wiki: Path) -> dict[str, str]:
    return {path.relative_to(wiki).as_posix(): path.read_text("utf-8") for path in sorted(wiki.rglob("*.md"))}


def test_every_link_resolves(wiki: Path) -> None:
    made = pages(wiki)
    assert len(made) > 100
    links = [link for text in made.values() for link in LINK.finditer(text)]
    assert len(links) == sum(text.count("[[") for text in made.values()) > 1_000
    for page, part, _ in (link.groups() for link in links):
        assert f"{page}.md" in made, page
        assert part is None or f"\n#{part.replace('#', '# ')}\n" in made[f"{page}.md"], (page, part)
    listed = re.findall(r"^- \[.*\]\((.+)\)$", (wiki / "llms.txt").read_text("utf-8"), re.MULTILINE)
    assert len(listed) > 100
    assert all(unquote(each) in made for each in listed)
    assert {page for link in links if (page := f"{link[1]}.md")} == made.keys() - {"index.md"}, "each page is linked to"


def test_every_citation_is_the_text_of_its_document(wiki: Path, world: Index) -> None:
    made = pages(wiki)
    ids = {name: yaml.safe_load(text.split("---\n")[1]).get("id") for name, text in made.items()}
    texts: dict[str, str] = {}
    checked = 0
    for text in made.values():
        for cited in CITED.finditer(text):
            said = shown(cited["text"])
            for page, _, named in LINK.findall(cited["sources"]):
                id_ = ids[f"{page}.md"]
                if id_ not in texts:
                    texts[id_] = world.document(id_).text
                start, end = map(int, named.rsplit(", ", 1)[1].split("–"))
                quote = " ".join(texts[id_][start:end].split())
                assert said == quote or said.endswith(f": {quote}") or said == "Named in", (said, quote)
                checked += 1
    assert checked > 500


def test_every_sentence_of_an_entity_or_community_has_a_source(wiki: Path) -> None:
    for name, text in pages(wiki).items():
        if name.startswith(("entities/", "communities/")):
            for line in text.split("---\n", 2)[2].splitlines():
                assert line[:1] in ("", "#") or "[[" in line, (name, line)


def test_a_document_page_has_its_text(wiki: Path, world: Index) -> None:
    for name, text in pages(wiki).items():
        if name.startswith("documents/"):
            whole = world.document(yaml.safe_load(text.split("---\n")[1])["id"]).text
            passages = re.split(r"^## Passage \d+\n\n\*Characters (\d+)–(\d+).*\*\n\n", text, flags=re.MULTILINE)[1:]
            assert passages
            for start, end, rest in zip(passages[::3], passages[1::3], passages[2::3], strict=True):
                assert shown(rest).startswith(whole[int(start) : int(end)])


def test_names_are_safe_and_unique_on_every_system(tmp_path: Path) -> None:
    titles = [
        "a/b",
        "A/B",
        "a／b",
        "CON",
        "nul.txt",
        "..",
        " .x. ",
        "x" * 300,
        "x" * 301,
        "北" * 200,
        'a:"<>?*|b',
        "Ⅳ",
        "IV",
        "",
    ]
    index = made_of(tmp_path, [(title, "Ada Lovelace met Bob Smith.") for title in titles])
    index.export("wiki", tmp_path / "wiki")
    names = [path.name for path in (tmp_path / "wiki" / "documents").iterdir()]
    assert len(names) == len(titles) == len({entity_key(name) for name in names})
    for name in names:
        assert not re.search(r'[<>:"/\\|?*\x00-\x1f#^\[\]]', name), name
        assert len(name.encode()) <= 255
        assert not re.match(r"(?i)(con|nul|\.)(\.|$)", name), name
        assert name[:-3] == name[:-3].strip(" .")


def test_a_text_cannot_change_its_page(tmp_path: Path) -> None:
    index = made_of(tmp_path, [("<b>[[T]]</b>\n# x", HOSTILE), ("Bob", "Bob knows Ada Lovelace.")])
    index.export("wiki", tmp_path / "wiki")
    for name, text in pages(tmp_path / "wiki").items():
        yaml.safe_load(text.split("---\n")[1])
        body = LINK.sub(lambda link: link[3], text.split("---\n", 2)[2])
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(body)
        kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "fence", "code_block"}, (
            name
        )
        assert not kinds & {"table_open", "s_open", "hr", "blockquote_open", "ordered_list_open"}, name
        assert "![[" not in text
        assert not re.search(r"(?<!\\)(%%|==|\$|\{\{)", text.split("---\n", 2)[2]), name
    page = next(text for name, text in pages(tmp_path / "wiki").items() if "Heading" in text and "documents/" in name)
    assert HOSTILE in shown(page)
    headings = [token for token in MarkdownIt().parse(page.split("---\n", 2)[2]) if token.type == "heading_open"]
    assert [each.tag for each in headings] == ["h1", "h2"]


def test_the_site_shows_the_same_pages_and_every_link_resolves(wiki: Path, world: Index, tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = world.export("wiki:site", site)
    made = {path.relative_to(site).as_posix(): path.read_text("utf-8") for path in done.files if path.suffix == ".html"}
    assert {name.removesuffix(".html") for name in made} == {name.removesuffix(".md") for name in pages(wiki)}
    links = 0
    for name, text in made.items():
        page = lxml.html.document_fromstring(text)
        assert "[[" not in page.text_content()
        for link in page.iter("a"):
            target, _, part = unquote(link.get("href")).partition("#")
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            assert there in made
            assert not part or f'id="{part}"' in made[there]
            links += 1
    assert links > 1_000
    listed = re.findall(r"^- \[.*\]\((.+)\)$", (site / "llms.txt").read_text("utf-8"), re.MULTILINE)
    assert len(listed) > 100
    assert all(unquote(each) in made for each in listed)


def test_a_text_cannot_change_its_page_of_the_site(tmp_path: Path) -> None:
    index = made_of(tmp_path, [("<b>[[T]]</b>\n# x", HOSTILE), ("Bob", "Bob knows Ada Lovelace.")])
    index.export("wiki:site", tmp_path / "site")
    own = {"html", "head", "meta", "title", "style", "body", "nav", "a", "h1", "h2", "p", "em", "br", "ul", "li"}
    whole = ""
    for path in (tmp_path / "site").rglob("*.html"):
        page = lxml.html.document_fromstring(path.read_text("utf-8"))
        assert {each.tag for each in page.iter()} <= own
        assert all(re.fullmatch(r"[^:]*\.html(#passage-\d+)?", each.get("href")) for each in page.iter("a"))
        whole += page.text_content()
    assert all(" ".join(line.split()) in " ".join(whole.split()) for line in HOSTILE.splitlines()[:7])


def test_what_obsidian_adds_stays_and_what_others_add_is_not_lost(wiki: Path, world: Index, tmp_path: Path) -> None:
    to = tmp_path / "wiki"
    world.export("wiki", to)
    (to / ".obsidian").mkdir()
    (to / ".obsidian" / "app.json").write_text("{}")
    world.export("wiki", to, force=True)
    assert (to / ".obsidian" / "app.json").read_text() == "{}"
    assert pages(to) == pages(wiki)
    (to / "entities" / "mine.txt").write_text("years of work")
    with pytest.raises(UsageError, match=r"entities/mine\.txt, which is no part"):
        world.export("wiki", to, force=True)
    assert (to / "entities" / "mine.txt").read_text() == "years of work"


def made_of(folder: Path, passages: list[tuple[str, str]]) -> Index:
    write_rows(
        folder / "in.jsonl", [{"id": str(i), "title": title, "text": text} for i, (title, text) in enumerate(passages)]
    )
    build_index([folder / "in.jsonl"], folder / "index", load_settings(overrides={"extraction": {"pipeline": "regex"}}))
    return conspectus.open(folder / "index")
