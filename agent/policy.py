# SPDX-License-Identifier: Apache-2.0
"""The contract between a policy network and the learner: padded batches in, log-probabilities out.

Shape letters: B states, K action types, E elements, S spans, O options, T tabs, R statements,
Q question words, L question tokens, V values, A legal actions, H heads (`MAX_HEADS`). Padded rows
are masked out everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from agent.config import PolicyConfig
from agent.pictures import PICTURE_SIZE_PX, picture_pixels
from agent.types import ModelInputs
from envs.actions import ActionMask, enumerate_actions
from envs.types import Observation

# Log-probability of what is masked: finite, so that 0 * fill stays 0 in entropies, where -inf
# would make their gradients NaN.
MASKED_LOG_PROB = -1e9
_PADDED = (
    ("statement", np.float32),
    ("statement_word", np.int64),
    ("element_statement", np.int64),
    ("span_statement", np.int64),
    ("question_word", np.int64),
    ("question_weight", np.float32),
    ("question_vector", np.float32),
    ("question_clue", np.float32),
    ("question_token", np.int64),
    ("page_hop", np.int64),
    ("span_hop", np.int64),
    ("statement_value", np.int64),
    ("value_shape", np.float32),
    ("value_ending", np.int64),
    ("element_change", np.bool_),
    ("query", np.float32),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyBatch:
    """States as padded tensors; made by `collate`."""

    state: Tensor  # float32 [B, state features]
    element: Tensor  # float32 [B, E, element features]
    span: Tensor  # float32 [B, S, span features]
    option: Tensor  # float32 [B, E, O, option features]; E is 0 when no state has a select box
    tab: Tensor  # float32 [B, T, tab features]
    statement: Tensor  # float32 [B, R, statement features]
    statement_word: Tensor  # int64 [B, R, words]; 0 is no word
    element_statement: Tensor  # int64 [B, E, of each]; 1 + row, 0 is none
    span_statement: Tensor  # int64 [B, S, of each]; likewise
    question_word: Tensor  # int64 [B, Q, 1]; 0 is no word
    question_weight: Tensor  # float32 [B, Q, weights]
    question_vector: Tensor  # float32 [B, Q, vector size]
    question_clue: Tensor  # float32 [B, Q, clue columns]
    question_token: Tensor  # int64 [B, L, 2]: number (0 is no token), 1 + row of `question_word`
    page_hop: Tensor  # int64 [B, 1, 1]
    span_hop: Tensor  # int64 [B, S, 1]; 1 + hop, 0 is none
    statement_value: Tensor  # int64 [B, R, values of each]; 1 + row, 0 is none
    value_shape: Tensor  # float32 [B, V, shape columns]
    value_ending: Tensor  # int64 [B, V, endings of each]; 0 is none
    # What single streams read; of width 0 where the stream is off.
    change: Tensor  # float32 [B, change columns]
    element_change: Tensor  # bool [B, E, kinds of change]
    query: Tensor  # float32 [B, queries, query features]
    query_mask: Tensor  # bool [B, queries]
    picture: Tensor  # float32 [B, picture features]; 0 without one
    picture_mask: Tensor  # bool [B]; whether there is a picture
    pixels: Tensor  # uint8 [P, 3, height, width] of the P states with a JPEG, in their order
    type_mask: Tensor  # bool [B, K]
    element_mask: Tensor  # bool [B, K, E]
    span_mask: Tensor  # bool [B, K, S]
    option_mask: Tensor  # bool [B, E, O]
    tab_mask: Tensor  # bool [B, T]
    flat_type: Tensor  # int64 [B, A]
    flat_element: Tensor  # int64 [B, A], -1 without
    flat_argument: Tensor  # int64 [B, A], -1 without
    flat_mask: Tensor  # bool [B, A]; False on padding

    def __len__(self) -> int:
        return self.state.shape[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyOutput:
    """Log-probabilities of every legal action, factored over the heads."""

    log_type: Tensor  # float32 [B, K]; MASKED_LOG_PROB where the type is illegal
    log_heads: Tensor  # float32 [B, A, H]; 0 for heads that an action does not use
    log_action: Tensor  # float32 [B, A], their sum; MASKED_LOG_PROB on padding


class Policy(Protocol):
    """A network that evaluates batches; `torch.nn.Module` in practice.

    One whose encoder can be frozen names it in `encoder_modules`, children of the module.
    """

    def __call__(self, batch: PolicyBatch) -> PolicyOutput:
        """Evaluate `batch` with gradients."""


class PolicyFamily(Protocol):
    """What a policy brings: its features and its network. Built without arguments."""

    def model_inputs(self, observation: Observation) -> ModelInputs:
        """One observation as the network's numbers; the same in every process."""

    def build_network(self, config: PolicyConfig) -> torch.nn.Module:
        """A freshly initialised network that satisfies `Policy`."""


