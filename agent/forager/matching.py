# SPDX-License-Identifier: Apache-2.0
"""Matches what pages state with what the question asks: learnt, word by word.

Shape letters: B states, R statements, V values, Q words asked, H readings, D width.

    match[r, q] = (s_r + T s_r) . (v_q + N v_q) + e(words of r) . e(q)     what is said of
    kind[v, q]  = u(v) . t(q)                                              the kind of value

with static vectors s and v, learnt vectors e of the words themselves, u of a value's shape and
endings, and t of the words asked. A statement explains a word asked as well as both together say.
A *reading* of the question weighs its words: two fixed ones, near the entity and far from it,
`NUM_LEARNT` learnt ones, which see how much of each word the notes explain already, and one for
each hop of the chain that the question names (`plan.py`). What a page states is held against that
of the page's hop, what a note says against that of the note's.
Only scores go on: with vectors, or their products coordinate by coordinate, the network knows the
training pages by heart.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from agent.forager.hops import NAME_TOKEN, NUM_HOPS, NUM_TOKEN_IDS
from agent.forager.plan import PLAN_SIZE, QuestionPlan
from agent.forager.relations import ASKED_SIZE, NUM_WORD_IDS, RELATION_SIZE
from agent.forager.values import NUM_ENDING_IDS, SHAPE_COLUMNS
from agent.policy import MASKED_LOG_PROB, PolicyBatch

NUM_FIXED = 2  # near and far
NUM_LEARNT = 2
NUM_READINGS = NUM_FIXED + NUM_LEARNT
MATCH_SIZE = 2 * (NUM_READINGS + 1)  # what is said, and the kind of value; 1 for the own hop's
EXPLAINED_SIZE = NUM_READINGS + NUM_HOPS + PLAN_SIZE
_WORD_SIZE = 24
_KIND_SIZE = 16
_READER_WIDTH = 24
_WORD_STD = 0.1
_DIRECTION_STD = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Matches:
    """How a batch's pages and notes match its questions; `QuestionMatch` -> network."""

    element: Tensor  # float32 [B, E, MATCH_SIZE], of each its best statement
    span: Tensor  # float32 [B, S, MATCH_SIZE]
    explained: Tensor  # float32 [B, EXPLAINED_SIZE]: what the notes explain, and the plan
    direction: Tensor  # float32 [B, 1] in (-1, 1): whether more or less is asked for


class QuestionMatch(nn.Module):
    """Scores statements, and what the notes explain, for each reading of the question."""

    def __init__(self, num_state: int, num_clue: int) -> None:
        super().__init__()
        self.asked = nn.Linear(ASKED_SIZE, NUM_FIXED * RELATION_SIZE)
        self.asked_word = nn.Linear(RELATION_SIZE, RELATION_SIZE)
        self.told = nn.Linear(RELATION_SIZE, RELATION_SIZE)
        self.word = _embedding(NUM_WORD_IDS, _WORD_SIZE)
        self.kind_asked = _embedding(NUM_WORD_IDS, _KIND_SIZE)
        self.shape = nn.Linear(len(SHAPE_COLUMNS), _KIND_SIZE)
        self.ending = _embedding(NUM_ENDING_IDS, _KIND_SIZE)
        # Of each word of the question: whether it asks for more (+) or for less (-).
        self.direction = nn.Embedding(NUM_TOKEN_IDS, 1, padding_idx=0)
        nn.init.normal_(self.direction.weight, std=_DIRECTION_STD)
        self.clue_reader = nn.Linear(num_clue + NUM_FIXED + 1, _READER_WIDTH)
        self.state_reader = nn.Linear(num_state, _READER_WIDTH)
        self.reading = nn.Linear(_READER_WIDTH, NUM_LEARNT)
        self.plan = QuestionPlan()
        with torch.no_grad():
            for table in (self.word, self.kind_asked, self.ending, self.direction):
                table.weight[0] = 0.0

    def forward(self, state: Tensor, asked: Tensor, batch: PolicyBatch) -> Matches:
        """From the state columns [B, F] and asked [B, ASKED_SIZE]."""
        is_asked = batch.question_word[..., 0] > 0  # [B, Q]
        image = batch.statement + self.told(batch.statement)  # [B, R, 128]
        vector = batch.question_vector + self.asked_word(batch.question_vector)
        by_word = image @ vector.transpose(1, 2) + self._told_words(batch) @ self.word(
            batch.question_word[..., 0]
        ).transpose(1, 2)
        kinds = self._kinds(batch) @ self.kind_asked(batch.question_word[..., 0]).transpose(1, 2)
        explained = _explained(by_word, kinds, batch)  # [B, Q]
        hops, plan = self.plan(batch)  # [B, K, Q]
        weights = torch.cat([self._readings(state, explained, is_asked, batch), hops], dim=1)
        said = by_word @ weights.transpose(1, 2)
        query = self.asked(asked).reshape(len(asked), NUM_FIXED, RELATION_SIZE)
        fixed = said[..., :NUM_FIXED] + image @ query.transpose(1, 2)
        kind = best_of(kinds @ weights.transpose(1, 2), batch.statement_value)
        whole, by_hop = _split(torch.cat([fixed, said[..., NUM_FIXED:]], dim=-1), kind)
        of_span = best_of(by_hop, batch.span_statement)  # [B, S, 2 K]
        own_hop = batch.page_hop.expand(-1, by_hop.shape[1], 1)
        known = (weights[:, :NUM_READINGS] @ explained[..., None])[..., 0]
        return Matches(
            element=best_of(
                torch.cat([whole, _at(by_hop, own_hop)], dim=-1), batch.element_statement
            ),
            span=torch.cat(
                [best_of(whole, batch.span_statement), _at(of_span, batch.span_hop - 1)], dim=-1
            ),
            explained=torch.cat([known, _found(of_span, batch.span_hop), plan], dim=-1),
            direction=self._direction(batch.question_token[..., 0]),
        )

    def _direction(self, ids: Tensor) -> Tensor:
        """More or less, [B, 1]. Names say neither, and those of other worlds were never learnt."""
        words = ids.masked_fill(ids == NAME_TOKEN, 0)
        return torch.tanh(self.direction(words).sum(dim=1))

    def _told_words(self, batch: PolicyBatch) -> Tensor:
        """Learnt vectors of the statements' words, [B, R, word size]."""
        count = (batch.statement_word > 0).sum(dim=-1, keepdim=True).clamp(min=1)
        return self.word(batch.statement_word).sum(dim=2) / count.sqrt()

    def _kinds(self, batch: PolicyBatch) -> Tensor:
        """What kind of value each is, [B, V, kind size]."""
        return self.shape(batch.value_shape) + self.ending(batch.value_ending).sum(dim=2)

    def _readings(
        self, state: Tensor, explained: Tensor, is_asked: Tensor, batch: PolicyBatch
    ) -> Tensor:
        """How much each reading looks at each word asked, [B, H, Q]."""
        columns = torch.cat(
            [batch.question_clue, batch.question_weight, explained[..., None]], dim=-1
        )
        read = torch.relu(self.clue_reader(columns) + self.state_reader(state)[:, None])
        score = self.reading(read).masked_fill(~is_asked[..., None], MASKED_LOG_PROB)
        learnt = score.softmax(dim=1)
        return torch.cat([batch.question_weight, learnt], dim=-1).transpose(1, 2)


