# SPDX-License-Identifier: Apache-2.0
"""Where every attempt is, and how it ended: nothing lost, nothing doubled. Pure bookkeeping.

    handed out --> running --> scoring --> held --> trained | expired | filtered
                      |           |
                      |           +--> unscored | quarantined
                      +--> infra failed

After every event, or it is a `RuntimeError`:

    handed out = trained + filtered + expired + infra failed + unscored + quarantined + in flight

where in flight is running + scoring + held. A lost member that is tried again is another attempt.
Kept apart from the task source, which hands out, and from replay, which holds: three books that
must agree.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


class Fate(enum.Enum):
    """How an attempt ended."""

    TRAINED = "trained"
    FILTERED = "filtered"  # its group left replay for space
    EXPIRED = "expired"  # its group grew too old
    INFRA_FAILED = "infra_failed"  # the world broke
    UNSCORED = "unscored"  # nobody could say what it was worth
    QUARANTINED = "quarantined"  # its data was refused


class Place(enum.Enum):
    """Where an attempt in flight is."""

    RUNNING = "running"
    SCORING = "scoring"  # finished; waits for its score, or for its way into replay
    HELD = "held"  # in replay, or at the learner


class Ledger:
    """One entry per attempt until its group has ended, totals from then on."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, Place | Fate]] = {}  # of open groups, by attempt
        self._group_of: dict[str, str] = {}  # attempt in flight -> group
        self._steps: dict[str, int] = {}  # of attempts that are being scored
        self._ended = NumberSet()  # groups
        self._num_handed_out = 0
        self._fates: Counter[Fate] = Counter()

    # --- Events ----------------------------------------------------------------------------------

    def handed_out(self, group_id: str, trajectory_id: str) -> None:
        """An attempt begins."""
        if trajectory_id in self._groups.get(group_id, {}) or group_id in self._ended:
            raise RuntimeError(f"{trajectory_id!r} is handed out twice, or after its group ended")
        self._groups.setdefault(group_id, {})[trajectory_id] = Place.RUNNING
        self._group_of[trajectory_id] = group_id
        self._num_handed_out += 1
        self.check()

    def finished(self, trajectory_id: str, num_steps: int) -> None:
        """It ended by itself and goes on to its score."""
        self._move(trajectory_id, Place.RUNNING, Place.SCORING)
        self._steps[trajectory_id] = num_steps

    def lost(self, trajectory_id: str) -> None:
        """The world broke under it."""
        self._move(trajectory_id, Place.RUNNING, Fate.INFRA_FAILED)

    def held(self, trajectory_id: str) -> None:
        """Replay has it."""
        self._move(trajectory_id, Place.SCORING, Place.HELD)

    def refused(self, trajectory_id: str, fate: Fate) -> None:
        """It got no score, or replay would not have it."""
        self._move(trajectory_id, Place.SCORING, fate)

    def group_ended(self, group_id: str, fate: Fate) -> None:
        """Whatever of the group was held ends so; a group without is void, which is no fate."""
        attempts = self._groups.pop(group_id, {})
        live = {name: place for name, place in attempts.items() if isinstance(place, Place)}
        if any(place is not Place.HELD for place in live.values()) or group_id in self._ended:
            self._groups[group_id] = attempts
            raise RuntimeError(f"group {group_id!r} ends ({fate.value}) twice or with {live} open")
        for trajectory_id in live:
            del self._group_of[trajectory_id]
        self._fates[fate] += len(live)
        self._ended.add(group_id)
        self.check()

    def _move(self, trajectory_id: str, expected: Place, to: Place | Fate) -> None:
        group_id = self._group_of.get(trajectory_id, "")
        got = self._groups.get(group_id, {}).get(trajectory_id)
        if got is not expected:
            raise RuntimeError(
                f"{trajectory_id!r} becomes {to.value}: expected it to be {expected.value}, got "
                f"{got.value if got else 'no such attempt in flight'}"
            )
        self._groups[group_id][trajectory_id] = to
        self._steps.pop(trajectory_id, None)
        if isinstance(to, Fate):
            del self._group_of[trajectory_id]
            self._fates[to] += 1
        self.check()

    # --- Questions -------------------------------------------------------------------------------

    def check(self) -> None:
        """The identity of the module; `RuntimeError` when it is broken."""
        ended = sum(self._fates.values())
        if self._num_handed_out != ended + len(self._group_of):
            raise RuntimeError(
                f"attempts handed out ({self._num_handed_out}) != ended ({dict(self._fates)}) + in "
                f"flight ({len(self._group_of)})"
            )

    def counts(self) -> dict[str, int]:
        """Attempts by fate, `handed_out`, and `in_flight` with its parts."""
        self.check()
        places = Counter(self._groups[g][name] for name, g in self._group_of.items())
        return {
            "handed_out": self._num_handed_out,
            **{fate.value: self._fates[fate] for fate in Fate},
            "in_flight": len(self._group_of),
            **{place.value: places[place] for place in Place},
        }

    def where(self, group_id: str, trajectory_id: str) -> Place | Fate | None:
        """Of an attempt whose group has not ended."""
        return self._groups.get(group_id, {}).get(trajectory_id)

    def attempts(self, place: Place) -> list[tuple[str, str]]:
        """(group, attempt) in flight there, in the order in which they were handed out."""
        return [(g, name) for name, g in self._group_of.items() if self._groups[g][name] is place]

    def num_steps_scoring(self) -> int:
        """Steps of the attempts that wait for their scores."""
        return sum(self._steps.values())

    # --- State -----------------------------------------------------------------------------------

    def recall(self) -> list[tuple[str, str]]:
        """Forget that the attempts outside replay were handed out: they will be, again.

        For whoever continues from a saved state: workers and queues of then are gone.
        """
        recalled = [*self.attempts(Place.RUNNING), *self.attempts(Place.SCORING)]
        for group_id, trajectory_id in recalled:
            del self._groups[group_id][trajectory_id]
            del self._group_of[trajectory_id]
        self._steps.clear()
        self._num_handed_out -= len(recalled)
        self.check()
        return recalled

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        groups = {
            g: {a: p.value for a, p in members.items()} for g, members in self._groups.items()
        }
        return {
            "groups": groups,
            "steps": dict(self._steps),
            "ended": self._ended.state_list(),
            "handed_out": self._num_handed_out,
            "fates": {fate.value: self._fates[fate] for fate in Fate},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict()`."""
        kinds: dict[str, Place | Fate] = {kind.value: kind for kind in (*Place, *Fate)}
        self._groups = {
            g: {a: kinds[p] for a, p in members.items()} for g, members in state["groups"].items()
        }
        self._group_of = {
            a: g
            for g, members in self._groups.items()
            for a, place in members.items()
            if isinstance(place, Place)
        }
        self._steps = dict(state["steps"])
        self._ended = NumberSet(state["ended"])
        self._num_handed_out = state["handed_out"]
        self._fates = Counter({Fate(name): count for name, count in state["fates"].items()})
        self.check()


class NumberSet:
    """Ids that end in a number, such as g17, kept small when nearly all of 0..n are in it."""

    def __init__(self, state: Iterable[Any] = (0, ())) -> None:
        first_missing, others = state
        self._first_missing = int(first_missing)
        self._others = {int(number) for number in others}

    def __contains__(self, name: str) -> bool:
        number = _number(name)
        return number < self._first_missing or number in self._others

    def __len__(self) -> int:
        return self._first_missing + len(self._others)

    def add(self, name: str) -> None:
        """Put one in."""
        self._others.add(_number(name))
        while self._first_missing in self._others:
            self._others.remove(self._first_missing)
            self._first_missing += 1

    def state_list(self) -> list[Any]:
        """Plain values."""
        return [self._first_missing, sorted(self._others)]


def _number(name: str) -> int:
    digits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    if not digits.isdecimal():
        raise ValueError(f"expected letters and a number, such as g17, got {name!r}")
    return int(digits)
