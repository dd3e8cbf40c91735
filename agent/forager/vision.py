# SPDX-License-Identifier: Apache-2.0
"""MobileNetV3-Large, in eval mode always: the features of a screenshot.

Frozen, it works in the actor alone and its features are part of the inputs; trained, it is part of
the network. torchvision is imported only when an encoder is built.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agent.config import DOWNLOADED_WEIGHTS, RANDOM_WEIGHTS
from agent.pictures import PICTURE_SIZE_PX, picture_pixels

PICTURE_FEATURES = 960  # MobileNetV3-Large after its global average
_RANDOM_SEED = 5
_MAX_KEPT_PICTURES = 256  # 2 kB each
# ImageNet's, which torchvision's weights were trained with.
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_LEAST_VARIANCE = 1e-24  # against a division by 0; real ones may be as small as 1e-18
_PREFIX = "features."
_LOG = logging.getLogger(__name__)


class PictureEncoder(nn.Module):
    """Pixels -> standardised features. Its BatchNorm always uses the statistics it was given."""

    mean: Tensor
    std: Tensor

    def __init__(self, weights: str) -> None:
        super().__init__()
        self.features = _features(weights).eval()
        self.register_buffer("mean", torch.tensor(_MEAN)[:, None, None], persistent=False)
        self.register_buffer("std", torch.tensor(_STD)[:, None, None], persistent=False)

    def train(self, mode: bool = True) -> PictureEncoder:
        """Stay in eval mode: batch statistics would differ between actor and learner."""
        return super().train(False)

    def forward(self, pixels: Tensor) -> Tensor:
        """[B, PICTURE_FEATURES], each of mean 0 and deviation 1, from uint8 [B, 3, H, W].

        Each picture goes through alone: a batch adds up in another order, and after so many layers
        actor and learner would not agree on log-probabilities to 1e-5.
        """
        image = (pixels.to(self.mean.dtype) / 255.0 - self.mean) / self.std
        found = torch.cat([self.features(one[None]).mean(dim=(2, 3)) for one in image])
        centred = found - found.mean(dim=1, keepdim=True)
        variance = centred.square().mean(dim=1, keepdim=True)
        return centred * torch.rsqrt(variance + _LEAST_VARIANCE)


class PictureReader:
    """A frozen encoder with a memory: each picture is encoded once, whatever asks for it."""

    def __init__(self, weights: str) -> None:
        self._encoder = PictureEncoder(weights).requires_grad_(False)
        self._kept: OrderedDict[bytes, np.ndarray] = OrderedDict()  # by sha256, the oldest first
        self.num_encoded = 0

    def read(self, jpeg: bytes) -> np.ndarray:
        """Features float16 [1, PICTURE_FEATURES] of a picture, [0, PICTURE_FEATURES] of none."""
        if not jpeg:
            return np.zeros((0, PICTURE_FEATURES), dtype=np.float16)
        key = hashlib.sha256(jpeg).digest()
        if key not in self._kept:
            self._kept[key] = self._encode(jpeg)
            if len(self._kept) > _MAX_KEPT_PICTURES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _encode(self, jpeg: bytes) -> np.ndarray:
        self.num_encoded += 1
        with torch.inference_mode():
            pixels = torch.from_numpy(picture_pixels(jpeg)[None])
            return self._encoder(pixels).numpy().astype(np.float16)


@functools.lru_cache(maxsize=2)
def picture_reader(weights: str) -> PictureReader:
    """The process's reader with these weights: agents share what they have read."""
    return PictureReader(weights)


def _features(weights: str) -> nn.Module:
    """The convolutional part of MobileNetV3-Large with `policy.vision_weights`."""
    from torchvision.models import mobilenet_v3_large

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_RANDOM_SEED)
        features: nn.Module = mobilenet_v3_large(weights=None).features
        if weights == RANDOM_WEIGHTS:
            _LOG.warning("policy.vision_weights=random: the vision stream sees untrained features")
            _set_statistics(features)
            return features
    state = _state(weights)
    own = {k.removeprefix(_PREFIX): v for k, v in state.items() if k.startswith(_PREFIX)}
    try:
        features.load_state_dict(own)
    except RuntimeError as error:
        raise ValueError(
            "policy.vision_weights: expected the state of torchvision's mobilenet_v3_large, got "
            f"something else from {weights}: {error}"
        ) from error
    return features


@torch.no_grad()
def _set_statistics(features: nn.Module) -> None:
    """Give untrained BatchNorm layers the statistics of random boxes, once, while building.

    Without any, signals shrink from layer to layer to 1e-9 and gradients grow as much.
    """
    for module in features.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    pages = torch.full((8, 3, PICTURE_SIZE_PX, PICTURE_SIZE_PX), 2.0)  # white
    for page in pages:
        for x, y, w, h in torch.rand(24, 4).mul(PICTURE_SIZE_PX).int().tolist():
            page[:, y : y + h // 8, x : x + w // 2] = 4.0 * torch.rand(3, 1, 1) - 2.0
    features.train()(pages)
    features.eval()


def _state(weights: str) -> dict[str, Any]:
    if weights == DOWNLOADED_WEIGHTS:
        from torchvision.models import MobileNet_V3_Large_Weights

        newest = MobileNet_V3_Large_Weights.IMAGENET1K_V2
        return dict(newest.get_state_dict(progress=False, check_hash=True))
    return dict(torch.load(weights, map_location="cpu", weights_only=True))
