# SPDX-License-Identifier: Apache-2.0
"""The pictures of an attempt, smaller for a page, and as an animated GIF; pure but for Pillow."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw

from agent.recording import Move, Scene

FRAME_MS, LAST_FRAME_MS = 900, 2500
_GIF_WIDTH_PX = 400
_GIF_COLOURS = 64
_JPEG_QUALITY = 62
_MARK_RGB = (232, 89, 12)  # of what was acted on
_MARK_WIDTH_PX = 3


def smaller_jpeg(jpeg: bytes, width_px: int) -> bytes:
    """The picture at most `width_px` wide."""
    written = io.BytesIO()
    _at_most(_decoded(jpeg), width_px).save(written, "JPEG", quality=_JPEG_QUALITY)
    return written.getvalue()


def gif(scenes: Sequence[Scene], moves: Sequence[Move], frames: Sequence[bytes]) -> bytes:
    """The attempt as an animated GIF, what is acted on marked; b"" without pictures.

    Pictures that equal the one before are shown longer rather than again.
    """
    pictures: list[Image.Image] = []
    durations_ms: list[int] = []
    for number, (scene, frame) in enumerate(zip(scenes, frames, strict=True)):
        if not frame:
            continue
        picture = _decoded(frame)
        if number < len(moves):
            _mark(picture, scene, moves[number])
        picture = _at_most(picture, _GIF_WIDTH_PX)
        if pictures and pictures[-1].tobytes() == picture.tobytes():
            durations_ms[-1] += FRAME_MS
        else:
            pictures.append(picture)
            durations_ms.append(FRAME_MS)
    if not pictures:
        return b""
    durations_ms[-1] += LAST_FRAME_MS - FRAME_MS
    few = [p.quantize(_GIF_COLOURS, dither=Image.Dither.NONE) for p in pictures]
    written = io.BytesIO()
    few[0].save(
        written,
        "GIF",
        save_all=True,
        append_images=few[1:],
        duration=durations_ms,
        loop=0,
    )
    return written.getvalue()


def _decoded(jpeg: bytes) -> Image.Image:
    """The picture; `PIL.UnidentifiedImageError` if it is none."""
    return Image.open(io.BytesIO(jpeg)).convert("RGB")


def _mark(picture: Image.Image, scene: Scene, move: Move) -> None:
    """Draw a box around what the move acts on."""
    if move.element < 0 or scene.frame_scale <= 0:
        return
    x, y, width, height = (side * scene.frame_scale for side in scene.elements[move.element].box)
    top = y - scene.scroll_y_px * scene.frame_scale
    if width > 0 and height > 0:
        corners = (x, top, x + width, top + height)
        ImageDraw.Draw(picture).rectangle(corners, outline=_MARK_RGB, width=_MARK_WIDTH_PX)


def _at_most(picture: Image.Image, width_px: int) -> Image.Image:
    if picture.width <= width_px:
        return picture
    height_px = round(picture.height * width_px / picture.width)
    return picture.resize((width_px, height_px), Image.Resampling.LANCZOS)
