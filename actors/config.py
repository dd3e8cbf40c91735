# SPDX-License-Identifier: Apache-2.0
"""Settings of the running system; composed into the run's config by `conf`."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field

from agent.config import PolicyConfig
from agent.registry import AGENTS
from envs.config import EnvConfig, ScreenshotMode, Templates
from envs.registry import check_name
from envs.web.bench_steps import ORACLE_STEPS
from learner.config import LearnerConfig, ReplayConfig, Schedule
from reward_server.config import RewardConfig

BENCH_TASK_SET, NUM_BENCH_TASKS = "forage_bench", len(ORACLE_STEPS)


class Launch(enum.Enum):
    """Where workers live."""

    RAY = "ray"  # each in its own process
    INPROCESS = "inprocess"  # plain objects in one process: for a debugger and for tests


class Mode(enum.Enum):
    """How rollouts and the learner wait for each other."""

    SYNC = "sync"  # a batch is rolled out with the newest weights, then trained on, in turns
    ONE_STEP = "one_step"  # the next batch is rolled out meanwhile; attempts keep their weights
    ASYNC = "async"  # nobody waits for a batch; rollouts stay within the admission window


class Tracker(enum.Enum):
    """Where the metrics go besides the run's folder."""

    NONE = "none"
    WANDB = "wandb"  # online with a key, else offline
    TENSORBOARD = "tensorboard"


