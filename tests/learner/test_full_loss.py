# SPDX-License-Identifier: Apache-2.0
"""The loss as the learner builds it, every term on, in float64 against finite differences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from agent.policy import PolicyBatch
from envs.actions import ACTION_SPECS
from learner import objective
from learner.config import Candidates, LearnerConfig, ObjectiveConfig, RatioCap, StepLoss
from learner.credit import CreditAssigner
from learner.loss import Loss, Weights, of_chosen
from learner.metrics import Means
from learner.minibatch import Anchors, Minibatch, build_minibatch
from learner.objective import Distribution
from learner.update import Learner
from tests.learner.tiny_policy import TinyPolicy, random_group

MULTIPLIERS = torch.tensor([spec.kl_multiplier for spec in ACTION_SPECS], dtype=torch.float64)
WEIGHTS = Weights(outcome=0.7, step=0.9, kl=0.05, num_candidates=4)
VARIANTS = {
    "default": ObjectiveConfig(),
    "clamp_and_floor": ObjectiveConfig(ratio_cap=RatioCap.CLAMP, entropy_floor=0.99),
    "pairs_by_type": ObjectiveConfig(
        step_loss=StepLoss.BRADLEY_TERRY, candidates=Candidates.BY_TYPE
    ),
    "ranks_by_type": ObjectiveConfig(
        step_loss=StepLoss.PLACKETT_LUCE, candidates=Candidates.BY_TYPE
    ),
    "list_by_type": ObjectiveConfig(candidates=Candidates.BY_TYPE),
}


def _double(minibatch: Minibatch) -> Minibatch:
    """The same in float64."""

    def convert(value: object) -> object:
        is_float = isinstance(value, Tensor) and value.is_floating_point()
        return value.double() if is_float else value  # type: ignore[attr-defined]

    states = {
        f.name: convert(getattr(minibatch.states, f.name)) for f in dataclasses.fields(PolicyBatch)
    }
    parts = {f.name: convert(getattr(minibatch, f.name)) for f in dataclasses.fields(Minibatch)}
    parts["states"] = PolicyBatch(**states)  # type: ignore[arg-type]
    return Minibatch(**parts)  # type: ignore[arg-type]


def _evaluate(policy: TinyPolicy, minibatch: Minibatch) -> Distribution:
    output = policy(minibatch.states)
    return Distribution(log_type=output.log_type, log_action=output.log_action)


class _Problem:
    """A batch taken by old weights, prox and reference of their own, a policy that has moved."""

    def __init__(self, config: ObjectiveConfig) -> None:
        self.config = config
        behaviour = TinyPolicy(seed=0)
        rng = np.random.default_rng(0)
        groups = [random_group(rng, f"g{i}", policy=behaviour) for i in range(2)]
        batch = CreditAssigner(config, max_lag=8).assign(groups, policy_version=0, means=Means())
        self.steps_per_unit = batch.steps_per_unit
        self.minibatch = _double(build_minibatch(batch.samples, device="cpu"))
        self.policy = TinyPolicy(seed=0).double()
        with torch.no_grad():
            prox = _evaluate(_moved(self.policy, 1, 0.05), self.minibatch)
            reference = _evaluate(_moved(self.policy, 2, 0.1), self.minibatch)
        log_prox = of_chosen(prox, self.minibatch)
        self.anchor = Anchors(log_prox=log_prox, prox=prox, reference=reference)

    def loss(self) -> Tensor:
        # The same generator each time: the draw of the candidates is no function of the weights.
        terms = Loss(self.config, MULTIPLIERS, np.random.default_rng(7))
        output = _evaluate(self.policy, self.minibatch)
        outcome = terms.outcome(output, self.minibatch, self.anchor, self.steps_per_unit, Means())
        states = terms.of_states(output, self.minibatch, self.anchor.reference, WEIGHTS, Means())
        return WEIGHTS.outcome * outcome + states


def _moved(policy: TinyPolicy, seed: int, size: float) -> TinyPolicy:
    moved = TinyPolicy().double()
    moved.load_state_dict(policy.state_dict())
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in moved.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += size * noise
    return moved


@pytest.mark.parametrize("name", list(VARIANTS))
def test_the_gradient_of_the_full_loss_matches_finite_differences(name: str) -> None:
    problem = _Problem(VARIANTS[name])
    parameters = list(problem.policy.parameters())
    problem.loss().backward()
    exact = torch.cat([p.grad.flatten() for p in parameters])
    generator = torch.Generator().manual_seed(3)
    # Random directions instead of coordinates: as strict, and the clip's kinks are not near.
    for _ in range(6):
        direction = torch.randn(exact.shape, generator=generator, dtype=torch.float64)
        width, slopes = 1e-6, []
        for sign in (1.0, -1.0):
            _shift(parameters, sign * width * direction)
            slopes.append(problem.loss().item())
            _shift(parameters, -sign * width * direction)
        numeric = (slopes[0] - slopes[1]) / (2 * width)
        along = float(exact @ direction)
        assert abs(along - numeric) < 1e-6 * exact.norm() * direction.norm()


def _shift(parameters: list[torch.nn.Parameter], by: Tensor) -> None:
    with torch.no_grad():
        start = 0
        for parameter in parameters:
            stop = start + parameter.numel()
            parameter += by[start:stop].reshape(parameter.shape)
            start = stop


def test_every_term_takes_part() -> None:
    """Each changes the gradient, so that none of them is only there in name."""
    base = VARIANTS["clamp_and_floor"]
    changes = [
        {"clip_low": 0.0, "clip_high": 0.0},
        {"step_temperature": 1.0},
        {"entropy_type": 0.5},
        {"entropy_argument": 0.5},
        {"entropy_floor": 0.0},
        {"max_importance_ratio": 1.0},
    ]
    gradients = []
    for change in ({}, *changes):
        problem = _Problem(dataclasses.replace(base, **change))
        problem.loss().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in problem.policy.parameters()]))
    for changed in gradients[1:]:
        assert (changed - gradients[0]).norm() > 1e-4 * gradients[0].norm()


def test_parts_of_a_batch_add_up_to_the_whole() -> None:
    """Constants are denominators: weighted by their sizes, minibatches average to the batch."""
    config = ObjectiveConfig()
    policy = TinyPolicy(seed=0)
    group = random_group(np.random.default_rng(0), "g", policy=policy)
    batch = CreditAssigner(config, max_lag=8).assign([group], policy_version=0, means=Means())
    moved = _moved(policy.double(), 4, 0.1)

    def gradient(samples: list) -> Tensor:  # type: ignore[type-arg]
        minibatch = _double(build_minibatch(samples, device="cpu"))
        with torch.no_grad():
            prox = _evaluate(policy, minibatch)
        anchor = Anchors(log_prox=of_chosen(prox, minibatch), prox=prox, reference=prox)
        terms = Loss(config, MULTIPLIERS, np.random.default_rng(0))
        output = _evaluate(moved, minibatch)
        loss = terms.outcome(output, minibatch, anchor, batch.steps_per_unit, Means())
        loss = loss + terms.of_states(output, minibatch, prox, WEIGHTS, Means())
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(moved.parameters()))])

    whole = gradient(batch.samples)
    cut = len(batch.samples) // 3
    parts = [batch.samples[:cut], batch.samples[cut:]]
    summed = sum(len(p) / len(batch.samples) * gradient(p) for p in parts)
    assert (whole - summed).norm() < 1e-12 * whole.norm()


def test_probabilities_of_the_legal_actions_add_up_to_one() -> None:
    problem = _Problem(ObjectiveConfig())
    output = _evaluate(problem.policy, problem.minibatch)
    mask = problem.minibatch.legal.flat_mask
    total = torch.where(mask, output.log_action.exp(), 0.0).sum(dim=1)
    assert (total - 1).abs().max() < 1e-12


# --- What may end or thin out an update -----------------------------------------------------------


def test_stale_episodes_are_judged_by_their_mean_and_lose_only_bad_steps() -> None:
    gap = torch.tensor([0.5, 0.3, 0.0, -2.0, 1.0])
    episode = torch.tensor([0, 0, 1, 1, 2])
    got = objective.stale_episodes(gap, episode, 3, limit_nats=0.3)
    assert got.tolist() == [True, False, True]


def test_an_episode_far_off_the_policy_trains_only_where_it_did_well() -> None:
    far = np.array([-0.01, 0, 0], dtype=np.float32)  # it was nearly sure of what it did
    policy = TinyPolicy()
    group = random_group(np.random.default_rng(0), "g", policy=policy, with_utilities=False)
    members = []
    for member in group.members:
        steps = tuple(dataclasses.replace(s, log_prob_by_head=far) for s in member.trajectory.steps)
        trajectory = dataclasses.replace(member.trajectory, steps=steps)
        members.append(dataclasses.replace(member, trajectory=trajectory))
    group = dataclasses.replace(group, members=tuple(members))
    config = LearnerConfig(objective=ObjectiveConfig(step_weight=0.0, stale_episode_nats=0.5))
    metrics = Learner(policy, config).update([group], progress=0.0).metrics
    assert metrics["learner/episodes_off_policy"] == 4
    off = dataclasses.replace(config, objective=ObjectiveConfig(step_weight=0.0))
    plain = Learner(TinyPolicy(), off).update([group], progress=0.0).metrics
    assert metrics["learner/outcome_loss"] < plain["learner/outcome_loss"]


def test_epochs_end_when_the_policy_has_left_prox() -> None:
    policy = TinyPolicy()
    group = random_group(np.random.default_rng(0), "g", policy=policy)
    config = LearnerConfig(
        learning_rate=0.1,
        final_learning_rate=0.1,
        epochs=20,
        step_replay_updates=0,
        objective=ObjectiveConfig(prox_kl_limit_nats=0.03),
    )
    metrics = Learner(policy, config).update([group], progress=0.0).metrics
    assert metrics["learner/epochs_ended_early"] == 1
    assert 1 <= metrics["learner/optimizer_steps"] < 20
    assert metrics["learner/kl_prox_max_nats"] > 0.03


def test_the_entropy_floor_pulls_the_mean_up_and_is_silent_above() -> None:
    of_type = torch.tensor([0.0, 0.1, 0.2])
    assert objective.entropy_shortfall(of_type, 0.2).item() == pytest.approx(0.1)
    assert objective.entropy_shortfall(of_type + 0.2, 0.2).item() == 0.0
