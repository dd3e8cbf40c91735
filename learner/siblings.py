# SPDX-License-Identifier: Apache-2.0
"""Utilities from a group's own successes: self-distillation without a teacher that knows the truth.

Reads what trajectories and scores hold and nothing else: texts, choices, and which final answers
were right. No torch.

Each right attempt becomes a `Guide`: its path without detours, cut into stages by the extractions
that it needed later. Any state of any member, also of failed ones, is then told

    1.0         the guide's action from an equal state; the right answer, all that is needed held
    0.5 .. 0.9  an action of the guide's present stage, the more the later in the stage
    0.7         extracting a text that contains the right answer (hindsight)
    0.5         the right answer before what the guide needed is held: lucky, not wrong
    -0.2        what a failed member did in a state that a guide passed, if the guide did not
    -0.6        a wrong answer

In a group without a right answer, `sibling_guides=relevance` makes a guide of the attempt that got
to read most of the question's words (`learner.relevance`), up to where it had. Its actions are
worth half. The answer is not known, but where the guide's notes are held, answers that nobody
tried and the question does not say are worth a try (0.25): a policy that only reads never finds
out. With `sibling_guides=answers` such a group gives no utilities.

The teacher is the group's best attempt in hindsight, as the successful sibling is in SDPO (arXiv
2601.20802); what it says is a utility and not another network's distribution.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from agent.situation import Situation, unpack_situation
from agent.types import StepRecord
from envs.actions import ACTION_SPECS, FlatActions, enumerate_actions
from envs.answers import normalise
from learner.config import SiblingGuides
from learner.relevance import relevance
from learner.types import Group, Member

_SAME_STATE = 1.0
_FIRST_OF_STAGE, _LAST_OF_STAGE = 0.5, 0.9
_CONTAINS_ANSWER = 0.7
_RIGHT_ANSWER, _EARLY_ANSWER, _WRONG_ANSWER = 1.0, 0.5, -0.6
_FAILED = -0.2
_RELEVANT = 0.5  # share of a worth that is left where the guide is only the most relevant attempt
_UNTRIED_ANSWER = 0.25
_MIN_RELEVANCE = 0.1  # over the start's and over the group's mean, for an attempt to be a guide
_MIN_ANSWER_CHARS = 3  # a shorter text is contained in too much by chance

# Types whose key says what they do wherever they are legal; others mean something in one state.
_PORTABLE = frozenset({"click", "open_in_new_tab", "type", "press_enter", "extract_text", "answer"})
ActionKey = tuple[str, ...]
StateKey = tuple[str, bool, tuple[str, ...], frozenset[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """One step with its texts."""

    situation: Situation
    actions: FlatActions
    chosen: int

    def key(self, row: int) -> ActionKey:
        return action_key(self.situation, self.actions, row)


def with_sibling_utilities(
    group: Group, guided_by: SiblingGuides = SiblingGuides.RELEVANCE
) -> Group:
    """`group` with the utilities of every step replaced; `ValueError` without situations."""
    attempts = [_steps_of(member) for member in group.members]
    is_right = [member.score.is_right and bool(member.trajectory.steps) for member in group.members]
    guides = [
        Guide(steps, answer=_answer(steps))
        for steps, right in zip(attempts, is_right, strict=True)
        if right
    ]
    failed = [steps for steps, right in zip(attempts, is_right, strict=True) if not right]
    if not guides and guided_by is SiblingGuides.RELEVANCE:
        guides = _most_relevant(attempts)
        failed = []  # all have failed: nobody's mistakes stand out
    mistakes = [_mistakes(guide, failed) for guide in guides]
    members = []
    for member, steps in zip(group.members, attempts, strict=True):
        records = [
            dataclasses.replace(record, utilities=_utilities(step, guides, mistakes))
            for record, step in zip(member.trajectory.steps, steps, strict=True)
        ]
        trajectory = dataclasses.replace(member.trajectory, steps=tuple(records))
        members.append(dataclasses.replace(member, trajectory=trajectory))
    return dataclasses.replace(group, members=tuple(members))


def _most_relevant(attempts: Sequence[Sequence[_Step]]) -> list[Guide]:
    """The way to the most relevant situation of a group, if one stands out."""
    values = relevance([[step.situation for step in steps] for steps in attempts])
    peaks = [float(v.max()) if len(v) else 0.0 for v in values]
    best = int(np.argmax(peaks))
    steps, place = attempts[best], int(np.argmax(values[best])) if len(values[best]) else 0
    start = float(values[best][0]) if len(values[best]) else 0.0
    least = max(start, float(np.mean(peaks))) + _MIN_RELEVANCE
    if not place or peaks[best] < least:
        return []
    return [Guide(steps[:place], answer=None, tried=_tried_answers(attempts))]


def _tried_answers(attempts: Sequence[Sequence[_Step]]) -> frozenset[str]:
    keys = [steps[-1].key(steps[-1].chosen) for steps in attempts if steps]
    return frozenset(key[1] for key in keys if key[0] == "answer")


class Guide:
    """What an attempt tells others to do; `answer` is its right one, or None without one.

    `tried` are the group's wrong answers, normalised; read where there is no right one.
    """

    def __init__(
        self, steps: Sequence[_Step], *, answer: str | None, tried: frozenset[str] = frozenset()
    ) -> None:
        self.answer = None if answer is None else normalise(answer)
        self.tried = tried
        self._needed = _needed_notes(steps) if answer is not None else _extracted(steps)
        path = self._without_detours(steps)
        self.by_state = {self.state_key(step.situation): step.key(step.chosen) for step in path}
        self.by_stage: list[dict[ActionKey, float]] = []
        self._order: list[str] = []  # the needed texts, as they were extracted
        stage: list[ActionKey] = []
        for step in path:
            key = step.key(step.chosen)
            if key[0] in _PORTABLE:
                stage.append(key)
            if key[0] == "extract_text" and key[1] in self._needed:
                self._order.append(key[1])
                self._close(stage)
                stage = []
        self._close(stage)

    def _close(self, stage: list[ActionKey]) -> None:
        span = _LAST_OF_STAGE - _FIRST_OF_STAGE
        places = {key: (place + 1) / len(stage) for place, key in enumerate(stage)}
        worths = {key: _FIRST_OF_STAGE + span * place for key, place in places.items()}
        self.by_stage.append(worths)

    def state_key(self, situation: Situation) -> StateKey:
        """What makes two states equal: page, blocked or not, texts in boxes, needed notes held."""
        held = frozenset(self._needed.intersection(situation.notes))
        return situation.url, situation.is_blocked, situation.typed, held

    def stage(self, situation: Situation) -> int:
        """How far along the guide's path a state is, by the notes that it holds."""
        held = set(situation.notes)
        reached = [place for place, text in enumerate(self._order) if text in held]
        return reached[-1] + 1 if reached else 0

    @property
    def needs_notes(self) -> bool:
        """Whether anything was extracted on its path."""
        return bool(self._needed)

    def is_last_stage(self, situation: Situation) -> bool:
        """Whether nothing but the answer is missing."""
        return self._needed.issubset(situation.notes)

    def _without_detours(self, steps: Sequence[_Step]) -> list[_Step]:
        """The path with every loop cut out: of each state only the action that led on stays."""
        path: list[tuple[StateKey, _Step]] = []
        for step in steps:
            key = self.state_key(step.situation)
            before = [place for place, (known, _) in enumerate(path) if known == key]
            if before:
                del path[before[0] :]
            path.append((key, step))
        return [step for _, step in path]