def _at_least(owner: str, config: object, least: float, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if not value >= least:
            raise ValueError(f"{owner}.{name}: expected >= {least:g}, got {value}")


def _above_zero(owner: str, config: object, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if not value > 0:
            raise ValueError(f"{owner}.{name}: expected > 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How long training goes on."""

    max_env_steps: int = 6000  # of training; 0 trains not at all
    max_minutes: float = 12.0  # of training, evaluation not included
    checkpoint_every_versions: int = 5  # and once more at the end, whatever ends the run
    checkpoint_every_minutes: float = 5.0  # whichever comes first
    keep_checkpoints: int = 3  # the newest ones; 0 keeps all
    max_restores: int = 5  # from the newest checkpoint, when replay or learner are lost in a run
    update_timeout_s: float = 240.0  # deadline of one learner update, and of saving and restoring
    stall_timeout_s: float = 300.0  # neither an attempt nor an update ended for this long: give up

    def __post_init__(self) -> None:
        _at_least("train", self, 0, "max_env_steps", "keep_checkpoints", "max_restores")
        _at_least("train", self, 1, "checkpoint_every_versions")
        _above_zero("train", self, "max_minutes", "update_timeout_s", "stall_timeout_s")
        _above_zero("train", self, "checkpoint_every_minutes")


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Held-out tasks and how they are tried.

    Before and after training the first tasks of the test split; meanwhile those of the validation
    split, one at a time beside the rollouts.
    """

    num_tasks: int = 96  # for the untrained and the trained policy; 0 skips evaluation
    num_baseline_tasks: int = 32  # for the scripted agents
    baselines: tuple[str, ...] = ("random", "bm25_first_hit", "oracle")
    validation_tasks: int = 16  # at most, for each version that is validated; 0 skips it
    validate_every_versions: int = 40  # of a run, counted from its start
    temperature: float = 0.5  # of the policy; 0 takes the most likely action
    max_tries: int = 3  # per task, when the world breaks
    bench: bool = False  # after training, also run Forage-Bench; see docs/BENCH.md
    bench_tasks: int = NUM_BENCH_TASKS  # of it, the first ones

    def __post_init__(self) -> None:
        _at_least("evaluation", self, 0, "num_tasks", "num_baseline_tasks", "temperature")
        _at_least("evaluation", self, 0, "validation_tasks")
        _at_least("evaluation", self, 1, "max_tries", "validate_every_versions")
        if not 1 <= self.bench_tasks <= NUM_BENCH_TASKS:
            raise ValueError(
                f"evaluation.bench_tasks: expected 1..{NUM_BENCH_TASKS}, got {self.bench_tasks}"
            )
        for name in self.baselines:
            check_name(name, AGENTS, what="evaluation.baselines")


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """The rollout workers and what they are asked to run."""

    num_workers: int = 2  # each has its own browser
    admission_window: int = 2  # versions that rollouts may run ahead of the learner; mode=async
    max_reissues: int = 3  # of one member lost to infra failures, before its group closes without
    max_failures_in_a_row: int = 12  # infra failures with no success between: the world is down
    attempt_margin_s: float = 60.0  # on top of what the env's own deadlines add up to

    def __post_init__(self) -> None:
        _at_least("rollout", self, 1, "num_workers", "max_failures_in_a_row")
        _at_least("rollout", self, 0, "admission_window", "max_reissues")
        _above_zero("rollout", self, "attempt_margin_s")


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """Processes: sizes, deadlines and the share of a core that Ray books for each."""

    object_store_mb: int = 320  # of the local cluster that a run starts for itself
    num_cpus: float = 2.0  # offered by that cluster, whatever the machine has
    rollout_cpus: float = 0.5
    reward_cpus: float = 0.2
    replay_cpus: float = 0.1
    learner_cpus: float = 0.5
    rollout_memory_mb: float = 0.0  # that Ray books for each worker of a kind; 0 books none
    reward_memory_mb: float = 0.0
    replay_memory_mb: float = 0.0
    learner_memory_mb: float = 0.0
    learner_gpus: float = 0.0  # that Ray books for the learner, which sees no others
    rollout_labels: tuple[str, ...] = ()  # "key=value" that a node of the workers must have
    reward_labels: tuple[str, ...] = ()
    replay_labels: tuple[str, ...] = ()
    learner_labels: tuple[str, ...] = ()
    join_timeout_s: float = 10.0  # for nodes of a cluster that the run joins to appear
    num_reward_workers: int = 1
    reward_timeout_s: float = 30.0  # deadline of one score
    max_score_tries: int = 3
    start_timeout_s: float = 120.0  # until a new worker answers
    call_timeout_s: float = 30.0  # deadline of every short call
    health_interval_s: float = 5.0
    max_missed_health: int = 3  # a worker that misses this many in a row is replaced
    close_timeout_s: float = 4.0  # a worker that takes longer to close is killed
    max_restarts: int = 50  # of all workers together

    def __post_init__(self) -> None:
        if self.num_cpus > 1 and self.num_cpus != int(self.num_cpus):  # as Ray asks
            raise ValueError(
                f"cluster.num_cpus: expected a whole number above 1, got {self.num_cpus:g}"
            )
        _at_least("cluster", self, 80, "object_store_mb")
        _at_least("cluster", self, 1, "num_reward_workers", "max_score_tries", "max_missed_health")
        _at_least("cluster", self, 0, "max_restarts", "join_timeout_s")
        _at_least("cluster", self, 0, "learner_gpus")
        for kind in ("rollout", "reward", "replay", "learner"):
            _at_least("cluster", self, 0, f"{kind}_memory_mb")
            object.__setattr__(self, f"{kind}_labels", tuple(getattr(self, f"{kind}_labels")))
            for label in getattr(self, f"{kind}_labels"):
                if not all(label.partition("=")):
                    raise ValueError(f"cluster.{kind}_labels: expected KEY=VALUE, got {label!r}")
        _above_zero(
            "cluster",
            self,
            "num_cpus",
            "rollout_cpus",
            "reward_cpus",
            "replay_cpus",
            "learner_cpus",
            "reward_timeout_s",
            "start_timeout_s",
            "call_timeout_s",
            "health_interval_s",
            "close_timeout_s",
        )


@dataclass(frozen=True, kw_only=True)
class LoggerConfig:
    """Where a run leaves its files, and how often it speaks."""

    runs_dir: str = "runs"  # relative to the current folder
    run_name: str = "train"  # after the time stamp in the folder's name
    progress_interval_s: float = 5.0
    silence_interval_s: float = 60.0  # nothing has ended for this long: say why
    success_window: int = 64  # attempts that the success on a progress line is taken over
    memory_interval_s: float = 5.0
    episodes_per_kind: int = 4  # evaluation attempts archived by phase and kind; 0 archives none
    episodes_mb: float = 64.0  # of archived attempts in all
    tracker: Tracker = Tracker.NONE
    wandb_project: str = "foragerl"

    def __post_init__(self) -> None:
        _above_zero("logger", self, "progress_interval_s", "silence_interval_s")
        _above_zero("logger", self, "memory_interval_s", "episodes_mb")
        _at_least("logger", self, 0, "episodes_per_kind")
        _at_least("logger", self, 1, "success_window")
        if not self.run_name or "/" in self.run_name:
            raise ValueError(f"logger.run_name: expected a name without '/', got {self.run_name!r}")


@dataclass(frozen=True, kw_only=True)
class AlarmConfig:
    """When a run raises an alarm or gives up; see docs/TROUBLESHOOTING.md."""

    window: int = 64  # attempts that an alarm is judged over; none before it is full
    max_layer_share: float = 0.95  # of the size of all rewards that one layer may make up
    max_duplicate_share: float = 0.5  # of attempts that did just what another of their group did
    min_steps: float = 1.5  # mean length of an attempt
    min_entropy: float = 0.02  # of action types, as a fraction of its maximum
    no_update_timeout_s: float = 1800.0  # no learner step for this long: give up
    max_unusable_groups: int = 256  # in a row, that the learner cannot learn from: give up

    def __post_init__(self) -> None:
        _at_least("alarms", self, 1, "window", "max_unusable_groups")
        _at_least("alarms", self, 0, "min_steps", "min_entropy")
        _above_zero("alarms", self, "max_layer_share", "max_duplicate_share")
        _above_zero("alarms", self, "no_update_timeout_s")


@dataclass(frozen=True, kw_only=True)
class WorkerConfigs:
    """What a launcher makes workers from."""

    env: EnvConfig
    policy: PolicyConfig
    algo: LearnerConfig
    reward: RewardConfig
    replay: ReplayConfig
    cluster: ClusterConfig
    rollout: RolloutConfig
    takes_in_order: bool = False  # see `TrainJob.takes_in_order`
    quarantine_dir: str = (
        ""  # where the learner puts batches without a finite gradient; "": nowhere
    )


@dataclass(frozen=True, kw_only=True)
class TrainJob:
    """All settings of `train.py`."""

    launch: Launch = Launch.RAY
    mode: Mode = Mode.ASYNC
    seed: int = 0  # of everything that is drawn
    resume: str = "never"  # "auto" goes on with the newest unfinished run of these settings in
    # logger.runs_dir, if there is one; or a run's folder, or one checkpoint's folder
    trace: bool = False  # write trace.json, to be opened in Perfetto
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    algo: LearnerConfig = field(default_factory=LearnerConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    alarms: AlarmConfig = field(default_factory=AlarmConfig)

    def __post_init__(self) -> None:
        _at_least("seed", self, 0, "seed")
        if not self.resume:
            raise ValueError("resume: expected never, auto, or a folder's path, got none")
        if self.env.task_set == BENCH_TASK_SET:
            raise ValueError(
                "env.task_set: expected one to train on, got forage_bench, which is but for "
                "`foragerl bench` and evaluation.bench"
            )
        if self.env.web.templates is Templates.HELD_OUT:
            raise ValueError(
                "env.web.templates: expected train, got held_out, which nothing may train on"
            )
        is_validated = self.evaluation.validation_tasks > 0
        if self.algo.objective.schedule is Schedule.VALIDATION and not is_validated:
            raise ValueError(
                "algo.objective.schedule: expected constant, linear or early_decay with "
                "evaluation.validation_tasks=0, got validation, which moves by what those tell"
            )
        has_pictures = self.env.screenshot in (ScreenshotMode.NEW_PAGE, ScreenshotMode.EVERY_STEP)
        if "vision" in self.policy.active_streams() and not has_pictures:
            raise ValueError(
                f"policy.streams: expected none of vision, as env.screenshot="
                f"{self.env.screenshot.value} gives it no picture; set env.screenshot=new_page or "
                "every_step"
            )
        on_gpus = self.algo.num_processes if self.algo.device.startswith("cuda") else 0
        if self.launch is Launch.RAY and self.cluster.learner_gpus < on_gpus:
            raise ValueError(
                f"cluster.learner_gpus: expected >= {on_gpus} with algo.device={self.algo.device} "
                f"and algo.num_processes={self.algo.num_processes}, got "
                f"{self.cluster.learner_gpus:g}; Ray hides the GPUs that nobody booked"
            )
        lag = self.algo.acting_lag
        if lag and lag + self.admission_window() > self.replay.max_lag:
            least = 1.0 / (1.0 + max(0, self.replay.max_lag - self.admission_window()))
            raise ValueError(
                f"algo.acting_rate: expected >= {least:.3g}, got {self.algo.acting_rate:g}: the "
                f"weights that act would be {lag:.3g} versions behind, which with the admission "
                "window is more than replay.max_lag, so that nothing would be learned from them"
            )
        _check_cores(self.launch, self.rollout, self.cluster)

    def admission_window(self) -> int:
        """Policy versions that rollouts may run ahead: all that the modes differ in, but for
        `keeps_weights`.
        """
        windows = {Mode.SYNC: 0, Mode.ONE_STEP: 1, Mode.ASYNC: self.rollout.admission_window}
        return windows[self.mode]

    def keeps_weights(self) -> bool:
        """Whether an attempt ends with the weights that it began with."""
        return self.mode is not Mode.ASYNC

    def takes_in_order(self) -> bool:
        """Whether a batch is made of the oldest groups, waited for, rather than of any ready ones.

        Only then is the lag at most the window. `sync` has but one batch's groups open at a time.
        """
        return self.mode is Mode.ONE_STEP

    def worker_configs(self, quarantine_dir: str = "") -> WorkerConfigs:
        """The part that workers are made from."""
        return WorkerConfigs(
            env=self.env,
            policy=self.policy,
            algo=self.algo,
            reward=self.reward,
            replay=self.replay,
            cluster=self.cluster,
            rollout=self.rollout,
            takes_in_order=self.takes_in_order(),
            quarantine_dir=quarantine_dir,
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateJob:
    """All settings of `evaluate.py`; the policy's own come from the checkpoint."""

    checkpoint: str  # a run's folder (its newest checkpoint), or one checkpoint's folder; "" is
    # none, for `foragerl bench` on agents that need none
    launch: Launch = Launch.RAY
    seed: int = 0
    with_baselines: bool = False  # also try the scripted agents of `evaluation.baselines`
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    logger: LoggerConfig = field(default_factory=lambda: LoggerConfig(run_name="evaluate"))

    def __post_init__(self) -> None:
        _at_least("seed", self, 0, "seed")
        if self.evaluation.bench:
            raise ValueError(
                "evaluation.bench: expected false but in training, got true; run `foragerl bench`"
            )
        _check_cores(self.launch, self.rollout, self.cluster)


def _check_cores(launch: Launch, rollout: RolloutConfig, cluster: ClusterConfig) -> None:
    """A worker that the run's own cluster cannot place would wait for ever.

    A cluster that the run joins is asked for what it has, see `actors.cluster`.
    """
    if os.environ.get("RAY_ADDRESS"):
        return
    booked = (
        rollout.num_workers * cluster.rollout_cpus
        + cluster.num_reward_workers * cluster.reward_cpus
        + cluster.replay_cpus
        + cluster.learner_cpus
    )
    if launch is Launch.RAY and booked > cluster.num_cpus:
        raise ValueError(
            f"cluster.num_cpus: expected >= {booked:g}, which rollout.num_workers and "
            f"cluster.*_cpus book, got {cluster.num_cpus:g}; offer more or book less for each"
        )
