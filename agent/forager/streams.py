# SPDX-License-Identifier: Apache-2.0
"""What each stream of the forager reads off a batch: its *summary*.

Shape letters: B states, E elements, Q queries, D width. A summary is [B, its size]; it is computed
only for streams that are on.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from agent.config import PolicyConfig
from agent.forager.change import CHANGE_COLUMNS, NUM_CHANGE_KINDS
from agent.forager.history import QUERY_SIZE
from agent.forager.vision import PICTURE_FEATURES, PictureEncoder
from agent.policy import MASKED_LOG_PROB, PolicyBatch


def summary_sizes(width: int) -> Mapping[str, int]:
    """How long each stream's summary is."""
    return {
        "page": 2 * width,
        "intent": 2 * width,
        "diff": len(CHANGE_COLUMNS) + NUM_CHANGE_KINDS * 2 * width,
        "history": width,
        "vision": width,
    }


def page_summary(batch: PolicyBatch, element: Tensor) -> Tensor:
    """All usable elements; what no action can use is not pooled."""
    return pooled(element, batch.element_mask.any(dim=1))


def intent_summary(batch: PolicyBatch, span: Tensor) -> Tensor:
    """All usable texts of question and notes."""
    return pooled(span, batch.span_mask.any(dim=1))


def change_summary(batch: PolicyBatch, element: Tensor) -> Tensor:
    """What the last action did, the elements it added and those it changed, usable or not."""
    kinds = batch.element_change.unbind(dim=2)
    return torch.cat([batch.change, *(pooled(element, kind) for kind in kinds)], dim=-1)


class HistorySummary(nn.Module):
    """An LSTM over the queries, oldest first; a learnt vector where there are none.

    Run anew from the inputs at every state, so that nothing is kept while weights change.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(QUERY_SIZE, width, batch_first=True)
        self.none = nn.Parameter(torch.zeros(width))

    def forward(self, batch: PolicyBatch) -> Tensor:
        """The LSTM's output at each state's newest query."""
        output, _ = self.lstm(batch.query)  # [B, Q, D]; padding comes after what is read
        newest = (batch.query_mask.sum(dim=1) - 1).clamp(min=0)
        rows = torch.arange(len(newest), device=newest.device)
        return torch.where(batch.query_mask.any(dim=1)[:, None], output[rows, newest], self.none)


class VisionSummary(nn.Module):
    """A projection of the picture's features; a learnt vector where there is no picture."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        is_trained = config.train_backbone
        self.backbone = PictureEncoder(config.vision_weights) if is_trained else None
        self.project = nn.Sequential(nn.Linear(PICTURE_FEATURES, config.width), nn.ReLU())
        self.none = nn.Parameter(torch.zeros(config.width))

    def forward(self, batch: PolicyBatch) -> Tensor:
        """From stored features, or from pixels where the encoder is trained."""
        has_picture = batch.picture_mask
        features = batch.picture
        if self.backbone is not None:
            features = self.none.new_zeros(len(batch), PICTURE_FEATURES)
            if len(batch.pixels):
                features[has_picture] = self.backbone(batch.pixels)
        return torch.where(has_picture[:, None], self.project(features), self.none)


def pooled(rows: Tensor, mask: Tensor) -> Tensor:
    """Mean and maximum [B, 2 D] of the rows [B, N, D] in the mask [B, N]; 0 without any."""
    return torch.cat([_mean(rows, mask), _max(rows, mask)], dim=-1)


def _mean(rows: Tensor, mask: Tensor) -> Tensor:
    weight = mask[..., None].to(rows.dtype)
    return (rows * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1.0)


def _max(rows: Tensor, mask: Tensor) -> Tensor:
    best = rows.masked_fill(~mask[..., None], MASKED_LOG_PROB).amax(dim=1)
    return torch.where(mask.any(dim=1)[:, None], best, torch.zeros_like(best))
