# SPDX-License-Identifier: Apache-2.0
"""Settings of the objective, the learner and the replay; composed into the run's config by `conf`.

`LearnerConfig` is the group `algo`, `ReplayConfig` the group `replay`. The defaults are the tried
settings.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass, field


class Baseline(enum.Enum):
    """What a step's return is compared with."""

    LEAVE_ONE_OUT = "leave_one_out"  # the other members at the same step
    ANCHORED = "anchored"  # likewise, mixed with others' returns from the same situation
    MEAN = "mean"  # all members, itself included: leave-one-out shrunk by (n - 1) / n
    MEAN_STD = "mean_std"  # likewise, divided by the group's standard deviation, as GRPO does
    CRITIC = "critic"  # a value network with generalised advantages, as PPO does


class RatioCap(enum.Enum):
    """What happens to a step whose prox / behaviour exceeds `max_importance_ratio`."""

    MASK = "mask"  # no policy-gradient loss
    CLAMP = "clamp"  # the cap is its weight, which biases the gradient


class ValueTarget(enum.Enum):
    """How a critic's advantages and targets are made."""

    GAE = "gae"
    VTRACE = "vtrace"  # corrects for the age of the steps, with both ratios capped at 1


class StepTeacher(enum.Enum):
    """Who scores the actions that the step term compares."""

    GRAPH = "graph"  # the task set's own teacher, which knows the truth
    SIBLINGS = "siblings"  # successful attempts of the group, and the answer they found
    VALUES = "values"  # a network that learnt what executed actions return, layer by layer
    NONE = "none"


class SiblingGuides(enum.Enum):
    """Which attempts of a group guide its members, with step_teacher=siblings."""

    ANSWERS = "answers"  # those with a right answer
    RELEVANCE = "relevance"  # without one: that which read most of the question's words


class StepLoss(enum.Enum):
    """How the policy is held against a teacher's utilities."""

    LISTWISE = "listwise"  # KL from the tilted reference over all candidates at once
    BRADLEY_TERRY = "bradley_terry"  # soft labels for every pair of candidates
    PLACKETT_LUCE = "plackett_luce"  # the candidates' order alone


class Candidates(enum.Enum):
    """Which legal actions of a state the step term compares."""

    ALL = "all"
    BY_TYPE = "by_type"  # K, as many different action types as there are
    POLICY = "policy"  # K drawn from the policy without repetition


class Schedule(enum.Enum):
    """How the weights of outcome and step term change during a run."""

    CONSTANT = "constant"
    EARLY_DECAY = "early_decay"  # the step term falls to its last weight in a third of the run
    LINEAR = "linear"  # from first to last weights over the whole run
    VALIDATION = "validation"  # early decay, one step for each gain or stall on validation tasks


