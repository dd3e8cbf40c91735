# SPDX-License-Identifier: Apache-2.0
"""Question sets become corpora whose kept questions are proven solvable."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from envs.corpus import importing
from envs.corpus.convert import paragraphs, tables
from envs.corpus.convert.reading import rows_in
from envs.corpus.importing import SOLVABLE, check_corpus, import_corpus, run
from envs.corpus.pages import document_url
from envs.corpus.rows import BadRows, RowError
from envs.types import Split
from tests.envs.corpus.small_corpus import QUESTIONS, task_set_of, write_corpus, write_rows

HOTPOT: list[dict[str, Any]] = [
    {
        "_id": "h1",
        "question": "When was the founder of Orla Works born?",
        "answer": "3 May 1921",
        "type": "bridge",
        "supporting_facts": [["Mara Veldin", 0], ["Orla Works", 1]],
        "context": [
            ["Mara Veldin", ["Mara Veldin (born 3 May 1921) was an engineer.", " She sang."]],
            ["Orla Works", ["Orla Works makes pumps.", " It was founded by Mara Veldin."]],
            ["Rust", ["Rust is iron oxide."]],
        ],
    },
    {
        "_id": "h2",
        "question": "Is rust red?",
        "answer": "yes",
        "type": "comparison",
        "supporting_facts": {"title": ["Rust"], "sent_id": [0]},
        "context": {"title": ["Rust"], "sentences": [["Rust is a red oxide."]]},
    },
]
TABLE = {
    "uid": "Fleet_of_Calder_0",
    "url": "https://en.wikipedia.org/wiki/Fleet_of_Calder",
    "title": "Fleet of Calder",
    "header": [["Ship", []], ["Yard", []]],
    "data": [
        [["MS Aldo", []], ["Orla Yard", ["/wiki/Orla_Yard"]]],
        [["MS Bero ( 1912 )", ["/wiki/MS_Bero"]], ["Vardo", ["/wiki/Vardo", "/wiki/Calder"]]],
    ],
    "section_title": "Ships",
    "section_text": "Two ships , both grey .",
    "intro": "unused",
}
PASSAGES = {
    "/wiki/Orla_Yard": "Orla Yard was founded in 1875 .",
    "/wiki/MS_Bero": "A ship .",
    "/wiki/Vardo": "A port .",
    "/wiki/Calder": "A city .",
    "/wiki/Fleet_of_Calder": "The fleet of Calder .",
}
OTT_QUESTIONS = [
    {
        "question_id": "o1",
        "question": "When was the yard that built MS Aldo founded ?",
        "table_id": "Fleet_of_Calder_0",
        "answer-text": "1875",
        "answer-node": [["Orla Yard (yard)", [0, 1], "/wiki/Orla_Yard", "passage"]],
    },
    {
        "question_id": "o2",
        "question": "Which ship is from 1912 ?",
        "table_id": "Fleet_of_Calder_0",
        "answer-text": "MS Bero",
        "answer-node": [["MS Bero ( 1912 )", [1, 0], "/wiki/MS_Bero", "table"]],
    },
]


def write_json(path: Path, value: Any) -> Path:
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    return path


def import_into(folder: Path, name: str, *inputs: Path, **settings: Any):
    settings.setdefault("cache_dir", str(folder / "cache"))
    return import_corpus(name, inputs, folder, **settings)


@pytest.mark.parametrize("as_lines", [True, False])
def test_hotpotqa_becomes_documents_and_questions_in_the_order_of_the_hops(
    tmp_path: Path, as_lines: bool
) -> None:
    source = (write_rows if as_lines else write_json)(tmp_path / "dev.json", HOTPOT)
    extra = write_json(tmp_path / "pool.json", [{"title": "Zinc", "text": "Zinc is a metal."}])
    report = import_into(tmp_path / "out", "hotpotqa", source, extra)
    assert report.num_documents == 5  # two texts under the title "Rust"
    assert report.outcomes == {SOLVABLE: 1, "answer cannot be copied": 1}
    task = task_set_of(tmp_path / "out").task(Split.TRAIN, 0)
    assert task.kind == "bridge" and task.truth.answers == ("3 May 1921",)
    assert [e.subject for e in task.truth.evidence] == ["Orla Works", "Mara Veldin"]
    assert task.truth.evidence[0].needles == ("It was founded by Mara Veldin.",)


def test_questions_that_copying_cannot_solve_are_kept_when_asked_for(tmp_path: Path) -> None:
    source = write_json(tmp_path / "dev.json", HOTPOT)
    report = import_into(tmp_path / "out", "2wiki", source, keep_all=True)
    assert sum(report.kept.values()) == 2
    assert check_corpus(tmp_path / "out", cache_dir=str(tmp_path / "out" / "cache")) == report


def test_kept_questions_whose_evidence_is_not_found_are_no_bad_rows(tmp_path: Path) -> None:
    lost = HOTPOT[0] | {"_id": "h3", "answer": "Zinc", "supporting_facts": [["Rust", 0]]}
    lost |= {"context": [["Rust", ["Rust\x07 is iron oxide."]]]}  # no page holds the control mark
    source = write_json(tmp_path / "dev.json", [lost])
    report = import_into(tmp_path / "out", "hotpotqa", source, keep_all=True)
    assert report.outcomes == {"evidence not found": 1}
    assert check_corpus(tmp_path / "out", cache_dir=str(tmp_path / "out" / "cache")).num_bad == 0
    task = task_set_of(tmp_path / "out").task(Split.TRAIN, 0)
    assert task.truth.evidence == () and task.truth.potential == {document_url("Rust"): 1.0}


def test_a_check_names_the_row_whose_needles_no_block_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = QUESTIONS[1] | {"evidence": [{"document": "rust", "needles": ["gold"]}]}
    folder = write_corpus(tmp_path, questions=[QUESTIONS[0], wrong])
    arguments = ["check", str(folder), "--cache-dir", str(tmp_path / "cache")]
    assert run(arguments) == 1
    assert f"{folder / 'questions.jsonl'}:2: evidence.needles: " in capsys.readouterr().err
    assert run([*arguments, "--skip-bad"]) == 0
    assert "1 bad rows skipped" in capsys.readouterr().out


def test_an_import_that_ends_early_leaves_no_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_json(tmp_path / "dev.json", HOTPOT)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "open_library", die)
    with pytest.raises(KeyboardInterrupt):
        import_into(tmp_path / "out", "hotpotqa", source)
    assert not (tmp_path / "out" / "questions.jsonl").exists()


def test_ottqa_becomes_pages_with_linked_tables(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "tables.jsonl.gz", "wb") as file:
        file.write(orjson.dumps(TABLE) + b"\n")
    (tmp_path / "in").mkdir()
    write_json(tmp_path / "in" / "passages.json", PASSAGES)
    write_json(tmp_path / "in" / "questions.json", OTT_QUESTIONS)
    report = import_into(tmp_path / "out", "ottqa", tmp_path / "tables.jsonl.gz", tmp_path / "in")
    assert report.num_documents == len(PASSAGES) and report.outcomes == {SOLVABLE: 2}
    tasks = task_set_of(tmp_path / "out")
    by_kind = {task.kind: task for task in (tasks.task(Split.TRAIN, i) for i in range(2))}
    page, passage = document_url("Fleet_of_Calder"), document_url("Orla_Yard")
    first, second = by_kind["linked_passage"].truth.evidence
    assert (first.url, first.needles) == (page, ("Orla Yard",))
    assert (second.url, second.needles) == (passage, ("1875",))
    assert [e.url for e in by_kind["table_cell"].truth.evidence] == [page]
    body = tasks._reader.texts(page)
    assert body[:3] == ("Fleet of Calder", "The fleet of Calder.", "Ships")
    assert "MS Bero (1912): Vardo, Calder" in body


def test_the_tokenisers_spaces_go_away() -> None:
    text = "Robert , played by ( Bob ) 's `` son '' : 3 % ; it does n't end ."
    assert tables.detokenised(text) == "Robert, played by (Bob)'s \"son\": 3%; it doesn't end."


@pytest.mark.parametrize(
    ("convert", "row", "error"),
    [
        (paragraphs.convert, HOTPOT[0] | {"answer": None}, "answer: expected a text"),
        (paragraphs.convert, HOTPOT[0] | {"context": "x"}, "context: expected a list of pairs"),
        (paragraphs.convert, HOTPOT[0] | {"context": [["x"]]}, "context: expected pairs"),
        (paragraphs.convert, HOTPOT[0] | {"supporting_facts": [["Zinc", 0]]}, "supporting_facts:"),
        (paragraphs.convert, {"text": "x"}, "title: expected a title"),
        (tables.convert, OTT_QUESTIONS[0] | {"table_id": "other_0"}, "table_id: expected a table"),
        (tables.convert, TABLE | {"uid": "T_1", "data": "x"}, "data: expected a list"),
        (tables.convert, {"what": "x"}, "row: expected a question, a table, a passage"),
        (tables.convert, [1], "row: expected a JSON object"),
    ],
)
def test_a_bad_source_row_names_file_line_and_field_or_is_counted(
    tmp_path: Path, convert: Any, row: Any, error: str
) -> None:
    good = HOTPOT[1] if convert is paragraphs.convert else TABLE
    path = write_rows(tmp_path / "in.jsonl", [good, row])
    with pytest.raises(RowError) as caught:
        convert([path], BadRows(skip=False))
    assert f"{path}:2: {error}" in str(caught.value)
    bad = BadRows(skip=True)
    convert([path], bad)
    assert bad.count == 1 and error in bad.messages[0]


def test_files_are_read_as_array_lines_or_one_object(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", [{"n": 1}, {"n": 2}])
    write_rows(tmp_path / "b.jsonl", [{"n": 3}])
    write_json(tmp_path / "c.json", {"n": 4})
    (tmp_path / "notes.txt").write_text("no data")
    assert [r.values["n"] for r in rows_in([tmp_path], BadRows(skip=False))] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="does not exist"):
        list(rows_in([tmp_path / "none"], BadRows(skip=False)))


def test_the_command_imports_checks_and_explains_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write_rows(tmp_path / "in.jsonl", HOTPOT), tmp_path / "out"
    cache = ["--cache-dir", str(tmp_path / "cache")]
    arguments = ["import", "--format", "hotpotqa", str(source), str(out), *cache]
    assert run(arguments) == 0
    assert "1 questions: solvable" in capsys.readouterr().out
    assert run(["check", str(out), *cache]) == 0
    assert "1 kept in train/bridge" in capsys.readouterr().out
    assert run(arguments) == 1
    assert "expected a folder without a corpus" in capsys.readouterr().err


# --- Real sets ---------------------------------------------------------------------------------

DATA = Path(os.environ.get("FORAGERL_DATA", ""))
REAL = [
    ("ottqa", ["ottqa-mini"], 120),
    ("hotpotqa", ["multihop/hotpotqa_dev200.jsonl"], 120),
    ("2wiki", ["multihop/2wikimultihopqa_train500.json"], 270),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "inputs", "least"), REAL)
def test_most_questions_of_real_sets_are_kept(
    tmp_path: Path, name: str, inputs: list[str], least: int
) -> None:
    paths = [DATA / part for part in inputs]
    if not os.environ.get("FORAGERL_DATA") or not all(path.exists() for path in paths):
        pytest.skip(f"FORAGERL_DATA names no folder with {inputs}")
    report = import_into(tmp_path / "out", name, *paths)
    assert report.num_bad == 0 and sum(report.kept.values()) >= least
