# SPDX-License-Identifier: Apache-2.0
"""Pages for people name settings and alarms that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actors.alarms import ENTROPY_KEY, Alarms, AttemptFacts
from actors.config import AlarmConfig, TrainJob
from conf.schema import key_names

DOCS = Path(__file__).resolve().parents[2] / "docs"
GROUPS = "train|evaluation|env|policy|algo|reward|rollout|replay|cluster|logger|alarms"
PAGES = ("TROUBLESHOOTING.md", "CLUSTER.md", "WEB.md", "BENCH.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_on_the_page_is_one(page: str):
    known = set(key_names(TrainJob))
    text = (DOCS / page).read_text(encoding="utf-8")
    # In code only: `reward.*` and `cluster.<kind>_cpus` stand for several.
    named = set(re.findall(rf"(?<![\w./])((?:{GROUPS})(?:\.[a-z_]+)+)(?![\w*<(/])", text))
    files = {name for name in named if name.endswith(".py") or name.endswith(".sh")}
    assert named - files, "the page names settings"
    assert named - files - known == set()


def test_every_alarm_has_a_section_that_says_what_to_do():
    alarms = Alarms(AlarmConfig(window=1, max_duplicate_share=1e-9, min_steps=9.0, min_entropy=0.5))
    alarms.attempt(
        AttemptFacts(group_id="g", fingerprint="f", num_steps=1, reward_sizes=(1.0, 0.0, 0.0))
    )
    for _ in range(16):
        alarms.update({ENTROPY_KEY: 0.0})
    text = (DOCS / "TROUBLESHOOTING.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^### `([a-z-]+)`", text, flags=re.MULTILINE))
    on = {alarm.partition(":")[0] for alarm in alarms.active()}
    assert on == sections - {"duplicates"}, "one attempt repeats nobody"
    assert "duplicates" in sections
