# SPDX-License-Identifier: Apache-2.0
"""What the controller knows of a run: task source, ledger, totals and validations.

Moved by one event at a time.

Pure bookkeeping: no clock, no waiting, no transport. Every event moves all books at once, so that
`capture` never sees half of one. `restore` continues from what was captured, with replay as it was
saved at that moment: attempts that replay does not hold are handed out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from actors.ledger import Fate, Ledger, Place
from actors.task_source import LossOutcome, SourceCounts, TaskSource
from actors.types import AttemptOrder, AttemptReport, LostAttempt, Published

# How a group ended in replay -> what that is for its attempts; a void group has none left.
_FATES = {"expired": Fate.EXPIRED, "evicted": Fate.FILTERED, "void": Fate.INFRA_FAILED}


@dataclass(kw_only=True, slots=True)
class Totals:
    """Of the whole run, from its first start on."""

    env_steps: int = 0  # of training, those of lost attempts included
    episodes: int = 0  # attempts that reached replay with a score
    policy_version: int = 0
    lag_mean: float = 0.0  # versions, of the steps of the last batch
    lag_max: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenUp:
    """A member that replay must not wait for."""

    group_id: str
    task_id: str
    trajectory_id: str
    reason: str


class Pipeline:
    """The books of one run."""

    def __init__(self, source: TaskSource) -> None:
        self.totals = Totals()
        self._source = source
        self._ledger = Ledger()
        self._tried_version = 0
        self._scores: list[float] = []  # that no update has observed, the oldest first

    # --- Events ----------------------------------------------------------------------------------

    def next_order(self) -> AttemptOrder | None:
        """Hand out an attempt; None while the admission window is full."""
        order = self._source.next_order()
        if order is not None:
            self._ledger.handed_out(order.group_id, order.trajectory_id)
        return order

    def finished(self, report: AttemptReport) -> None:
        """An attempt ended by itself."""
        self._ledger.finished(report.trajectory_id, report.num_steps)
        self._source.member_done(report.trajectory_id)
        self.totals.env_steps += report.num_steps

    def lost(self, lost: LostAttempt) -> LossOutcome:
        """The world broke under an attempt."""
        self._ledger.lost(lost.order.trajectory_id)
        self.totals.env_steps += lost.num_steps
        return self._source.member_lost(lost.order.trajectory_id, lost.stop)

    def held(self, trajectory_id: str) -> None:
        """Replay took a scored attempt."""
        self._ledger.held(trajectory_id)
        self.totals.episodes += 1

    def refused(self, trajectory_id: str, fate: Fate) -> None:
        """An attempt got no score, or replay refused its data."""
        self._ledger.refused(trajectory_id, fate)

    def ended_in_replay(self, groups: Mapping[str, str]) -> None:
        """Groups that left replay untrained -> how; see `actors.types.ReplayState`."""
        for group_id, how in groups.items():
            self._ledger.group_ended(group_id, _FATES[how])
            self._source.group_dropped(group_id)

    def validated(self, policy_version: int, score: float | None) -> None:
        """A version was tried on validation tasks; with a score, if the learner is to observe it.

        Each score is observed by one update, also when the run goes back or is resumed.
        """
        self._tried_version = policy_version
        if score is not None:
            self._scores.append(score)

    def trained(
        self, published: Published, group_ids: Iterable[str], *, has_observed: bool = False
    ) -> None:
        """The learner made new weights of these fresh groups; with `score_to_observe()`, or not."""
        if has_observed:
            self._scores.pop(0)
        self.totals.policy_version = published.policy_version
        self.totals.lag_mean = published.metrics.get("learner/lag_mean_versions", 0.0)
        lag_max = int(published.metrics.get("learner/lag_max_versions", 0.0))
        self.totals.lag_max = max(self.totals.lag_max, lag_max)
        ids = list(group_ids)
        for group_id in ids:
            self._ledger.group_ended(group_id, Fate.TRAINED)
        self._source.batch_published(ids)

    # --- Questions -------------------------------------------------------------------------------

    def attempts(self) -> dict[str, int]:
        """Where all attempts are and how they ended; `RuntimeError` when one is missing."""
        return self._ledger.counts()

    def groups(self) -> SourceCounts:
        """Groups by state; `RuntimeError` when one is missing."""
        return self._source.counts()

    @property
    def tried_version(self) -> int:
        """The last version whose validation ended; 0 before the first."""
        return self._tried_version

    def score_to_observe(self) -> float | None:
        """Success of a validation that the learner has not observed yet; None without one."""
        return self._scores[0] if self._scores else None

    def oldest_groups(self, count: int) -> tuple[str, ...]:
        """Ids of the `count` groups that were opened first among those not yet trained on."""
        return self._source.oldest(count)

    # --- State -----------------------------------------------------------------------------------

    def capture(self, held: Mapping[str, Iterable[str]], ended: Mapping[str, str]) -> dict:
        """Everything, as plain JSON values, to be saved together with replay.

        `held` and `ended` are what replay says at this moment, see `actors.types.SavedReplay`. An
        answer of replay that never arrived, because its caller was stopped, is made up for.
        """
        for name in sorted(name for names in held.values() for name in names):
            if self._ledger.where(name.partition(".")[0], name) is Place.SCORING:
                self.held(name)
        in_doubt = {g: how for g, how in ended.items() if self._source.holds(g)}
        self.ended_in_replay(in_doubt)
        missing = [
            name for g, name in self._ledger.attempts(Place.HELD) if name not in held.get(g, ())
        ]
        if missing:
            raise RuntimeError(f"expected replay to hold {missing[:5]}, which it was given")
        totals = asdict(self.totals)
        totals["env_steps"] -= self._ledger.num_steps_scoring()  # those will be run again
        return {
            "totals": totals,
            "source": self._source.state_dict(),
            "ledger": self._ledger.state_dict(),
            "validation": {"tried_version": self._tried_version, "scores": list(self._scores)},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `capture()`."""
        names = {field.name for field in fields(Totals)}
        self.totals = Totals(**{k: v for k, v in state["totals"].items() if k in names})
        self._ledger.load_state_dict(state["ledger"])
        of_earlier_checkpoints = {"tried_version": self.totals.policy_version, "scores": []}
        validation = state.get("validation", of_earlier_checkpoints)
        self._tried_version, self._scores = validation["tried_version"], [*validation["scores"]]
        self._source.load_state_dict(state["source"], self._ledger.recall())

    def given_up(self) -> list[GivenUp]:
        """Members that will not come; replay may not have heard of the last of them."""
        found = []
        for group_id, task_id, trajectory_id in self._source.settled_members():
            where = self._ledger.where(group_id, trajectory_id)
            if isinstance(where, Fate):
                found.append(
                    GivenUp(
                        group_id=group_id,
                        task_id=task_id,
                        trajectory_id=trajectory_id,
                        reason=where.value,
                    )
                )
        return found
