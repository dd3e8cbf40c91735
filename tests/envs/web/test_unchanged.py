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
    Split.TRAIN: "1b142aa7329fa232643034411f279c50727b10bd9d7c2289583414e01b896711",
    Split.VALIDATION: "8e67a375f10cd22f4e3ce7070781a94f155fd3d82c904d8f6d240edf17703a03",
    Split.TEST: "c830d8638679dbdd67fb0f3a83ae1e71deb38c68ffa7c4b7097064733b7d47fe",
}
GOLDEN_PAGES = {
    Split.TRAIN: "a091d89562a90f4d9378b4c5cd20d8669bbc951c582fd5646ac757db3dd7ea21",
    Split.TEST: "0af6a1b9534859461a4caae91e33185b3edc59ff61b6350a934a9dcc1314bc3e",
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
