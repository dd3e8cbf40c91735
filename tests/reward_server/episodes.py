# SPDX-License-Identifier: Apache-2.0
"""Episodes for the tests of the scorer: a small task, its steps by keyword, and random ones."""

from __future__ import annotations

import cv2
import numpy as np

from envs.types import (
    Episode,
    EvidenceItem,
    Split,
    StepEvidence,
    StopReason,
    Task,
    TaskPrompt,
    TaskTruth,
)

START = "http://search.forage.test/"
BRIDGE = "http://wiki.forage.test/person/1"
GOAL = "http://wiki.forage.test/city/2"
ASIDE = "http://wiki.forage.test/city/3"
RESULTS = "http://search.forage.test/search?q=mayor"

TASK = Task(
    task_id="test-1",
    kind="two_hop",
    split=Split.TRAIN,
    language="en",
    world_seed=1,
    task_seed=2,
    prompt=TaskPrompt(question="Where was the mayor born?", start_url=START, max_steps=200),
    truth=TaskTruth(
        answers=("Orlavia",),
        evidence=(
            EvidenceItem(subject="Town", url=BRIDGE, needles=("mayor", "Ada Vree"), value="Ada"),
            EvidenceItem(
                subject="Ada Vree", url=GOAL, needles=("born", "Orlavia"), value="Orlavia"
            ),
        ),
        potential={START: 0.2, RESULTS: 0.4, BRIDGE: 0.6, GOAL: 1.0},
    ),
)
BRIDGE_TEXT = "Since 2019 the mayor is Ada Vree."
GOAL_TEXT = "Ada Vree was born in Orlavia."


def step(**changes: object) -> StepEvidence:
    """A wait on the start page that changed nothing, but for `changes`."""
    fields: dict[str, object] = {
        "action_type": "wait_ms",
        "effect": "ok",
        "url": START,
        "title": "",
        "is_new_page": False,
        "num_images": 0,
        "num_images_failed": 0,
        "settle_ms": 0.0,
        "extracted_text": "",
        "extracted_url": "",
        "answer": "",
        "is_exogenous": False,
        "screenshot_jpeg": b"",
    }
    return StepEvidence(**(fields | changes))  # type: ignore[arg-type]


def visit(url: str, **changes: object) -> StepEvidence:
    """A click that led to `url`."""
    return step(**({"action_type": "click", "url": url} | changes))


def extract(text: str, url: str, **changes: object) -> StepEvidence:
    """A successful extract_text on the page `url`."""
    fields = {
        "action_type": "extract_text",
        "url": url,
        "extracted_text": text,
        "extracted_url": url,
    }
    return step(**(fields | changes))


def answer(text: str, **changes: object) -> StepEvidence:
    """The step that answers."""
    return step(**({"action_type": "answer", "answer": text} | changes))


def episode(*steps: StepEvidence, stop: StopReason | None = None, task: Task = TASK) -> Episode:
    """An attempt of these steps; it counts as answered when its last step answers."""
    final_answer = steps[-1].answer if steps else ""
    ended = StopReason.ANSWERED if final_answer else StopReason.STEP_LIMIT
    return Episode(
        trajectory_id="trajectory-1",
        group_id="group-1",
        task=task,
        steps=steps,
        final_answer=final_answer,
        stop=stop or ended,
    )


def jpeg(image: np.ndarray) -> bytes:
    """A JPEG of a uint8 image."""
    ok, data = cv2.imencode(".jpg", image)
    assert ok
    return data.tobytes()


def random_episode(seed: int) -> Episode:
    """1 to 200 steps drawn from everything that can happen, likely or not."""
    rng = np.random.default_rng(seed)
    urls = (START, RESULTS, BRIDGE, GOAL, ASIDE, GOAL + "#top")
    texts = ("", BRIDGE_TEXT, GOAL_TEXT, BRIDGE_TEXT + GOAL_TEXT, "nothing of use")
    steps = []
    for _ in range(int(rng.integers(1, 201))):
        num_images = int(rng.integers(0, 4))
        steps.append(
            step(
                action_type="click",
                effect=str(rng.choice(["ok", "target_gone"])),
                url=str(rng.choice(urls)),
                is_new_page=bool(rng.random() < 0.5),
                num_images=num_images,
                num_images_failed=int(rng.integers(0, num_images + 1)),
                extracted_text=str(rng.choice(texts)),
                extracted_url=str(rng.choice(urls)),
                is_exogenous=bool(rng.random() < 0.2),
            )
        )
    steps.append(answer(str(rng.choice(["Orlavia", "Elsewhere"]))))
    return episode(*steps)
