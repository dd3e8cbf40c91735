# SPDX-License-Identifier: Apache-2.0
"""Metrics: documented, and the same numbers in the trackers, complete also after a signal."""

from __future__ import annotations

import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from actors.config import LoggerConfig, Tracker
from actors.loggers import AXES, Scalars, open_metrics, wandb_mode
from actors.metrics import MetricsLog
from actors.run_folder import RunFolder
from actors.show.curves import read_rows

ROOT = Path(__file__).resolve().parents[2]
ROW = {"learner/policy_version": 7, "learner/grad_norm": 0.5, "train/env_steps": 40}


def documented() -> dict[str, list[re.Pattern[str]]]:
    """Event -> patterns of its keys, read from the page; `_<...>` stands for one name."""
    found: dict[str, list[re.Pattern[str]]] = {}
    event = ""
    for line in (ROOT / "docs" / "METRICS.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## `"):
            event = line.split("`")[1]
        cells = line.split("|")
        if len(cells) == 5 and cells[1].strip().startswith("`"):
            assert cells[2].strip(), f"{line}: expected a unit"
            for key in re.findall(r"`([^`]+)`", cells[1]):
                pattern = re.sub(r"<[a-z]+>", "[a-z0-9_]+", key)
                found.setdefault(event, []).append(re.compile(pattern))
    return found


def test_every_key_that_a_run_writes_is_documented_with_its_unit(chromium_run: RunFolder):
    pages = documented()
    written = read_rows(chromium_run.metrics)
    assert {row["event"] for row in written} == set(pages) == set(AXES)
    unknown = {
        (row["event"], key)
        for row in written
        for key in row
        if key not in ("event", "time_s")
        and not any(pattern.fullmatch(key) for pattern in pages[row["event"]])
    }
    assert unknown == set()


def test_the_page_documents_only_what_is_written(chromium_run: RunFolder):
    written = {(row["event"], key) for row in read_rows(chromium_run.metrics) for key in row}
    never = [
        (event, pattern.pattern)
        for event, patterns in documented().items()
        for pattern in patterns
        if not any(event == e and pattern.fullmatch(key) for e, key in written)
    ]
    rare = [("attempt", "unscored"), ("attempt", "quarantined")]
    assert never == [*rare, ("checkpoint", "checkpoint/is_return")]


def test_rows_become_numbers_under_unique_keys_with_a_clock():
    scalars = Scalars()
    assert scalars.flat("update", ROW) == {k: float(v) for k, v in ROW.items()}
    assert scalars.flat("attempt", {"kind": "a", "steps": 3, "is_right": 1}) == {
        "attempt/steps": 3.0,
        "attempt/is_right": 1.0,
        "attempt/number": 1.0,
    }
    assert scalars.flat("attempt", {"steps": 4})["attempt/number"] == 2.0
    assert scalars.flat("evaluation", {"name": "trained", "eval/success": 0.5}) == {
        "eval_trained/success": 0.5,
        "evaluation/number": 1.0,
    }


class Heard:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Mapping[str, Any]]] = []
        self.num_closed = 0

    def write(self, event: str, time_s: float, values: Mapping[str, Any]) -> None:
        assert time_s >= 0.0
        self.rows.append((event, values))

    def close(self) -> None:
        self.num_closed += 1


def test_sinks_hear_the_rows_of_the_file_and_are_closed_once(tmp_path: Path):
    heard = Heard()
    metrics = MetricsLog(tmp_path / "metrics.jsonl", [heard])
    metrics.write("update", ROW)
    metrics.close()
    metrics.close()
    assert heard.rows == [("update", ROW)] and heard.num_closed == 1
    row = read_rows(tmp_path / "metrics.jsonl")[0]
    assert {**ROW, "event": "update"}.items() <= row.items()


def test_tensorboard_gets_each_number_at_its_clock(tmp_path: Path):
    folder = RunFolder(path=tmp_path)
    metrics = open_metrics(folder, LoggerConfig(tracker=Tracker.TENSORBOARD))
    for version in (1, 2):
        metrics.write("update", {**ROW, "learner/policy_version": version})
    metrics.close()
    found: dict[str, list[tuple[int, float]]] = {}
    for event in tensorboard_events(folder.tensorboard):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert found["learner/grad_norm"] == [(1, 0.5), (2, 0.5)]
    assert found["train/env_steps"] == [(1, 40.0), (2, 40.0)]


