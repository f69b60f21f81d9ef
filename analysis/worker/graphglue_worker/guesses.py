"""First guesses for the arguments of a forward: what a tensor of that name most often is.  Trials correct what is wrong."""

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

import torch

from graphglue_worker.recipes import Recipe
from graphglue_worker.sizes import Sizes

_COLOURS = 4  # an image has at most so many channels
BATCH, LENGTH, SIDE = 2, 16, 4  # LENGTH = SIDE * SIDE, so that a sequence can be a square image too


def tensor(shape: list[int], dtype: str = "float32", fill: str = "normal", **more: Any) -> Recipe:
    """The recipe of a tensor."""
    return {"tensor": {"shape": shape, "dtype": dtype, "fill": fill, **more}}


def ids(shape: list[int], high: int) -> Recipe:
    """Integers from 1 on, as token ids are (0 is often padding)."""
    return tensor(shape, "int64", "integers", low=1 if high > 2 else 0, high=high)


def for_parameter(name: str, annotation: Any, sizes: Sizes) -> list[Recipe]:
    """Guesses for a parameter, most likely first; never empty."""
    return list(_by_annotation(name, annotation, sizes) or by_name(name, sizes))


def by_name(name: str, sizes: Sizes) -> list[Recipe]:
    """Guesses from the name alone, most likely first; never empty."""
    for pattern, choices in _NAMES:
        if pattern.search(name.lower()):
            return choices(sizes)
    s = _Shapes(sizes)
    usual = [s.sequence, s.row, s.map, s.tokens, s.picture, s.channels_first, s.vector, 1]
    if sizes.planar is not None:
        first = s.picture if sizes.planar <= _COLOURS else s.map
        return [first, *(guess for guess in usual if guess is not first)]
    return usual