def action_key(situation: Situation, actions: FlatActions, row: int) -> ActionKey:
    """What an action does, in words that mean the same in another state."""
    name = ACTION_SPECS[int(actions.type[row])].name
    element, argument = int(actions.element[row]), int(actions.argument[row])
    if name == "answer":
        return name, _normalised(situation.spans[argument])
    if name == "type":
        return name, situation.texts[element], _normalised(situation.spans[argument])
    if name == "press_enter":
        return (name, *situation.typed)
    if name in ("click", "open_in_new_tab") and situation.hrefs[element]:
        return name, situation.hrefs[element]
    if name == "click":  # a button acts on what stands in the boxes
        return (name, "", situation.texts[element], *situation.typed)
    if element >= 0:
        return name, situation.texts[element], str(argument)
    return name, str(argument)


def _steps_of(member: Member) -> list[_Step]:
    return [_step(record) for record in member.trajectory.steps]


def _step(record: StepRecord) -> _Step:
    return _Step(
        situation=unpack_situation(record.situation),
        actions=enumerate_actions(record.mask),
        chosen=record.chosen,
    )


def _answer(steps: Sequence[_Step]) -> str:
    """The text that an attempt with a right answer ended with."""
    last = steps[-1]
    kind = ACTION_SPECS[int(last.actions.type[last.chosen])].name
    if kind != "answer":
        raise ValueError(f"expected an attempt with a right answer to end with it, got {kind}")
    return last.situation.spans[int(last.actions.argument[last.chosen])]


