# SPDX-License-Identifier: Apache-2.0
"""The env through Gymnasium on the twin: its check, spaces, endings, threads, failures."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import threading
import tomllib
import warnings
import weakref
from concurrent.futures import CancelledError
from importlib.metadata import EntryPoint
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envs.actions import Action
from envs.driver import Effect, InfraError
from envs.gym import core_thread
from envs.gym.arrays import text_of
from envs.gym.forage_env import ForageEnv
from envs.gym.registration import EMBEDDED_WEB, register
from envs.search_env import SearchEnv
from envs.twin.driver import TwinDriver
from envs.types import StopReason, Task

ROOT = Path(__file__).resolve().parents[3]
register()


def own_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "foragerl-env"]


def answer_of(env: ForageEnv, text: str) -> tuple[float, bool, bool]:
    _, reward, terminated, truncated, info = env.step_action(Action(type="answer"), own_text=text)
    assert info["answer"] == text
    return reward, terminated, truncated


def test_gymnasiums_own_check_passes_without_a_warning():
    # The twin answers alike every time, so that the checks of determinism hold, too.
    spec = dataclasses.replace(gymnasium.spec(EMBEDDED_WEB), nondeterministic=False)
    env = gymnasium.make(spec, driver="twin")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_make_imports_the_module_that_registers():
    env = gymnasium.make(f"envs.gym.ids:{EMBEDDED_WEB}", driver="twin")
    assert isinstance(env.unwrapped, ForageEnv)


def test_the_entry_point_of_the_package_registers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name, value), *more = project["entry-points"]["gymnasium.envs"].items()
    assert (name, more) == ("__root__", [])
    before = gymnasium.registry.pop(EMBEDDED_WEB)
    EntryPoint(name, value, "gymnasium.envs").load()()
    assert gymnasium.registry[EMBEDDED_WEB].entry_point == before.entry_point


def test_a_masked_random_walk_stays_within_the_spaces_and_never_does_nothing():
    env = ForageEnv(driver="twin", max_steps=15)
    _, info = env.reset(seed=1)
    env.action_space.seed(1)
    num_ended = 0
    for _ in range(80):
        action = env.action_space.sample(info["action_mask"])
        assert env.action_masks()[action]
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert info["effect"] == "ok"
        np.testing.assert_array_equal(info["action_mask"], observation["action_mask"])
        if terminated or truncated:
            assert reward == 0.0 or terminated
            num_ended += 1
            _, info = env.reset()
    assert num_ended > 3
    env.close()


def test_the_arrays_say_what_the_observation_says():
    env = ForageEnv(driver="twin")
    arrays, _ = env.reset(options={"task_index": 4})
    seen = env.seen
    num = int(arrays["num_elements"][0])
    assert num == len(seen.elements) > 5
    assert text_of(arrays["question"]) == seen.question
    assert [text_of(row) for row in arrays["element_text"][:num]] == list(seen.elements.text)
    assert arrays["element_role"][:num].tolist() == seen.elements.role.tolist()
    assert set(arrays["element_role"][num:].tolist()) == {-1}
    assert not arrays["element_text"][num:].any()
    np.testing.assert_array_equal(arrays["element_box_px"][:num], seen.elements.box)
    np.testing.assert_array_equal(arrays["mask_element"][:, :num], seen.mask.element)
    spans = [text_of(row) for row in arrays["span_text"]]
    assert spans[: len(seen.spans)] == [span.text for span in seen.spans]
    assert arrays["steps_left"].tolist() == [20]
    env.close()


def test_a_text_is_cut_between_characters():
    env = ForageEnv(driver="twin", web={"languages": ["zh"]}, max_steps=3)
    arrays, _ = env.reset(seed=0)
    long = "河" * 200
    arrays, *_ = env.step_action(Action(type="type", element=4), own_text=long)
    values = [text_of(row) for row in arrays["element_value"]]
    assert max(values, key=len) == "河" * 21, "64 bytes hold 21 characters of three"
    env.close()


def test_a_right_answer_earns_one_and_a_wrong_one_nothing():
    env = ForageEnv(driver="twin")
    env.reset(seed=5)
    assert answer_of(env, env.task.truth.answers[0]) == (1.0, True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    assert answer_of(env, "nobody knows") == (0.0, True, False)
    env.close()


def test_running_out_of_steps_truncates_without_reward():
    env = ForageEnv(driver="twin", max_steps=2)
    env.reset(seed=5)
    wait = Action(type="wait_ms", wait=0)
    assert env.step_action(wait)[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step_action(wait)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["stop"] == "step_limit" and "infra_error" not in info
    env.close()


def test_an_illegal_action_does_nothing_and_says_so():
    env = ForageEnv(driver="twin")
    env.reset(seed=5)
    _, reward, terminated, truncated, info = env.step(env.config.max_elements - 1)
    assert (reward, terminated, truncated, info["effect"]) == (0.0, False, False, "illegal")
    _, _, _, _, info = env.step_action(Action(type="type", element=4), own_text="a\x00b\ud800")
    assert info["effect"] == "illegal"
    env.close()


def test_the_seed_chooses_the_task_and_an_option_names_it():
    first, second = ForageEnv(driver="twin"), ForageEnv(driver="twin")
    drawn = [
        [env.reset(seed=9)[1]["task_id"], env.reset()[1]["task_id"]] for env in (first, second)
    ]
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]
    assert first.reset(options={"task_index": 3})[1]["task_index"] == 3
    for options in ({"task_index": -1}, {"task": 3}):
        with pytest.raises(ValueError, match="expected"):
            first.reset(options=options)
    first.close()
    second.close()


def test_several_envs_run_side_by_side():
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make(EMBEDDED_WEB, driver="twin", max_steps=4)] * 3
    )
    arrays, info = envs.reset(seed=[1, 2, 3])
    assert arrays["element_box_px"].shape == (3, 160, 4)
    assert len(set(info["task_id"])) == 3
    for _ in range(6):
        legal = [np.flatnonzero(mask)[0] for mask in info["action_mask"]]
        arrays, rewards, _, _, info = envs.step(np.array(legal))
        assert rewards.tolist() == [0.0, 0.0, 0.0]
    assert arrays["step_index"].ravel().tolist() == [1, 1, 1], "a limit of four, and a reset"
    assert len(own_threads()) >= 3
    envs.close()


async def test_it_works_inside_a_loop_that_runs():
    assert asyncio.get_running_loop().is_running()
    env = ForageEnv(driver="twin")
    env.reset(seed=1)
    assert env.step_action(Action(type="wait_ms", wait=0))[4]["effect"] == "ok"
    env.close()


def test_close_ends_the_thread_and_what_follows_is_refused():
    env = ForageEnv(driver="twin")
    env.reset(seed=1)
    thread = env._thread._thread
    env.close()
    env.close()
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="after close"):
        env.reset()


def test_an_env_that_nobody_closed_ends_with_the_object():
    env = ForageEnv(driver="twin")
    env.reset(seed=1)
    thread, gone = env._thread._thread, weakref.ref(env)
    del env
    gc.collect()
    thread.join(10)
    assert gone() is None and not thread.is_alive()


def test_close_cancels_the_call_under_way_and_nothing_of_others(monkeypatch: pytest.MonkeyPatch):
    """A task of the driver's own library, once cancelled, leaves its process' pipes behind."""
    env = ForageEnv(driver="twin")
    env.reset(seed=1)
    thread, ends = env._thread, dict[str, str]()
    is_held, may_end = threading.Event(), asyncio.Event()

    async def recorded(name: str, until: asyncio.Event) -> None:
        is_held.set()
        try:
            await until.wait()
            ends[name] = "ended"
        except asyncio.CancelledError:
            ends[name] = "cancelled"
            raise

    async def started() -> asyncio.Task[None]:
        return asyncio.create_task(recorded("others", may_end))

    async def close() -> None:
        may_end.set()
        await others

    def held_call() -> None:
        with pytest.raises(CancelledError):
            thread._call(lambda: recorded("call", asyncio.Event()), 30.0, "held")

    others = thread._call(started, 10.0, "start")
    monkeypatch.setattr(thread._core, "close", close)
    is_held.clear()
    caller = threading.Thread(target=held_call)
    caller.start()
    assert is_held.wait(10)
    env.close()
    caller.join(10)
    assert ends == {"call": "cancelled", "others": "ended"} and not caller.is_alive()


def test_a_collector_in_the_envs_own_loop_does_not_wait_for_itself():
    env = ForageEnv(driver="twin")
    env.reset(seed=1)
    core = env._thread
    core._loop.call_soon_threadsafe(core.close)
    core._thread.join(10)
    assert not core._thread.is_alive()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drive": "twin"}, "did you mean 'driver'"),
        ({"driver": "firefox"}, "driver: expected one of"),
        ({"driver": "twin", "max_steps": 0}, "env.max_steps"),
        ({"driver": "twin", "web": {"hazard": 1.0}}, r"web\.'hazard'; did you mean 'hazards'"),
        ({"driver": "twin", "split": "dev"}, "split: expected one of"),
        ({"driver": "twin", "render_mode": "rgb_array"}, "render_mode: expected one of"),
        ({"driver": "twin", "web": {"kinds": "two_hop"}}, "expected a list"),
    ],
)
def test_wrong_settings_fail_when_the_env_is_made(settings: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        ForageEnv(**settings)  # type: ignore[arg-type]


def test_ansi_shows_the_table_the_mask_and_the_spans():
    env = ForageEnv(driver="twin", render_mode="ansi")
    env.reset(seed=3)
    text = env.render()
    for part in (env.seen.question, "legal actions", "textbox", "s0", "wait_ms"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100
    env.close()


# --- When the world breaks -----------------------------------------------------------------------


class BreakableTwin(TwinDriver):
    """A twin whose browser dies, or hangs, on request."""

    breaks = ""  # the method that fails next

    async def _maybe(self, name: str) -> None:
        if self.breaks == name:
            self.breaks = ""
            raise InfraError(StopReason.INFRA_BROWSER, f"died in {name}")
        if self.breaks == f"hang in {name}":
            self.breaks = ""
            await asyncio.sleep(3600)

    async def wait(self, duration_ms: int) -> Effect:
        await self._maybe("wait")
        return await super().wait(duration_ms)

    async def open(self, url: str) -> Effect:
        await self._maybe("open")
        return await super().open(url)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> tuple[ForageEnv, BreakableTwin]:
    driver = BreakableTwin(max_elements=160)

    def make(config: object) -> SearchEnv:
        made = make_env(config)  # type: ignore[arg-type]
        made.driver = driver
        return made

    make_env = core_thread.make_env
    monkeypatch.setattr(core_thread, "make_env", make)
    env = ForageEnv(driver="twin", step_timeout_s=0.2)
    return env, driver


WAIT = Action(type="wait_ms", wait=0)


@pytest.mark.parametrize(
    ("how", "kind"), [("wait", "infra_browser"), ("hang in wait", "infra_timeout")]
)
def test_a_world_that_breaks_truncates_and_the_next_reset_has_a_fresh_one(
    broken: tuple[ForageEnv, BreakableTwin], how: str, kind: str
):
    env, driver = broken
    before, _ = env.reset(seed=1)
    driver.breaks = how
    observation, reward, terminated, truncated, info = env.step_action(WAIT)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["infra_error"] == kind and info["infra_detail"]
    np.testing.assert_array_equal(observation["element_text"], before["element_text"])
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step_action(WAIT)
    _, info = env.reset()
    assert info["num_restarts"] == 1 and "infra_error" not in info
    assert env.step_action(WAIT)[4]["effect"] == "ok"
    env.close()


def test_a_reset_that_breaks_is_tried_once_more(broken: tuple[ForageEnv, BreakableTwin]):
    env, driver = broken
    driver.breaks = "open"
    _, info = env.reset(seed=1)
    assert info["num_restarts"] == 1
    env.close()


def test_a_loop_that_hangs_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, broken: tuple[ForageEnv, BreakableTwin]
):
    env, driver = broken
    env.reset(seed=1)
    monkeypatch.setattr(core_thread, "GRACE_S", 0.3)
    go_on = threading.Event()

    async def stuck(duration_ms: int) -> Effect:
        go_on.wait(30)  # holds the loop itself, whose own deadlines then do not fire
        raise InfraError(StopReason.INFRA_BROWSER, "late")

    monkeypatch.setattr(driver, "wait", stuck)
    _, _, _, truncated, info = env.step_action(WAIT)
    assert truncated and info["infra_error"] == "infra_timeout"
    go_on.set()
    env.close()


def test_the_task_is_no_part_of_what_the_agent_gets():
    env = ForageEnv(driver="twin")
    arrays, info = env.reset(seed=1)
    assert not any(isinstance(value, Task) for value in [*arrays.values(), *info.values()])
    secrets = {item.url for item in env.task.truth.evidence}
    assert not secrets & {str(value) for value in info.values()}
    env.close()
