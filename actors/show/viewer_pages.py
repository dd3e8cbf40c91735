# SPDX-License-Identifier: Apache-2.0
"""The pages of the viewer: pure functions from archived attempts to HTML."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from actors.archive import ArchivedEpisode, Head
from actors.show.scenes import head_html, mask_html, move_html, scene_svg, where_html
from actors.show.style import page

OUTCOMES = ("right", "wrong")
_STEP_KEYS = """
addEventListener('keydown', event => {
  if (event.target.matches('input, select')) return;
  const rel = {ArrowLeft: 'prev', ArrowRight: 'next'}[event.key];
  const link = rel && document.querySelector(`a[rel=${rel}]`);
  if (link) { event.preventDefault(); location.replace(link.href); }
});
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One archived attempt of one of the runs."""

    run: int  # 0, or 1 for the run compared with
    run_name: str
    path: Path
    head: Head

    @property
    def key(self) -> str:
        """Names the attempt in addresses."""
        return f"{self.run}/{self.path.stem}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Which attempts to list; "" and None let everything through."""

    run: str = ""
    phase: str = ""
    outcome: str = ""
    kind: str = ""
    text: str = ""  # in the question or an answer
    min_steps: int | None = None
    max_steps: int | None = None

    def lets_through(self, entry: Entry) -> bool:
        """Whether `entry` is listed."""
        head = entry.head
        outcome = "right" if head.is_right else "wrong"
        wanted = (
            (self.run, str(entry.run)),
            (self.phase, head.phase),
            (self.outcome, outcome),
            (self.kind, head.kind),
        )
        haystack = " ".join((head.question, head.final_answer, *head.answers)).lower()
        return (
            all(not want or want == got for want, got in wanted)
            and self.text.lower() in haystack
            and (self.min_steps is None or head.num_steps >= self.min_steps)
            and (self.max_steps is None or head.num_steps <= self.max_steps)
        )


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filter of an address; numbers that are none are left out."""
    names = ("run", "phase", "outcome", "kind", "text")
    return Filter(
        **{name: query.get(name, "") for name in names},
        min_steps=_number(query.get("min_steps", "")),
        max_steps=_number(query.get("max_steps", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


# --- The list ----------------------------------------------------------------------------------


def index_html(entries: Sequence[Entry], chosen: Filter) -> str:
    """The list of attempts with its filter."""
    runs = sorted({(entry.run, entry.run_name) for entry in entries})
    shown = [entry for entry in entries if chosen.lets_through(entry)]
    names = " and ".join(escape(name) for _, name in runs) or "no attempts"
    rows = "".join(_row(entry, entries, with_run=len(runs) > 1) for entry in shown)
    run_head = "<th>run</th>" if len(runs) > 1 else ""
    table = (
        f"<div class='card scroll'><table><thead><tr>{run_head}<th>outcome</th>"
        "<th>question and answer</th><th></th><th>phase</th><th>kind</th>"
        "<th class='number'>steps</th><th class='number'>semantic</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
    body = (
        f"<h1>{names}</h1><p class='quiet'>{len(shown)} of {len(entries)} archived attempts</p>"
        f"{_form(entries, runs, chosen)}{table if shown else '<p>None match the filter.</p>'}"
    )
    return page(f"ForageRL viewer · {names}", body)


def _form(entries: Sequence[Entry], runs: Sequence[tuple[int, str]], chosen: Filter) -> str:
    phases = sorted({entry.head.phase for entry in entries})
    kinds = sorted({entry.head.kind for entry in entries})
    choices = [
        ("outcome", [(o, o) for o in OUTCOMES], chosen.outcome),
        ("kind", [(k, k.replace("_", " ")) for k in kinds], chosen.kind),
        ("phase", [(p, p) for p in phases], chosen.phase),
    ]
    if len(runs) > 1:
        choices.insert(0, ("run", [(str(number), name) for number, name in runs], chosen.run))
    selects = "".join(_select(*choice) for choice in choices)
    numbers = "".join(
        f"<label>{label}<input type='number' min='0' name='{name}' value='{_shown(value)}' "
        "style='width: 5.5em'></label>"
        for label, name, value in (
            ("at least steps", "min_steps", chosen.min_steps),
            ("at most steps", "max_steps", chosen.max_steps),
        )
    )
    text = escape(chosen.text, quote=True)
    return (
        f"<form class='filter card' method='get' action='/'>{selects}{numbers}"
        f"<label>text<input name='text' value='{text}'></label>"
        "<button>Filter</button><a href='/'>all</a></form><p></p>"
    )


def _select(name: str, choices: Sequence[tuple[str, str]], chosen: str) -> str:
    options = "".join(
        f"<option value='{escape(value, quote=True)}'{' selected' if value == chosen else ''}>"
        f"{escape(label)}</option>"
        for value, label in (("", "any"), *choices)
    )
    return f"<label>{name}<select name='{name}'>{options}</select></label>"


def _shown(value: int | None) -> str:
    return "" if value is None else str(value)


def _row(entry: Entry, entries: Sequence[Entry], *, with_run: bool) -> str:
    head = entry.head
    outcome = "right" if head.is_right else "wrong"
    partner = partner_of(entry, entries)
    compare = f"<a href='{_compare_url(entry, partner)}'>compare</a>" if partner else ""
    run = f"<td>{escape(entry.run_name)}</td>" if with_run else ""
    return (
        f"<tr>{run}<td><span class='badge {outcome}'>{outcome}</span></td>"
        f"<td class='question'><a href='/episode/{_quoted(entry.key)}'>{escape(head.question)}</a>"
        f"<br><span class='quiet'>{escape(head.final_answer or head.stop.replace('_', ' '))}</span>"
        f"</td><td>{compare}</td><td>{escape(head.phase)}</td>"
        f"<td>{escape(head.kind.replace('_', ' '))}</td><td class='number'>{head.num_steps}</td>"
        f"<td class='number'>{head.returns[2]:+.2f}</td></tr>"
    )


def partner_of(entry: Entry, entries: Sequence[Entry]) -> Entry | None:
    """The attempt at the same task to compare with.

    With two runs that of the other run and the same phase; else another phase of the same run, a
    policy's before a scripted agent's.
    """
    same_task = [e for e in entries if e.head.task_id == entry.head.task_id and e is not entry]
    elsewhere = [e for e in same_task if e.run != entry.run and e.head.phase == entry.head.phase]
    policies = [e for e in same_task if e.run == entry.run and e.head.policy_version >= 0]
    return next(iter([*elsewhere, *policies]), None)


def _compare_url(first: Entry, second: Entry) -> str:
    return f"/compare?{urllib.parse.urlencode({'a': first.key, 'b': second.key})}".replace(
        "&", "&amp;"
    )


def _quoted(key: str) -> str:
    return escape(urllib.parse.quote(key), quote=True)


# --- One attempt -------------------------------------------------------------------------------


def episode_html(entry: Entry, episode: ArchivedEpisode, step: int) -> str:
    """One step of an attempt, with links to the others."""
    address = f"/episode/{_quoted(entry.key)}?step="
    body = (
        f"<p><a href='/'>all attempts</a> <span class='quiet'>{escape(entry.run_name)}</span></p>"
        f"<div class='card'>{head_html(episode.head)}</div>"
        f"{_stepper(len(episode.scenes), step, address)}"
        f"{_scene(entry, episode, step)}{_details(episode, step)}"
    )
    return page(escape(entry.head.question), body, script=_STEP_KEYS)


def compare_html(
    pair: Sequence[tuple[Entry, ArchivedEpisode]], step: int, entries: Sequence[Entry]
) -> str:
    """Two attempts at one task, step by step beside each other."""
    first, second = pair[0][0], pair[1][0]
    num_scenes = max(len(episode.scenes) for _, episode in pair)
    address = f"{_compare_url(first, second)}&amp;step="
    columns = "".join(_column(entry, episode, step) for entry, episode in pair)
    same_task = [e for e in entries if e.head.task_id == first.head.task_id]
    others = " · ".join(
        f"<a href='{_compare_url(first, e)}'>{escape(e.run_name)} {escape(e.head.phase)}</a>"
        for e in same_task
        if e.key not in (first.key, second.key)
    )
    body = (
        f"<p><a href='/'>all attempts</a></p><h1>{escape(first.head.question)}</h1>"
        f"<p class='quiet'>accepted: {escape(' / '.join(first.head.answers))}</p>"
        f"{_stepper(num_scenes, step, address)}<div class='pair'>{columns}</div>"
        f"{f'<p class=quiet>compare the left one with: {others}</p>' if others else ''}"
    )
    return page(f"compare · {escape(first.head.question)}", body, script=_STEP_KEYS)


def _column(entry: Entry, episode: ArchivedEpisode, step: int) -> str:
    last = len(episode.scenes) - 1
    scene = _scene(entry, episode, min(step, last))
    over = "<p class='quiet'>had ended by then</p>" if step > last else ""
    return (
        f"<section><p class='quiet'>{escape(entry.run_name)}</p>{head_html(episode.head)}"
        f"{scene}{over}</section>"
    )


def _stepper(num_scenes: int, step: int, address: str) -> str:
    numbers = "".join(
        f"<span class='here'>{_name(number, num_scenes)}</span>"
        if number == step
        else f"<a href='{address}{number}'>{_name(number, num_scenes)}</a>"
        for number in range(num_scenes)
    )
    back = f"<a rel='prev' href='{address}{step - 1}'>←</a>"
    onward = f"<a rel='next' href='{address}{step + 1}'>→</a>"
    return (
        "<nav class='stepper' aria-label='steps'>"
        f"{back if step > 0 else '<span class=off>←</span>'}"
        f"{onward if step < num_scenes - 1 else '<span class=off>→</span>'}{numbers}</nav>"
    )


def _name(number: int, num_scenes: int) -> str:
    return "end" if number == num_scenes - 1 else str(number + 1)


def _scene(entry: Entry, episode: ArchivedEpisode, step: int) -> str:
    scene = episode.scenes[step]
    move = episode.moves[step] if step < len(episode.moves) else None
    picture = f"/frame/{_quoted(entry.key)}/{step}.jpg" if scene.frame_scale > 0 else ""
    mask = mask_html(scene, move) if move else ""
    return f"{scene_svg(scene, move, picture)}{move_html(episode, step)}{where_html(scene)}{mask}"


def _details(episode: ArchivedEpisode, step: int) -> str:
    """What the agent had and could choose from, as tables."""
    scene = episode.scenes[step]
    types_of: dict[int, list[str]] = {}
    for name, rows in scene.legal.items():
        for row in rows:
            types_of.setdefault(row, []).append(name.replace("_", " "))
    elements = "".join(
        f"<tr><td class='number'>{row}</td><td>{escape(element.role)}</td>"
        f"<td class='text'>{escape(element.text or element.value)}</td>"
        f"<td>{'in view' if element.is_in_view else ''}"
        f"{' covered' if element.is_occluded else ''}</td>"
        f"<td>{escape(', '.join(types_of.get(row, [])))}</td></tr>"
        for row, element in enumerate(scene.elements)
    )
    lists = "".join(
        f"<details><summary>{name} ({len(texts)})</summary><ul>"
        f"{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul></details>"
        for name, texts in (
            ("notes", scene.notes),
            ("queries", scene.queries),
            ("spans to type or answer", scene.spans),
        )
        if texts
    )
    return (
        f"<h2>State</h2><p class='quiet'>{escape(_facts(episode, step))}</p>{lists}"
        f"<details><summary>elements ({len(scene.elements)})</summary><div class='scroll'>"
        "<table class='elements'><thead><tr><th>row</th><th>role</th><th>text</th><th></th>"
        f"<th>legal</th></tr></thead><tbody>{elements}</tbody></table></div></details>"
    )


def _facts(episode: ArchivedEpisode, step: int) -> str:
    scene = episode.scenes[step]
    facts = [
        f"scrolled {scene.scroll_y_px:.0f} of {scene.page_height_px:.0f} px",
        f"tabs {scene.num_tabs}",
        f"page {scene.page_state}",
    ]
    if step < len(episode.moves):
        move = episode.moves[step]
        facts.append(f"settled in {move.settle_ms:.0f} ms")
        if move.policy_version >= 0:
            facts.append(
                f"log-probability {move.log_prob:.2f}, policy version {move.policy_version}"
            )
    return ", ".join(facts)
