# SPDX-License-Identifier: Apache-2.0
"""With default settings the embedded web is what it was when the README's figures were measured."""

import hashlib
import json

from envs.config import WebConfig
from envs.types import Split, Task
from envs.web.sites.results import results_url
from envs.web.task_set import EmbeddedTaskSet
from tests.envs.web.page_reader import get

WIKI, POLICY, DEALS = (f"http://{h}.forage.test/" for h in ("wiki", "policy", "deals"))
NUM_TASKS = 12
NUM_TASKS_WITH_PAGES = 5

GOLDEN_TASKS = {
    Split.TRAIN: "78669f8b23e94338608b23b3d7f53b88099fe18d6abb746386ff511d14a080b1",
    Split.VALIDATION: "68626f0dc0e90bbf0402ff3dbf51eb937296ce047fc748b19d3c81e49fb8b2bc",
    Split.TEST: "89b44e425f2bf810b7715ee92255281cbd022bf630094a3f8ed2c126efb1fdd9",
}
GOLDEN_PAGES = {
    Split.TRAIN: "420a871391c337be41a12187d2bac872cd5d4b3a45f92c34760dc65fdd44f0f1",
    Split.TEST: "db749e7e1fbc07eb65570f25fd0bd2c5ed43f1478225b1464e158c74208e34cd",
}


def _told(task: Task) -> object:
    """Everything of a task that stood in it when the digests were taken."""
    evidence = [[e.subject, e.url, list(e.needles), e.value] for e in task.truth.evidence]
    prompt, truth = task.prompt, task.truth
    return [
        [task.task_id, task.kind, task.language, task.world_seed, task.task_seed],
        [prompt.question, prompt.start_url, prompt.max_steps],
        [list(truth.answers), evidence, dict(truth.potential), list(task.layer_weights)],
    ]


def test_default_tasks_are_what_they_were() -> None:
    tasks = EmbeddedTaskSet(WebConfig(), max_steps=20)
    for split, golden in GOLDEN_TASKS.items():
        told = [_told(tasks.task(split, index)) for index in range(NUM_TASKS)]
        assert hashlib.sha256(json.dumps(told).encode()).hexdigest() == golden, split


def test_default_pages_are_what_they_were() -> None:
    tasks = EmbeddedTaskSet(WebConfig(), max_steps=20)
    for split, golden in GOLDEN_PAGES.items():
        digest = hashlib.sha256()
        for index in range(NUM_TASKS_WITH_PAGES):
            task = tasks.task(split, index)
            site = tasks.site(task)
            urls = [task.prompt.start_url, results_url(task.prompt.question), WIKI, POLICY, DEALS]
            urls += [results_url("city council market", 2), results_url("zzzz"), WIKI + "wiki/No"]
            urls += [WIKI + "categories", WIKI + "category/Chemist?page=2", POLICY + "agencies"]
            urls += [POLICY + "years", POLICY + "topic/Air%20quality", POLICY + "sign-in"]
            urls += [item.url for item in task.truth.evidence]
            for url in urls:
                response = get(site, url)
                digest.update(repr((url, response.status, response.delay_s)).encode())
                digest.update(response.body)
        assert digest.hexdigest() == golden, split
