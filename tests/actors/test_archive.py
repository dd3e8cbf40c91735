# SPDX-License-Identifier: Apache-2.0
"""Archived attempts: what is kept of real attempts, which ones, and that recording changes none."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from actors.archive import Archive, archived_paths, read_episode, read_frame, read_head
from actors.run_folder import RunFolder
from agent.episode import run_episode
from agent.recording import Recorder, Recording
from agent.registry import AGENTS
from envs.actions import TYPE_INDEX
from envs.registry import resolve
from envs.search_env import make_env
from envs.types import LAYERS, Episode, Scored, Split, StopReason, Task
from reward_server.config import RewardConfig
from reward_server.scorer import Scorer
from tests.actors.jobs import TWIN


async def attempt(
    agent_name: str, task: Task, *, with_recorder: bool
) -> tuple[Episode, Recording | None]:
    """One attempt on the twin."""
    env = make_env(TWIN)
    await env.start()
    recorder = Recorder("t") if with_recorder else None
    done = await run_episode(
        env,
        resolve(agent_name, AGENTS, what="agent")(),
        task,
        trajectory_id="t",
        group_id="g",
        seed=3,
        watcher=recorder,
    )
    await env.close()
    return done.episode, recorder.recording() if recorder else None


def held_out(index: int) -> Task:
    return make_env(TWIN).task_set.task(Split.TEST, index)


async def test_an_archived_attempt_reads_back_as_it_was_seen_and_scored(tmp_path: Path):
    task = held_out(0)
    episode, recording = await attempt("oracle", task, with_recorder=True)
    assert recording is not None
    score = Scorer(RewardConfig()).score(episode)
    assert isinstance(score, Scored)
    archive = Archive(tmp_path / "episodes", per_kind=2, limit_mb=1.0)
    assert archive.wants("oracle", task)
    path = archive.offer("oracle", task, episode.stop, score, recording)
    assert path is not None and archived_paths(tmp_path) == [path]

    kept, head = read_episode(path), read_head(path)
    assert kept.head == head
    assert (kept.scenes, kept.moves) == (recording.scenes, recording.moves)
    assert np.allclose(kept.rewards, score.rewards, atol=1e-4)
    assert set(kept.parts) == set(score.parts)
    assert head.question == task.prompt.question and head.answers == task.truth.answers
    assert head.is_right and head.final_answer == episode.final_answer
    assert head.returns[LAYERS.index("semantic")] >= 1.0
    assert [move.action for move in kept.moves] == [step.action_type for step in episode.steps]
    assert len(kept.scenes) == head.num_steps + 1
    for scene, move in zip(kept.scenes, kept.moves, strict=False):
        assert move.action in scene.legal
        if move.element >= 0:
            assert move.element in scene.legal[move.action]
            acted_on = scene.elements[move.element]
            assert move.target == (acted_on.text or acted_on.value or acted_on.role)
    typed = next(move for move in kept.moves if move.action == "type")
    assert typed.text in typed.words() and typed.target in typed.words()


@pytest.mark.parametrize("agent", ["oracle", "random"])
async def test_a_watched_attempt_leaves_the_same_evidence(agent: str):
    task = held_out(1)
    watched, recording = await attempt(agent, task, with_recorder=True)
    plain, nothing = await attempt(agent, task, with_recorder=False)
    assert nothing is None and recording is not None
    assert [dataclasses.replace(s, settle_ms=0.0) for s in watched.steps] == [
        dataclasses.replace(s, settle_ms=0.0) for s in plain.steps
    ]


def fake_recording(num_bytes: int = 0) -> Recording:
    return Recording(trajectory_id="t", scenes=(), moves=(), frames=(b"x" * num_bytes,))


def scored(is_right: bool) -> Scored:
    return Scored(
        trajectory_id="t",
        rewards=np.zeros((0, 3), dtype=np.float32),
        parts={},
        is_right=is_right,
        scorer_version="1",
    )


def test_the_first_tasks_are_kept_and_later_ones_only_for_a_rare_outcome(tmp_path: Path):
    archive = Archive(tmp_path / "episodes", per_kind=4, limit_mb=1.0)
    template = held_out(0)
    tasks = [dataclasses.replace(template, task_id=f"task {i}") for i in range(20)]
    outcomes = [False] * 5 + [True] * 15
    kept = []
    for task, is_right in zip(tasks, outcomes, strict=True):
        if archive.wants("trained", task):
            path = archive.offer(
                "trained", task, StopReason.STEP_LIMIT, scored(is_right), fake_recording()
            )
            if path is not None:
                kept.append((task.task_id, read_head(path).is_right))
    # Four tasks whatever their outcome; then right ones until they are half of four.
    assert kept == [(f"task {i}", False) for i in range(4)] + [("task 5", True), ("task 6", True)]
    assert archive.wants("untrained", tasks[0]), "each phase has a number of its own"


def test_a_full_archive_neither_records_nor_keeps(tmp_path: Path):
    archive = Archive(tmp_path / "episodes", per_kind=4, limit_mb=0.01)
    task = held_out(0)
    for _ in range(3):
        archive.wants("trained", task)
        archive.offer("trained", task, StopReason.STEP_LIMIT, scored(True), fake_recording(4000))
    assert archive.num_refused == 1
    assert archive.num_bytes < 0.01e6
    assert len(archived_paths(tmp_path)) == 2
    no_room = Archive(tmp_path / "none", per_kind=0, limit_mb=1.0)
    assert not no_room.wants("trained", task)


def test_attempts_in_chromium_have_a_picture_of_every_scene(chromium_run: RunFolder):
    paths = archived_paths(chromium_run.path)
    heads = [read_head(path) for path in paths]
    assert {head.phase for head in heads} == {"untrained", "oracle", "trained"}
    assert all(head.is_right for head in heads if head.phase == "oracle")
    for path, head in zip(paths, heads, strict=True):
        episode = read_episode(path)
        assert head.num_frames == len(episode.scenes) == head.num_steps + 1
        for number, scene in enumerate(episode.scenes):
            picture = Image.open(io.BytesIO(read_frame(path, number)))
            assert picture.width == round(scene.viewport[0] * scene.frame_scale)
        assert read_frame(path, len(episode.scenes)) == b""
    assert {name for e in map(read_episode, paths) for s in e.scenes for name in s.legal} <= set(
        TYPE_INDEX
    )
