from conspectus.prompts.render import PLACEHOLDER, prompt_text, template_names

from docs.prompts_page import page


def test_every_prompt_is_on_the_page_and_filled_in() -> None:
    made = page()
    names = [name for folder in ("index", "query", "judge") for name in template_names(folder)]
    sent = [name for name in names if prompt_text(name).startswith("[system]") or name.endswith("again")]
    assert len(sent) > 50
    assert [name for name in sent if f"### {name}\n" not in made] == []
    assert PLACEHOLDER.search(made) is None
