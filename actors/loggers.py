# SPDX-License-Identifier: Apache-2.0
"""Trackers that take a run's metrics beside the JSON lines: Weights & Biases, or TensorBoard.

Both get the numbers of every row (docs/METRICS.md) from the one writer, `actors.metrics`. Keys
without an area get their event's name as one (`steps` of an attempt is `attempt/steps`), those of
an evaluation the agent's (`eval_trained/success`). Each producer has a clock of its own, `AXES`.
"""

from __future__ import annotations

import logging
import netrc
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from actors.config import LoggerConfig, Tracker
from actors.metrics import MetricsLog, Sink, Value
from actors.run_folder import RunFolder

logger = logging.getLogger(__name__)

_WANDB_SERVER = "https://api.wandb.ai"
# For what is not sent when a run ends; more would outlast the time that a stopped job has to close.
WANDB_FINISH_TIMEOUT_S = 10.0
# Event -> the key that its rows are plotted over.
AXES = {
    "update": "learner/policy_version",
    "progress": "train/env_steps",
    "attempt": "attempt/number",
    "checkpoint": "learner/policy_version",
    "evaluation": "evaluation/number",
}
# Area -> the event whose clock its keys are plotted over; `train/` is reported by progress.
_AREAS = {
    "learner": "update",
    "step_replay": "update",
    "train": "progress",
    "rollout": "progress",
    "system": "progress",
    "ledger": "progress",
    "attempt": "attempt",
}


def open_metrics(folder: RunFolder, config: LoggerConfig) -> MetricsLog:
    """The run's metrics, with the tracker that the config names."""
    sinks: list[Sink] = []
    if config.tracker is Tracker.WANDB:
        sinks.append(WandbSink(folder, config))
    elif config.tracker is Tracker.TENSORBOARD:
        sinks.append(TensorBoardSink(folder.tensorboard))
    return MetricsLog(folder.metrics, sinks)


class Scalars:
    """Turns rows into numbers under unique keys, and counts the rows that have no clock."""

    def __init__(self) -> None:
        self._num_rows: dict[str, int] = {}

    def flat(self, event: str, values: Mapping[str, Value]) -> dict[str, float]:
        """The numbers of a row, its clock among them."""
        self._num_rows[event] = self._num_rows.get(event, 0) + 1
        area = f"eval_{values['name']}" if event == "evaluation" else event
        numbers = {
            self._key(key, event, area): float(value)
            for key, value in values.items()
            if isinstance(value, int | float)
        }
        axis = AXES.get(event, f"{event}/number")
        return {**numbers, axis: numbers.get(axis, float(self._num_rows[event]))}

    @staticmethod
    def _key(key: str, event: str, area: str) -> str:
        name = key.removeprefix("eval/") if event == "evaluation" else key
        return name if "/" in name else f"{area}/{name}"


class TensorBoardSink:
    """Writes event files into one folder."""

    run_id = ""  # files of another process simply lie beside

    def __init__(self, folder: Path) -> None:
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(str(folder))
        self._scalars = Scalars()

    def write(self, event: str, time_s: float, values: Mapping[str, Value]) -> None:
        """Add the numbers of one row."""
        numbers = self._scalars.flat(event, values)
        step = int(numbers[AXES.get(event, f"{event}/number")])
        for key, number in numbers.items():
            self._writer.add_scalar(key, number, step)

    def close(self) -> None:
        """Everything on disk."""
        self._writer.close()


class WandbSink:
    """One W&B run in the run's folder: online with a key, else offline for `wandb sync`."""

    def __init__(
        self,
        folder: RunFolder,
        config: LoggerConfig,
        *,
        finish_timeout_s: float = WANDB_FINISH_TIMEOUT_S,
    ) -> None:
        import wandb

        self.run_id = folder.path.name
        self._run = wandb.init(
            project=config.wandb_project,
            name=folder.path.name,
            id=self.run_id,
            resume="allow",  # a run that goes on in another process is the same run
            dir=str(folder.path),
            mode=wandb_mode(os.environ, Path(os.environ.get("NETRC", "~/.netrc")).expanduser()),
            config=_saved_config(folder.config),
            settings=wandb.Settings(
                console="off",
                silent=True,
                finish_timeout=finish_timeout_s,
                finish_timeout_raises=True,
            ),
        )
        self._scalars = Scalars()
        self._known_areas: set[str] = set()

    def write(self, event: str, time_s: float, values: Mapping[str, Value]) -> None:
        """Add the numbers of one row."""
        numbers = self._scalars.flat(event, values)
        for key in numbers:
            self._define(key.partition("/")[0], event)
        self._run.log({**numbers, "time_s": time_s})

    def _define(self, area: str, event: str) -> None:
        """Plot an area over its producer's clock; before its first number."""
        if area not in self._known_areas:
            self._known_areas.add(area)
            axis = AXES.get(_AREAS.get(area, event), "time_s")
            self._run.define_metric(f"{area}/*", step_metric=axis)

    def close(self) -> None:
        """Everything on disk, also when a signal ends the run; sent, if the server takes it."""
        try:
            self._run.finish()
        except TimeoutError:
            where = Path(self._run.dir).parent
            logger.warning(
                "W&B did not take all metrics in time; `wandb sync %s` sends them", where
            )


def wandb_mode(environment: Mapping[str, str], netrc_path: Path) -> Any:
    """WANDB_MODE if that is set; else "online" with a key in either place, "offline" without."""
    if environment.get("WANDB_MODE"):
        return environment["WANDB_MODE"]
    if environment.get("WANDB_API_KEY") or _has_login(environment, netrc_path):
        return "online"
    return "offline"


def _has_login(environment: Mapping[str, str], netrc_path: Path) -> bool:
    """Whether `wandb login` has left a key for the server; nobody is asked for one."""
    server = environment.get("WANDB_BASE_URL", _WANDB_SERVER)
    try:
        logins = netrc.netrc(netrc_path)
    except (OSError, netrc.NetrcParseError):
        return False
    return logins.authenticators(urllib.parse.urlsplit(server).netloc) is not None


def _saved_config(path: Path) -> dict[str, Any]:
    """The run's config as the command line saved it; empty for runs that were not started there."""
    if not path.exists():
        return {}
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}