class _Shapes:
    """The tensors that names stand for."""

    def __init__(self, sizes: Sizes) -> None:
        b, n, w, c, (h, v), d = BATCH, LENGTH, sizes.width, sizes.channels, sizes.image, sizes.head_dim
        self.row, self.vector = tensor([b, w]), tensor([b])
        self.sequence, self.channels_first = tensor([b, n, w]), tensor([b, w, n])
        self.heads = tensor([b, sizes.heads, n, d])
        self.map, self.map_last = tensor([b, w, SIDE, SIDE]), tensor([b, SIDE, SIDE, w])
        self.picture, self.small_picture, self.video = (
            tensor([b, c, h, v]),
            tensor([b, c, 32, 32]),
            tensor([b, 4, c, h, v]),
        )
        self.tokens = ids([b, n], sizes.vocabulary)
        self.ones, self.valid = tensor([b, n], "int64", "full", value=1), tensor([b, n], "bool", "full", value=True)
        self.weights, self.bias = tensor([b, n], fill="full", value=1.0), tensor([b, 1, n, n], fill="full", value=0.0)
        self.positions, self.position_row = tensor([b, n], "int64", "arange"), tensor([n], "int64", "arange")
        self.angles, self.angle_row, self.half_angles = tensor([b, n, d]), tensor([n, d]), tensor([n, max(d // 2, 1)])


def _of(choices: Callable[[_Shapes], list[Recipe]]) -> Callable[[Sizes], list[Recipe]]:
    return lambda sizes: choices(_Shapes(sizes))


def _just(*choices: Recipe) -> Callable[[Sizes], list[Recipe]]:
    return lambda sizes: list(choices)


def _series(sizes: Sizes) -> list[Recipe]:
    length = sizes.look(("context_length", "prediction_length")) or 64
    return [tensor([BATCH, length, sizes.look(("num_input_channels", "input_size")) or 1]), tensor([BATCH, length])]


def _spectra(sizes: Sizes) -> list[Recipe]:
    b, mel, frames = BATCH, sizes.mel, sizes.frames
    return [tensor([b, mel, frames]), tensor([b, frames, mel]), _Shapes(sizes).sequence, tensor([b, 1, frames, mel])]


def _masks_of_pictures(sizes: Sizes) -> list[Recipe]:
    h, v = sizes.image
    return [tensor([BATCH, h, v], "int64", "full", value=1), tensor([BATCH, sizes.channels, h, v], fill="uniform")]


_PAIR: Recipe = {"tuple": [SIDE, SIDE]}
_TABLE: tuple[tuple[str, Callable[[Sizes], list[Recipe]]], ...] = (
    (r"^(output_|return_|use_|is_|do_|with_)|interpolate_pos|training$|_only$|^(causal|deterministic)", _just(False, True)),
    (r"^(height|width|h|w|patch_height|patch_width|h_patches|num_patches_(height|width))$", _just(SIDE)),
    (r"^(batch_size|bsz|bs|n_batch)$", _just(BATCH)),
    (r"(seq_?len|seqlen|length|num_patches|tgt_len|src_len|q_len)$", _just(LENGTH)),
    (r"layer_idx|^(index|i|step|offset|past_key_values_length|time_?step_idx)$", _just(0)),
    (r"dimensions|resolution|(input|spatial|image|hw|patch|grid)_(size|shape|dims)$|^(size|hw)$", _just(_PAIR, {"tuple": [BATCH, LENGTH]}, SIDE)),
    (r"shape$", lambda z: [{"size": [BATCH, LENGTH]}, {"size": [BATCH, LENGTH, z.width]}]),
    (r"dtype$", _just({"dtype": "float32"})),
    (r"^device$|_device$", _just({"device": "cpu"})),
    (r"head_mask|past_key|^cache|_cache$|cross_attn", _just(None)),
    (r"cu_seqlens", _just({"tensor": {"shape": [2], "dtype": "int32", "fill": "arange", "scale": LENGTH}}, None)),
    (r"grid_thw|image_grid|video_grid", _just(tensor([1, 3], "int64", "full", value=SIDE))),
    (r"spatial_shapes_list", _just([_PAIR])),
    (r"spatial_shapes", _just(tensor([1, 2], "int64", "full", value=SIDE))),
    (r"level_start_index", _just(tensor([1], "int64", "full", value=0))),
    (r"reference_points", _just(tensor([BATCH, LENGTH, 1, 2], fill="uniform"), tensor([BATCH, LENGTH, 2], fill="uniform"))),
    (r"masked_pos", _just(tensor([BATCH, LENGTH], "bool", "chance", p=0.5))),
    (r"^(bbox|layout|layout_inputs)$|bounding_box", _of(lambda s: [tensor([BATCH, LENGTH, 4], "int64", "full", value=1), s.sequence])),
    (r"boxes|_box$|corners", _just(tensor([BATCH, LENGTH, 4], fill="uniform"))),
    (r"position_embeddings|rotary_(pos_)?emb|freqs|cos_sin|image_rotary", _of(lambda s: [
        {"tuple": [s.angles, s.angles]}, {"tuple": [s.angle_row, s.angle_row]}, s.half_angles, s.sequence, s.angle_row])),
    (r"^(cos|sin)$", _of(lambda s: [s.angles, s.angle_row])),
    (r"causal_attention_mask|attn_bias|attention_bias|position_bias|additive", _of(lambda s: [s.bias, s.ones, None])),
    (r"mask_labels|masks_queries|pixel_mask|mask_features|prompt_masks", _masks_of_pictures),
    (r"mask|observed|valid|_pad$|padding", _of(lambda s: [s.ones, s.bias, s.valid, s.weights, None])),
    (r"alibi", lambda z: [tensor([BATCH * z.heads, 1, LENGTH])]),
    (r"position_ids|^positions?$|cache_position|pos_ids|^pos$", _of(lambda s: [s.positions, s.position_row, s.sequence])),
    (r"token_type|segment|seg_ids|lang_ids|langs|type_ids|group_ids", _just(tensor([BATCH, LENGTH], "int64", "full", value=0))),
    (r"(input|token|decoder|word|char|src|tgt|text|question|prompt|context|entity|target)_?(ids|tokens)$|^(ids|tokens|idx|text)$|_ids$|codes$",
        _of(lambda s: [s.tokens, s.sequence])),
    (r"indices$|_idx$|input_nodes|codebook", _of(lambda s: [s.tokens, s.sequence])),
    (r"class_labels|^labels?$|^targets?$|^y$", _of(lambda s: [ids([BATCH], 2), ids([BATCH, LENGTH], 2), s.row, s.sequence])),
    (r"timesteps?$|^t$|^time$|timestep", _just(tensor([BATCH], fill="uniform"), ids([BATCH], 100), tensor([BATCH, LENGTH], fill="uniform"))),
    (r"scaling_factor|^scale$|_scale$|temperature|^r$|sigma|alpha$", _just(1.0, tensor([BATCH, 1, 1], fill="uniform"))),
    (r"videos?$|frames", _of(lambda s: [s.video, s.picture])),
    (r"pixel|^(image|images|img|imgs|picture|photo|rgb)$|bgr", _of(lambda s: [s.picture, s.video, s.small_picture])),
    (r"input_features?|spectrogram|^mel|fbank", _spectra),
    (r"audio_values|^(audio|waveform|wav|speech|input_values|raw_speech|signal)$", lambda z: [
        tensor([BATCH, 2048]), tensor([BATCH, 1, 2048]), tensor([BATCH, z.channels, 2048]), tensor([BATCH, 128, z.mel])]),
    (r"past_values|future_values|time_series|time_features", _series),
    (r"^(q|k|v|query|key|value|queries|keys|values)$|^(q|k|v|query|key|value)_(states|layer)$", _of(lambda s: [s.sequence, s.heads, s.row])),
    (r"hidden|embeds?$|embeddings?$|memory|_output$|^(src|tgt|seq|context|states)$|residual|_input$|_tensor$|features$|queries|encoded",
        _of(lambda s: [s.sequence, s.map, s.row, s.map_last, [s.map, s.map]])),
    (r"pooled|^(z|latents?|noise|vector|embedding|logits|cls)|_vector$|class_embed", _of(lambda s: [s.row, s.sequence])),
    (r"maps?$|^(fmap|feats|feature)$|multi_scale|fpns", _of(lambda s: [s.map, [s.map] * 4, s.sequence])),
    (r"layers?$|fn$|func|module", _just({"call": "torch.nn:Identity"})),
    (r"mode|name|type$", _just("none", None)),
)  # fmt: skip
_NAMES = tuple((re.compile(pattern), choices) for pattern, choices in _TABLE)


def _by_annotation(name: str, annotation: Any, sizes: Sizes) -> list[Recipe] | None:
    """Guesses that the annotation allows; None when it says no more than the name."""
    if annotation in (None, Any, inspect.Parameter.empty, torch.Tensor):
        return None
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    named = by_name(name, sizes)
    if annotation is bool:
        return [False, True]
    if annotation is int:
        return [g for g in named if isinstance(g, int) and not isinstance(g, bool)] or [LENGTH, 1]
    if annotation is float:
        return [g for g in named if isinstance(g, float)] or [1.0]
    if annotation is str:
        return ["none"]
    if annotation is torch.Size:
        return [g for g in named if isinstance(g, dict) and "size" in g] or [{"size": [BATCH, LENGTH]}]
    if isinstance(annotation, type):
        kinds = {
            "LongTensor": "int64",
            "IntTensor": "int32",
            "BoolTensor": "bool",
            "FloatTensor": "float32",
            "ByteTensor": "uint8",
        }
        dtype = kinds.get(annotation.__name__)
        if dtype is None:
            return None
        fitting = [g for g in named if isinstance(g, dict) and g.get("tensor", {}).get("dtype") == dtype]
        if fitting or dtype == "float32":
            return [*fitting, *(g for g in named if g not in fitting)] if fitting else None
        shape = next((g["tensor"]["shape"] for g in named if isinstance(g, dict) and "tensor" in g), [BATCH, LENGTH])[
            :2
        ]
        return [ids(shape, sizes.vocabulary) if dtype != "bool" else tensor(shape, "bool", "full", value=True), *named]
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        inner = [p for p in parts if p is not type(None)]
        found = [g for p in inner for g in (_by_annotation(name, p, sizes) or [])]
        plain = any(_by_annotation(name, p, sizes) is None for p in inner)
        return ([*named, *found] if plain else found) or None
    if origin in (list, tuple) or annotation in (list, tuple):
        inner = [p for p in parts if p is not Ellipsis]
        given = [g for g in named if isinstance(g, list) or (isinstance(g, dict) and ("tuple" in g or "size" in g))]
        one = (_by_annotation(name, inner[0], sizes) or named)[0] if inner else named[0]
        if isinstance(one, list) or (isinstance(one, dict) and "tuple" in one):
            return given or [one]
        count = len(inner) if origin is tuple and len(inner) > 1 else 2
        made = [one] * count if (origin or annotation) is list else {"tuple": [one] * count}
        return [*given, made] if given else [made]
    return None
