# SPDX-License-Identifier: Apache-2.0
"""What a run leaves on disk: its curve, its weights, and that every group is accounted for."""

from __future__ import annotations

from typing import Any

import numpy as np

from actors.checkpoints import read_pipeline
from actors.run_folder import RunFolder
from learner.checkpoint import load_checkpoint, newest_checkpoint
from tests.actors.jobs import rows


def curve(folder: RunFolder) -> list[dict[str, Any]]:
    """Every number of every update."""
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows(folder, "update")]


def last_weights(folder: RunFolder) -> dict[str, np.ndarray]:
    newest = newest_checkpoint(folder.checkpoints)
    assert newest is not None
    return dict(load_checkpoint(newest).weights)


def assert_same_weights(left: RunFolder, right: RunFolder) -> None:
    ours, theirs = last_weights(left), last_weights(right)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def assert_nothing_lost_nothing_doubled(folder: RunFolder) -> dict[str, int]:
    """By the metrics and by the last books: every group opened is trained, ended or open, once."""
    newest = newest_checkpoint(folder.checkpoints)
    assert newest is not None
    state = read_pipeline(newest)
    trained = [name for row in rows(folder, "update") for name in row["groups"].split()]
    assert len(set(trained)) == len(trained), "no group is trained on twice"
    versions = [row["learner/policy_version"] for row in rows(folder, "update")]
    assert versions == list(range(1, len(versions) + 1)), "no version is missing or there twice"
    source, ledger = state["source"], state["ledger"]
    first_missing, others = ledger["ended"]
    ended = {*range(first_missing), *others}
    still_open = {number for number, _ in source["groups"]}
    assert ended | still_open == set(range(source["opened"])), "no group is lost"
    assert not ended & still_open
    assert {int(name[1:]) for name in trained} <= ended
    assert len(ended) == source["published"] + source["dropped"]
    attempts = [row for row in rows(folder, "attempt") if "is_right" in row]
    assert len(attempts) == state["totals"]["episodes"], "each scored attempt has one row"
    counts = {**ledger["fates"], "handed_out": ledger["handed_out"]}
    in_flight = sum(
        place in ("running", "scoring", "held")
        for members in ledger["groups"].values()
        for place in members.values()
    )
    assert counts["handed_out"] == sum(ledger["fates"].values()) + in_flight
    return counts
