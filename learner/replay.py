# SPDX-License-Identifier: Apache-2.0
"""Groups between the rollouts and the learner: joined by trajectory id, each fresh one used once.

Pure bookkeeping, without torch, clock or transport. A group is opened with a number of slots; each
slot ends as a trajectory with its score, or as a drop with a reason. When every slot has ended the
group is closed: ready if it has a member left, else void. From there it is taken by the learner,
expires by age, or is evicted for space, so that at every moment

    opened = open + ready + taken + expired + evicted + void

A taken group stays here until the learner's update is confirmed: what is saved before that still
holds it. With `replayed_groups` a confirmed group may come again, drawn by priority, until it is
retired by age, by its uses, or for space.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from agent.types import Trajectory
from envs.types import Scored
from learner.config import ReplayConfig
from learner.held_groups import OpenGroup, ReadyGroup, UsedGroup, check_fit, ready_group
from learner.priority import draw, group_facts, sampling_probabilities
from learner.types import Group, GroupState, Member


class GroupReplay:
    """Replay of whole groups under a byte bound and a maximum lag.

    Everything that arrives for a group that is not open any more is ignored and counted as late,
    and a repeated arrival as duplicate: callers may deliver at least once.
    """

    def __init__(self, config: ReplayConfig) -> None:
        self._config = config
        self._open: dict[str, OpenGroup] = {}
        self._ready: dict[str, ReadyGroup] = {}  # oldest first
        self._taken: dict[str, ReadyGroup] = {}  # fresh ones at the learner, not yet confirmed
        self._used: dict[str, UsedGroup] = {}  # oldest first
        self._num_bytes = 0  # of all of them
        self._counts: Counter[str] = Counter()
        self._ended: dict[str, str] = {}  # fates since `pop_ended`

    def __contains__(self, group_id: str) -> bool:
        """Whether the group is open or waits for the learner."""
        return group_id in self._open or group_id in self._ready

    # --- Filling ---------------------------------------------------------------------------------

    def open(self, group_id: str, task_id: str, size: int) -> None:
        """Announce a group of `size` attempts; `ValueError` for one that is already here."""
        if group_id in self:
            raise ValueError(f"group_id: expected a new id, got {group_id!r} again")
        if size < 1:
            raise ValueError(f"size: expected >= 1, got {size}")
        self._open[group_id] = OpenGroup(group_id=group_id, task_id=task_id, size=size)
        self._counts["opened"] += 1

    def add_trajectory(self, trajectory: Trajectory) -> None:
        """Bring the model side of an attempt; `ValueError` for one that must not be trained on."""
        name = trajectory.trajectory_id
        if trajectory.stop.is_infra_failure() or not trajectory.steps:
            raise ValueError(
                f"trajectory {name!r}: expected an attempt with steps that ended by itself, got "
                f"{len(trajectory.steps)} steps and {trajectory.stop.value!r}; use drop_member"
            )
        scored = (*trajectory.steps, *trajectory.hindsight)
        if not all(np.all(np.isfinite(step.utilities)) for step in scored):
            raise ValueError(
                f"trajectory {name!r}: expected finite utilities, got others; a teacher must score "
                "every action within float16"
            )
        group = self._admit(trajectory.group_id, name)
        if group is None or not self._is_new(group, name, group.trajectories):
            return
        if name in group.scores:
            check_fit(trajectory, group.scores[name])
        group.trajectories[name] = trajectory
        self._num_bytes += trajectory.num_bytes()
        self._close_if_finished(group)

    def add_score(self, group_id: str, score: Scored) -> None:
        """Bring the rewards of an attempt, before or after its trajectory."""
        if not np.all(np.isfinite(score.rewards)):
            raise ValueError(f"score of {score.trajectory_id!r}: expected finite rewards")
        name = score.trajectory_id
        group = self._admit(group_id, name)
        if group is None or not self._is_new(group, name, group.scores):
            return
        if name in group.trajectories:
            check_fit(group.trajectories[name], score)
        group.scores[name] = score
        self._close_if_finished(group)

    def drop_member(self, group_id: str, trajectory_id: str, reason: str) -> None:
        """End an attempt that will never be trained on: an infra failure, or no score.

        A member that is already complete stays. The slot is not an attempt with reward 0: the
        group goes on with fewer members.
        """
        group = self._admit(group_id, trajectory_id)
        if group is None:
            return
        if trajectory_id in group.dropped or trajectory_id in group.member_ids():
            self._counts["duplicates"] += 1
            return
        trajectory = group.trajectories.pop(trajectory_id, None)
        if trajectory is not None:
            self._num_bytes -= trajectory.num_bytes()
        group.scores.pop(trajectory_id, None)
        group.dropped[trajectory_id] = reason
        self._counts["dropped_members"] += 1
        self._close_if_finished(group)

    def _admit(self, group_id: str, trajectory_id: str) -> OpenGroup | None:
        """The open group that the arrival belongs to, or None for a late one."""
        group = self._open.get(group_id)
        if group is None:
            self._counts["late"] += 1
            return None
        known = group.trajectories.keys() | group.scores.keys() | group.dropped.keys()
        if trajectory_id not in known and group.num_slots_used() == group.size:
            raise RuntimeError(
                f"group {group_id!r}: expected {group.size} attempts, got another one "
                f"{trajectory_id!r}; drop the attempt that it replaces first"
            )
        return group

    def _is_new(self, group: OpenGroup, trajectory_id: str, halves: dict[str, Any]) -> bool:
        if trajectory_id in halves or trajectory_id in group.dropped:
            self._counts["duplicates"] += 1
            return False
        return True

    def _close_if_finished(self, group: OpenGroup) -> None:
        if group.is_finished():
            del self._open[group.group_id]
            if group.trajectories:
                self._make_ready(group)
            else:
                self._end(group.group_id, "void")
        self._evict()

    def _make_ready(self, group: OpenGroup) -> None:
        members = tuple(
            Member(trajectory=group.trajectories[name], score=group.scores[name])
            for name in group.member_ids()
        )
        state = GroupState.PARTIAL if group.dropped else GroupState.COMPLETE
        self._counts[state.value] += 1
        self._ready[group.group_id] = ready_group(
            Group(group_id=group.group_id, task_id=group.task_id, members=members, state=state)
        )

    def _evict(self) -> None:
        """Make room: the oldest used groups leave, then the oldest ready ones. Others never do."""
        while self._num_bytes > self._config.max_bytes and self._used:
            self._retire(next(iter(self._used)))
        while self._num_bytes > self._config.max_bytes and self._ready:
            self._remove(next(iter(self._ready)), "evicted")

    # --- Taking ----------------------------------------------------------------------------------

    def ready(self) -> int:
        """Number of groups that wait for the learner, too old ones included."""
        return len(self._ready)

    def expire(self, policy_version: int) -> int:
        """Let go of ready groups of which *every* step is older than the max lag; how many.

        A long episode with some steps young enough stays; its old steps are masked in the update.
        """
        oldest_allowed = policy_version - self._config.max_lag
        expired = [n for n, r in self._ready.items() if r.newest_version < oldest_allowed]
        for name in expired:
            members = self._ready[name].group.members
            self._counts["expired_steps"] += sum(len(m.trajectory.steps) for m in members)
            self._remove(name, GroupState.EXPIRED.value)
        old = [n for n, u in self._used.items() if u.entry.newest_version < oldest_allowed]
        for name in old:
            self._retire(name)
        return len(expired)

    def ready_ids(self) -> tuple[str, ...]:
        """Ids of the groups that wait for the learner, as they were opened."""
        return tuple(sorted(self._ready, key=_by_age))

    def take(
        self,
        num_groups: int,
        policy_version: int,
        rng: np.random.Generator,
        *,
        in_order: bool = False,
    ) -> tuple[Group, ...]:
        """Hand out `num_groups` ready groups, all of them or none; then replayed ones, never more
        than fresh ones. The fresh ones are drawn uniformly, or are the oldest if `in_order`.

        Expires by `policy_version`, the learner's present version, first. What is drawn and its
        order depend on which groups are ready, not on the order in which they became so.
        """
        self.expire(policy_version)
        if len(self._ready) < num_groups:
            return ()
        replayed = self._draw_used(num_groups, policy_version, rng)
        names = list(self.ready_ids())
        if not in_order:
            picks = sorted(rng.choice(len(names), size=num_groups, replace=False).tolist())
            names = [names[pick] for pick in picks]
        taken = names[:num_groups]
        for name in taken:
            self._taken[name] = self._ready.pop(name)
            self._counts["taken"] += 1
        return (*(self._taken[name].group for name in taken), *replayed)

    def confirm(self, advantages: Mapping[str, float]) -> None:
        """Weights trained on these groups are out: group id -> mean absolute advantage.

        Groups that are not here any more are passed over, so that it may be said twice.
        """
        may_return = self._config.replayed_groups > 0 and self._config.max_uses > 1
        for name in sorted(advantages, key=_by_age):
            entry = self._taken.pop(name, None)
            if entry is not None and may_return:
                self._used[name] = UsedGroup(entry=entry, advantage=advantages[name], num_uses=1)
            elif entry is not None:
                self._num_bytes -= entry.num_bytes
            elif name in self._used:
                self._used[name].advantage = advantages[name]

    def _draw_used(
        self, num_fresh: int, policy_version: int, rng: np.random.Generator
    ) -> list[Group]:
        num_draws = min(self._config.replayed_groups, num_fresh)
        if not num_draws or not self._used:
            return []
        names = sorted(self._used, key=_by_age)
        chances = self._chances(names, policy_version)
        drawn: list[Group] = []
        for index, weight in draw(chances, num_draws, self._config, rng).items():
            used = self._used[names[index]]
            used.num_uses += 1
            self._counts["replayed"] += 1
            group = used.entry.group
            drawn.append(dataclasses.replace(group, is_replayed=True, outcome_weight=weight))
            if used.num_uses >= self._config.max_uses:
                self._retire(names[index])
        return drawn

    def _chances(self, names: list[str], policy_version: int) -> np.ndarray:
        used = [self._used[name] for name in names]
        facts = [
            group_facts(u.entry.group, u.advantage, policy_version - u.entry.newest_version)
            for u in used
        ]
        return sampling_probabilities(facts, self._config)

    def chances(self, policy_version: int) -> dict[str, float]:
        """Probability of each used group in one draw."""
        names = sorted(self._used, key=_by_age)
        return dict(zip(names, self._chances(names, policy_version).tolist(), strict=True))

    def _remove(self, group_id: str, how: str) -> None:
        self._num_bytes -= self._ready.pop(group_id).num_bytes
        self._end(group_id, how)

    def _end(self, group_id: str, how: str) -> None:
        self._counts[how] += 1
        self._ended[group_id] = how

    def _retire(self, group_id: str) -> None:
        self._num_bytes -= self._used.pop(group_id).entry.num_bytes
        self._counts["retired"] += 1

    # --- State -----------------------------------------------------------------------------------

    @property
    def num_bytes(self) -> int:
        """Bytes of the trajectories of all groups held: open, ready, at the learner, and used."""
        return self._num_bytes

    def counts(self) -> dict[str, int]:
        """Groups by fate, and arrivals by kind; see the module's equation."""
        fates = ("opened", "taken", "expired", "evicted", "void", "complete", "partial")
        arrivals = ("dropped_members", "duplicates", "late", "expired_steps")
        uses = ("replayed", "retired")
        counts = {name: self._counts[name] for name in (*fates, *arrivals, *uses)}
        counts |= {"open": len(self._open), "ready": len(self._ready)}
        counts |= {"at_learner": len(self._taken), "used": len(self._used)}
        ended = counts["taken"] + counts["expired"] + counts["evicted"] + counts["void"]
        assert counts["opened"] == counts["open"] + counts["ready"] + ended, counts
        return counts

    def pop_ended(self) -> dict[str, str]:
        """Groups that ended here since the last call -> "expired", "evicted" or "void"."""
        ended, self._ended = self._ended, {}
        return ended

    def held_ids(self) -> dict[str, tuple[str, ...]]:
        """Group id -> ids of the complete members of every group that is not yet confirmed."""
        ids = {name: tuple(group.member_ids()) for name, group in self._open.items()}
        for name, entry in (*self._ready.items(), *self._taken.items()):
            ids[name] = tuple(m.trajectory.trajectory_id for m in entry.group.members)
        return ids

    def state_dict(self) -> dict[str, Any]:
        """Everything held, as copies of the containers; the records themselves are immutable.

        Groups at the learner are among the ready ones: whoever continues from here has not seen
        the update that they are in.
        """
        opened = [
            (g.group_id, g.task_id, g.size, dict(g.trajectories), dict(g.scores), dict(g.dropped))
            for g in self._open.values()
        ]
        ready = [entry.group for entry in (*self._taken.values(), *self._ready.values())]
        counts = dict(self._counts)
        counts["taken"] = self._counts["taken"] - len(self._taken)
        used = [(u.entry.group, u.advantage, u.num_uses) for u in self._used.values()]
        return {"open": opened, "ready": ready, "used": used, "counts": counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict()`."""
        self._open = {
            name: OpenGroup(
                group_id=name,
                task_id=task_id,
                size=size,
                trajectories=dict(trajectories),
                scores=dict(scores),
                dropped=dict(dropped),
            )
            for name, task_id, size, trajectories, scores, dropped in state["open"]
        }
        self._ready = {group.group_id: ready_group(group) for group in state["ready"]}
        self._taken = {}
        self._used = {
            group.group_id: UsedGroup(
                entry=ready_group(group), advantage=advantage, num_uses=num_uses
            )
            for group, advantage, num_uses in state["used"]
        }
        self._counts = Counter(state["counts"])
        closed = [*self._ready.values(), *(used.entry for used in self._used.values())]
        self._num_bytes = sum(g.num_bytes() for g in self._open.values())
        self._num_bytes += sum(entry.num_bytes for entry in closed)


def _by_age(group_id: str) -> tuple[int, str]:
    """Sorts numbered ids as they were opened: g9 before g10."""
    return len(group_id), group_id
