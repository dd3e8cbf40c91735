# SPDX-License-Identifier: Apache-2.0
"""Batches whose gradient was not finite, kept so that a person can find out why. No torch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.types import ModelInputs, StepRecord
from envs.actions import ActionMask
from learner.credit import Sample
from learner.storage import read_tree, write_tree

logger = logging.getLogger(__name__)

_MAX_FILES = 16  # of a run: the first ones tell most, and a run may skip thousands of steps
_TYPES = (Sample, StepRecord, ModelInputs, ActionMask)


class Quarantine:
    """A folder of such batches; made with the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, samples: Sequence[Sample], facts: dict[str, Any]) -> Path | None:
        """Write one batch; None when there are enough files already.

        A disk that cannot be written to is logged and not raised: training goes on.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            number = len(list(self._folder.glob("*.npz")))
            if number >= _MAX_FILES:
                return None
            path = self._folder / f"{number:04d}-version-{facts['policy_version']}.npz"
            write_tree(path, {"facts": facts, "samples": list(samples)}, _TYPES)
        except OSError as error:
            logger.error("quarantine: %s cannot be written: %s", self._folder, error)
            return None
        logger.warning("a gradient was not finite: the step is skipped, its batch is in %s", path)
        return path


def read_quarantined(path: Path) -> tuple[dict[str, Any], list[Sample]]:
    """Facts and samples of a kept batch."""
    tree = read_tree(path, _TYPES)
    return tree["facts"], tree["samples"]
