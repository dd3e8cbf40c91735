# SPDX-License-Identifier: Apache-2.0
"""Small SVG pictures drawn from a name: portraits, logos, skylines, devices, seals."""

from __future__ import annotations

from collections.abc import Callable

from envs.web.draw import Draw

_WIDTH, _HEIGHT = 240, 180


def draw_picture(style: str, name: str) -> bytes | None:
    """The picture of `name`; None for an unknown style. The file is 240 by 180."""
    painter = _PAINTERS.get(style)
    if painter is None:
        return None
    draw = Draw("picture", style, name)
    hue = draw.below(360)
    shapes = painter(draw, hue)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}"><rect width="{_WIDTH}" height="{_HEIGHT}" '
        f'fill="hsl({hue},35%,88%)"/>{shapes}</svg>'
    )
    return svg.encode()


def _portrait(draw: Draw, hue: int) -> str:
    hair = f"hsl({draw.between(15, 45)},45%,{draw.between(15, 55)}%)"
    skin = f"hsl({draw.between(18, 32)},50%,{draw.between(45, 80)}%)"
    coat = f"hsl({(hue + 140) % 360},40%,40%)"
    return (
        f'<ellipse cx="120" cy="72" rx="{draw.between(44, 54)}" ry="54" fill="{hair}"/>'
        f'<path d="M40 180c0-44 36-62 80-62s80 18 80 62z" fill="{coat}"/>'
        f'<rect x="104" y="100" width="32" height="34" rx="12" fill="{skin}"/>'
        f'<ellipse cx="120" cy="80" rx="36" ry="44" fill="{skin}"/>'
        '<circle cx="106" cy="78" r="4"/><circle cx="134" cy="78" r="4"/>'
        f'<path d="M106 100q14 {draw.between(4, 14)} 28 0" stroke="#733" stroke-width="3" '
        'fill="none"/>'
    )


def _logo(draw: Draw, hue: int) -> str:
    sides = "".join(
        f'<rect x="{62 + 34 * i}" y="{draw.between(30, 80)}" width="26" '
        f'height="{draw.between(50, 90)}" rx="{draw.pick((0, 6, 13))}" '
        f'fill="hsl({(hue + 40 * i) % 360},55%,45%)"/>'
        for i in range(3)
    )
    return f'<circle cx="120" cy="90" r="78" fill="#fff"/>{sides}'


def _skyline(draw: Draw, hue: int) -> str:
    houses = []
    x = 0
    while x < _WIDTH:
        width, height = draw.between(18, 38), draw.between(40, 120)
        shade = draw.between(28, 50)
        houses.append(
            f'<rect x="{x}" y="{_HEIGHT - 20 - height}" width="{width}" height="{height}" '
            f'fill="hsl({hue},25%,{shade}%)"/>'
        )
        x += width + draw.below(6)
    sun = f'<circle cx="{draw.between(30, 210)}" cy="34" r="16" fill="hsl(45,90%,65%)"/>'
    return f'{sun}{"".join(houses)}<rect y="160" width="240" height="20" fill="hsl(210,45%,55%)"/>'


def _device(draw: Draw, hue: int) -> str:
    body = f"hsl({(hue + 180) % 360},30%,45%)"
    dials = "".join(
        f'<circle cx="{84 + 36 * i}" cy="{draw.between(60, 80)}" r="{draw.between(8, 14)}" '
        'fill="#fff"/>'
        for i in range(3)
    )
    return (
        f'<rect x="52" y="36" width="136" height="{draw.between(96, 116)}" '
        f'rx="{draw.between(6, 30)}" fill="{body}"/>{dials}'
        '<rect x="76" y="104" width="88" height="14" rx="7" fill="#222"/>'
    )


def _seal(draw: Draw, hue: int) -> str:
    points = " ".join(
        f"{120 + dx * r},{90 + dy * r}"
        for dx, dy, r in (
            (0, -1, 46), (0.3, -0.3, 30), (1, 0, 46), (0.3, 0.3, 30),
            (0, 1, 46), (-0.3, 0.3, 30), (-1, 0, 46), (-0.3, -0.3, 30),
        )
    )  # fmt: skip
    return (
        f'<circle cx="120" cy="90" r="74" fill="hsl({hue},45%,35%)"/>'
        f'<circle cx="120" cy="90" r="{draw.between(58, 66)}" fill="#fff"/>'
        f'<polygon points="{points}" fill="hsl({hue},45%,45%)"/>'
    )


_PAINTERS: dict[str, Callable[[Draw, int], str]] = {
    "person": _portrait,
    "organisation": _logo,
    "city": _skyline,
    "product": _device,
    "regulation": _seal,
    "agency": _seal,
}
