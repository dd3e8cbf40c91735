# SPDX-License-Identifier: Apache-2.0
"""What a query is worth for a page that the question only describes."""

from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import make_task_set
from envs.spans import draw_spans
from envs.types import Split
from envs.web.guide import query_fit
from envs.web.search_fit import search_fit
from envs.web.sites.search import index_of


def test_a_described_page_is_worth_by_its_rank_and_a_named_one_by_its_name() -> None:
    web = WebConfig(kinds=("fuzzy", "look_up"))
    tasks = make_task_set(EnvConfig(driver=DriverKind.TWIN, web=web))
    described = 0
    for task in (tasks.task(Split.TRAIN, index) for index in range(12)):
        item = task.truth.evidence[0]
        spans = [span.text for span in draw_spans(task.prompt.question, ())]
        if not item.clues:
            assert [search_fit(s, item, task) for s in spans] == [query_fit(s, item) for s in spans]
            continue
        described += 1
        assert search_fit(item.subject, item, task) == 1.0
        index = index_of(task.world_seed, task.split, task.language)
        for query in spans:
            urls = [hit.url for hit in index.search(query)]
            by_name = query_fit(query, item, use_clues=False)
            by_rank = 0.9 / (1 + urls.index(item.url) / 5) if item.url in urls else 0.0
            assert search_fit(query, item, task) == max(by_name, by_rank)
    assert described > 3
