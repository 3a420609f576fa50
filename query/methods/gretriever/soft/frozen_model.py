"""Frozen causal language models, loaded from the local machine by name or folder."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from conspectus.prompts.embedding.torch_model import need_torch, offline
from conspectus.storage.errors import MissingPart, SettingsError
from conspectus.storage.hashing import digest

_PACKAGES = {"torch_geometric": "torch-geometric", "peft": "peft"}


def need(*modules: str) -> None:
    """Check that modules of the extra are installed.

    Raises:
        MissingPart: Names the missing packages and the extra to install."""
    missing = [_PACKAGES[module] for module in modules if find_spec(module) is None]
    if missing:
        raise MissingPart(f"{' and '.join(missing)} is not installed: pip install 'conspectus[train]'")


@dataclass(frozen=True, slots=True)
class FrozenModel:
    """A transformers model with frozen weights, its tokenizer, and their location."""

    name: str
    model: Any
    tokenizer: Any

    @property
    def width(self) -> int:
        """The length of a token's embedding."""
        return int(self.model.get_input_embeddings().weight.shape[1])

    @property
    def signature(self) -> str:
        """A hash of the model's architecture and token embeddings: a prompt belongs to one model."""
        import torch

        words = self.model.get_input_embeddings().weight.detach()
        few = words[:: max(1, len(words) // 64)].to("cpu", torch.bfloat16).float()  # the same in either precision
        shape = f"{type(self.model).__name__} {tuple(words.shape)} {self.model.config.num_hidden_layers}"
        return digest(shape, few.numpy().tobytes().hex())[:16]


def open_frozen(name: str) -> FrozenModel:
    """Return the model of a folder, or of a name in the Hugging Face cache of this machine; nothing is downloaded.

    It is on CUDA if there is a device (CUDA_VISIBLE_DEVICES hides them), in bfloat16 if the device supports it. Only
    safetensors are read, and no code of the model is run.

    Args:
        name: A folder or a name in the cache.

    Raises:
        SettingsError: No model is named.
        MissingPart: The model is missing or cannot be read, or PyTorch is missing.
    """
    if not name:
        raise SettingsError("no language model is set: give a folder or a name in this machine's Hugging Face cache")
    need_torch(f"the language model {name}")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    cuda = torch.cuda.is_available()
    small = cuda and torch.cuda.is_bf16_supported()
    place = str(Path(name).resolve()) if Path(name).is_dir() else name
    try:
        with offline():
            tokenizer: Any = AutoTokenizer.from_pretrained(place, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(
                place,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.bfloat16 if small else torch.float32,
            )
    except (OSError, ValueError) as error:
        told = " ".join(str(error).split())[:200]
        raise MissingPart(f"{name}: there is no causal model in safetensors with its tokenizer: {told}") from error
    if tokenizer.eos_token_id is None:
        raise MissingPart(f"{name}: the tokenizer has no end-of-text token")
    model.to("cuda" if cuda else "cpu")
    model.requires_grad_(False)
    model.eval()
    return FrozenModel(name, model, tokenizer)
