# SPDX-License-Identifier: Apache-2.0
"""A corpus of a few documents in every format, written where a test wants it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from envs.config import CorpusConfig, DriverKind, EnvConfig, ScreenshotMode
from envs.corpus.task_set import CorpusTaskSet, from_config

Row = dict[str, Any]

DOCUMENTS: list[Row] = [
    {
        "id": "guide/install.md",
        "title": "Orlavia Pump",
        "format": "markdown",
        "text": "The pump was built by [Mara Veldin](people.html) in [Nowhere](none.md).\n\n"
        "| Part | Value |\n|---|---|\n| Weight | 12 kg |\n\n- light\n- quiet",
        "links": ["rust", {"to": "missing", "text": "Gone"}],
    },
    {
        "id": "guide/people.html",
        "title": "Mara Veldin",
        "format": "html",
        "url": "http://firm.example/people.html",
        "text": "<h1>Mara Veldin</h1><table class='vcard Infobox'><tr><th>Born</th><td>Calder</td>"
        "</tr></table>An engineer <i>of note</i>.<div>She lives in Port Vardo. "
        "<a href='install.md#top'>Her pump</a> is known.</div>",
    },
    {
        "id": "rust",
        "title": "Rust & Iron",
        "text": "Rust is iron oxide.\n\nIt is red. <b>Not markup.</b>",
    },
]
QUESTIONS: list[Row] = [
    {
        "id": "q1",
        "question": "Where was the builder of the Orlavia Pump born?",
        "answers": ["Calder"],
        "evidence": ["guide/install.md", "guide/people.html"],
        "split": "train",
        "kind": "two_hop",
    },
    {
        "id": "q2",
        "question": "How heavy is the Orlavia Pump?",
        "answers": ["12 kg", "12"],
        "evidence": [{"document": "guide/install.md", "needles": ["Weight | 12 kg"]}],
        "split": "test",
    },
    {
        "id": "q3",
        "question": "What is Rust & Iron about?",
        "answers": "iron",
        "split": "validation",
    },
]


def write_rows(path: Path, rows: list[Row]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def write_corpus(
    folder: Path, documents: list[Row] | None = None, questions: list[Row] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "documents.jsonl", DOCUMENTS if documents is None else documents)
    write_rows(folder / "questions.jsonl", QUESTIONS if questions is None else questions)
    return folder


def config_of(folder: Path, *, skip_bad: bool = False, **settings: Any) -> EnvConfig:
    return EnvConfig(
        task_set="corpus",
        path=str(folder),
        driver=DriverKind.TWIN,
        screenshot=ScreenshotMode.NEVER,
        corpus=CorpusConfig(cache_dir=str(folder / "cache"), skip_bad=skip_bad),
        **settings,
    )


def task_set_of(folder: Path, *, skip_bad: bool = False) -> CorpusTaskSet:
    return from_config(config_of(folder, skip_bad=skip_bad))
