# SPDX-License-Identifier: Apache-2.0
"""The forager network: gated streams, type-conditioned pointers over elements, spans and options.

Shape letters: B states, K action types, E elements, S spans, O options, T tabs, R statements,
Q question words, A legal actions, D width. No BatchNorm and no dropout, so that actor and learner
agree on log-probabilities.

Each stream (`agent.config.STREAMS`) reads its summary (`streams`) beside the state columns, and one
softmax gate over those that are on mixes them:

    hidden = tanh(sum_i g_i s_i([state, summary_i])),  g = softmax(W [state, all summaries])
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from agent.config import PolicyConfig
from agent.forager.features import OPTION_COLUMNS, TAB_COLUMNS
from agent.forager.matching import EXPLAINED_SIZE, MATCH_SIZE, Matches, QuestionMatch
from agent.forager.relations import ASKED_SIZE
from agent.forager.sizes import FeatureSizes
from agent.forager.streams import (
    HistorySummary,
    VisionSummary,
    change_summary,
    intent_summary,
    page_summary,
    summary_sizes,
)
from agent.policy import MASKED_LOG_PROB, PolicyBatch, PolicyOutput
from envs.actions import NUM_TYPES, WAIT_CHOICES_MS, Head, types_with


class ForagerNet(nn.Module):
    """`PolicyBatch` -> `PolicyOutput`. Uniform over types and over arguments at initialisation."""

    def __init__(self, config: PolicyConfig, sizes: FeatureSizes) -> None:
        super().__init__()
        width, num_state = config.width, sizes.state
        num_element, num_span = sizes.element, sizes.span
        self.num_state = num_state
        self.streams = config.active_streams()
        self.relation = QuestionMatch(num_state, sizes.clue)
        num_element, num_span = num_element + MATCH_SIZE, num_span + MATCH_SIZE + 1
        num_read = num_state + EXPLAINED_SIZE
        self.element_encoder = _mlp(num_element, width, width)
        self.span_encoder = _mlp(num_span, width, width)
        summaries = [summary_sizes(width)[name] for name in self.streams]
        for name, size in zip(self.streams, summaries, strict=True):
            self.add_module(f"{name}_stream", _mlp(num_read + size, width, width))
        self.gate = nn.Linear(num_read + sum(summaries), len(self.streams))
        self.history = HistorySummary(width) if "history" in self.streams else None
        self.vision = VisionSummary(config) if "vision" in self.streams else None
        self.element_pointer = _Pointer(num_element, width, NUM_TYPES)
        self.span_pointer = _Pointer(num_span, width, NUM_TYPES)
        self.option_pointer = _Pointer(len(OPTION_COLUMNS), width, 1)
        self.tab_pointer = _Pointer(len(TAB_COLUMNS), width, 1)
        self.wait_head = _zero(nn.Linear(width, len(WAIT_CHOICES_MS)))
        self.type_hidden = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.type_head = _zero(nn.Linear(width, NUM_TYPES))
        # How much the best argument of a type speaks for the type itself.
        self.type_from_arguments = nn.Parameter(torch.zeros(NUM_TYPES))
        # Below the heads: what `algo.freeze=encoder` keeps as it is.
        self.encoder_modules: tuple[str, ...] = (
            *("relation", "element_encoder", "span_encoder", "gate"),
            *(f"{name}_stream" for name in self.streams),
            *(name for name in ("history", "vision") if name in self.streams),
        )

    def forward(self, batch: PolicyBatch) -> PolicyOutput:
        """Log-probabilities of every legal action."""
        state, of_element, of_span, element, span = self._encode(batch)
        streams, gate = self._streams_and_gate(batch, state, element, span)
        hidden = torch.tanh((gate[..., None] * streams).sum(dim=1))  # [B, D]
        score_element = self.element_pointer(hidden, element, of_element)  # [B, K, E]
        score_span = self.span_pointer(hidden, span, of_span)  # [B, K, S]
        log_element = _masked_log_softmax(score_element, batch.element_mask)
        log_span = _masked_log_softmax(score_span, batch.span_mask)
        evidence = _peak(score_element, batch.element_mask) + _peak(score_span, batch.span_mask)
        type_logits = self.type_head(self.type_hidden(hidden)) + self.type_from_arguments * evidence
        log_type = _masked_log_softmax(type_logits, batch.type_mask)  # [B, K]
        return self._assemble(batch, hidden, log_type, log_element, log_span)

    def gate_weights(self, batch: PolicyBatch) -> Tensor:
        """How much each of `streams` counts, [B, streams]; sums to 1."""
        state, _, _, element, span = self._encode(batch)
        return self._streams_and_gate(batch, state, element, span)[1]

    def _encode(self, batch: PolicyBatch) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """What is read of the state; elements and spans as columns, [B, N, F], and encoded,
        [B, N, D].
        """
        state, asked = batch.state.split([self.num_state, ASKED_SIZE], dim=-1)
        matches: Matches = self.relation(state, asked, batch)
        of_element = torch.cat([batch.element, matches.element], dim=-1)
        in_direction = batch.span[..., :1] * matches.direction[:, None]  # MORE_COLUMN
        of_span = torch.cat([batch.span, in_direction, matches.span], dim=-1)
        return (
            torch.cat([state, matches.explained], dim=-1),
            of_element,
            of_span,
            self.element_encoder(of_element),
            self.span_encoder(of_span),
        )

    def _streams_and_gate(
        self, batch: PolicyBatch, state: Tensor, element: Tensor, span: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What each stream says [B, streams, D], and its weight [B, streams]."""
        summaries = [self._summary(name, batch, element, span) for name in self.streams]
        said = [
            self.get_submodule(f"{name}_stream")(torch.cat([state, summary], dim=-1))
            for name, summary in zip(self.streams, summaries, strict=True)
        ]
        gate = self.gate(torch.cat([state, *summaries], dim=-1)).softmax(dim=-1)
        return torch.stack(said, dim=1), gate

    def _summary(self, name: str, batch: PolicyBatch, element: Tensor, span: Tensor) -> Tensor:
        match name:
            case "page":
                return page_summary(batch, element)
            case "intent":
                return intent_summary(batch, span)
            case "diff":
                return change_summary(batch, element)
            case "history" if self.history is not None:
                return self.history(batch)
            case "vision" if self.vision is not None:
                return self.vision(batch)
        raise ValueError(f"expected a stream of {self.streams}, got {name!r}")

    def _assemble(
        self,
        batch: PolicyBatch,
        hidden: Tensor,
        log_type: Tensor,
        log_element: Tensor,
        log_span: Tensor,
    ) -> PolicyOutput:
        """Gather each legal action's heads, [B, A, 3]."""
        kind = batch.flat_type
        rows = torch.arange(len(batch), device=kind.device)[:, None].expand_as(kind)
        element = batch.flat_element.clamp(min=0)
        argument = batch.flat_argument.clamp(min=0)
        first = torch.zeros_like(kind, dtype=log_type.dtype)
        second = torch.zeros_like(first)

        def of(types: Iterable[int]) -> Tensor:
            listed = torch.tensor(sorted(types), device=kind.device)
            return torch.isin(kind, listed) & batch.flat_mask

        with_element = of(types_with(Head.ELEMENT))
        first = torch.where(with_element, log_element[rows, kind, element], first)
        chosen_span = log_span[rows, kind, argument.clamp(max=log_span.shape[2] - 1)]
        span_second = of(types_with(Head.SPAN) & types_with(Head.ELEMENT))
        second = torch.where(span_second, chosen_span, second)
        first = torch.where(
            of(types_with(Head.SPAN) - types_with(Head.ELEMENT)), chosen_span, first
        )
        log_tab = _masked_log_softmax(
            self.tab_pointer(hidden, None, batch.tab)[:, 0], batch.tab_mask
        )
        first = torch.where(
            of(types_with(Head.TAB)),
            log_tab[rows, argument.clamp(max=log_tab.shape[1] - 1)],
            first,
        )
        log_wait = self.wait_head(hidden).log_softmax(dim=-1)
        first = torch.where(
            of(types_with(Head.WAIT)),
            log_wait[rows, argument.clamp(max=log_wait.shape[1] - 1)],
            first,
        )
        if batch.option.shape[1]:
            log_option = self._log_option(batch, hidden)  # [B, E, O]
            last = log_option.shape[2] - 1
            second = torch.where(
                of(types_with(Head.OPTION)),
                log_option[rows, element, argument.clamp(max=last)],
                second,
            )
        zero = torch.where(batch.flat_mask, log_type[rows, kind], torch.zeros_like(first))
        heads = torch.stack([zero, first, second], dim=-1)
        total = heads.sum(dim=-1).masked_fill(~batch.flat_mask, MASKED_LOG_PROB)
        return PolicyOutput(log_type=log_type, log_heads=heads, log_action=total)

    def _log_option(self, batch: PolicyBatch, hidden: Tensor) -> Tensor:
        size, elements, options, _ = batch.option.shape
        flat = batch.option.reshape(size, elements * options, -1)
        score = self.option_pointer(hidden, None, flat)[:, 0].reshape(size, elements, options)
        return _masked_log_softmax(score, batch.option_mask)


