"""Soft graph prompt: a learned graph token before the graph's text and the question, for a frozen model.

G-Retriever (He et al. 2024, sections 5.4 and B.2): [graph token; embedded text] -> frozen model -> answer. The trained
parts are the graph encoder (a graph transformer, Shi et al. 2021, of 4 layers of 4 heads; appendix B.4 also has GAT,
Veličković et al. 2018, and GCN, Kipf and Welling 2017, which ignores the text of edges) and the projector, or instead a
few soft tokens, and with LoRA (Hu et al. 2022) low-rank matrices in the model. This module needs torch and is imported
only if a prompt is trained or used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from conspectus.prompts.render import render
from conspectus.query.methods.gretriever.soft.checkpoint import Encoder, SoftShape
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, need
from conspectus.query.methods.gretriever.soft.graph_encodings import EncodedGraph
from conspectus.storage.errors import MissingPart, SettingsError
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, TransformerConv, global_mean_pool

_NO_LABEL = -100


@dataclass(frozen=True, slots=True)
class SoftInput:
    """One input: an encoded graph, its text, and the question."""

    graph: EncodedGraph
    text: str
    question: str


class SoftPrompt(nn.Module):
    """The trained parts together with the frozen model.

    `encoding_width` is the size of the graphs' encodings. Parameters are float32 and initialised by torch's generator.
    LoRA changes the output of `frozen.model` but not its weights.

    Raises:
        MissingPart: LoRA is requested, and peft is not installed or does not support this model.
    """

    def __init__(self, frozen: FrozenModel, shape: SoftShape, encoding_width: int) -> None:
        super().__init__()
        _check(shape, frozen)
        self.shape = shape
        self._frozen = frozen
        self.encoder: GraphEncoder | None = None
        self.projector: nn.Module | None = None
        self.soft: nn.Parameter | None = None
        self.model = _with_lora(frozen, shape) if shape.lora else frozen.model
        width = frozen.width
        if shape.encoder == "none":
            self.soft = nn.Parameter(torch.randn(shape.soft_tokens, width) * _spread(frozen))
        else:
            out = shape.width if shape.projector else width
            self.encoder = GraphEncoder(
                shape.encoder, encoding_width, shape.width, out, shape.layers, shape.heads, shape.dropout
            )
            self.projector = _projector(out, width) if shape.projector else nn.Identity()
        self.to(self.device)

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        found: torch.device = self._frozen.model.get_input_embeddings().weight.device
        return found

    def learned(self) -> dict[str, Tensor]:
        """Return the trainable parameters by name."""
        return {name: item for name, item in self.named_parameters() if item.requires_grad and item.numel()}

    def train(self, mode: bool = True) -> "SoftPrompt":
        """Switch dropout of the trained parts on or off; the frozen model never uses dropout."""
        super().train(mode)
        self.model.eval()
        for name, item in self.model.named_modules():
            if "lora_dropout" in name:
                item.train(mode)
        return self

    def loss(self, asked: Sequence[SoftInput], answers: Sequence[str]) -> Tensor:
        """Return the mean cross-entropy of the answers' tokens, including end tokens, at most `answer_tokens` of
        each."""
        limit, end = self.shape.answer_tokens, self._frozen.tokenizer.eos_token_id
        wanted = [[*self._ids(answer), end][:limit] for answer in answers]
        embedded, mask, places = self._read(asked, wanted)
        labels = torch.full(mask.shape, _NO_LABEL, dtype=torch.long, device=self.device)
        for row, ids in enumerate(wanted):
            labels[row, -len(ids) :] = torch.tensor(ids, device=self.device)
        # Logits are computed only for the end of a row: those of every input token would take most of the memory.
        kept = max(map(len, wanted)) + 1
        logits = self.model(
            inputs_embeds=embedded, attention_mask=mask, position_ids=places, logits_to_keep=kept, use_cache=False
        ).logits
        return nn.functional.cross_entropy(
            logits[:, -kept:-1].reshape(-1, logits.shape[-1]).float(),
            labels[:, -kept + 1 :].reshape(-1),
            ignore_index=_NO_LABEL,
        )

    @torch.inference_mode()
    def write(self, asked: Sequence[SoftInput]) -> list[str]:
        """Return the answers by greedy decoding, at most `shape.answer_tokens` tokens each."""
        embedded, mask, _ = self._read(asked, [[] for _ in asked])
        tokenizer = self._frozen.tokenizer
        made = self.model.generate(
            inputs_embeds=embedded,
            attention_mask=mask,
            max_new_tokens=self.shape.answer_tokens,
            do_sample=False,
            num_beams=1,
            temperature=None,
            top_p=None,
            top_k=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.eos_token_id,
        )
        return [" ".join(item.split()) for item in tokenizer.batch_decode(made, skip_special_tokens=True)]

    def _read(self, asked: Sequence[SoftInput], answers: Sequence[list[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """Return embeddings (n, length, width), mask and positions (n, length), padded on the left."""
        words = self.model.get_input_embeddings()
        begin = [] if self._frozen.tokenizer.bos_token_id is None else [self._frozen.tokenizer.bos_token_id]
        soft = self._soft(asked).to(words.weight.dtype)
        rows = []
        for number, (item, answer) in enumerate(zip(asked, answers, strict=True)):
            ids = torch.tensor([*begin, *self._text_ids(item), *answer], device=self.device)
            told = words(ids)
            rows.append(torch.cat([told[: len(begin)], soft[number], told[len(begin) :]]))
        longest = max(map(len, rows))
        # Padding is on the left, so that answers follow the input directly.
        embedded = torch.stack([nn.functional.pad(row, (0, 0, longest - len(row), 0)) for row in rows])
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        places = torch.arange(longest, device=self.device) - (longest - lengths)[:, None]
        return embedded, (places >= 0).long(), places.clamp(min=0)

    def _soft(self, asked: Sequence[SoftInput]) -> Tensor:
        """Return the tokens before the text, (n, tokens, width)."""
        if self.encoder is None or self.projector is None:
            assert self.soft is not None, "without an encoder there are soft tokens"
            return self.soft.expand(len(asked), *self.soft.shape)
        pooled = self.encoder(batched([question.graph for question in asked], self.device))
        token: Tensor = self.projector(pooled)
        return token[:, None]

    def _text_ids(self, asked: SoftInput) -> list[int]:
        """Return the tokens of the graph's text and the question; the graph is truncated if both are too long."""
        limit = self.shape.text_tokens
        question = self._ids("\n" + render("query/gretriever/soft_question", question=asked.question))
        told = self._ids(asked.text) if self.shape.text else []
        return [*told[: max(limit - len(question), 0)], *question[-limit:]]

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._frozen.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return found


