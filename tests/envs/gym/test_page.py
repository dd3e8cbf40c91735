# SPDX-License-Identifier: Apache-2.0
"""The page on Gymnasium lists the keys that there are, with their shapes."""

from __future__ import annotations

import re
from pathlib import Path

from envs.gym.action_index import ActionIndex
from envs.gym.arrays import observation_space

PAGE = Path(__file__).resolve().parents[3] / "docs" / "GYMNASIUM.md"
MAX_ELEMENTS = 160


def test_keys_and_shapes_of_the_observation_are_on_the_page():
    index = ActionIndex(MAX_ELEMENTS)
    space = observation_space(index, MAX_ELEMENTS)
    section = PAGE.read_text(encoding="utf-8").split("## Observation\n")[1].split("\n## ")[0]
    said = {}
    for names, shapes, kind in re.findall(
        r"^\| (`[^|]*`) \| (\[[^|]*\]) (\w+) \|", section, flags=re.MULTILINE
    ):
        keys = re.findall(r"`(\w+)`", names)
        listed = re.findall(r"\[([^\]]*)\]", shapes)
        for at, key in enumerate(keys):
            shape = listed[at] if len(listed) > 1 else listed[0]
            said[key] = f"[{shape}] {kind}"
    known = {str(MAX_ELEMENTS): "E", str(index.num_actions): "A"}
    there = {
        key: f"[{', '.join(known.get(str(size), str(size)) for size in box.shape)}] {box.dtype}"
        for key, box in space.items()
    }
    assert said == there