class _Pointer(nn.Module):
    """Scores N candidates for each of `kinds` uses, zero at initialisation.

    score = q_k(h) . e_i / sqrt(D) + w_k . f_i + (W_k h) . f_i: a dot product with the encoded
    candidate, a fixed and a state-dependent linear reading of its match features.
    """

    def __init__(self, num_features: int, width: int, kinds: int) -> None:
        super().__init__()
        self.kinds = kinds
        self.width = width
        self.query = _zero(nn.Linear(width, kinds * width))
        self.fixed = nn.Parameter(torch.zeros(kinds, num_features))
        self.conditioned = _zero(nn.Linear(width, kinds * num_features))

    def forward(self, hidden: Tensor, encoded: Tensor | None, features: Tensor) -> Tensor:
        """[B, kinds, N] from hidden [B, D], encoded [B, N, D] or None, features [B, N, F]."""
        size = hidden.shape[0]
        weights = self.fixed + self.conditioned(hidden).reshape(size, self.kinds, -1)
        score = weights @ features.transpose(1, 2)
        if encoded is not None:
            query = self.query(hidden).reshape(size, self.kinds, self.width)
            score = score + query @ encoded.transpose(1, 2) / self.width**0.5
        return score


def _mlp(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _masked_log_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Log-softmax over the last axis; MASKED_LOG_PROB where masked, also if all are masked."""
    log_probs = scores.masked_fill(~mask, MASKED_LOG_PROB).log_softmax(dim=-1)
    return log_probs.masked_fill(~mask, MASKED_LOG_PROB)


def _peak(scores: Tensor, mask: Tensor) -> Tensor:
    """Mean-normalised log-sum-exp over legal candidates [B, K]; 0 where a type has none."""
    count = mask.sum(dim=-1)
    peak = scores.masked_fill(~mask, MASKED_LOG_PROB).logsumexp(dim=-1)
    return torch.where(count > 0, peak - count.clamp(min=1).log(), torch.zeros_like(peak))
