# SPDX-License-Identifier: Apache-2.0
"""The parts of the three reward layers: pure functions from an `Episode` to float32 [T].

Every part pays for an event the first time it happens, so waiting, reloading and going back and
forth earn nothing (a per-step reward for a working page would pay up to the number of steps).
Totals of one episode are bounded: base parts by `base_cap`, the others by the task's evidence.
URLs are equal when they agree exactly without their fragment.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urldefrag

import cv2
import numpy as np

from envs.answers import is_accepted
from envs.types import Episode, EvidenceItem, StepEvidence
from reward_server.config import RewardConfig

# --- base: the page works ----------------------------------------------------------------------


def new_page(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.new_page` for each URL that finished loading for the first time, capped."""
    return _capped((config.new_page * step.is_new_page for step in episode.steps), config.base_cap)


def images(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.failed_images` times the share of a new page's images that failed, capped."""
    return _capped(
        (config.failed_images * _failed_share(step) for step in episode.steps), config.base_cap
    )


def blank_page(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.blank_page` for each new page whose screenshot is almost uniform, capped.

    Steps without a screenshot are not judged; one that cannot be decoded raises `ValueError`.
    """
    return _capped(
        (
            config.blank_page * (step.is_new_page and _is_blank(step, config.blank_std))
            for step in episode.steps
        ),
        config.base_cap,
    )


def invalid_action(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.invalid_action` for each action without effect, capped."""
    return _capped(
        (config.invalid_action * (step.effect != "ok") for step in episode.steps), config.base_cap
    )


# --- nav: getting closer -------------------------------------------------------------------------


def evidence_visit(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.evidence_visit` for the first visit to each evidence page; the start page is free."""
    unseen = {_page(item.url) for item in episode.task.truth.evidence}
    unseen.discard(_page(episode.task.prompt.start_url))
    values = np.zeros(len(episode.steps), dtype=np.float32)
    for t, step in enumerate(episode.steps):
        if _page(step.url) in unseen:
            unseen.remove(_page(step.url))
            values[t] = config.evidence_visit
    return values


def potential(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.potential * (discount * Phi_t - Phi_{t-1})`, Phi the closest that the agent has been.

    `Phi_t = max over k <= t of truth.potential[url_k]`, with the start page at k = 0. The maximum
    makes leaving and coming back worth nothing. With `potential_discount = 1` the sum over an
    episode is `Phi_T - Phi_0` and a step that gets no closer is worth 0. With the discount of the
    nav layer it is the shaping of Ng, Harada and Russell (1999) but for its terminal term: the
    discounted sum telescopes, and every step that gets no closer costs `(1 - discount) * Phi`.
    """
    by_page = {_page(url): value for url, value in episode.task.truth.potential.items()}
    closest = by_page.get(_page(episode.task.prompt.start_url), 0.0)
    values = np.zeros(len(episode.steps), dtype=np.float32)
    for t, step in enumerate(episode.steps):
        before, closest = closest, max(closest, by_page.get(_page(step.url), 0.0))
        values[t] = config.potential * (config.potential_discount * closest - before)
    return values


# --- semantic: the answer ------------------------------------------------------------------------


def evidence_extracted(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.evidence_extracted` for the first extraction of each evidence item.

    An extraction that holds several items at once is paid for each, up to 1.
    """
    missing = list(episode.task.truth.evidence)
    values = np.zeros(len(episode.steps), dtype=np.float32)
    for t, step in enumerate(episode.steps):
        found = [item for item in missing if _holds(step, item)]
        missing = [item for item in missing if item not in found]
        values[t] = min(1.0, config.evidence_extracted * len(found))
    return values


def answer(episode: Episode, config: RewardConfig) -> np.ndarray:
    """`config.right_answer` or `config.wrong_answer` at the step that answered."""
    values = np.zeros(len(episode.steps), dtype=np.float32)
    answered = [t for t, step in enumerate(episode.steps) if step.answer]
    if answered:
        is_right = is_accepted(episode.steps[answered[-1]].answer, episode.task.truth.answers)
        values[answered[-1]] = config.right_answer if is_right else config.wrong_answer
    return values


# --- what the parts are made of ------------------------------------------------------------------


def _capped(values: Iterable[float], cap: float) -> np.ndarray:
    """The values, all of one sign, until their sum reaches `cap` in size; 0 from there on."""
    values = np.fromiter(values, dtype=np.float64)
    total = np.clip(np.cumsum(values), -cap, cap)
    return np.diff(total, prepend=0.0).astype(np.float32)


def _page(url: str) -> str:
    return urldefrag(url).url


def _failed_share(step: StepEvidence) -> float:
    if not step.is_new_page or step.num_images <= 0:
        return 0.0
    return min(1.0, step.num_images_failed / step.num_images)


def _is_blank(step: StepEvidence, max_std: float) -> bool:
    if not step.screenshot_jpeg:
        return False
    data = np.frombuffer(step.screenshot_jpeg, dtype=np.uint8)
    grey = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE)
    if grey is None:
        raise ValueError(
            f"expected a JPEG as the screenshot of {step.url}, got {len(data)} bytes that are not"
        )
    return float(grey.std()) < max_std


def _holds(step: StepEvidence, item: EvidenceItem) -> bool:
    return (
        bool(step.extracted_text)
        and _page(step.extracted_url) == _page(item.url)
        and all(needle in step.extracted_text for needle in item.needles)
    )
