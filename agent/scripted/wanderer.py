# SPDX-License-Identifier: Apache-2.0
"""Wanders through the web without ever answering: for long episodes and soak tests."""

from __future__ import annotations

from agent.scripted.random_agent import RandomAgent


class WandererAgent(RandomAgent):
    """The random masked policy without `answer` and without waiting."""

    excluded = frozenset({"answer", "wait_ms"})
