"""Six small Hugging Face models with random weights (transformers 4.52.4) whose forward pass breaks under Dynamo of torch 2.13.

    graphglue-lsp check bench/models.py

`bench/predicted_sites.py` asks how many of their sites prediction knows.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BioGptConfig,
    BioGptForCausalLM,
    LayoutLMv3Config,
    LayoutLMv3Model,
    Phi3Config,
    Phi3ForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

Call = tuple[torch.nn.Module, dict[str, torch.Tensor]]
Entry = tuple[str, torch.nn.Module, tuple[()], dict[str, Any]]


def ids(length: int) -> torch.Tensor:
    return torch.randint(5, 90, (2, length))


def ones(length: int) -> torch.Tensor:
    return torch.ones(2, length, dtype=torch.long)


def t5() -> Call:
    config = T5Config(
        vocab_size=100,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    inputs = {"input_ids": ids(10), "attention_mask": ones(10), "decoder_input_ids": ids(6)}
    return T5ForConditionalGeneration(config), inputs


SIZES = {
    "vocab_size": 100,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "pad_token_id": 1,
    "eos_token_id": 2,
}


def whisper() -> Call:
    config = WhisperConfig(
        **SIZES,
        num_mel_bins=16,
        max_source_positions=30,
        max_target_positions=20,
        bos_token_id=2,
        decoder_start_token_id=4,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return WhisperForConditionalGeneration(config), {
        "input_features": torch.randn(2, 16, 60),
        "decoder_input_ids": ids(6),
    }


def bart() -> Call:
    config = BartConfig(
        **SIZES,
        max_position_embeddings=64,
        bos_token_id=0,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
    )
    inputs = {"input_ids": ids(10), "attention_mask": ones(10), "decoder_input_ids": ids(6)}
    return BartForConditionalGeneration(config), inputs


def biogpt() -> Call:
    config = BioGptConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BioGptForCausalLM(config), {"input_ids": ids(10), "attention_mask": ones(10)}


def layoutlmv3() -> Call:
    config = LayoutLMv3Config(
        vocab_size=100,
        hidden_size=36,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        coordinate_size=6,
        shape_size=6,
        input_size=16,
        patch_size=4,
        max_2d_position_embeddings=1024,
        num_labels=3,
    )
    corner = torch.randint(0, 500, (2, 10, 2))
    boxes = torch.cat([corner, corner + torch.randint(0, 400, (2, 10, 2))], -1)
    inputs = {
        "input_ids": ids(10),
        "attention_mask": ones(10),
        "bbox": boxes,
        "pixel_values": torch.randn(2, 3, 16, 16),
    }
    return LayoutLMv3Model(config), inputs


def phi3_longrope() -> Call:
    config = Phi3Config(
        vocab_size=100,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        original_max_position_embeddings=32,
        partial_rotary_factor=0.75,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        sliding_window=None,
        rope_scaling={
            "type": "longrope",
            "short_factor": [1.0 + 0.1 * i for i in range(6)],
            "long_factor": [2.0 + 0.3 * i for i in range(6)],
        },
    )
    return Phi3ForCausalLM(config), {"input_ids": ids(10), "attention_mask": ones(10)}


def entries(*makers: Callable[[], Call]) -> Iterator[Entry]:
    """As graphglue_inputs() yields them."""
    for make in makers:
        torch.manual_seed(0)
        model, inputs = make()
        yield make.__name__, model.eval(), (), inputs


def graphglue_inputs() -> Iterator[Entry]:
    return entries(t5, whisper, bart, biogpt, layoutlmv3, phi3_longrope)
