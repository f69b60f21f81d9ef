"""Mixtures of experts from Hugging Face with random weights (transformers 4.52.4), of one layer, whose forward pass breaks where experts are chosen.

graphglue-lsp fix --package transformers --max-safety config bench/experts.py
"""

from collections.abc import Iterator

import torch
from models import Call, Entry, entries, ids, ones
from transformers import (
    DbrxConfig,
    DbrxForCausalLM,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    PhimoeConfig,
    PhimoeForCausalLM,
    Qwen2MoeConfig,
    Qwen2MoeForCausalLM,
)

SIZES = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "use_cache": False,
}


def inputs() -> dict[str, torch.Tensor]:
    return {"input_ids": ids(6), "attention_mask": ones(6)}


def mixtral() -> Call:
    return MixtralForCausalLM(MixtralConfig(**SIZES, num_local_experts=8)), inputs()


def qwen2_moe() -> Call:
    config = Qwen2MoeConfig(
        **SIZES,
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        decoder_sparse_step=1,
    )
    return Qwen2MoeForCausalLM(config), inputs()


def deepseek_v3() -> Call:
    config = DeepseekV3Config(
        **{**SIZES, "num_key_value_heads": 4},
        moe_intermediate_size=16,
        first_k_dense_replace=0,
        n_routed_experts=8,
        n_shared_experts=1,
        n_group=2,
        topk_group=1,
        num_experts_per_tok=2,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=8,
    )
    return DeepseekV3ForCausalLM(config), inputs()


def dbrx() -> Call:
    config = DbrxConfig(
        d_model=32,
        n_heads=4,
        n_layers=1,
        max_seq_len=64,
        vocab_size=100,
        use_cache=False,
        ffn_config={"ffn_hidden_size": 48, "moe_num_experts": 8, "moe_top_k": 2},
        attn_config={"kv_n_heads": 2, "clip_qkv": 8},
    )
    return DbrxForCausalLM(config), inputs()


def phimoe() -> Call:
    return PhimoeForCausalLM(PhimoeConfig(**SIZES, num_local_experts=8)), inputs()


def graphglue_inputs() -> Iterator[Entry]:
    return entries(mixtral, qwen2_moe, deepseek_v3, dbrx, phimoe)
