# SPDX-License-Identifier: Apache-2.0
"""The command `foragerl corpus`: make a corpus from a question set, check one, look at one.

foragerl corpus import --format hotpotqa|2wiki|ottqa INPUT... OUT_DIR [--keep-all] [--skip-bad]
foragerl corpus check DIR [--skip-bad]      read everything and say what is in it
foragerl corpus serve DIR [--port N]        show it to your own browser
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from envs.answers import is_accepted
from envs.config import EnvConfig
from envs.corpus.convert import paragraphs, tables
from envs.corpus.convert.rows_out import Converter, JsonRow
from envs.corpus.evidence import EvidenceReader, Proof, needle_error
from envs.corpus.library import Library, open_library
from envs.corpus.pages import CorpusSite
from envs.corpus.rows import DOCUMENTS_FILE, QUESTIONS_FILE, BadRows, Question
from envs.corpus.task_set import read_questions, split_of_id
from envs.spans import draw_spans
from envs.types import Note

FORMATS: dict[str, Converter] = {
    "hotpotqa": paragraphs.convert,
    "2wiki": paragraphs.convert,
    "ottqa": tables.convert,
}
# What becomes of a question, best first.
SOLVABLE = "solvable"  # its evidence is proven and its answer can be copied from it
UNCOPYABLE = "answer cannot be copied"  # e.g. yes or no: no text on the way says it
UNPROVEN = "evidence not found"  # no block of a document holds what should prove it
NO_EVIDENCE = "no evidence"
EXIT_FAILED = 1
_UNCHECKED_FILE = "questions.unchecked.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What an import or a check found."""

    num_documents: int
    num_bad: int
    outcomes: Counter[str]  # questions by what becomes of them
    kept: Counter[str]  # questions of the corpus by "split/kind"

    def text(self) -> str:
        """For a person."""
        lines = [f"{self.num_documents} documents, {self.num_bad} bad rows skipped"]
        lines += [f"  {count:6d} questions: {name}" for name, count in self.outcomes.most_common()]
        lines += [f"  {count:6d} kept in {name}" for name, count in sorted(self.kept.items())]
        return "\n".join(lines)


def import_corpus(
    format_name: str,
    inputs: Sequence[Path],
    folder: Path,
    *,
    skip_bad: bool = False,
    keep_all: bool = False,
    cache_dir: str = "",
) -> Report:
    """Write the corpus of a question set into `folder`.

    Leaves out questions that are not solvable by copying texts, unless `keep_all`. Raises
    `ValueError` for missing inputs or a folder with a corpus in it, `RowError` for a bad row.
    """
    for name in (DOCUMENTS_FILE, QUESTIONS_FILE):
        if (folder / name).exists():
            raise ValueError(f"expected a folder without a corpus, got {folder}, which has {name}")
    bad = BadRows(skip=skip_bad)
    converted = FORMATS[format_name](inputs, bad)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / DOCUMENTS_FILE, converted.documents)
    # A killed import leaves no questions that look checked.
    unchecked = folder / _UNCHECKED_FILE
    _write(unchecked, converted.questions)
    library = open_library(folder, cache_dir=cache_dir, skip_bad=skip_bad)
    questions = read_questions(unchecked, library, bad)
    outcomes = {question.id: outcome for question, _, outcome in _judged(questions, library)}
    kept = {q.id for q in questions if keep_all or outcomes[q.id] == SOLVABLE}
    rows = (row for row in converted.questions if row["id"] in kept)
    _write(folder / QUESTIONS_FILE, (_usable(row, outcomes[row["id"]]) for row in rows))
    unchecked.unlink()
    return _report(library, [q for q in questions if q.id in kept], outcomes, bad)


def _usable(row: JsonRow, outcome: str) -> JsonRow:
    """A row without needles where they prove nothing, which would make it a bad one."""
    if outcome != UNPROVEN:
        return row
    return row | {"evidence": [{"document": item["document"]} for item in row["evidence"]]}


