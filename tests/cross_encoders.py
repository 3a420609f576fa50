"""Tiny cross-encoders, made on the spot: nothing is downloaded."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification, BertTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,;:?!"]


def save_cross_encoder(
    folder: Path,
    texts: Iterable[str],
    learn: Sequence[tuple[str, str, float]] = (),
    *,
    max_tokens: int = 256,
    num_labels: int = 1,
) -> Path:
    """Save a BERT of one small layer that knows the words of `texts`; it learns (question, text, label) by heart."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({word for text in texts for word in re.findall(r"[a-z0-9]+", text.lower())})
    vocabulary = [*SPECIAL, *words]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=max_tokens)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=max_tokens,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=num_labels,
        initializer_range=0.2,
    )
    model = BertForSequenceClassification(config)
    if learn:
        _train(model, tokenizer, learn)
    model.save_pretrained(folder)
    return folder


def _train(
    model: "BertForSequenceClassification", tokenizer: "BertTokenizerFast", learn: Sequence[tuple[str, str, float]]
) -> None:
    import torch

    questions, texts, labels = zip(*learn, strict=True)
    batch = tokenizer(list(questions), list(texts), padding=True, return_tensors="pt")
    goal = torch.tensor(labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for what is so small, sharing the work takes longer than the work
    for _ in range(100):
        optimizer.zero_grad()
        logits = model(**batch).logits[:, 0]
        torch.nn.functional.binary_cross_entropy_with_logits(logits, goal).backward()
        optimizer.step()
    torch.set_num_threads(threads)
