# SPDX-License-Identifier: Apache-2.0
"""How many features there are: what a network is built for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agent.forager.features import model_inputs
from agent.forager.relations import ASKED_SIZE
from envs.actions import MAX_OPTIONS, MAX_TABS, NUM_TYPES, ActionMask
from envs.types import ElementFlag, ElementTable, Observation, PageDiff, PageState, StyleColumn


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureSizes:
    """Numbers of match columns, which a network is built for; the state has what is asked, too."""

    state: int
    element: int
    span: int
    clue: int


def feature_sizes() -> FeatureSizes:
    """Column counts, read off an empty page."""
    inputs = model_inputs(_empty_observation())
    return FeatureSizes(
        state=inputs.state.shape[0] - ASKED_SIZE,
        element=inputs.element.shape[1],
        span=inputs.span.shape[1],
        clue=inputs.question_clue.shape[1],
    )


def _empty_observation() -> Observation:
    no_rows = np.zeros(0, dtype=np.int16)
    table = ElementTable(
        role=no_rows,
        box=np.zeros((0, 4), dtype=np.float32),
        frame_slot=no_rows,
        flags=np.zeros((0, len(ElementFlag)), dtype=bool),
        style=np.zeros((0, len(StyleColumn)), dtype=np.float32),
        text=(),
        context=(),
        value=(),
        href=(),
        options=(),
        node_ref=no_rows,
    )
    mask = ActionMask(
        type=np.zeros(NUM_TYPES, dtype=bool),
        element=np.zeros((NUM_TYPES, 0), dtype=bool),
        span=np.zeros((NUM_TYPES, 0), dtype=bool),
        option=np.zeros((0, MAX_OPTIONS), dtype=bool),
        tab=np.zeros(MAX_TABS, dtype=bool),
    )
    return Observation(
        question="",
        step_index=0,
        steps_left=1,
        url="",
        title="",
        elements=table,
        page_text="",
        scroll_y_px=0.0,
        page_height_px=0.0,
        viewport=(1, 1),
        diff=PageDiff(navigated=True, added=no_rows, changed=no_rows, removed=0),
        queries=(),
        notes=(),
        spans=(),
        tabs=(),
        mask=mask,
        page_state=PageState.IDLE,
        last_effect="",
        screenshot_jpeg=b"",
        screenshot_scale=0.0,
    )
