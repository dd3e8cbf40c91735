# SPDX-License-Identifier: Apache-2.0
"""Further processes of a learner, as the first one sees them.

The first process is the learner itself: it alone knows groups, reservoir, schedule and random
state. For each piece of an update it sends every other process (`learner.follower`) that one's
rows, does its own share meanwhile, and takes in what they measured. Who waits for whom: followers
wait for work without a deadline, but end when the first process does, whose socket closes with it;
everybody waits for the others' addends of a sum, and the first process for their answers, until
`algo.process_timeout_s`. Whatever goes wrong ends all of them: `ProcessesLost`.

`torch.nn.parallel.DistributedDataParallel` is not used: it averages over processes, not over rows,
and knows one backward pass for each forward pass.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from learner.config import LearnerConfig
from learner.loss import Weights
from learner.metrics import Means
from learner.team import Connected, ProcessesLost
from learner.trainer import Trainer
from learner.work import Work

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S = 5.0  # for followers to end by themselves
_LAST_WORDS_TIMEOUT_S = 0.5  # for a follower that fails to say why


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """All that a follower needs to begin; first message to it."""

    rank: int
    meeting_place: str  # a file in a folder that all of them see
    config: LearnerConfig
    policy: nn.Module


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a follower says after each piece of work, and once when it is ready."""

    means: Means
    fingerprint: str  # of its weights
    error: str = ""  # why it ends


def join(config: LearnerConfig, rank: int, meeting_place: str) -> Connected:
    """Become one of the processes: gloo on the CPU, NCCL on GPUs, one each."""
    if config.device == "cuda":
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl" if config.device == "cuda" else "gloo",
        store=dist.FileStore(meeting_place, config.num_processes),
        rank=rank,
        world_size=config.num_processes,
        timeout=timedelta(seconds=config.process_timeout_s),
    )
    team = Connected(config.num_processes)
    team.sum(torch.zeros(1, device=config.device))  # all are there
    return team


def send(connection: Connection, message: Any) -> None:
    """Pickled plainly: the reductions of `torch.multiprocessing` would share memory by files."""
    connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def receive(connection: Connection) -> Any:
    """What `send` sent; `EOFError` when the other end is closed."""
    return pickle.loads(connection.recv_bytes())


class Processes:
    """The followers of a learner, until `close`. One such team in a process at a time."""

    def __init__(self, policy: nn.Module, config: LearnerConfig) -> None:
        """Start them; raises `ProcessesLost`, and `ValueError` without a GPU for each."""
        if config.device == "cuda" and torch.cuda.device_count() < config.num_processes:
            raise ValueError(
                f"algo.num_processes: expected at most {torch.cuda.device_count()}, the GPUs here, "
                f"got {config.num_processes}"
            )
        self._config = config
        self._followers: list[tuple[subprocess.Popen[bytes], Connection]] = []
        folder = Path(tempfile.mkdtemp(prefix="foragerl-learner-"))
        place = str(folder / "meeting")
        try:
            for rank in range(1, config.num_processes):
                self._followers.append(_start(config.process_timeout_s))
                setup = Setup(rank=rank, meeting_place=place, config=config, policy=policy)
                self._send(rank, setup)
            self.team = join(config, 0, place)
            for rank in range(1, config.num_processes):
                self._receive(rank)
        except BaseException as error:
            self.close()
            if isinstance(error, RuntimeError) and not isinstance(error, ProcessesLost):
                raise ProcessesLost(f"the learner's processes did not start: {error}") from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, works: Sequence[Work], trainer: Trainer, means: Means) -> Weights | None:
        """Have each process do its part, the first one with `trainer` here.

        `means` gets what all of them saw. Raises `ProcessesLost`; then nothing further can be done.
        """
        if not self._followers:
            raise ProcessesLost("the learner's processes are closed")
        try:
            for rank, work in enumerate(works[1:], start=1):
                self._send(rank, work)
            result = trainer.run(works[0], means)
            expected = trainer.fingerprint()
            for rank in range(1, len(works)):
                answer = self._receive(rank)
                means.absorb(answer.means)
                if answer.fingerprint != expected:
                    raise ProcessesLost(
                        f"process {rank} of the learner: expected weights equal to those of "
                        f"process 0 ({expected}), got {answer.fingerprint}"
                    )
        except BaseException as error:
            reason = self._reason() if isinstance(error, ProcessesLost) else ""
            self.close()
            if reason:
                raise ProcessesLost(f"{error}; {reason}") from error
            raise
        return result

    def close(self) -> None:
        """End the followers, by force where they do not end by themselves; may be repeated."""
        followers, self._followers = self._followers, []
        for _, connection in followers:
            connection.close()
        if dist.is_initialized():
            with contextlib.suppress(RuntimeError):  # of what is gone already
                dist.destroy_process_group()
        for process, _ in followers:
            try:
                process.wait(_CLOSE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                logger.warning("process %d of the learner hangs and is killed", process.pid)
                process.kill()
                process.wait()

    def pids(self) -> tuple[int, ...]:
        """Process ids of the followers."""
        return tuple(process.pid for process, _ in self._followers)

    def _send(self, rank: int, message: Any) -> None:
        try:
            send(self._followers[rank - 1][1], message)
        except OSError as error:
            raise self._lost(rank, "takes no work", error) from error

    def _receive(self, rank: int) -> Answer:
        try:
            answer: Answer = receive(self._followers[rank - 1][1])
        except (OSError, EOFError) as error:
            raise self._lost(rank, "gives no answer", error) from error
        if answer.error:
            raise ProcessesLost(f"process {rank} of the learner: {answer.error}")
        return answer

    def _reason(self) -> str:
        """What a follower said before it ended, if one did."""
        for rank, (_, connection) in enumerate(self._followers, start=1):
            with contextlib.suppress(OSError, EOFError):
                if connection.poll(_LAST_WORDS_TIMEOUT_S):
                    return f"process {rank}: {receive(connection).error}"
        return ""

    def _lost(self, rank: int, what: str, error: Exception) -> ProcessesLost:
        if isinstance(error, BlockingIOError):  # how a socket's deadline shows
            reason = f"within {self._config.process_timeout_s:g} s (algo.process_timeout_s)"
        else:
            reason = f"({error!r})"
        return ProcessesLost(f"process {rank} of the learner {what} {reason}")


def _start(timeout_s: float) -> tuple[subprocess.Popen[bytes], Connection]:
    """A follower, and the way to it: writing and reading both have the deadline."""
    ours, theirs = socket.socketpair()
    with theirs:
        seconds, rest = divmod(timeout_s, 1.0)
        deadline = struct.pack("ll", int(seconds), int(rest * 1e6))
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, deadline)
        process = subprocess.Popen(
            [sys.executable, "-m", "learner.follower", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    return process, Connection(ours.detach())


def _environment() -> Mapping[str, str]:
    """Ours, with the same modules to be found, and one thread: the processes share the cores."""
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": paths}
