"""Where a training stands, in one file of safetensors: no pickle, and either the whole state or the one before.

It holds the learned parts, both moments of AdamW, the random generators' states, and as text the epochs so far.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.train.gretriever.plan import SoftPromptEpoch
from conspectus.storage.errors import InputError
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    import torch
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

STATE = "state.safetensors"
_PARTS, _MOMENTS, _CPU, _CUDA = "part.", "adam.", "random.cpu", "random.cuda"


def write_json(file: Path, value: Any) -> None:  # noqa: ANN401  (anything that JSON can hold)
    """Write a value in the place of what is there: the file is whole, whenever the process is killed."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    beside.replace(file)


def write_state(
    file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer", epochs: list[SoftPromptEpoch]
) -> None:
    """Write where a training stands, in the place of what is there."""
    import torch
    from safetensors.torch import save_file

    held = {f"{_PARTS}{name}": value for name, value in prompt.learned().items()}
    for name, item in prompt.learned().items():
        held |= {f"{_MOMENTS}{key}.{name}": moment for key, moment in steps.state[item].items()}
    held[_CPU] = torch.get_rng_state()
    if torch.cuda.is_available():
        held[_CUDA] = torch.cuda.get_rng_state()
    beside = file.with_name(f".{file.name}.new")
    told = {"epochs": json.dumps([asdict(epoch) for epoch in epochs])}
    save_file({name: value.detach().cpu().contiguous() for name, value in held.items()}, beside, metadata=told)
    beside.replace(file)


def read_state(file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer") -> list[SoftPromptEpoch]:
    """Put a training back to where it stood, and return its epochs so far; InputError where the file is not of it."""
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            epochs = TypeAdapter(list[SoftPromptEpoch]).validate_json(opened.metadata()["epochs"])
            held: dict[str, Any] = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        with torch.no_grad():
            for name, value in prompt.learned().items():
                value.copy_(held[f"{_PARTS}{name}"])
                steps.state[value] = {
                    key: held[f"{_MOMENTS}{key}.{name}"].to(value.device if key != "step" else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
        torch.set_rng_state(held[_CPU])
        if torch.cuda.is_available() and _CUDA in held:
            torch.cuda.set_rng_state(held[_CUDA])
    except (OSError, SafetensorError, ValidationError, KeyError, TypeError, RuntimeError) as error:
        told = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is not where this training stood: {told}; remove it to begin anew") from error
    return epochs
