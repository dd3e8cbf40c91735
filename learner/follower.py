# SPDX-License-Identifier: Apache-2.0
"""A further process of a learner: `python -m learner.follower FD`, started by `learner.processes`.

Waits for work on the socket FD, does its share together with the others, answers, and waits again;
ends when the other end closes, which it does at the latest with the process that holds it.
"""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection

import numpy as np
import torch

from learner.metrics import Means
from learner.processes import Answer, Setup, join, receive, send
from learner.team import ProcessesLost
from learner.trainer import Trainer


def main(descriptor: int) -> int:
    """Follow until there is nothing to follow; the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides when to end
    torch.set_num_threads(1)
    with Connection(descriptor) as connection:
        try:
            _follow(connection)
        except (EOFError, ConnectionError, ProcessesLost):
            return 1  # the first process is gone, or says itself what was lost
        except Exception as error:
            send(connection, Answer(means=Means(), fingerprint="", error=repr(error)))
            raise
    return 0


def _follow(connection: Connection) -> None:
    setup: Setup = receive(connection)
    trainer = Trainer(
        setup.policy,
        setup.config,
        team=join(setup.config, setup.rank, setup.meeting_place),
        candidate_rng=np.random.default_rng(0),  # nothing is drawn from it with several processes
    )
    send(connection, Answer(means=Means(), fingerprint=trainer.fingerprint()))
    while True:
        means = Means()
        trainer.run(receive(connection), means)
        send(connection, Answer(means=means, fingerprint=trainer.fingerprint()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