class Precision(enum.Enum):
    """In which the policy is evaluated by the learner."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"  # its products; weights, log-probabilities and losses stay float32


class Freeze(enum.Enum):
    """What of the policy is not trained."""

    NONE = "none"
    ENCODER = "encoder"  # all but the heads


def _require(prefix: str, config: object, names: Iterable[str], low: float, high: float) -> None:
    """Raise `ValueError` with the full key for a field outside [low, high] or not finite."""
    for name in names:
        value = getattr(config, name)
        if not (math.isfinite(value) and low <= value <= high):
            expected = f"{low:g}..{high:g}" if math.isfinite(high) else f">= {low:g}"
            raise ValueError(f"{prefix}.{name}: expected {expected}, got {value}")


def _require_positive(prefix: str, config: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{prefix}.{name}: expected > 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """What is minimised: `outcome_weight * L_out + step_weight * L_step + lam * KL - entropy`."""

    outcome_weight: float = 1.0  # of the group-relative outcome term; 0 leaves the step term alone
    step_weight: float = 1.0  # of the teacher term; 0 is outcome-only learning
    schedule: Schedule = Schedule.CONSTANT  # the others move the weights to the next two
    outcome_weight_final: float = 2.0
    step_weight_final: float = 0.1
    gates_step: bool = False  # scale the step term by how well the teacher ranks right attempts
    balances_gradients: bool = False  # keep the two terms' gradient norms within a factor of 10

    baseline: Baseline = Baseline.LEAVE_ONE_OUT
    value_target: ValueTarget = ValueTarget.GAE  # with a critic
    gae_lambda: float = 0.95  # with a critic; 1 is the whole return, 0 one step
    layer_weights: tuple[float, ...] = ()  # base, nav, semantic; empty takes each task's own

    discount_base: float = 0.90  # per step; a loaded page answers the action just taken
    discount_nav: float = 0.97
    discount_semantic: float = 1.0  # episodes are short and finite: an answer is never discounted
    scale_decay: float = 0.9  # of the running layer scales and of the running mean length
    min_scale: float = 0.1  # reward units; floor of a layer's scale, so that noise is not blown up
    max_advantage: float = 5.0  # advantages are clipped to +- this

    clip_low: float = 0.2  # the policy ratio is clipped to [1 - clip_low, 1 + clip_high]
    clip_high: float = 0.28
    dual_clip: float = 3.0  # largest ratio that a negative advantage is multiplied with
    max_importance_ratio: float = 5.0  # prox / behaviour beyond it is counted, and capped as below
    ratio_cap: RatioCap = RatioCap.MASK
    stale_episode_nats: float = 0.0  # mean log(behaviour / prox) of an episode above which its
    # steps with negative advantage are masked; 0 never
    prox_kl_limit_nats: float = 0.0  # KL(pi || prox) of a minibatch that ends the epochs; 0 never

    step_loss: StepLoss = StepLoss.LISTWISE
    step_anchor: float = 1.0  # b_h: how strongly the step term holds on to the reference
    step_temperature: float = 0.1  # tau_u, in units of the teacher's utility
    label_smoothing: float = 0.05  # of plackett_luce, whose optimum is an infinite margin without
    candidates: Candidates = Candidates.ALL
    num_candidates: int = 4  # K, the executed action included; of by_type and policy
    num_candidates_final: int = 0  # at progress 1, linear in between; 0 is as at the beginning

    action_aware_kl: bool = True  # each action type's own multiplier; without, 1 for all: plain KL
    kl_initial: float = 0.05  # lam, weight of the action-aware KL to the reference
    kl_min: float = 1e-4  # lam stays within [kl_min, kl_max]
    kl_max: float = 1.0
    kl_target_nats: float = 0.5  # per decision; what the controller steers the mean KL towards

    entropy_type: float = 0.01  # weight of the type entropy, as a fraction of its maximum
    entropy_argument: float = 0.003  # weight of the argument entropies, likewise
    entropy_floor: float = 0.0  # mean type entropy, as a fraction, below which it weighs more
    entropy_floor_weight: float = 1.0  # added to `entropy_type` below the floor

    def __post_init__(self) -> None:
        key = "algo.objective"
        weights = ("outcome_weight", "step_weight", "entropy_type", "entropy_argument")
        _require(key, self, weights, 0.0, math.inf)
        more = ("outcome_weight_final", "step_weight_final", "entropy_floor_weight")
        limits = ("stale_episode_nats", "prox_kl_limit_nats")
        _require(key, self, (*more, *limits), 0.0, math.inf)
        _require(key, self, ("gae_lambda", "label_smoothing", "entropy_floor"), 0.0, 1.0)
        _require(key, self, ("num_candidates",), 2, math.inf)
        if self.num_candidates_final:
            _require(key, self, ("num_candidates_final",), 2, math.inf)
        self._check_layer_weights(key)
        if self.step_loss is not StepLoss.LISTWISE and self.candidates is Candidates.ALL:
            raise ValueError(
                f"{key}.candidates: expected by_type or policy with step_loss="
                f"{self.step_loss.value}, got all; only the listwise term compares every action"
            )
        discounts = ("discount_base", "discount_nav", "discount_semantic")
        _require(key, self, discounts, 0.0, 1.0)
        _require(key, self, ("scale_decay", "clip_low"), 0.0, 1.0)
        _require(key, self, ("clip_high",), 0.0, math.inf)
        _require(key, self, ("dual_clip", "max_importance_ratio"), 1.0, math.inf)
        positive = ("min_scale", "max_advantage", "step_anchor", "step_temperature", "kl_min")
        _require_positive(key, self, (*positive, "kl_target_nats"))
        _require(key, self, ("kl_max",), self.kl_min, math.inf)
        _require(key, self, ("kl_initial",), self.kl_min, self.kl_max)

    def _check_layer_weights(self, key: str) -> None:
        weights = self.layer_weights
        is_valid = all(math.isfinite(weight) and weight >= 0 for weight in weights)
        if len(weights) not in (0, 3) or not is_valid:
            expected = "no or three weights >= 0"
            raise ValueError(f"{key}.layer_weights: expected {expected}, got {list(weights)}")

    @property
    def discounts(self) -> tuple[float, float, float]:
        """One discount per reward layer, in the order of `envs.types.LAYERS`."""
        return (self.discount_base, self.discount_nav, self.discount_semantic)


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """How the objective is optimised."""

    group_size: int = 2  # attempts at one task that are compared; few, so that tasks differ
    groups_per_update: int = 4  # groups in one learner batch; few, so that new states are seen soon

    learning_rate: float = 2e-3  # Adam, at progress 0
    final_learning_rate: float = 2e-4  # at progress 1, linear in between
    max_grad_norm: float = 1.0
    epochs: int = 2  # passes over the fresh steps
    minibatch_steps: int = 128  # states in a minibatch of fresh steps

    step_replay_updates: int = 32  # step-term updates from the reservoir after each learner batch
    step_replay_states: int = 64  # states in each of them
    # Other questions that each visited state is asked under, for the reservoir alone; with
    # step_teacher=graph, and where the world knows some (the embedded web does).
    hindsight_tasks: int = 4
    # Share of these states whose facts stand in words that say nothing, so that kinds of values are
    # learnt from, too: pages word facts in ways that no training page does.
    hindsight_reworded: float = 0.35
    reservoir_bytes: int = 400_000_000  # bound of the stored steps; the oldest leave first

    reference_rate: float = 0.1  # EMA rate of the reference, once per learner batch
    acting_rate: float = 1.0  # EMA rate of the weights that act; 1 publishes the trained ones
    step_teacher: StepTeacher = StepTeacher.GRAPH
    sibling_guides: SiblingGuides = SiblingGuides.RELEVANCE
    freeze: Freeze = Freeze.NONE
    critic_learning_rate: float = 1e-3  # Adam; of the critic and of the action values
    critic_width: int = 64  # of its hidden layers, and of those of the action values
    # With step_teacher=values: updates of the action values after each learner batch, on as many
    # states as replayed ones, and the bytes of the steps kept for them.
    action_value_updates: int = 16
    action_value_bytes: int = 100_000_000
    seed: int = 0  # of the minibatch order and of the replay draws
    device: str = "cpu"  # where the policy is trained; cuda with several processes: a GPU for each
    precision: Precision = Precision.FLOAT32
    num_processes: int = 1  # that share the groups of each batch; see docs/OBJECTIVE.md
    process_timeout_s: float = 60.0  # of each exchange between them, and of their start
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)

    def __post_init__(self) -> None:
        key = "algo"
        counts = ("group_size", "groups_per_update", "epochs", "minibatch_steps")
        _require(key, self, (*counts, "step_replay_states"), 1, math.inf)
        _require(key, self, ("action_value_updates", "action_value_bytes"), 1, math.inf)
        maybe_none = ("step_replay_updates", "reservoir_bytes", "hindsight_tasks")
        _require(key, self, maybe_none, 0, math.inf)
        _require_positive(key, self, ("learning_rate", "max_grad_norm", "critic_learning_rate"))
        _require(key, self, ("critic_width",), 1, math.inf)
        _require(key, self, ("final_learning_rate",), 0.0, self.learning_rate)
        _require(key, self, ("reference_rate",), 0.0, 1.0)
        _require(key, self, ("num_processes",), 1, self.groups_per_update)
        _require_positive(key, self, ("process_timeout_s", "acting_rate"))
        _require(key, self, ("acting_rate", "hindsight_reworded"), 0.0, 1.0)
        if self.num_processes > 1:
            self._check_processes(key)
        if self.objective.gates_step and self.step_teacher is not StepTeacher.GRAPH:
            raise ValueError(
                "algo.objective.gates_step: expected step_teacher=graph, which right attempts can "
                f"be held against, got {self.step_teacher.value}"
            )

    def _check_processes(self, key: str) -> None:
        if self.device not in ("cpu", "cuda"):
            raise ValueError(
                f"{key}.device: expected cpu or cuda with {key}.num_processes="
                f"{self.num_processes}, got {self.device}"
            )
        if self.objective.candidates is not Candidates.ALL:
            raise ValueError(
                f"{key}.num_processes: expected 1 with objective.candidates="
                f"{self.objective.candidates.value}, whose draws go through a minibatch row by "
                f"row, got {self.num_processes}"
            )

    @property
    def acting_lag(self) -> float:
        """Versions that the weights that act are behind the trained ones, on average."""
        return (1.0 - self.acting_rate) / self.acting_rate

    @property
    def has_graph_teacher(self) -> bool:
        """Whether rollouts ask the task set's own teacher."""
        return self.step_teacher is StepTeacher.GRAPH

    @property
    def asks_anew(self) -> int:
        """How often a visited state is asked anew: only the graph can score other questions."""
        return self.hindsight_tasks if self.has_graph_teacher else 0

    @property
    def keeps_situations(self) -> bool:
        """Whether rollouts record what was read at each step, for what compares attempts."""
        is_anchored = self.objective.baseline is Baseline.ANCHORED
        return is_anchored or self.step_teacher is StepTeacher.SIBLINGS


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """How finished attempts wait for the learner, and which of them it sees again."""

    max_lag: int = 8  # versions; older steps carry no policy-gradient loss, replayed or not
    max_bytes: int = 500_000_000  # of all groups held; beyond it used ones leave, then ready ones

    # Used groups come back to the outcome term only where this is above 0. The fresh groups of a
    # batch are never fewer than the replayed ones.
    replayed_groups: int = 0  # added to each batch
    max_uses: int = 3  # times that a group is trained on, the first one included
    priority_advantage: float = 1.0  # of a group's mean absolute advantage
    priority_return: float = 0.1  # of its mean return, where that is positive
    priority_length: float = 0.1  # of its mean length, as a share of the longest group's
    priority_floor: float = 0.01  # so that every group can be drawn
    priority_exponent: float = 0.6  # 0 draws uniformly
    age_decay_versions: float = 8.0  # a priority falls by e over so many versions
    importance_exponent: float = 1.0  # 1 corrects fully for the priorities, 0 not at all
    max_importance_weight: float = 10.0

    def __post_init__(self) -> None:
        key = "replay"
        _require(key, self, ("max_lag", "replayed_groups"), 0, math.inf)
        _require(key, self, ("max_bytes", "max_uses", "max_importance_weight"), 1, math.inf)
        parts = ("priority_advantage", "priority_return", "priority_length")
        _require(key, self, parts, 0.0, math.inf)
        _require(key, self, ("priority_exponent", "importance_exponent"), 0.0, 1.0)
        _require_positive(key, self, ("priority_floor", "age_decay_versions"))
