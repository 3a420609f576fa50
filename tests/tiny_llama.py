"""Tiny causal models with random weights, made on the spot: nothing is downloaded."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import regex


def save_llama(folder: Path, texts: Iterable[str], words: int = 600, width: int = 128, seed: int = 0) -> Path:
    """Save a Llama of one layer, and a tokenizer that knows the commonest words and signs of `texts`.

    Weights are drawn wider than usual: with the usual ones a random model attends to everything alike, and no single
    token in a hundred has a say. More layers make what is attended to depend on every word, at random.
    """
    import torch
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    counted = Counter(word for text in texts for word in regex.findall(r"\w+|[^\w\s]", text))
    known = ["<pad>", "<s>", "</s>", "<unk>", "support", "counter"]
    known += [word for word, _ in counted.most_common(words) if word not in known]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(known)}, unk_token="<unk>"))  # noqa: S106
    tokenizer.pre_tokenizer = Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)
    marks = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=1024, **marks).save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(known),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        initializer_range=0.1,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
