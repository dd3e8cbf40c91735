# SPDX-License-Identifier: Apache-2.0
"""`foragerl browse` as a person runs it: typed lines in, pages out, an episode on disk."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from PIL import Image

from actors.browse.command import task_of
from actors.browse.screen import Screen
from envs.config import DriverKind, EnvConfig, WebConfig
from envs.search_env import make_env, make_task_set
from envs.types import Split, Task

ROOT = Path(__file__).resolve().parents[3]
CALM = ["env.web.cookie_banner_rate=0", "env.web.login_popup_rate=0", "env.web.two_hop_share=0"]
CALM_WEB = WebConfig(cookie_banner_rate=0, login_popup_rate=0, two_hop_share=0)


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "actors.cli", "browse", *arguments, f"--save={folder}"]


def browse(folder: Path, lines: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        cwd=ROOT,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=90,
    )


def saved(folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    (made,) = folder.iterdir()
    lines = (made / "episode.jsonl").read_bytes().splitlines()
    return made, [orjson.loads(line) for line in lines]


def task(number: int) -> Task:
    return make_task_set(EnvConfig(web=CALM_WEB)).task(Split.VALIDATION, number)


def script(asked: Task) -> list[str]:
    """A way to the right answer; row 4 of the search page is its text box."""
    item = asked.truth.evidence[0]
    return [f'type 4 "{item.subject}"', "enter", "mask", "clik 4", f"answer {item.value}"]


@pytest.mark.parametrize("driver", ["twin", "chromium"])
def test_a_typed_attempt_is_shown_and_saved(tmp_path: Path, driver: str):
    asked = task(0)
    done = browse(tmp_path, script(asked), "validation/0", f"--driver={driver}", *CALM)
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    assert out.count(asked.prompt.question) == 3, "three pages, each under the question"
    assert re.search(rf"^ ~ +4  textbox .* = {asked.truth.evidence[0].subject}", out, re.MULTILINE)
    assert "another page:" in out and "difference: 0 added (+), 1 changed (~), 0 gone" in out
    assert "legal actions\n   click             element 0-2, 4-5" in out
    assert "did you mean click?" in out
    assert f"answered “{asked.truth.evidence[0].value}”: right" in out

    folder, lines = saved(tmp_path)
    assert [line["what"] for line in lines] == ["task", *["scene", "move"] * 3, "scene", "end"]
    moves = [line for line in lines if line["what"] == "move"]
    assert [move["action"] for move in moves] == ["type", "press_enter", "answer"]
    assert moves[0]["text"] == asked.truth.evidence[0].subject, "one's own text is kept"
    assert lines[-1]["stop"] == "answered" and lines[-1]["is_right"] is True
    assert lines[0]["task_id"] == asked.task_id and lines[0]["driver"] == driver
    if driver == "twin":
        assert "no pictures, so no GIF" in out and not (folder / "episode.gif").exists()
    else:
        with Image.open(folder / "episode.gif") as gif:
            assert getattr(gif, "n_frames", 1) == 3, "the answer changes nothing on the page"


def test_a_page_is_looked_at_without_a_task(tmp_path: Path):
    lines = ["page", "spans", "text", "help", "", "quit", "never read"]
    done = browse(tmp_path, lines, "http://wiki.forage.test/", "--driver=twin")
    assert (done.returncode, done.stderr) == (0, "")
    assert "http://wiki.forage.test/" in done.stdout and "spans: none" in done.stdout
    assert "answer TEXT" in done.stdout and "never read" not in done.stdout
    assert saved(tmp_path)[1][-1] == {"what": "end", "stop": "quit", "answer": "", "is_right": None}


def test_the_end_of_the_input_and_the_last_step_end_it(tmp_path: Path):
    wait = ["wait 100"] * 3
    done = browse(tmp_path, wait, "train/0", "--driver=twin", "env.max_steps=2")
    assert done.returncode == 0 and "out of steps" in done.stdout
    assert saved(tmp_path)[1][-1]["stop"] == "step_limit"


def test_an_interrupt_keeps_what_was_done(tmp_path: Path):
    started = subprocess.Popen(
        command(tmp_path, "train/0", "--driver=twin"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdin is not None and started.stdout is not None
    started.stdin.write("wait 100\n")
    started.stdin.flush()
    while "step 1," not in started.stdout.readline():
        assert started.poll() is None
    os.kill(started.pid, signal.SIGINT)
    assert started.wait(timeout=30) == 130  # although its input is still open
    out, errors = started.communicate()
    assert errors == "" and "saved" in out
    what = [line["what"] for line in saved(tmp_path)[1]]
    assert what == ["task", "scene", "move", "scene", "end"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["somewhere"], "expected a task such as train/0"),
        (["train/-1"], "expected a task such as"),
        (["http://example.org/"], "an env reaches the sites of its tasks and nothing else"),
        (["file:///etc/passwd"], "nothing else"),
        (["train/0", "train/1"], "expected one task or page at most"),
        (["seed=3"], "expected a setting of the env"),
        (["env.max_stepz=3"], "max_steps"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(
    tmp_path: Path, arguments: list[str], message: str
):
    done = browse(tmp_path, [], *arguments)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


async def test_a_page_cannot_command_the_terminal() -> None:
    env = make_env(EnvConfig(driver=DriverKind.TWIN))
    seen = await env.reset(task_of("train/1", env.task_set))
    stream = io.StringIO()
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b2Jend"
    Screen(stream).scene(dataclasses.replace(seen, title=hostile, question=hostile))
    Screen(stream).say(hostile)
    assert "owned" in stream.getvalue() and "end" in stream.getvalue()
    assert not set("\x1b\x07\x9b") & set(stream.getvalue())


async def test_colours_and_cut_lines_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    web = WebConfig(languages=("zh",))
    env = make_env(EnvConfig(driver=DriverKind.TWIN, web=web))
    seen = await env.reset(task_of("train/1", env.task_set))
    stream = Terminal()
    Screen(stream).scene(seen)
    text = stream.getvalue()
    assert "\x1b[1m" in text, "the question is bold"
    from rich.cells import cell_len

    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(cell_len(line) for line in plain.splitlines()) <= 60
    assert any(ord(character) > 0x4E00 for character in plain)