def _projector(width_in: int, width_out: int) -> nn.Module:
    hidden = max(width_in, width_out // 2)
    return nn.Sequential(nn.Linear(width_in, hidden), nn.Sigmoid(), nn.Linear(hidden, width_out))


def _spread(frozen: FrozenModel) -> float:
    """Return the standard deviation of the model's token embeddings, for the initialisation of soft tokens."""
    return float(frozen.model.get_input_embeddings().weight.float().std())


def _with_lora(frozen: FrozenModel, shape: SoftShape) -> Any:  # noqa: ANN401  (transformers has no common type)
    need("peft")
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type="CAUSAL_LM", r=shape.lora_rank, lora_alpha=shape.lora_alpha, lora_dropout=shape.lora_dropout
    )
    try:
        return get_peft_model(frozen.model, config)
    except ValueError as error:
        raise MissingPart(f"{frozen.name}: peft does not support LoRA for this model: {error}") from error


def _check(shape: SoftShape, frozen: FrozenModel) -> None:
    """Reject a shape that cannot be built or exceeds the model's context."""
    if not shape.learns:
        raise SettingsError("nothing would be learned: there is no encoder, no soft token and no LoRA")
    out = shape.width if shape.projector else frozen.width
    if shape.encoder in {"graph_transformer", "gat"} and (shape.width % shape.heads or out % shape.heads):
        raise SettingsError(f"an encoder {shape.width} wide that ends {out} wide has no {shape.heads} equal heads")
    most = getattr(frozen.model.config, "max_position_embeddings", None)
    needed = 1 + max(shape.soft_tokens if shape.encoder == "none" else 1, 0) + shape.text_tokens + shape.answer_tokens
    if most is not None and needed > most:
        raise SettingsError(f"{frozen.name} reads {most} tokens; the text, the answer and the prompt have {needed}")


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """A batch of graphs as one disconnected graph; `graph` is the graph number of each node."""

    nodes: Tensor
    ends: Tensor
    edges: Tensor
    graph: Tensor
    count: int


def batched(graphs: Sequence[EncodedGraph], device: torch.device) -> GraphBatch:
    """Return graphs as a batch, in the order given; graphs may be without edges or nodes."""
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.cumsum([0, *sizes[:-1]])
    ends = np.concatenate([graph.ends + start for graph, start in zip(graphs, starts, strict=True)], axis=1)
    return GraphBatch(
        torch.from_numpy(np.concatenate([graph.nodes for graph in graphs])).to(device),
        torch.from_numpy(ends).to(device),
        torch.from_numpy(np.concatenate([graph.edges for graph in graphs])).to(device),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)).to(device),
        len(graphs),
    )


class GraphEncoder(nn.Module):
    """A graph network and the mean over nodes: (graphs, `width_out`) from encodings of `width_in`.

    Between layers the activations are normalised, rectified and dropped out, as usual;
    the last layer is not. A graph without nodes is the zero vector.
    """

    def __init__(
        self, kind: Encoder, width_in: int, width: int, width_out: int, layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        widths = [width_in, *[width] * (layers - 1), width_out]
        self.layers = nn.ModuleList(_layer(kind, one, other, heads, width_in) for one, other in pairwise(widths))
        self.norms = nn.ModuleList(nn.LayerNorm(item) for item in widths[1:-1])
        self.dropout = nn.Dropout(dropout)
        self.told_edges = kind != "gcn"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Return a vector for each graph of a batch, (graphs, width_out)."""
        said = {"edge_attr": batch.edges} if self.told_edges else {}
        hidden = batch.nodes
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, batch.ends, **said)
            if number < len(self.norms):
                hidden = self.dropout(torch.relu(self.norms[number](hidden)))
        pooled: Tensor = global_mean_pool(hidden, batch.graph, batch.count)
        return pooled


def _layer(kind: Encoder, width_in: int, width_out: int, heads: int, edge_width: int) -> nn.Module:
    made: nn.Module
    if kind == "gcn":
        made = GCNConv(width_in, width_out)
    elif kind == "gat":
        made = GATConv(width_in, width_out // heads, heads, edge_dim=edge_width)
    else:
        made = TransformerConv(width_in, width_out // heads, heads, edge_dim=edge_width)
    return made
