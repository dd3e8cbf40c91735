# SPDX-License-Identifier: Apache-2.0
"""Hands out the attempts of groups, within the admission window; pure bookkeeping, no clock.

A group holds a slot from the moment it opens until the weights that were trained on it are
published (or until it is given up). There are `(admission_window + 1) * groups_per_update` slots,
so no attempt ever works for a batch that is more than `admission_window` versions ahead of the
published one (Fu et al. 2025, AReaL, section 5.1: N <= (i + window + 1) * B; ours counts groups).

    next_order --> in flight --+--> member_done -----> waits in replay --> published: slot free
         ^                     |
         +---- re-issued <-----+--> member_lost --> given up: the group closes without it
                                                    (no member left: group_dropped: slot free)
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actors.config import RolloutConfig
from actors.types import POLICY_AGENT, AttemptOrder
from envs.types import StopReason, Task


class LossOutcome(enum.Enum):
    """What becomes of a member whose attempt was lost."""

    REISSUED = "reissued"
    GIVEN_UP = "given_up"


@dataclass(kw_only=True, slots=True)
class _OpenGroup:
    """A group that holds a slot."""

    group_id: str
    number: int
    task: Task
    num_tries: list[int]  # [G] attempts handed out so far, by member
    in_flight: set[int] = field(default_factory=set)  # members


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceCounts:
    """Totals since the start. `opened == holding + published + dropped`, always."""

    opened: int
    holding: int
    published: int
    dropped: int
    in_flight: int  # attempts
    reissued: int
    given_up: int
    lost_by_stop: dict[str, int]


class TaskSource:
    """Groups of one endless task sequence; see the module for the life of a group."""

    def __init__(
        self,
        make_task: Callable[[int], Task],
        *,
        rollout: RolloutConfig,
        group_size: int,
        groups_per_update: int,
        seed: int,
        keeps_weights: bool = False,
    ) -> None:
        """`keeps_weights` is passed on with every order."""
        self._keeps_weights = keeps_weights
        self._make_task = make_task
        self._config = rollout
        self._max_slots = (rollout.admission_window + 1) * groups_per_update
        self._group_size = group_size
        self._seed = seed
        self._groups: dict[str, _OpenGroup] = {}
        self._members: dict[str, tuple[str, int]] = {}  # trajectory in flight -> group, member
        self._queue: collections.deque[tuple[str, int]] = collections.deque()
        self._num_opened = 0
        self._num_published = 0
        self._num_dropped = 0
        self._num_reissued = 0
        self._num_given_up = 0
        self._lost_by_stop: dict[str, int] = {}

    def next_order(self) -> AttemptOrder | None:
        """The next attempt, lost members first; None while the admission window is full."""
        if not self._queue:
            if len(self._groups) >= self._max_slots:
                return None
            self._open_group()
        group_id, member = self._queue.popleft()
        group = self._groups[group_id]
        attempt = group.num_tries[member]
        group.num_tries[member] += 1
        group.in_flight.add(member)
        trajectory_id = _trajectory_id(group_id, member, attempt)
        self._members[trajectory_id] = (group_id, member)
        entropy = [self._seed, group.number, member, attempt]
        return AttemptOrder(
            task=group.task,
            trajectory_id=trajectory_id,
            group_id=group_id,
            seed=int(np.random.SeedSequence(entropy).generate_state(1)[0]),
            agent=POLICY_AGENT,
            temperature=1.0,  # the learner needs draws from the very policy that is recorded
            with_teacher=True,
            keeps_weights=self._keeps_weights,
        )

    def member_done(self, trajectory_id: str) -> None:
        """The attempt ended and goes on to the reward pool; its group keeps the slot."""
        self._take_in_flight(trajectory_id)

    def member_lost(self, trajectory_id: str, stop: StopReason) -> LossOutcome:
        """The world broke under the attempt: hand the member out again, or give it up."""
        group, member = self._take_in_flight(trajectory_id)
        self._lost_by_stop[stop.value] = self._lost_by_stop.get(stop.value, 0) + 1
        if group.num_tries[member] <= self._config.max_reissues:
            self._queue.appendleft((group.group_id, member))
            self._num_reissued += 1
            return LossOutcome.REISSUED
        self._num_given_up += 1
        return LossOutcome.GIVEN_UP

    def batch_published(self, group_ids: Iterable[str]) -> None:
        """Weights trained on these groups are out: their slots are free."""
        for group_id in group_ids:
            self._close(group_id)
            self._num_published += 1

    def group_dropped(self, group_id: str) -> None:
        """The group will never be trained on: its slot is free."""
        self._close(group_id)
        self._num_dropped += 1

    def counts(self) -> SourceCounts:
        """Totals; a broken accounting identity is a `RuntimeError`."""
        holding = len(self._groups)
        if self._num_opened != holding + self._num_published + self._num_dropped:
            raise RuntimeError(
                f"groups opened ({self._num_opened}) != holding ({holding}) + published "
                f"({self._num_published}) + dropped ({self._num_dropped})"
            )
        return SourceCounts(
            opened=self._num_opened,
            holding=holding,
            published=self._num_published,
            dropped=self._num_dropped,
            in_flight=len(self._members),
            reissued=self._num_reissued,
            given_up=self._num_given_up,
            lost_by_stop=dict(self._lost_by_stop),
        )

    def holds(self, group_id: str) -> bool:
        """Whether the group has a slot."""
        return group_id in self._groups

    def oldest(self, count: int) -> tuple[str, ...]:
        """Ids of the first `count` groups that hold a slot, as they were opened."""
        numbered = sorted((g.number, g.group_id) for g in self._groups.values())
        return tuple(group_id for _, group_id in numbered[:count])

    def settled_members(self) -> list[tuple[str, str, str]]:
        """(group, task, last attempt) of each member of an open group that is not to come again."""
        waiting = set(self._queue) | set(self._members.values())
        return [
            (g.group_id, g.task.task_id, _trajectory_id(g.group_id, member, tries - 1))
            for g in self._groups.values()
            for member, tries in enumerate(g.num_tries)
            if (g.group_id, member) not in waiting
        ]

    # --- State -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON values; says nothing of who is in flight, which the ledger knows."""
        return {
            "groups": [[g.number, list(g.num_tries)] for g in self._groups.values()],
            "queue": [list(entry) for entry in self._queue],
            "opened": self._num_opened,
            "published": self._num_published,
            "dropped": self._num_dropped,
            "reissued": self._num_reissued,
            "given_up": self._num_given_up,
            "lost_by_stop": dict(self._lost_by_stop),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], recalled: Iterable[tuple[str, str]]
    ) -> None:
        """Continue from `state_dict()`.

        The `recalled` attempts, (group, attempt), are handed out again before anything else, as
        the same attempts: with their ids and their draws.
        """
        self._groups = {
            f"g{number}": _OpenGroup(
                group_id=f"g{number}",
                number=number,
                task=self._make_task(number),
                num_tries=list(tries),
            )
            for number, tries in state["groups"]
        }
        again = []
        for group_id, trajectory_id in recalled:
            group = self._groups[group_id]
            ids = [_trajectory_id(group_id, m, n - 1) for m, n in enumerate(group.num_tries)]
            member = ids.index(trajectory_id)
            group.num_tries[member] -= 1
            again.append((group_id, member))
        queue = [(group_id, member) for group_id, member in state["queue"]]
        self._queue = collections.deque([*again, *queue])
        self._members = {}
        self._num_opened = state["opened"]
        self._num_published = state["published"]
        self._num_dropped = state["dropped"]
        self._num_reissued = state["reissued"]
        self._num_given_up = state["given_up"]
        self._lost_by_stop = dict(state["lost_by_stop"])
        self.counts()

    def _open_group(self) -> None:
        number = self._num_opened
        group_id = f"g{number}"
        self._groups[group_id] = _OpenGroup(
            group_id=group_id,
            number=number,
            task=self._make_task(number),
            num_tries=[0] * self._group_size,
        )
        self._num_opened += 1
        self._queue.extend((group_id, member) for member in range(self._group_size))

    def _take_in_flight(self, trajectory_id: str) -> tuple[_OpenGroup, int]:
        if trajectory_id not in self._members:
            raise RuntimeError(
                f"expected an attempt in flight, got {trajectory_id!r}: it ended twice or was "
                "never handed out"
            )
        group_id, member = self._members.pop(trajectory_id)
        group = self._groups[group_id]
        group.in_flight.remove(member)
        return group, member

    def _close(self, group_id: str) -> None:
        group = self._groups.get(group_id)
        if group is None:
            raise RuntimeError(f"expected a group that holds a slot, got {group_id!r}")
        if group.in_flight or any(g == group_id for g, _ in self._queue):
            raise RuntimeError(f"group {group_id!r} closes while members of it are still to come")
        del self._groups[group_id]


def _trajectory_id(group_id: str, member: int, attempt: int) -> str:
    return f"{group_id}.m{member}.t{attempt}"
