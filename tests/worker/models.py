"""Tiny random-weight Hugging Face models (transformers 4.52.4) whose forward breaks under TorchDynamo 2.13.

Each builder returns (module, kwargs) for one eval-mode forward. Breaks counted as graphs - 1 with a pass-through
backend, fp32, eval, no_grad, CPU: t5 3, whisper 3, bart 3 (fp16: 7), biogpt 2, layoutlmv3 2, phi3_longrope 5.
"""

import torch


def IDS(b, s, v=90, lo=5):
    return torch.randint(lo, v, (b, s))


def MASK(b, s):
    return torch.ones(b, s, dtype=torch.long)


def b_t5():
    from transformers import T5Config, T5ForConditionalGeneration

    c = T5Config(
        vocab_size=100,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    return T5ForConditionalGeneration(c), {
        "input_ids": IDS(2, 10),
        "attention_mask": MASK(2, 10),
        "decoder_input_ids": IDS(2, 6),
    }


def b_whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    c = WhisperConfig(
        vocab_size=100,
        num_mel_bins=16,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=30,
        max_target_positions=20,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=4,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return WhisperForConditionalGeneration(c), {
        "input_features": torch.randn(2, 16, 60),
        "decoder_input_ids": IDS(2, 6),
    }


def _bartish(cfg, cls, **kw):
    c = cfg(
        vocab_size=100,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        **kw,
    )
    return cls(c), {"input_ids": IDS(2, 10), "attention_mask": MASK(2, 10), "decoder_input_ids": IDS(2, 6)}


def b_bart():
    from transformers import BartConfig, BartForConditionalGeneration

    return _bartish(BartConfig, BartForConditionalGeneration)


def b_biogpt():
    from transformers import BioGptConfig, BioGptForCausalLM

    c = BioGptConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BioGptForCausalLM(c), {"input_ids": IDS(2, 10), "attention_mask": MASK(2, 10)}


def b_layoutlmv3():
    from transformers import LayoutLMv3Config, LayoutLMv3Model

    c = LayoutLMv3Config(
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
    x0 = torch.randint(0, 500, (2, 10, 2))
    x1 = x0 + torch.randint(0, 400, (2, 10, 2))
    return LayoutLMv3Model(c), {
        "input_ids": IDS(2, 10),
        "attention_mask": MASK(2, 10),
        "bbox": torch.cat([x0, x1], -1),
        "pixel_values": torch.randn(2, 3, 16, 16),
    }


def b_phi3_longrope(seq=10):
    from transformers import Phi3Config, Phi3ForCausalLM

    c = Phi3Config(
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
    return Phi3ForCausalLM(c), {"input_ids": IDS(2, seq), "attention_mask": MASK(2, seq)}


MODELS = {
    "t5": b_t5,
    "whisper": b_whisper,
    "bart": b_bart,
    "biogpt": b_biogpt,
    "layoutlmv3": b_layoutlmv3,
    "phi3_longrope": b_phi3_longrope,
}
