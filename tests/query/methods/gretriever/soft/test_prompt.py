"""A soft prompt over a tiny random model: what learns in each variant, and what the model is given."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from conspectus.query.methods.gretriever.soft.checkpoint import (
    LEARNED,
    REPORT,
    PromptMetadata,
    SoftShape,
    open_trained,
    read_learned,
    read_made,
    write_learned,
)
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, open_frozen
from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt
from conspectus.storage.errors import MissingPart, SettingsError

from tests.query.made_subgraphs import WIDTH, asked, tiny

SHAPE = SoftShape(layers=1, heads=2, width=8, text_tokens=80, answer_tokens=4)
VARIANTS = {
    "gretriever": (SHAPE, {"encoder", "projector"}),
    "graphtoken": (replace(SHAPE, text=False), {"encoder", "projector"}),
    "prompt tuning": (replace(SHAPE, encoder="none"), {"soft"}),
    "with lora": (replace(SHAPE, lora=True), {"encoder", "projector", "lora"}),
    "lora alone": (replace(SHAPE, lora=True, encoder="none", soft_tokens=0), {"lora"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    tiny(folder)
    return folder


def prompt(folder: Path, shape: SoftShape, seed: int = 0) -> SoftPrompt:
    frozen = open_frozen(str(folder))
    torch.manual_seed(seed)
    return SoftPrompt(frozen, shape, WIDTH)


def bytes_of_model(made: SoftPrompt) -> str:
    held = hashlib.sha256()
    for name, each in sorted(made.model.state_dict().items()):
        if "lora_" not in name:
            held.update(each.numpy().tobytes())
    return held.hexdigest()


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_what_is_to_learn_changes(folder: Path, variant: str) -> None:
    shape, parts = VARIANTS[variant]
    made = prompt(folder, shape)
    assert {"lora" if "lora_" in name else name.split(".")[0] for name in made.learned()} == parts
    before, frozen = {name: each.detach().clone() for name, each in made.learned().items()}, bytes_of_model(made)
    steps = torch.optim.AdamW(list(made.learned().values()), lr=1e-2)
    made.train()
    losses = []
    for _ in range(6):
        loss = made.loss([asked(0), asked(1), asked(2)], ["whales", "the sea", "live"])
        loss.backward()
        steps.step()
        steps.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert bytes_of_model(made) == frozen
    assert all(not torch.equal(each, before[name]) for name, each in made.learned().items() if each.numel() > 1)


def test_a_batch_gives_what_each_alone_would(folder: Path) -> None:
    made = prompt(folder, SHAPE).eval()
    every = [asked(seed, words) for seed, words in ((0, 1), (1, 4), (2, 2))]
    assert made.write(every) == [made.write([each])[0] for each in every]
    answers = ["whales live", "sea", "the sea"]
    with torch.inference_mode():
        one = [float(made.loss([each], [answer])) for each, answer in zip(every, answers, strict=True)]
        tokens = [len(made._ids(answer)) + 1 for answer in answers]
        together = float(made.loss(every, answers))
    assert together == pytest.approx(sum(map(float.__mul__, one, map(float, tokens))) / sum(tokens), rel=1e-4)


def test_the_loss_is_that_of_the_answer_behind_prompt_and_text(folder: Path) -> None:
    frozen = open_frozen(str(folder))
    torch.manual_seed(0)
    made = SoftPrompt(frozen, SHAPE, WIDTH).eval()
    question = asked(0)
    ids = [frozen.tokenizer.bos_token_id, *made._text_ids(question)]
    answer = [*made._ids("the sea"), frozen.tokenizer.eos_token_id]
    with torch.inference_mode():
        words = frozen.model.get_input_embeddings()(torch.tensor(ids + answer))
        row = torch.cat([words[:1], made._soft([question])[0], words[1:]])[None]
        logits = frozen.model(inputs_embeds=row).logits[0].log_softmax(-1)
        wanted = -sum(float(logits[len(ids) + place, token]) for place, token in enumerate(answer)) / len(answer)
        assert float(made.loss([question], ["the sea"])) == pytest.approx(wanted, rel=1e-4)


def test_the_graph_is_told_by_token_and_by_text(folder: Path) -> None:
    one, other = asked(0), asked(1)
    full = prompt(folder, SHAPE).eval()
    with torch.inference_mode():
        assert not torch.allclose(full._soft([one]), full._soft([other]))
        tuned = prompt(folder, VARIANTS["prompt tuning"][0])
        assert tuned._soft([one]).shape == (1, 10, 32)
        assert torch.equal(tuned._soft([one]), tuned._soft([other]))
        assert prompt(folder, VARIANTS["lora alone"][0])._soft([one]).shape == (1, 0, 32)
    told = full._frozen.tokenizer.decode(full._text_ids(one))
    assert "whales" in told
    assert told.endswith("Answer :")
    untold = prompt(folder, VARIANTS["graphtoken"][0])
    assert untold._text_ids(one) == untold._text_ids(replace(one, text="another graph"))


def test_a_long_graph_is_cut_before_its_question(folder: Path) -> None:
    made = prompt(folder, replace(SHAPE, text_tokens=30))
    short, long = asked(0, 1), replace(asked(0, 1), text=asked(0).text * 50)
    question = made._text_ids(replace(short, text=""))
    assert len(made._text_ids(long)) == 30
    assert made._text_ids(long)[-len(question) :] == question
    assert len(made._text_ids(asked(0, 50))) == 30


def test_the_frozen_model_never_drops_anything(folder: Path) -> None:
    made = prompt(folder, replace(SHAPE, lora=True, dropout=0.5)).train()
    training = {name for name, each in made.named_modules() if each.training}
    assert any("lora_dropout" in name for name in training)
    assert not any(name.startswith("model.") and "lora_dropout" not in name for name in training)


def test_a_model_in_bfloat16_learns_in_float32(folder: Path) -> None:
    """As on CUDA: the frozen numbers are short, what learns is not."""
    frozen = open_frozen(str(folder))
    frozen.model.to(torch.bfloat16)
    before = [each.clone() for each in frozen.model.parameters()]
    made = SoftPrompt(frozen, replace(SHAPE, lora=True), WIDTH)
    assert {each.dtype for each in made.learned().values()} == {torch.float32}
    steps = torch.optim.AdamW(list(made.learned().values()), lr=1e-2)
    losses = []
    for _ in range(6):
        loss = made.loss([asked(0), asked(1)], ["whales", "the sea"])
        loss.backward()
        steps.step()
        steps.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    frozen_now = [each for name, each in made.model.named_parameters() if "lora_" not in name]
    assert all(torch.equal(one, other) for one, other in zip(before, frozen_now, strict=True))
    assert len(made.eval().write([asked(0)])) == 1


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (replace(SHAPE, heads=3), "3 equal heads"),
        (replace(SHAPE, text_tokens=2000), "reads 1024 tokens"),
        (replace(SHAPE, encoder="none", soft_tokens=0), "nothing would be learned"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(folder: Path, shape: SoftShape, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        prompt(folder, shape)


def made_of(frozen: FrozenModel, shape: SoftShape = SHAPE) -> PromptMetadata:
    return PromptMetadata(frozen.name, frozen.signature, "an encoder", WIDTH, shape)


@pytest.mark.parametrize("variant", ["gretriever", "prompt tuning", "with lora"])
def test_what_was_learned_is_read_back(folder: Path, tmp_path: Path, variant: str) -> None:
    shape = VARIANTS[variant][0]
    first = prompt(folder, shape, seed=1).eval()
    write_learned(first, tmp_path / LEARNED)
    frozen = open_frozen(str(folder))
    again = open_trained(tmp_path, frozen, made_of(frozen, shape))
    assert again.learned().keys() == first.learned().keys()
    assert all(torch.equal(each, first.learned()[name]) for name, each in again.learned().items())
    with torch.inference_mode():
        assert float(again.loss([asked(0)], ["sea"])) == float(first.loss([asked(0)], ["sea"]))
    assert sum(each.numel() for each in first.learned().values()) * 4 < (tmp_path / LEARNED).stat().st_size < 50_000


def test_a_checkpoint_of_something_else_is_told(folder: Path, tmp_path: Path) -> None:
    frozen = open_frozen(str(folder))
    write_learned(prompt(folder, SHAPE), tmp_path / LEARNED)
    with pytest.raises(MissingPart, match="is now another model"):
        open_trained(tmp_path, frozen, replace(made_of(frozen), signature="another"))
    with pytest.raises(MissingPart, match="other parameters"):
        open_trained(tmp_path, frozen, made_of(frozen, replace(SHAPE, width=16)))
    (tmp_path / "broken").write_bytes(b"no numbers")
    with pytest.raises(MissingPart, match="cannot be read"):
        read_learned(prompt(folder, SHAPE), tmp_path / "broken")
    with pytest.raises(MissingPart, match=f"no {REPORT}"):
        read_made(tmp_path)
    for text in ('{"made": {"model": 1}}', "[]", "[" * 100_000, "{"):
        (tmp_path / REPORT).write_text(text, "utf-8")
        with pytest.raises(MissingPart, match="cannot be read"):
            read_made(tmp_path)


@pytest.mark.parametrize(("key", "value"), [("heads", 0), ("width", 10**12), ("lora_dropout", 1.0)])
def test_numbers_in_a_checkpoint_that_cannot_be_are_told(folder: Path, tmp_path: Path, key: str, value: float) -> None:
    rows = asdict(made_of(open_frozen(str(folder))))
    rows["shape"] = asdict(SHAPE) | {key: value}
    (tmp_path / REPORT).write_text(json.dumps({"made": rows}), "utf-8")
    with pytest.raises(SettingsError, match=f"a soft prompt has {key} from"):
        read_made(tmp_path)
    (tmp_path / REPORT).write_text(json.dumps({"made": rows | {"shape": asdict(SHAPE), "encoding_width": 0}}), "utf-8")
    with pytest.raises(MissingPart, match="0 wide"):
        read_made(tmp_path)


def test_a_frozen_model_comes_from_this_machine_and_from_safetensors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no language model is set"):
        open_frozen("")
    with pytest.raises(MissingPart, match="nobody/has-this-model"):
        open_frozen("nobody/has-this-model")
    for each in folder.iterdir():
        if each.suffix != ".safetensors":
            (tmp_path / each.name).write_bytes(each.read_bytes())
    torch.save(open_frozen(str(folder)).model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(MissingPart, match="safetensors"):
        open_frozen(str(tmp_path))
    assert not any(each.requires_grad for each in open_frozen(str(folder)).model.parameters())
