"""What is known of a module's sizes: its own attributes, its configuration's, those of its parts."""

import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from graphglue_worker.configs import is_config_class

_CONFIGS = ("config", "cfg", "args", "hparams")
_WIDTH = (
    "hidden_size", "d_model", "n_embd", "embed_dim", "dim", "hidden_dim", "width", "embedding_dim", "embedding_size", "model_dim",
    "hidden_sizes", "embed_dims",
)  # fmt: skip
_WIDTH_OF_PARTS = ("in_features", "normalized_shape", "embedding_dim", "embed_dim", "input_size")
_HEADS = ("num_attention_heads", "num_heads", "n_head", "n_heads", "encoder_attention_heads", "nhead", "heads")
_CHANNELS = ("num_channels", "in_channels", "in_chans", "input_channels", "channels")
_IMAGE = ("image_size", "img_size", "input_size", "crop_size", "in_size", "input_resolution", "image_resolution")
_VOCABULARY = ("vocab_size", "num_embeddings", "vocabulary_size", "num_tokens", "ntoken")
_MEL = (
    "num_mel_bins",
    "n_mels",
    "mel_bins",
    "input_feat_per_channel",
    "feature_size",
    "input_dim",
    "spectrogram_length",
)
_MAX_PARTS = 64


@dataclass
class Sizes:
    """Sizes that guesses are made of; the defaults are what is guessed when nothing is known."""

    width: int = 32
    heads: int = 4
    head_dim: int = 8
    channels: int = 3
    image: tuple[int, int] = (32, 32)
    vocabulary: int = 64
    mel: int = 80
    frames: int = 64
    planar: int | None = None  # channels of the first part, where that is a convolution over images
    sources: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, module: Any, settings: dict[str, Any]) -> "Sizes":
        """Look at the module itself, its configuration and the parts of that, what it was constructed with, then its parts in their order."""
        parts = list(getattr(module, "modules", lambda: [])())[:_MAX_PARTS]
        config = next((c for m in (module, *parts) for n in _CONFIGS if is_config_class(type(c := _get(m, n)))), None)
        nested = [
            v for v in getattr(config, "__dict__", {}).values() if is_config_class(type(v)) and hasattr(v, "__dict__")
        ]
        given = types.SimpleNamespace(**settings)
        sizes = cls(sources=[s for s in (module, config, *nested, given) if s is not None])
        sizes.width = sizes.look(_WIDTH) or _first(parts, _WIDTH_OF_PARTS) or sizes.width
        sizes.heads = sizes.look(_HEADS) or sizes.heads
        sizes.head_dim = sizes.look(("head_dim", "attention_head_size")) or max(sizes.width // max(sizes.heads, 1), 1)
        sizes.channels = sizes.look(_CHANNELS) or _first(parts, ("in_channels",)) or sizes.channels
        sizes.vocabulary = sizes.look(_VOCABULARY) or _first(parts, ("num_embeddings",)) or sizes.vocabulary
        sizes.mel = sizes.look(_MEL) or sizes.mel
        sizes.image = sizes._image() or sizes.image
        layers = (m for m in parts if next(m.parameters(recurse=False), None) is not None)
        if isinstance(first := next(layers, None), torch.nn.Conv2d):
            sizes.planar = first.in_channels
        return sizes

    def look(self, names: tuple[str, ...]) -> int | None:
        """The first positive int that the module or its configuration calls by one of these names."""
        return next((v for n in names for s in self.sources if (v := _int(_get(s, n)))), None)

    def _image(self) -> tuple[int, int] | None:
        image = next((v for s in self.sources for n in _IMAGE if (v := _get(s, n)) is not None), None)
        if isinstance(image, int) and image > 0:
            return image, image
        if isinstance(image, (list, tuple)) and len(image) >= 2 and all(isinstance(i, int) and i > 0 for i in image):
            return image[-2], image[-1]
        return None


def _first(parts: Iterable[Any], names: tuple[str, ...]) -> int | None:
    return next((v for m in parts for n in names if (v := _int(_get(m, n)))), None)


def _get(source: Any, name: str) -> Any:
    try:
        return getattr(source, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody's
        return None


def _int(value: Any) -> int | None:
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
