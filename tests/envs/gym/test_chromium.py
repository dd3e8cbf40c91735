# SPDX-License-Identifier: Apache-2.0
"""The env through Gymnasium with a real Chromium: pictures, answers, and no process left over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil

from envs.actions import Action
from envs.browser.driver import ChromiumDriver
from envs.gym.browsergym import BidEnv
from envs.gym.forage_env import ForageEnv
from envs.types import Role

ROOT = Path(__file__).resolve().parents[3]

_LEAVES_IT_OPEN = """
import psutil
from envs.browser.profile import process_folder
from envs.gym.forage_env import ForageEnv

env = ForageEnv()
env.reset(seed=1)
folder = process_folder()
assert list(folder.glob("profile-*"))
print(folder, *(each.pid for each in psutil.Process().children(recursive=True)))
"""


def running(pids: list[str]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(int(pid)))
    return found


def test_an_attempt_with_pictures_ends_with_the_right_answer():
    env = ForageEnv(render_mode="rgb_array", max_steps=5)
    arrays, info = env.reset(seed=7)
    first = env.render()
    assert (first.dtype, first.shape) == (np.uint8, (360, 640, 3))
    assert arrays in env.observation_space
    row = arrays["element_role"].tolist().index(Role.TEXTBOX)
    typed = env.actions.index(Action(type="type", element=row, span=0))
    assert info["action_mask"][typed] == 1
    _, _, _, _, info = env.step(typed)
    assert info["effect"] == "ok" and np.abs(env.render().astype(int) - first).max() > 64
    env.step_action(Action(type="press_enter"))
    assert env.seen.url != info["url"] and env.seen.queries
    _, reward, terminated, _, info = env.step_action(
        Action(type="answer"), own_text=env.task.truth.answers[0]
    )
    assert (reward, terminated, info["stop"]) == (1.0, True, "answered")
    assert env.seen.screenshot_jpeg == b"", "the picture is for render, not for the agent"
    env.close()


def test_a_process_that_ends_without_closing_leaves_no_browser():
    done = subprocess.run(
        [sys.executable, "-c", _LEAVES_IT_OPEN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == ""
    folder, *pids = done.stdout.split()
    assert len(pids) > 2, "node and Chromium's processes"
    assert not list(Path(folder).glob("profile-*"))
    # They are dead; whoever inherited them may still have to notice.
    _, alive = psutil.wait_procs(running(pids), timeout=10)
    assert not alive


def test_browsergyms_observation_has_a_picture_that_its_boxes_lie_on():
    env = BidEnv(max_steps=5)
    shaped, _ = env.reset(seed=7)
    assert shaped in env.observation_space
    assert shaped["screenshot"].shape == (720, 1280, 3)
    nodes = shaped["axtree_object"]["nodes"]
    bid = next(each["browsergym_id"] for each in nodes if each["role"]["value"] == "textbox")
    x, y, width, height = shaped["extra_element_properties"][bid]["bbox"]
    assert 0 <= x < x + width <= 1280 and 0 <= y < y + height <= 720
    after, _, _, _, info = env.step(f"fill({bid!r}, 'a text of my own, long enough to be seen')")
    assert (info["effect"], after["last_action_error"]) == ("ok", "")
    changed = np.argwhere(
        np.abs(after["screenshot"].astype(int) - shaped["screenshot"]).max(axis=2) > 96
    )
    assert len(changed) > 50
    inside = (
        (changed[:, 1] >= x - 4)
        & (changed[:, 1] <= x + width + 4)
        & (changed[:, 0] >= y - 4)
        & (changed[:, 0] <= y + height + 4)
    )
    assert inside.mean() > 0.95
    env.close()


def test_a_browser_that_is_killed_truncates_and_the_next_reset_brings_up_another():
    env = ForageEnv(max_steps=5)
    env.reset(seed=7)
    driver = env._thread._core.driver
    assert isinstance(driver, ChromiumDriver)
    first = driver.browser_pid
    os.kill(first, signal.SIGKILL)
    _, reward, terminated, truncated, info = env.step_action(Action(type="wait_ms", wait=0))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["infra_error"] == "infra_browser"
    arrays, info = env.reset(seed=7)
    assert arrays in env.observation_space
    assert info["num_restarts"] == 1 and driver.browser_pid not in (0, first)
    env.close()
