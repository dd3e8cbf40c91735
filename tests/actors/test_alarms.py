# SPDX-License-Identifier: Apache-2.0
"""Each alarm goes on and off at its bound; groups that teach nothing end a run."""

from __future__ import annotations

import pytest

from actors.alarms import (
    ENTROPY_KEY,
    Alarms,
    AttemptFacts,
    UnusableGroups,
    duplicate_share,
    layer_share,
)
from actors.config import AlarmConfig

CONFIG = AlarmConfig(
    window=4, max_layer_share=0.8, max_duplicate_share=0.4, min_steps=2.0, min_entropy=0.1
)


def facts(
    number: int,
    *,
    group: str = "g",
    fingerprint: str = "",
    num_steps: int = 5,
    sizes: tuple[float, float, float] = (0.1, 0.2, 0.3),
) -> AttemptFacts:
    return AttemptFacts(
        group_id=group,
        fingerprint=fingerprint or f"f{number}",
        num_steps=num_steps,
        reward_sizes=sizes,
    )


def names(alarms: Alarms) -> list[str]:
    return [alarm.partition(":")[0] for alarm in alarms.active()]


def filled(*attempts: AttemptFacts) -> Alarms:
    alarms = Alarms(CONFIG)
    for attempt in attempts:
        alarms.attempt(attempt)
    return alarms


def test_a_healthy_run_has_no_alarm():
    alarms = filled(*(facts(i) for i in range(9)))
    alarms.update({ENTROPY_KEY: 0.5})
    assert names(alarms) == []


def test_no_alarm_is_judged_over_too_few_attempts():
    bad = facts(0, fingerprint="x", num_steps=1, sizes=(1.0, 0.0, 0.0))
    assert names(filled(bad, bad, bad)) == []
    assert names(filled(bad, bad, bad, bad)) == ["layer-share", "duplicates", "length-collapse"]


def test_one_layer_that_makes_up_nearly_all_reward_is_named_until_it_no_longer_does():
    alarms = filled(*(facts(i, sizes=(0.9, 0.05, 0.05)) for i in range(4)))
    assert alarms.active() == (
        "layer-share: 90% of all reward is base (alarms.max_layer_share=0.8)",
    )
    alarms.attempt(facts(5, sizes=(0.0, 1.0, 1.0)))
    assert names(alarms) == []
    assert layer_share([facts(0, sizes=(0.0, 0.0, 0.0))]) == ("", 0.0)


def test_duplicates_count_within_a_group_only():
    same = [facts(i, group=f"g{i}", fingerprint="x") for i in range(4)]
    assert duplicate_share(same) == 0.0
    pairs = [facts(i, group=f"g{i // 2}", fingerprint="x") for i in range(4)]
    assert duplicate_share(pairs) == 0.5
    assert names(filled(*pairs)) == ["duplicates"]


def test_attempts_that_end_at_once_are_a_length_collapse():
    assert names(filled(*(facts(i, num_steps=1) for i in range(4)))) == ["length-collapse"]
    assert names(filled(*(facts(i, num_steps=2) for i in range(4)))) == []


def test_a_policy_that_hardly_chooses_for_16_updates_is_an_entropy_collapse():
    alarms = Alarms(CONFIG)
    for _ in range(15):
        alarms.update({ENTROPY_KEY: 0.09})
    assert names(alarms) == []
    alarms.update({})  # an update without that figure changes nothing
    assert names(alarms) == []
    alarms.update({ENTROPY_KEY: 0.09})
    assert names(alarms) == ["entropy-collapse"]
    alarms.update({ENTROPY_KEY: 0.4})
    assert names(alarms) == [], "the mean of 16 is 0.109"


def test_groups_without_signal_in_a_row_end_the_run_and_one_good_group_starts_anew():
    unusable = UnusableGroups(6)
    unusable.trained(4, 4)
    unusable.dropped(1)
    unusable.trained(4, 3)
    assert unusable.num_in_a_row == 0
    unusable.trained(4, 4)
    unusable.dropped(1)
    with pytest.raises(RuntimeError, match=r"6 groups in a row.*max_unusable_groups=6.*given up"):
        unusable.dropped(1)