@runtime_checkable
class ConfiguredFamily(Protocol):
    """A family whose inputs, too, depend on the settings."""

    def configured(self, config: PolicyConfig) -> PolicyFamily:
        """The family with these settings; what the one built without arguments becomes."""


def collate(
    inputs: Sequence[ModelInputs], masks: Sequence[ActionMask], *, device: str = "cpu"
) -> PolicyBatch:
    """Pad states of different sizes into one batch."""
    flats = [enumerate_actions(mask) for mask in masks]
    has_options = any(len(i.option) for i in inputs)
    element_mask = _pad([m.element for m in masks], axis=1)
    num_elements = element_mask.shape[2]
    option = _pad([i.option for i in inputs], at_least=num_elements) if has_options else None
    columns = {
        **{name: _pad([getattr(i, name) for i in inputs]).astype(kind) for name, kind in _PADDED},
        **_pictures(inputs),
        "state": np.stack([i.state for i in inputs]).astype(np.float32),
        "element": _pad([i.element for i in inputs]).astype(np.float32),
        "span": _pad([i.span for i in inputs]).astype(np.float32),
        "option": (
            np.zeros((len(inputs), 0, *inputs[0].option.shape[1:])) if option is None else option
        ).astype(np.float32),
        "tab": np.stack([i.tab for i in inputs]).astype(np.float32),
        "change": np.stack([i.change for i in inputs]).astype(np.float32),
        "query_mask": _pad([np.ones(len(i.query), dtype=bool) for i in inputs]),
        "type_mask": np.stack([m.type for m in masks]),
        "element_mask": element_mask,
        "span_mask": _pad([m.span for m in masks], axis=1),
        "option_mask": _pad([m.option for m in masks]),
        "tab_mask": np.stack([m.tab for m in masks]),
        "flat_type": _pad([f.type.astype(np.int64) for f in flats]),
        "flat_element": _pad([f.element.astype(np.int64) for f in flats]),
        "flat_argument": _pad([f.argument.astype(np.int64) for f in flats]),
        "flat_mask": _pad([np.ones(len(f), dtype=bool) for f in flats]),
    }
    return PolicyBatch(**{k: torch.from_numpy(v).to(device) for k, v in columns.items()})


def _pictures(inputs: Sequence[ModelInputs]) -> dict[str, np.ndarray]:
    """The features of each state's picture, or the pixels of those that came as a JPEG."""
    jpegs = [i.picture_jpeg.tobytes() for i in inputs if len(i.picture_jpeg)]
    side = (3, PICTURE_SIZE_PX, PICTURE_SIZE_PX)
    pixels = [picture_pixels(jpeg) for jpeg in jpegs]
    return {
        "picture": _pad([i.picture for i in inputs])[:, 0].astype(np.float32),
        "picture_mask": np.array([bool(len(i.picture) or len(i.picture_jpeg)) for i in inputs]),
        "pixels": np.stack(pixels) if pixels else np.zeros((0, *side), dtype=np.uint8),
    }


def _pad(arrays: Sequence[np.ndarray], *, axis: int = 0, at_least: int = 1) -> np.ndarray:
    """Stack arrays that differ in the length of one axis, zero-filled to the longest."""
    longest = max(at_least, *(array.shape[axis] for array in arrays))
    shape = list(arrays[0].shape)
    shape[axis] = longest
    padded = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for row, array in enumerate(arrays):
        index: tuple[int | slice, ...] = (row, *(slice(0, n) for n in array.shape))
        padded[index] = array
    return padded


def sample_row(log_action: np.ndarray, *, seed: int, temperature: float = 1.0) -> int:
    """Draw a row from log-probabilities [A]; `temperature` 0 takes the best row."""
    if temperature == 0.0:
        return int(np.argmax(log_action))
    logits = log_action.astype(np.float64) / temperature
    probabilities = np.exp(logits - logits.max())
    cumulative = np.cumsum(probabilities)
    draw = np.random.default_rng(seed).random() * cumulative[-1]
    return int(min(np.searchsorted(cumulative, draw, side="right"), len(log_action) - 1))
