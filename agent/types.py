# SPDX-License-Identifier: Apache-2.0
"""What an agent decides, and the records that the learner trains on; no torch.

Frozen, keyword-only and picklable. Lengths: E elements, S spans, R statements, A legal actions,
T steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np

from envs.actions import Action, ActionMask
from envs.types import Observation, Split, StopReason

MAX_HEADS = 3  # type, first argument, second argument


def _no_numbers() -> np.ndarray:
    return np.zeros((0, 0), dtype=np.float16)


def _no_words() -> np.ndarray:
    return np.zeros((0, 0), dtype=np.int16)


def _no_row() -> np.ndarray:
    return np.zeros(0, dtype=np.float16)


def _no_marks() -> np.ndarray:
    return np.zeros((0, 0), dtype=np.uint8)


def _no_bytes() -> np.ndarray:
    return np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInputs:
    """One observation as the network sees it; made by the agent's features.

    A *statement* is a text that says something of its subject: a table row or one sentence. Each is
    kept once, however many elements and spans it is about; families without them leave them out.

    Numbers are stored as float16. Actor and learner both widen the *stored* values to float32, so
    that their log-probabilities agree.
    """

    state: np.ndarray  # float16 [state features]
    element: np.ndarray  # float16 [E, element features]
    span: np.ndarray  # float16 [S, span features]
    option: np.ndarray  # float16 [E, MAX_OPTIONS, option features]; [0, ...] without select boxes
    tab: np.ndarray  # float16 [MAX_TABS, tab features]
    # float16 [R, statement features]
    statement: np.ndarray = field(default_factory=_no_numbers)
    # int16 [R, words of each]; 0 is no word
    statement_word: np.ndarray = field(default_factory=_no_words)
    # int16 [E, of each]; 1 + row, 0 is none
    element_statement: np.ndarray = field(default_factory=_no_words)
    # int16 [S, of each]; likewise
    span_statement: np.ndarray = field(default_factory=_no_words)
    # int16 [R, values of each]; 1 + row of `value_shape`, 0 is none
    statement_value: np.ndarray = field(default_factory=_no_words)
    # float16 [V, shape columns] of what statements state
    value_shape: np.ndarray = field(default_factory=_no_numbers)
    # int16 [V, endings of each]; 0 is none
    value_ending: np.ndarray = field(default_factory=_no_words)
    # int16 [words, 1]; 0 is no word
    question_word: np.ndarray = field(default_factory=_no_words)
    # float16 [words, weights of each]
    question_weight: np.ndarray = field(default_factory=_no_numbers)
    # float16 [words, vector size]
    question_vector: np.ndarray = field(default_factory=_no_numbers)
    # float16 [words, clue columns]: how much of each is explained so far
    question_clue: np.ndarray = field(default_factory=_no_numbers)
    # int16 [tokens, 2] of the question in order: number, 1 + row of `question_word` (0 is none)
    question_token: np.ndarray = field(default_factory=_no_words)
    # int16 [1, 1]: how far along the chain that the question names the page is
    page_hop: np.ndarray = field(default_factory=_no_words)
    # int16 [S, 1]: 1 + the same of the note that a span is of, 0 is none
    span_hop: np.ndarray = field(default_factory=_no_words)
    # What single streams of the network read; all are empty where the stream is off.
    # float16 [change columns]: what the last action did
    change: np.ndarray = field(default_factory=_no_row)
    # uint8 [E, 2]: 1 where the element was added, was changed
    element_change: np.ndarray = field(default_factory=_no_marks)
    # float16 [queries, query features], oldest first
    query: np.ndarray = field(default_factory=_no_numbers)
    # float16 [1 or 0, picture features]; no row without a screenshot
    picture: np.ndarray = field(default_factory=_no_numbers)
    # uint8 [bytes], the screenshot itself, where the network has the picture's encoder
    picture_jpeg: np.ndarray = field(default_factory=_no_bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What an agent chose at one observation; agent -> episode loop."""

    action: Action
    inputs: ModelInputs | None  # None from agents without a network
    log_prob_by_head: np.ndarray  # float32 [MAX_HEADS] of the behaviour policy; unused heads are 0
    policy_version: int  # of the weights that acted; -1 for agents without weights


class Agent(Protocol):
    """Turns observations into actions. Keeps no state between calls but its weights."""

    async def act(self, observation: Observation, *, seed: int) -> Decision:
        """Choose one action legal under `observation.mask`; the same seed gives the same choice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """One step as the learner trains on it; rollout -> replay -> learner."""

    inputs: ModelInputs
    mask: ActionMask  # the mask that was sampled under
    chosen: int  # row of `enumerate_actions(mask)`
    log_prob_by_head: np.ndarray  # float32 [MAX_HEADS], behaviour policy
    policy_version: int
    utilities: np.ndarray  # float16 [A] from the teacher; length 0 without one
    is_exogenous: bool  # reward 0 and not trained on
    # uint8 [*], of `agent.situation`; empty unless the run compares attempts by what they read
    situation: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))

    def num_bytes(self) -> int:
        """Bytes of the arrays."""
        inputs, mask = self.inputs, self.mask
        arrays = (
            *(getattr(inputs, part.name) for part in fields(inputs)),
            mask.type,
            mask.element,
            mask.span,
            mask.option,
            mask.tab,
            self.log_prob_by_head,
            self.utilities,
            self.situation,
        )
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The model side of one finished attempt; rollout -> replay -> learner."""

    trajectory_id: str
    group_id: str
    task_id: str
    kind: str
    split: Split
    layer_weights: tuple[float, float, float]
    steps: tuple[StepRecord, ...]  # [T]
    stop: StopReason
    # Visited states under other questions (`agent.hindsight`), without an executed action: for the
    # step term alone.
    hindsight: tuple[StepRecord, ...] = ()

    def num_bytes(self) -> int:
        """Bytes of the arrays; what queues and buffers are bounded by."""
        return sum(step.num_bytes() for step in (*self.steps, *self.hindsight))
