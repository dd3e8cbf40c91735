# SPDX-License-Identifier: Apache-2.0
"""Screenshots as the pixels that a picture encoder gets; no torch, OpenCV only where it is used."""

from __future__ import annotations

import numpy as np

PICTURE_SIZE_PX = 160


def picture_pixels(jpeg: bytes) -> np.ndarray:
    """A JPEG squeezed to a square, RGB, uint8 [3, PICTURE_SIZE_PX, PICTURE_SIZE_PX].

    Raises `ValueError` for bytes that are no picture.
    """
    import cv2

    decoded = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR)
    if decoded is None:
        raise ValueError(f"expected a JPEG as the screenshot, got {len(jpeg)} bytes that are none")
    size = (PICTURE_SIZE_PX, PICTURE_SIZE_PX)
    small = cv2.resize(decoded, size, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(small[:, :, ::-1].transpose(2, 0, 1))
