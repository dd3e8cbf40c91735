# SPDX-License-Identifier: Apache-2.0
"""A link maze of eight pages, walked by a small net whose group members act with old weights.

An episode has a start and a goal page, at most twelve steps, three action types (click one of at
most six links, wait, answer) and three reward layers. Everything that learns is the product's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from learner.config import ObjectiveConfig
from learner.objective import (
    Distribution,
    KLController,
    Legal,
    action_aware_kl,
    kl_divergence,
    normalised_entropies,
    outcome_loss,
)
from learner.returns import (
    LayerScales,
    advantages,
    discounted_returns,
    leave_one_out_deviations,
)

PAGES, LINKS, MAX_STEPS = 8, 6, 12
GROUPS, SIZE = 24, 4
WIDTH = 32
CLICK, WAIT, ANSWER = 0, 1, 2
_FEATURES = 2 * PAGES + 2
_MULTIPLIERS = torch.tensor([0.3, 0.05, 0.8])
# Columns of the flat actions: six links, then wait, then answer.
_FLAT_TYPE = torch.tensor([CLICK] * LINKS + [WAIT, ANSWER])
_LAYER_WEIGHTS = (0.25, 0.5, 2.0)
Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The pages' links and their distances."""

    links: np.ndarray  # int [PAGES, LINKS], -1 where there is none
    distance: np.ndarray  # int [PAGES, PAGES], clicks

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Graph:
        """A ring, so that every page can be reached, with one to three links more on each."""
        links = np.full((PAGES, LINKS), -1)
        for page in range(PAGES):
            others = rng.permutation([p for p in range(PAGES) if p != page])
            targets = {(page + 1) % PAGES, *others[: rng.integers(1, 4)].tolist()}
            places = rng.permutation(LINKS)[: len(targets)]
            links[page, places] = sorted(targets)
        distance = np.full((PAGES, PAGES), PAGES)
        for start in range(PAGES):
            distance[start, start] = 0
            queue = deque([start])
            while queue:
                page = queue.popleft()
                for target in links[page][links[page] >= 0]:
                    if distance[start, target] == PAGES:
                        distance[start, target] = distance[start, page] + 1
                        queue.append(int(target))
        return cls(links=links, distance=distance)


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Steps of all episodes, flat; N steps, M episodes."""

    features: Tensor  # [N, F]
    link_mask: Tensor  # bool [N, LINKS]
    chosen: Tensor  # [N] column of the flat actions
    log_behaviour: Tensor  # [N]
    advantage: Tensor  # [N]
    success: float


class Maze:
    """One learner in one maze."""

    def __init__(self, *, seed: int, num_versions: int, is_corrected: bool) -> None:
        self._rng = np.random.default_rng(seed)
        self._graph = Graph.draw(self._rng)
        self._num_versions = num_versions
        self._is_corrected = is_corrected
        generator = torch.Generator().manual_seed(seed)
        self._weights = {
            "hidden": torch.randn(_FEATURES, WIDTH, generator=generator) / _FEATURES**0.5,
            "types": torch.zeros(WIDTH, 3),
            "links": torch.zeros(WIDTH, LINKS),
        }
        self._weights = {n: nn.Parameter(w) for n, w in self._weights.items()}
        self._reference = {n: w.detach().clone() for n, w in self._weights.items()}
        self._history = deque([self._snapshot()], maxlen=num_versions)
        # A weak KL term: a strong one holds a wrong gradient back and hides what is compared here.
        self._config = ObjectiveConfig(
            step_weight=0.0, kl_initial=1e-3, kl_max=1e-3, kl_target_nats=1e-6
        )
        self._optimizer = torch.optim.Adam(list(self._weights.values()), lr=3e-3)
        self._scales = LayerScales(3, decay=0.9, min_scale=0.1)
        self._controller = KLController(self._config)

    def train(self, updates: int) -> list[float]:
        """Success of each update's rollouts, whose members act with old weights too."""
        return [self._update() for _ in range(updates)]

    def success(self, episodes: int = 4) -> float:
        """Of the present weights, over `episodes` batches."""
        newest = [self._snapshot()]
        return float(np.mean([self._rollout(newest).success for _ in range(episodes)]))

    # --- Acting ----------------------------------------------------------------------------------

    def _snapshot(self) -> Weights:
        return {name: value.detach().clone() for name, value in self._weights.items()}

    def _rollout(self, versions: list[Weights]) -> Rollout:
        """24 groups of four; every member acts with one of `versions`."""
        rng, graph, total = self._rng, self._graph, GROUPS * SIZE
        picks = rng.integers(len(versions), size=total)
        stacked = {n: torch.stack([versions[i][n] for i in picks]) for n in versions[0]}
        page = np.repeat(rng.integers(PAGES, size=GROUPS), SIZE)
        shift = np.repeat(rng.integers(1, PAGES, size=GROUPS), SIZE)
        goal = (page + shift) % PAGES
        best = graph.distance[page, goal].copy()
        seen = np.zeros((total, PAGES), dtype=bool)
        seen[np.arange(total), page] = True
        is_alive = np.ones(total, dtype=bool)
        is_right = np.zeros(total, dtype=bool)
        steps: list[list[tuple[Tensor, Tensor, int, float]]] = [[] for _ in range(total)]
        rewards: list[list[np.ndarray]] = [[] for _ in range(total)]
        for step in range(MAX_STEPS):
            features = self._features(page, goal, step)
            link_mask = torch.from_numpy(graph.links[page] >= 0)
            with torch.no_grad():
                hidden = torch.tanh(torch.bmm(features[:, None], stacked["hidden"]))
                types = torch.bmm(hidden, stacked["types"])[:, 0]
                links = torch.bmm(hidden, stacked["links"])[:, 0]
                log_action = _distribution(types, links, link_mask).log_action
            chances = log_action.exp().numpy().cumsum(1)
            columns = (rng.random((total, 1)) * chances[:, -1:] > chances).sum(1)
            columns = columns.clip(max=LINKS + 1)
            for i in np.flatnonzero(is_alive):
                column, reward = int(columns[i]), np.zeros(3)
                log_prob = float(log_action[i, column])
                steps[i].append((features[i], link_mask[i], column, log_prob))
                if column < LINKS:
                    page[i] = graph.links[page[i], column]
                    reward[0] = 0.2 * (not seen[i, page[i]])
                    seen[i, page[i]] = True
                    gap = best[i] - graph.distance[page[i], goal[i]]
                    reward[1] = max(gap, 0) / PAGES
                    best[i] -= max(gap, 0)
                elif column == LINKS + ANSWER - 1:
                    is_alive[i] = False
                    is_right[i] = page[i] == goal[i]
                    reward[2] = is_right[i]
                rewards[i].append(reward)
        return self._assemble(steps, rewards, float(is_right.mean()))

    def _features(self, page: np.ndarray, goal: np.ndarray, step: int) -> Tensor:
        eye = np.eye(PAGES, dtype=np.float32)
        rest = np.stack([page == goal, np.full(len(page), 1 - step / MAX_STEPS)], 1)
        return torch.from_numpy(np.concatenate([eye[page], eye[goal], rest], 1, dtype=np.float32))

    def _assemble(
        self,
        steps: list[list[tuple[Tensor, Tensor, int, float]]],
        rewards: list[list[np.ndarray]],
        success: float,
    ) -> Rollout:
        returns = [discounted_returns(np.stack(r), self._config.discounts) for r in rewards]
        groups = [
            leave_one_out_deviations(returns[i : i + SIZE]) for i in range(0, len(returns), SIZE)
        ]
        self._scales.update(groups)
        values = [
            advantages(
                d, layer_weights=_LAYER_WEIGHTS, scales=self._scales.scales, max_advantage=5.0
            )
            for group in groups
            for d in group
        ]
        flat = [step for episode in steps for step in episode]
        return Rollout(
            features=torch.stack([s[0] for s in flat]),
            link_mask=torch.stack([s[1] for s in flat]),
            chosen=torch.tensor([s[2] for s in flat]),
            log_behaviour=torch.tensor([s[3] for s in flat]),
            advantage=torch.from_numpy(np.concatenate(values)).float(),
            success=success,
        )

    # --- Learning --------------------------------------------------------------------------------

    def _evaluate(self, weights: Weights, batch: Rollout, rows: Tensor) -> Distribution:
        hidden = torch.tanh(batch.features[rows] @ weights["hidden"])
        return _distribution(
            hidden @ weights["types"], hidden @ weights["links"], batch.link_mask[rows]
        )

    def _update(self) -> float:
        batch = self._rollout(list(self._history))
        everything = torch.arange(len(batch.chosen))
        with torch.no_grad():
            prox = self._evaluate(self._weights, batch, everything).log_action
            log_prox = prox.gather(1, batch.chosen[:, None])[:, 0]
        log_behaviour = batch.log_behaviour if self._is_corrected else log_prox
        kls = []
        for _ in range(2):
            order = torch.from_numpy(self._rng.permutation(len(everything)))
            for rows in order.tensor_split(4):
                loss, kl = self._loss(batch, rows, log_prox, log_behaviour)
                self._optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(list(self._weights.values()), 1.0)
                self._optimizer.step()
                kls.append(kl)
        self._controller.update(float(np.mean(kls)))
        with torch.no_grad():
            for name, kept in self._reference.items():
                kept.lerp_(self._weights[name], 0.05)
        self._history.append(self._snapshot())
        return batch.success

    def _loss(
        self, batch: Rollout, rows: Tensor, log_prox: Tensor, log_behaviour: Tensor
    ) -> tuple[Tensor, float]:
        policy = self._evaluate(self._weights, batch, rows)
        with torch.no_grad():
            reference = self._evaluate(self._reference, batch, rows)
        term = outcome_loss(
            policy.log_action.gather(1, batch.chosen[rows, None])[:, 0],
            log_prox[rows],
            log_behaviour[rows],
            batch.advantage[rows],
            torch.ones(len(rows), dtype=torch.bool),
            config=self._config,
        )
        legal = _legal(batch.link_mask[rows])
        kl = action_aware_kl(policy, reference, legal, _MULTIPLIERS)
        of_type, of_arguments = normalised_entropies(policy, legal)
        regular = self._controller.weight * kl - 0.01 * of_type - 0.003 * of_arguments
        with torch.no_grad():
            plain = float(kl_divergence(policy, reference, legal).mean())
        return (term.loss + regular).mean(), plain


def _legal(link_mask: Tensor) -> Legal:
    always = torch.ones(len(link_mask), 2, dtype=torch.bool)
    return Legal(
        type_mask=torch.ones(len(link_mask), 3, dtype=torch.bool),
        flat_type=_FLAT_TYPE.expand(len(link_mask), -1),
        flat_mask=torch.cat([link_mask, always], 1),
    )


def _distribution(types: Tensor, links: Tensor, link_mask: Tensor) -> Distribution:
    log_type = torch.log_softmax(types, 1)
    log_link = torch.log_softmax(links.masked_fill(~link_mask, -1e9), 1)
    log_click = (log_type[:, :1] + log_link).masked_fill(~link_mask, -1e9)
    return Distribution(log_type=log_type, log_action=torch.cat([log_click, log_type[:, 1:]], 1))
