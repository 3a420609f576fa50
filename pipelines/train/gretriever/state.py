"""The state of a training run in one safetensors file: no pickle, and replaced atomically.

It contains the trained parameters, both moments of AdamW, the states of the random generators, and the epochs so far.
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


def write_state(
    file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer", epochs: list[SoftPromptEpoch]
) -> None:
    """Write the state of a training run, replacing the file atomically."""
    import torch
    from safetensors.torch import save_file

    tensors = {f"{_PARTS}{name}": value for name, value in prompt.learned().items()}
    for name, item in prompt.learned().items():
        tensors |= {f"{_MOMENTS}{key}.{name}": moment for key, moment in steps.state[item].items()}
    tensors[_CPU] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors[_CUDA] = torch.cuda.get_rng_state()
    new = file.with_name(f".{file.name}.new")
    metadata = {"epochs": json.dumps([asdict(epoch) for epoch in epochs])}
    save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, new, metadata=metadata)
    new.replace(file)


def read_state(file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer") -> list[SoftPromptEpoch]:
    """Restore a training run and return its epochs so far.

    Raises:
        InputError: The file is damaged or belongs to another model.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            epochs = TypeAdapter(list[SoftPromptEpoch]).validate_json(opened.metadata()["epochs"])
            tensors: dict[str, Any] = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        with torch.no_grad():
            for name, value in prompt.learned().items():
                value.copy_(tensors[f"{_PARTS}{name}"])
                steps.state[value] = {
                    key: tensors[f"{_MOMENTS}{key}.{name}"].to(value.device if key != "step" else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
        torch.set_rng_state(tensors[_CPU])
        if torch.cuda.is_available() and _CUDA in tensors:
            torch.cuda.set_rng_state(tensors[_CUDA])
    except (OSError, SafetensorError, ValidationError, KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is not the state of this training: {reason}; remove it to start again") from error
    return epochs