def _explained(by_word: Tensor, kinds: Tensor, batch: PolicyBatch) -> Tensor:
    """The best match of any noted value with each word, bounded, [B, Q]; 0 without notes.

    From the scores of statements [B, R, Q] and of values [B, V, Q]. Spans are what is noted: each
    stands in one statement that has one value.
    """
    statement = batch.span_statement[..., :1]  # [B, S, 1]
    value = rows_of(batch.statement_value[..., :1], statement)[..., 0]  # [B, S, 1]
    match = rows_of(by_word, statement)[:, :, 0] + rows_of(kinds, value)[:, :, 0]  # [B, S, Q]
    is_noted = statement > 0
    best = match.masked_fill(~is_noted, MASKED_LOG_PROB).amax(dim=1)
    return torch.where(is_noted.any(dim=1), torch.tanh(best), torch.zeros_like(best))


def _split(said: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of the whole question's readings [B, R, 2 H], and of the hops' [B, R, 2 K]."""
    whole = torch.cat([said[..., :NUM_READINGS], kind[..., :NUM_READINGS]], dim=-1)
    return whole, torch.cat([said[..., NUM_READINGS:], kind[..., NUM_READINGS:]], dim=-1)


def _at(by_hop: Tensor, hop: Tensor) -> Tensor:
    """What is said and its kind at one hop each, [B, N, 2] from [B, N, 2 K] and [B, N, 1]; 0 where
    the hop is below 0.
    """
    both = by_hop.unflatten(-1, (2, NUM_HOPS))
    index = hop.clamp(min=0)[..., None].expand(*both.shape[:-1], 1)
    return torch.where(hop >= 0, both.gather(-1, index)[..., 0], 0.0)


def _found(of_span: Tensor, hop: Tensor) -> Tensor:
    """How well any note of each hop says what is asked there, bounded, [B, K]; 0 without one.

    From the scores of spans [B, S, 2 K] and 1 + the hops of their notes [B, S, 1], 0 without.
    """
    match = of_span.unflatten(-1, (2, NUM_HOPS)).sum(dim=2)  # [B, S, K]
    is_of = hop == torch.arange(1, NUM_HOPS + 1, device=hop.device)
    best = match.masked_fill(~is_of, MASKED_LOG_PROB).amax(dim=1)
    return torch.where(is_of.any(dim=1), torch.tanh(best), torch.zeros_like(best))


def best_of(score: Tensor, rows: Tensor) -> Tensor:
    """The best score of each owner's rows, [B, N, M] from [B, R, M] and rows [B, N, of each].

    0 for owners without any.
    """
    exists = (rows > 0)[..., None]
    best = rows_of(score, rows).masked_fill(~exists, MASKED_LOG_PROB).amax(dim=2)
    return torch.where(exists.any(dim=2), best, torch.zeros_like(best))


def rows_of(values: Tensor, rows: Tensor) -> Tensor:
    """The rows [B, N, of each, M] of values [B, R, M]; rows count from 1, and 0 gives the first.

    As one selection of whole rows: its gradient is several times cheaper than that of an index.
    """
    size, num_rows, width = values.shape
    first = num_rows * torch.arange(size, device=rows.device)[:, None, None]
    flat = (first + (rows - 1).clamp(min=0)).flatten()
    return values.reshape(-1, width).index_select(0, flat).reshape(*rows.shape, width)


def _embedding(size: int, width: int) -> nn.Embedding:
    table = nn.Embedding(size, width, padding_idx=0)
    nn.init.normal_(table.weight, std=_WORD_STD)
    return table
