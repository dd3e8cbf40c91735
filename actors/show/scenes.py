# SPDX-License-Identifier: Apache-2.0
"""One step as HTML: picture with element boxes, the move in words, rewards by layer, the mask."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from actors.archive import ArchivedEpisode, Head
from agent.recording import Move, Scene, ShownElement
from envs.types import LAYERS, PageState

_MIN_SHOWN_REWARD = 5e-4  # what rounds to 0.000 is shown as nothing


def scene_svg(scene: Scene, move: Move | None, picture: str) -> str:
    """The window with its element boxes: blue can take this type of action, orange took it.

    `picture` is the image's URL, or "" for a drawing of the elements alone. Boxes that only other
    types may act on are dashed.
    """
    width, height = scene.viewport
    rows = set(scene.legal.get(move.action, ())) if move else set()
    legal = {row for rows_of in scene.legal.values() for row in rows_of}
    boxes = [
        _box(element, scene, _class(row, move, rows, legal), with_text=not picture)
        for row, element in enumerate(scene.elements)
        if _is_shown(element, scene) and (row in legal or not picture)
    ]
    image = (
        f'<image href="{escape(picture, quote=True)}" width="{width}" height="{height}" '
        'preserveAspectRatio="none"/>'
        if picture
        else ""
    )
    what = escape(f"{scene.title or scene.url}", quote=True)
    return (
        f'<svg class="scene" viewBox="0 0 {width} {height}" role="img" aria-label="{what}">'
        f"{image}{''.join(boxes)}</svg>"
    )


def _is_shown(element: ShownElement, scene: Scene) -> bool:
    _, y, width, height = element.box
    top = y - scene.scroll_y_px
    return width > 0 and height > 0 and top < scene.viewport[1] and top + height > 0


def _class(row: int, move: Move | None, rows: set[int], legal: set[int]) -> str:
    if move and row == move.element:
        return "hit"
    return "legal" if row in rows else "other" if row in legal else "none"


def _box(element: ShownElement, scene: Scene, name: str, *, with_text: bool) -> str:
    x, y, width, height = element.box
    top = y - scene.scroll_y_px
    hint = escape(f"{element.role}: {element.text or element.value}")
    text = (
        f'<text x="{x + 3:.0f}" y="{top + min(height, 16) - 2:.0f}">{escape(element.text[:60])}'
        "</text>"
        if with_text
        else ""
    )
    return (
        f'<rect class="{name}" x="{x:.0f}" y="{top:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" rx="3"><title>{hint}</title></rect>{text}'
    )


def move_html(episode: ArchivedEpisode, step: int) -> str:
    """What was done at one step and what it earned."""
    if step >= len(episode.moves):
        return f'<p class="words">the end: {escape(_ending(episode.head))}</p>'
    move = episode.moves[step]
    effect = (
        "" if move.effect == "ok" else f' <span class="badge wrong">{escape(move.effect)}</span>'
    )
    return (
        f'<p class="words">{step + 1}. {escape(move.words())}{effect}</p>'
        f"{rewards_html(episode, step)}"
    )


def rewards_html(episode: ArchivedEpisode, step: int) -> str:
    """Rewards by layer; what is not zero with the parts that it is made of."""
    items = []
    for number, layer in enumerate(LAYERS):
        value = episode.rewards[step][number]
        is_zero = abs(value) < _MIN_SHOWN_REWARD
        shown = "0" if is_zero else f"{value:+.2f}"
        items.append(f'<li class="{"zero" if is_zero else f"c{number}"}">{layer} {shown}</li>')
    parts = ", ".join(
        f"{escape(name.replace('_', ' '))} {values[step]:+.2f}"
        for name, values in episode.parts.items()
        if abs(values[step]) >= _MIN_SHOWN_REWARD
    )
    because = f'<p class="where">{parts}</p>' if parts else ""
    return f'<ul class="rewards">{"".join(items)}</ul>{because}'


def mask_html(scene: Scene, move: Move | None) -> str:
    """The legal types with the number of elements that each may act on."""
    items = []
    for name, rows in scene.legal.items():
        count = f" {len(rows)}" if rows else ""
        items.append(f"<li{_chosen(name, move)}>{escape(name.replace('_', ' '))}{count}</li>")
    return (
        f'<ul class="mask" title="legal actions, with the number of elements">{"".join(items)}</ul>'
    )


def _chosen(name: str, move: Move | None) -> str:
    return ' class="chosen"' if move and move.action == name else ""


def where_html(scene: Scene) -> str:
    """Title and address of the page; one that was still coming in says so first."""
    loading = "still loading · " if scene.page_state == PageState.LOADING.value else ""
    return (
        f'<p class="where" title="{escape(scene.url, quote=True)}">'
        f"{loading}{escape(scene.title)} · {escape(scene.url)}</p>"
    )


def head_html(head: Head) -> str:
    """Question, outcome and answers of an attempt."""
    outcome = '<span class="badge right">right</span>'
    if not head.is_right:
        outcome = '<span class="badge wrong">wrong</span>'
    facts = (head.phase, head.kind.replace("_", " "), f"{head.num_steps} steps")
    badges = "".join(f'<span class="badge neutral">{escape(fact)}</span>' for fact in facts)
    returns = ", ".join(
        f"{layer} {value:+.2f}" for layer, value in zip(LAYERS, head.returns, strict=True)
    )
    return (
        f'<div class="badges">{outcome}{badges}</div><h3>{escape(head.question)}</h3>'
        f"<p>{escape(_ending(head))}</p>"
        f'<p class="quiet">accepted: {escape(" / ".join(head.answers))}</p>'
        f'<p class="quiet">rewards: {returns}{_version(head)}</p>'
    )


def _version(head: Head) -> str:
    return f" · policy version {head.policy_version}" if head.policy_version >= 0 else ""


def _ending(head: Head) -> str:
    if head.final_answer:
        return f"answered “{head.final_answer}”"
    return f"no answer ({head.stop.replace('_', ' ')})"


def strip_html(episode: ArchivedEpisode, pictures: Sequence[str]) -> str:
    """The film strip: a cell for each of `pictures`, URLs in the order of the scenes or ""."""
    cells = []
    for step, (scene, picture) in enumerate(zip(episode.scenes, pictures, strict=False)):
        move = episode.moves[step] if step < len(episode.moves) else None
        mask = mask_html(scene, move) if move else ""
        cells.append(
            f"<li>{scene_svg(scene, move, picture)}{move_html(episode, step)}"
            f"{where_html(scene)}{mask}</li>"
        )
    return f'<ol class="strip" tabindex="0">{"".join(cells)}</ol>'