def check_corpus(folder: Path, *, skip_bad: bool = False, cache_dir: str = "") -> Report:
    """Read every row and look for all evidence; raises as `import_corpus`."""
    bad = BadRows(skip=skip_bad)
    library = open_library(folder, cache_dir=cache_dir, skip_bad=skip_bad)
    path = folder / QUESTIONS_FILE
    questions = read_questions(path, library, bad)
    outcomes: dict[str, str] = {}
    for question, proof, outcome in _judged(questions, library):
        outcomes[question.id] = outcome
        error = needle_error(path, question, proof)
        if error is not None:
            bad.meet(error)
    return _report(library, questions, outcomes, bad)


def _judged(
    questions: Iterable[Question], library: Library
) -> Iterator[tuple[Question, Proof, str]]:
    """What proves each question and what becomes of it, under the default settings of an env."""
    config = EnvConfig()
    site = CorpusSite(library, language=config.corpus.language, max_elements=config.max_elements)
    reader = EvidenceReader(library, site, config.max_elements)
    for question in questions:
        proof = reader.prove(question)
        yield question, proof, _outcome(question, proof, reader)


def _outcome(question: Question, proof: Proof, reader: EvidenceReader) -> str:
    if not proof.items:
        return UNPROVEN if question.evidence else NO_EVIDENCE
    notes = [
        Note(text=reader.proving_text(item), url=item.url, title=item.subject, step=step)
        for step, item in enumerate(proof.items)
    ]
    spans = draw_spans(question.question, notes)
    is_copyable = any(is_accepted(span.text, question.answers) for span in spans)
    return SOLVABLE if is_copyable else UNCOPYABLE


def _report(
    library: Library, kept: Sequence[Question], outcomes: dict[str, str], bad: BadRows
) -> Report:
    return Report(
        num_documents=len(library),
        num_bad=bad.count + library.num_bad,
        outcomes=Counter(outcomes.values()),
        kept=Counter(f"{(q.split or split_of_id(q.id)).value}/{q.kind}" for q in kept),
    )


def _write(path: Path, rows: Iterable[JsonRow]) -> None:
    """Write a file of JSON lines in one step: a killed import leaves no half file."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    os.replace(unfinished, path)


# --- The command line --------------------------------------------------------------------------


def run(argv: Sequence[str]) -> int:
    """`foragerl corpus ARGV...`; the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    chosen = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], None] = chosen.command
    try:
        command(chosen)
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="foragerl corpus", description="Corpora as sites.")
    commands = parser.add_subparsers(required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--skip-bad", action="store_true", help="count bad rows instead of failing")
    common.add_argument("--cache-dir", default="", help="of the index; ~/.cache/foragerl/corpus")
    importer = commands.add_parser("import", parents=[common], help="make a corpus")
    importer.add_argument("--format", required=True, choices=sorted(FORMATS))
    importer.add_argument(
        "--keep-all", action="store_true", help="also questions that copying cannot solve"
    )
    importer.add_argument("inputs", nargs="+", type=Path, metavar="INPUT")
    importer.add_argument("folder", type=Path, metavar="OUT_DIR")
    importer.set_defaults(command=_import)
    checker = commands.add_parser("check", parents=[common], help="read all of a corpus")
    checker.add_argument("folder", type=Path, metavar="DIR")
    checker.set_defaults(command=_check)
    server = commands.add_parser("serve", parents=[common], help="show a corpus to a browser")
    server.add_argument("folder", type=Path, metavar="DIR")
    server.add_argument("--port", type=int, default=8080)
    server.set_defaults(command=_serve)
    return parser


def _import(chosen: argparse.Namespace) -> None:
    report = import_corpus(
        chosen.format,
        chosen.inputs,
        chosen.folder,
        skip_bad=chosen.skip_bad,
        keep_all=chosen.keep_all,
        cache_dir=chosen.cache_dir,
    )
    sys.stdout.write(f"{chosen.folder}: {report.text()}\n")


def _check(chosen: argparse.Namespace) -> None:
    report = check_corpus(chosen.folder, skip_bad=chosen.skip_bad, cache_dir=chosen.cache_dir)
    sys.stdout.write(f"{chosen.folder}: {report.text()}\n")


def _serve(chosen: argparse.Namespace) -> None:
    from envs.web.serve import serve_site

    library = open_library(chosen.folder, cache_dir=chosen.cache_dir, skip_bad=chosen.skip_bad)
    config = EnvConfig()
    site = CorpusSite(library, language=config.corpus.language, max_elements=config.max_elements)
    serve_site(site, chosen.port)
