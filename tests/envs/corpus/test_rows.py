# SPDX-License-Identifier: Apache-2.0
"""A bad row is an error that names file, line and field, or is counted when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from envs.config import EnvConfig
from envs.corpus.rows import RowError
from envs.types import Split
from tests.envs.corpus.small_corpus import (
    DOCUMENTS,
    QUESTIONS,
    Row,
    task_set_of,
    write_corpus,
    write_rows,
)

GOOD = {"id": "x", "title": "X", "text": "x"}
ASKED = {"id": "x", "question": "What?", "answers": ["x"]}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"title": "X", "text": "x"}, "id: expected a text that is not empty, got nothing"),
        (GOOD | {"id": 7}, "id: expected a text that is not empty, got 7"),
        (GOOD | {"id": ".."}, "id:"),
        (GOOD | {"title": " "}, "title:"),
        (GOOD | {"text": None}, "text:"),
        (GOOD | {"format": "markdwn"}, "format: expected one of"),
        (GOOD | {"links": "rust"}, "links: expected a list"),
        (GOOD | {"links": [{"text": "no target"}]}, "links.to:"),
        (GOOD | {"id": "rust"}, "id: expected another than line 3"),
    ],
)
def test_a_bad_document_names_file_line_and_field(tmp_path: Path, row: Row, field: str) -> None:
    folder = write_corpus(tmp_path, [*DOCUMENTS, row])
    with pytest.raises(RowError) as caught:
        task_set_of(folder)
    assert f"{folder / 'documents.jsonl'}:4: {field}" in str(caught.value)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (ASKED | {"answers": []}, "answers: expected a text or a list of texts"),
        (ASKED | {"answers": ["a", 1]}, "answers:"),
        (ASKED | {"split": "dev"}, "split: expected one of"),
        (ASKED | {"evidence": ["nowhere"]}, "evidence: expected the id of a document"),
        (ASKED | {"evidence": [{"document": "rust", "needles": []}]}, "evidence.needles:"),
        (ASKED | {"id": "q2"}, "id: expected another than line 2"),
    ],
)
def test_a_bad_question_names_file_line_and_field(tmp_path: Path, row: Row, field: str) -> None:
    folder = write_corpus(tmp_path, questions=[*QUESTIONS, row])
    with pytest.raises(RowError) as caught:
        task_set_of(folder)
    assert f"{folder / 'questions.jsonl'}:4: {field}" in str(caught.value)


def test_texts_that_may_be_left_out_may_be_empty(tmp_path: Path) -> None:
    row = GOOD | {"url": "", "links": [{"to": "rust", "text": ""}]}
    library = task_set_of(write_corpus(tmp_path, [*DOCUMENTS, row])).library
    document = library.document(3)
    assert document.url == "" and [(k.target, k.text) for k in document.links] == [("rust", "")]


def test_what_is_no_json_is_a_bad_row(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path)
    with (folder / "documents.jsonl").open("ab") as file:
        file.write(b'\n{"id": "cut\n')
    with pytest.raises(RowError, match=r"documents\.jsonl:5: row: expected JSON"):
        task_set_of(folder)


def test_bad_rows_are_counted_when_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_corpus(
        tmp_path,
        [{"id": "bad"}, *DOCUMENTS, GOOD | {"id": "rust"}],
        [*QUESTIONS, ASKED | {"id": 1}],
    )
    tasks = task_set_of(folder, skip_bad=True)
    assert tasks.bad.count == 1  # of the questions
    assert tasks.library.num_bad == 2 and len(tasks.library) == len(DOCUMENTS)
    assert tasks.library.document(2).text.startswith("Rust is iron oxide.")
    assert sum(tasks.num_questions(split) for split in Split) == len(QUESTIONS)
    caplog.clear()
    task_set_of(folder, skip_bad=True)  # of an index that is there already
    assert "left out 2 bad documents and 1 bad questions" in caplog.text


def test_a_needle_that_no_block_holds_is_a_bad_row(tmp_path: Path) -> None:
    wrong = QUESTIONS[0] | {"evidence": [{"document": "rust", "needles": ["gold"]}]}
    folder = write_corpus(tmp_path, questions=[wrong])
    with pytest.raises(RowError, match=r"questions\.jsonl:1: evidence\.needles: .*'rust'"):
        task_set_of(folder).task(Split.TRAIN, 0)
    tasks = task_set_of(folder, skip_bad=True)
    for index in range(3):  # the same question each time
        assert tasks.task(Split.TRAIN, index).truth.evidence == ()
    assert tasks.bad.count == 1


def test_missing_files_and_paths_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"give env\.path=DIR"):
        EnvConfig(task_set="corpus")
    with pytest.raises(ValueError, match=r"env\.path: expected a folder with documents\.jsonl"):
        task_set_of(tmp_path)
    write_rows(tmp_path / "documents.jsonl", DOCUMENTS)
    with pytest.raises(ValueError, match=r"questions\.jsonl, found none"):
        task_set_of(tmp_path)
    write_rows(tmp_path / "documents.jsonl", [])
    with pytest.raises(ValueError, match="expected documents, found none"):
        task_set_of(tmp_path)


def test_the_path_is_absolute_because_actors_work_elsewhere() -> None:
    assert Path(EnvConfig(task_set="corpus", path="some/where").path).is_absolute()
