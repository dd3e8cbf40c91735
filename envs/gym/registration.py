# SPDX-License-Identifier: Apache-2.0
"""The ids under which Gymnasium makes our envs."""

from __future__ import annotations

import gymnasium

EMBEDDED_WEB = "foragerl/EmbeddedWeb-v0"
EMBEDDED_WEB_BIDS = "foragerl/EmbeddedWebBids-v0"  # in BrowserGym's shape
_ENTRY_POINTS = {
    EMBEDDED_WEB: "envs.gym.forage_env:ForageEnv",
    EMBEDDED_WEB_BIDS: "envs.gym.browsergym:BidEnv",
}


def register() -> None:
    """Make the ids known; twice is once.

    Also what the package's entry point `gymnasium.envs` names. A task has a step limit of its own,
    so that no `max_episode_steps` is given; a page in Chromium takes its time, so that the same
    actions may meet late content earlier or later (the twin always answers alike).
    """
    for name, entry_point in _ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point, nondeterministic=True)
