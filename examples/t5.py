"""A tiny T5 from Hugging Face with random weights: nothing is downloaded.

Its forward breaks under torch.compile, and every break lies in the library:

    graphglue-lsp check examples/t5.py
"""

import torch
from transformers import T5Config, T5ForConditionalGeneration


def tiny_t5() -> T5ForConditionalGeneration:
    config = T5Config(
        vocab_size=100,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    return T5ForConditionalGeneration(config).eval()


def graphglue_inputs():
    source, target = torch.randint(5, 90, (2, 10)), torch.randint(5, 90, (2, 6))
    inputs = {"input_ids": source, "attention_mask": torch.ones_like(source), "decoder_input_ids": target}
    yield "t5", tiny_t5(), (), inputs
