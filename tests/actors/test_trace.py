# SPDX-License-Identifier: Apache-2.0
"""The trace of a run as Perfetto reads it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from actors.run_folder import RunFolder
from actors.trace import NO_TRACE, Trace
from tests.actors.jobs import rows


def events(path: Path) -> list[dict[str, object]]:
    """The events of a finished trace."""
    text = path.read_bytes()
    return list(orjson.loads(text))


def test_a_run_leaves_its_attempts_scores_and_updates_as_spans(chromium_run: RunFolder):
    found = events(chromium_run.trace)
    tracks = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}  # type: ignore[index]
    spans = [event for event in found if event["ph"] == "X"]
    by_name: dict[str, list[dict[str, object]]] = {}
    for span in spans:
        by_name.setdefault(str(span["name"]), []).append(span)
    attempts = rows(chromium_run, "attempt")
    assert len(by_name["attempt"]) == len(by_name["score"]) == len(attempts)
    assert len(by_name["update"]) == len(by_name["publish"]) == len(rows(chromium_run, "update"))
    assert {"untrained", "oracle", "trained"} <= set(by_name)
    assert {tracks[span["tid"]] for span in by_name["attempt"]} == {"rollout 0", "rollout 1"}
    for span, row in zip(
        sorted(by_name["attempt"], key=lambda s: s["args"]["env_s"]),  # type: ignore[index]
        sorted(attempts, key=lambda r: r["env_s"]),
        strict=True,
    ):
        arguments = span["args"]
        assert isinstance(arguments, dict)
        assert arguments["env_s"] == row["env_s"] and arguments["steps"] == row["steps"]
        assert int(str(span["dur"])) >= 1e6 * (row["env_s"] + row["act_s"]) - 1e4
    for track in ("rollout 0", "rollout 1"):
        own = sorted((s["ts"], s["dur"]) for s in by_name["attempt"] if tracks[s["tid"]] == track)  # type: ignore[type-var]
        ends = [int(str(start)) + int(str(length)) for start, length in own]
        starts = [int(str(start)) for start, _ in own]
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False)), track


def test_a_full_trace_counts_what_it_leaves_out(tmp_path: Path):
    trace = Trace(tmp_path / "trace.json", limit_bytes=1000)
    for number in range(50):
        with trace.span("track", "span", {"number": number}):
            pass
    assert trace.num_left_out > 0
    trace.close()
    found = events(tmp_path / "trace.json")
    assert len([e for e in found if e["ph"] == "X"]) == 50 - trace.num_left_out
    assert f"{trace.num_left_out} spans left out" in str(found[-1]["args"])
    assert (tmp_path / "trace.json").stat().st_size < 1200
    trace.close()


def test_a_span_is_kept_when_its_block_fails(tmp_path: Path):
    trace = Trace(tmp_path / "trace.json")
    with pytest.raises(ValueError, match="broke"), trace.span("track", "span"):
        raise ValueError("broke")
    trace.close()
    assert [e["name"] for e in events(tmp_path / "trace.json") if e["ph"] == "X"] == ["span"]


def test_no_trace_takes_everything_and_writes_nothing(tmp_path: Path):
    with NO_TRACE.span("track", "span"):
        NO_TRACE.count("queue", {"bytes": 1.0})
    assert list(tmp_path.iterdir()) == []
