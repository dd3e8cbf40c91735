# SPDX-License-Identifier: Apache-2.0
"""Mixes of kinds and languages: what may be written, and what comes at which index."""

import collections

import pytest

from envs.config import WebConfig
from envs.web.mix import KIND_STEP, KINDS, LANGUAGE_STEP, LANGUAGES, name_at, parse_mix
from envs.web.questions import QUESTION_KINDS
from envs.web.texts import languages


def test_every_kind_and_language_that_can_be_named_exists() -> None:
    assert set(KINDS) == set(QUESTION_KINDS)
    assert set(LANGUAGES) == set(languages.LANGUAGES)


def test_shares_follow_from_the_weights() -> None:
    assert parse_mix(("fuzzy:3", "look_up"), KINDS, key="k") == {"fuzzy": 0.75, "look_up": 0.25}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (("fuzy",), "did you mean 'fuzzy'"),
        (("fuzzy:0",), "expected a weight > 0"),
        (("fuzzy:nan",), "expected a weight > 0"),
        (("fuzzy:x",), "expected a weight > 0"),
        (("fuzzy", "fuzzy:2"), "expected each name once"),
    ],
)
def test_a_senseless_mix_is_refused_by_its_key(entries: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^env.web.kinds: .*{message}"):
        WebConfig(kinds=entries)


def test_a_mix_without_a_language_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^env.web.languages: expected at least one"):
        WebConfig(languages=())


@pytest.mark.parametrize("count", [30, 100, 300])
def test_any_run_of_tasks_has_the_shares_of_the_mix(count: int) -> None:
    shares = parse_mix(("look_up", "two_hop:2", "fuzzy:3"), KINDS, key="k")
    for start in range(0, 3000, 97):
        names = [name_at(i, shares, KIND_STEP) for i in range(start, start + count)]
        for name, share in shares.items():
            assert abs(names.count(name) - share * count) <= 3


def test_kinds_and_languages_are_mixed_independently() -> None:
    kinds = parse_mix(KINDS, KINDS, key="k")
    spoken = {"en": 0.5, "zh": 0.5}
    pairs = collections.Counter(
        (name_at(i, kinds, KIND_STEP), name_at(i, spoken, LANGUAGE_STEP)) for i in range(1200)
    )
    assert len(pairs) == 12 and max(pairs.values()) - min(pairs.values()) <= 10