def _extracted(steps: Sequence[_Step]) -> frozenset[str]:
    """Texts that were extracted on the way."""
    keys = [step.key(step.chosen) for step in steps]
    return frozenset(key[1] for key in keys if key[0] == "extract_text")


def _needed_notes(steps: Sequence[_Step]) -> frozenset[str]:
    """Extracted texts with a text used later that the question does not say.

    Used is what was typed or answered, and the link that was followed. Where the answer itself is
    in the question (a choice between two), nothing says what was needed: then every extracted text
    counts.
    """
    question = steps[0].situation.question
    if _contains(question, _answer(steps)):
        return frozenset(steps[-1].situation.notes)
    needed, later = set(), set[str]()
    for step in reversed(steps):
        name, *rest = step.key(step.chosen)
        used = ""
        if name in ("type", "answer"):
            used = rest[-1]
        if name in ("click", "open_in_new_tab") and rest[0]:
            used = step.situation.texts[int(step.actions.element[step.chosen])]
        if used and not _contains(question, used):
            later.add(used)
        if name == "extract_text" and any(_contains(rest[0], text) for text in later):
            needed.add(rest[0])
    return frozenset(needed)


def _mistakes(guide: Guide, failed: Sequence[Sequence[_Step]]) -> set[tuple[StateKey, ActionKey]]:
    """What failed members did in states that the guide passed, where the guide did otherwise."""
    done = ((guide.state_key(s.situation), s.key(s.chosen)) for steps in failed for s in steps)
    return {(s, a) for s, a in done if s in guide.by_state and guide.by_state[s] != a}


def _utilities(
    step: _Step, guides: Sequence[Guide], mistakes: Sequence[set[tuple[StateKey, ActionKey]]]
) -> np.ndarray:
    """float16 [A], or empty where nothing is known."""
    none = np.zeros(0, dtype=np.float16)
    if not guides:
        return none
    keys = [step.key(row) for row in range(len(step.actions))]
    columns = [
        [_worth(step.situation, key, guide, wrong) for key in keys]
        for guide, wrong in zip(guides, mistakes, strict=True)
    ]
    values = np.array(columns)
    # What one guide knows as good stays good; a warning counts where no guide says otherwise.
    best, worst = values.max(axis=0), values.min(axis=0)
    joint = np.where(best > 0, best, worst)
    return joint.astype(np.float16) if joint.any() else none


def _worth(
    situation: Situation, key: ActionKey, guide: Guide, wrong: set[tuple[StateKey, ActionKey]]
) -> float:
    """What one guide says about one action."""
    name = key[0]
    if name == "answer":
        return _worth_of_answer(situation, key[1], guide)
    share = _RELEVANT if guide.answer is None else 1.0
    state = guide.state_key(situation)
    if guide.by_state.get(state) == key:
        return share * _SAME_STATE
    if _is_done(situation, key):
        return 0.0
    of_stage = guide.by_stage[guide.stage(situation)].get(key, 0.0)
    if of_stage:
        return share * of_stage
    if name == "extract_text" and _holds_answer(situation, key[1], guide):
        return _CONTAINS_ANSWER
    return _FAILED if (state, key) in wrong else 0.0


def _worth_of_answer(situation: Situation, answer: str, guide: Guide) -> float:
    if guide.answer is None:
        is_worth_a_try = guide.needs_notes and guide.is_last_stage(situation)
        is_new = answer not in guide.tried and not _contains(situation.question, answer)
        return _UNTRIED_ANSWER if is_worth_a_try and is_new else 0.0
    if answer != guide.answer:
        return _WRONG_ANSWER
    return _RIGHT_ANSWER if guide.is_last_stage(situation) else _EARLY_ANSWER


def _is_done(situation: Situation, key: ActionKey) -> bool:
    """Whether the action would do again what was done."""
    name = key[0]
    if name == "extract_text":
        return key[1] in situation.notes
    if name == "type":
        return key[-1] in {_normalised(text) for text in (*situation.queries, *situation.typed)}
    return name in ("click", "open_in_new_tab") and key[1] == situation.url


def _holds_answer(situation: Situation, text: str, guide: Guide) -> bool:
    if guide.answer is None:
        return False
    is_telling = len(guide.answer) >= _MIN_ANSWER_CHARS
    is_new = not _contains(situation.question, guide.answer)
    return is_telling and is_new and _contains(text, guide.answer)


@lru_cache(maxsize=100_000)
def _normalised(text: str) -> str:
    return normalise(text)


def _contains(text: str, part: str) -> bool:
    """Whether `text` has the words of `part` in a row."""
    words = _normalised(part)
    return bool(words) and f" {words} " in f" {_normalised(text)} "
