# SPDX-License-Identifier: Apache-2.0
"""The search engine's shortcuts say what the plain rules say."""

import random

from envs.config import Templates
from envs.types import Split
from envs.web.search_index import best_line, words_of
from envs.web.sites.search import index_of
from envs.web.world import build_world


def plainly_best(lines: list[str], wanted: set[str]) -> str:
    return max(lines, key=lambda line: (len(wanted.intersection(words_of(line))), len(line)))


def test_the_best_line_of_a_page_has_most_words_of_the_query_and_of_those_is_the_longest():
    draw = random.Random(5)
    for language in ("en", "zh"):
        pages = index_of(2001, Split.TRAIN, language).pages
        for _ in range(150):
            lines = draw.choice(pages).text.split("\n")
            other = draw.choice(pages)
            words = words_of(f"{other.title} {draw.choice(lines)} {other.text[:60]}")
            wanted = set(draw.sample(words, min(len(words), draw.randrange(9))))
            assert best_line(lines, wanted) == plainly_best(lines, wanted)


def test_parts_of_words_do_not_count_as_words():
    lines = ["The marketing of markets is marked.", "A mark."]
    assert best_line(lines, {"mark"}) == "A mark."


def test_a_world_and_its_index_are_built_once_however_they_are_asked_for() -> None:
    world = build_world(1, Split.TRAIN)
    assert build_world(1, Split.TRAIN, "en", Templates.TRAIN) is world
    assert build_world(1, split=Split.TRAIN, templates=Templates.TRAIN, language="en") is world
    index = index_of(1, Split.TRAIN, "en")
    assert index_of(1, Split.TRAIN, "en", Templates.TRAIN) is index
    assert index_of(1, Split.TRAIN, language="en", templates=Templates.TRAIN) is index