def tensorboard_events(folder: Path) -> list[Any]:
    """Events of the folder's files: records of a length, its checksum, the event, its checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted(folder.iterdir()):
        rest = path.read_bytes()
        while rest:
            size = int.from_bytes(rest[:8], "little")
            found.append(Event.FromString(rest[12 : 12 + size]))
            rest = rest[16 + size :]
    return found


def test_wandb_is_online_with_a_key_and_offline_without(tmp_path: Path):
    netrc = tmp_path / "netrc"
    assert wandb_mode({}, netrc) == "offline"
    assert wandb_mode({"WANDB_API_KEY": "k"}, netrc) == "online"
    assert wandb_mode({"WANDB_API_KEY": "k", "WANDB_MODE": "offline"}, netrc) == "offline"
    netrc.write_text("machine api.wandb.ai\n  login user\n  password key\n", encoding="utf-8")
    assert wandb_mode({}, netrc) == "online"
    assert wandb_mode({"WANDB_BASE_URL": "https://wandb.example.org"}, netrc) == "offline"


def wandb_records(run: Path) -> list[Any]:
    """What a run holds on disk, in order."""
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = run.glob("wandb/*run-*/*.wandb")
    return [Record.FromString(data) for data in leveldb_records(path.read_bytes())]


def leveldb_records(content: bytes) -> Iterator[bytes]:
    """Records of a LevelDB log: blocks of chunks, each with checksum, length and place (7 bytes).

    https://github.com/google/leveldb/blob/main/doc/log_format.md; 7 bytes of W&B's come first.
    """
    block_bytes, header_bytes, last_chunks = 32768, 7, {1, 4}  # FULL, LAST
    at, record = header_bytes, b""
    while at + header_bytes <= len(content):
        if block_bytes - at % block_bytes < header_bytes:
            at += block_bytes - at % block_bytes  # the rest of a block is padding
            continue
        size, place = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        record += content[at + header_bytes : at + header_bytes + size]
        at += header_bytes + size
        if place in last_chunks:
            yield record
            record = b""


class FadingServer(http.server.BaseHTTPRequestHandler):
    """A W&B server that takes up a run and then answers no more."""

    RUN_ID = "r"
    _BUCKET: ClassVar = {"name": RUN_ID, "project": {"name": "p", "entity": {"name": "me"}}}
    _ANSWERS: ClassVar = {"upsertBucket": {"bucket": {"id": "i", **_BUCKET}, "inserted": True}}

    def do_POST(self) -> None:
        query = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/file_stream") or b"createRunFiles" in query:
            return  # the connection ends without an answer, at every try
        body = orjson.dumps({"data": self._ANSWERS if b"upsertBucket" in query else {}})
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


_SENDING = """
import pathlib, sys
from actors.config import LoggerConfig
from actors.loggers import WandbSink
from actors.run_folder import RunFolder

folder = RunFolder(path=pathlib.Path(sys.argv[1]))
sink = WandbSink(folder, LoggerConfig(), finish_timeout_s=1.0)
sink.write("update", 1.0, {"learner/policy_version": 7, "learner/grad_norm": 0.5})
sink.close()
"""


@pytest.mark.timeout(120)
def test_a_wandb_server_that_answers_no_more_does_not_hold_up_the_end(tmp_path: Path):
    run = tmp_path / FadingServer.RUN_ID
    run.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), FadingServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            **os.environ,
            "WANDB_MODE": "online",
            "WANDB_API_KEY": "k" * 40,
            "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        }
        done = subprocess.run(
            [sys.executable, "-c", _SENDING, str(run)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        server.shutdown()
    assert done.returncode == 0, done.stderr
    (left,) = run.glob("wandb/run-*")
    assert f"wandb sync {left}" in done.stderr
    records = [record for record in wandb_records(run) if record.HasField("history")]
    assert len(records) == 1, "what was not sent is on disk"


@pytest.mark.timeout(120)
def test_a_wandb_run_is_complete_after_sigterm(tmp_path: Path):
    settings = ("launch=inprocess", "env=web_fast", "evaluation.num_tasks=0", "policy.width=16")
    more = ("evaluation.num_baseline_tasks=0", "algo.groups_per_update=1", "logger=wandb")
    started = subprocess.Popen(
        [sys.executable, "train.py", f"logger.runs_dir={tmp_path}", *settings, *more],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    metrics = tmp_path / "latest" / "metrics.jsonl"
    while not metrics.exists() or b'"update"' not in metrics.read_bytes():
        assert started.poll() is None, started.communicate()[1]
        time.sleep(0.2)
    started.terminate()
    _, log = started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGTERM, log

    records = wandb_records((tmp_path / "latest").resolve())
    kinds = [record.WhichOneof("record_type") for record in records]
    assert "exit" in kinds, "the run was finished"
    axes = {r.metric.glob_name: r.metric.step_metric for r in records if r.HasField("metric")}
    assert axes["learner/*"] == "learner/policy_version"
    assert axes["train/*"] == "train/env_steps"
    assert axes["attempt/*"] == "attempt/number"
    keys = [
        {"/".join(item.nested_key) or item.key for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    rows = read_rows(metrics)
    assert len(keys) == len(rows), "every row of the file, and nothing else"
    assert any("learner/grad_norm" in key for key in keys)
