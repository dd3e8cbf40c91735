# SPDX-License-Identifier: Apache-2.0
"""Which words of a question say what is asked at each hop (`hops.py`): read in order, learnt.

Shape letters: B states, L tokens, Q question words, K hops, D width.

    f[t] = tanh(convolution of the tokens around t)
    r[t] = relu(W [f[t], sums of f before t, after t and before the first name, near[t], far[t]])
    a[k, t] = softmax over t of W_k r[t]

A hop's reading weighs the words asked by the attention of the tokens that they are. Their order is
needed: in "the mayor of the birthplace of X" the first relation to follow is the last one named,
and which one a word belongs to is a matter of counting. Sums count, and unlike a recurrent network
they cost no more than a layer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from agent.forager.hops import NAME_TOKEN, NUM_HOPS, NUM_TOKEN_IDS
from agent.policy import MASKED_LOG_PROB, PolicyBatch

PLAN_SIZE = 8
_TOKEN_SIZE = 24
_WIDTH = 32
_SPAN = 5  # tokens that are read together
_TOKEN_STD = 0.5
_SUM_SCALE = 0.25
NUM_WEIGHTS = 2  # how near to and how far from the entity a word stands (`clues.py`)
_WEIGHT_SCALE = 3.0


class QuestionPlan(nn.Module):
    """Readings of the question by hop, and a summary of it as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(NUM_TOKEN_IDS + 1, _TOKEN_SIZE, padding_idx=0)
        nn.init.normal_(self.token.weight, std=_TOKEN_STD)
        with torch.no_grad():
            self.token.weight[0] = 0.0
        self.around = nn.Conv1d(_TOKEN_SIZE, _WIDTH, _SPAN, padding=_SPAN // 2)
        self.read = nn.Linear(4 * _WIDTH + NUM_WEIGHTS, _WIDTH)
        self.attention = nn.Linear(_WIDTH, NUM_HOPS)
        self.summary = nn.Linear(2 * _WIDTH, PLAN_SIZE)

    def forward(self, batch: PolicyBatch) -> tuple[Tensor, Tensor]:
        """Weights of the words asked [B, K, Q], each hop's at most 1 in all; summary [B, D]."""
        ids, rows = batch.question_token.unbind(dim=-1)  # [B, L]
        is_asked = ((rows > 0) & (ids != NAME_TOKEN))[..., None]
        read, whole = self._read(ids, _of_tokens(batch.question_weight, rows))
        score = self.attention(read).masked_fill(~is_asked, MASKED_LOG_PROB)
        attention = score.softmax(dim=1) * is_asked  # [B, L, K]
        weights = attention.new_zeros(len(ids), 1 + batch.question_word.shape[1], NUM_HOPS)
        weights = weights.scatter_add(1, rows[..., None].expand_as(attention), attention)
        return weights[:, 1:].transpose(1, 2), torch.tanh(self.summary(whole))

    def _read(self, ids: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Each token where it stands [B, L, D], and the whole question [B, 2 D].

        From the tokens' numbers [B, L], and near and far weights [B, L, 2].
        """
        around = torch.tanh(self.around(self.token(ids).transpose(1, 2))).transpose(1, 2)
        around = around * (ids > 0)[..., None]
        upto = around.cumsum(dim=1)
        total = upto[:, -1:]
        before, after = upto - around, total - upto
        is_before_names = ((ids == NAME_TOKEN).cumsum(dim=1) == 0)[..., None]
        ahead = (around * is_before_names).sum(dim=1, keepdim=True)
        sums = torch.cat([before, after, ahead.expand_as(before)], dim=-1) * _SUM_SCALE
        read = torch.relu(self.read(torch.cat([around, sums, weight * _WEIGHT_SCALE], dim=-1)))
        return read, torch.cat([total, ahead], dim=-1)[:, 0] * _SUM_SCALE


def _of_tokens(values: Tensor, rows: Tensor) -> Tensor:
    """Values [B, L, M] of tokens, from those of the words asked; 0 where rows [B, L] are."""
    padded = torch.cat([torch.zeros_like(values[:, :1]), values], dim=1)
    return padded.gather(1, rows[..., None].expand(-1, -1, values.shape[-1]))
