# SPDX-License-Identifier: Apache-2.0
"""The questions of a corpus as tasks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from envs.config import EnvConfig
from envs.corpus.evidence import EvidenceReader, Proof, needle_error
from envs.corpus.library import Library, open_library
from envs.corpus.pages import CorpusSite
from envs.corpus.rows import QUESTIONS_FILE, BadRows, Question, RowError, lines_of, question_from
from envs.site import Site
from envs.types import Split, Task, TaskPrompt, TaskTruth
from envs.web.draw import Draw, stable_hash
from envs.web.guide import document_of
from envs.web.sites.shell import SEARCH_HOME

# Percent of the questions whose rows name no split.
_TRAIN_BELOW = 80
_VALIDATION_BELOW = 90

logger = logging.getLogger(__name__)


def from_config(config: EnvConfig) -> CorpusTaskSet:
    """The task set as configured; `ValueError` names what is missing or wrong."""
    folder = Path(config.path)
    skip_bad = config.corpus.skip_bad
    library = open_library(folder, cache_dir=config.corpus.cache_dir, skip_bad=skip_bad)
    bad = BadRows(skip=skip_bad)
    questions = read_questions(folder / QUESTIONS_FILE, library, bad)
    if library.num_bad or bad.count:  # a cached index was built, and warned, in an earlier run
        logger.warning(
            "%s: left out %d bad documents and %d bad questions",
            folder,
            library.num_bad,
            bad.count,
        )
    site = CorpusSite(library, language=config.corpus.language, max_elements=config.max_elements)
    return CorpusTaskSet(
        questions,
        site,
        EvidenceReader(library, site, config.max_elements),
        path=folder / QUESTIONS_FILE,
        max_steps=config.max_steps,
        bad=bad,
        library=library,
    )


def split_of_id(question_id: str) -> Split:
    """The split of a question whose row names none: 80/10/10 by the hash of its id."""
    percent = stable_hash("split of a question", question_id) % 100
    if percent < _TRAIN_BELOW:
        return Split.TRAIN
    return Split.VALIDATION if percent < _VALIDATION_BELOW else Split.TEST


def read_questions(path: Path, library: Library, bad: BadRows) -> list[Question]:
    """All questions in the order of the file; evidence must name documents of the library."""
    questions: list[Question] = []
    line_of_id: dict[str, int] = {}
    for line in lines_of(path):
        with bad.catching():
            question = question_from(path, line)
            first = line_of_id.setdefault(question.id, line.number)
            if first != line.number:
                raise RowError(path, line.number, "id", f"another than line {first}", question.id)
            for row in question.evidence:
                if library.row_of(row.document) is None:
                    raise RowError(
                        path, line.number, "evidence", "the id of a document", row.document
                    )
            questions.append(question)
    return questions


class CorpusTaskSet:
    """Each split's questions in a mixed order; see `TaskSet`.

    Training goes through its questions again, in an order drawn anew for every pass. The other
    splits end: an evaluation that counted a question twice would claim more than it knows.
    """

    def __init__(
        self,
        questions: list[Question],
        site: CorpusSite,
        reader: EvidenceReader,
        *,
        path: Path,
        max_steps: int,
        bad: BadRows,
        library: Library,
    ) -> None:
        self._site = site
        self._reader = reader
        self._path = path
        self._max_steps = max_steps
        self.bad = bad
        self.library = library
        self._proofs: dict[str, Proof] = {}  # about 1 kB each
        self._by_split: dict[Split, list[Question]] = {split: [] for split in Split}
        for question in questions:
            self._by_split[question.split or split_of_id(question.id)].append(question)

    def num_questions(self, split: Split) -> int:
        """How many questions a split has."""
        return len(self._by_split[split])

    def num_tasks(self, split: Split) -> int | None:
        """One for each question; training goes through its questions without end."""
        return None if split is Split.TRAIN else self.num_questions(split)

    def task(self, split: Split, index: int) -> Task:
        """Task `index` (>= 0) of a split; the same on every machine.

        Raises `ValueError` for a split without questions, and for more tasks than a split other
        than training has questions.
        """
        if index < 0:
            raise ValueError(f"task index: expected >= 0, got {index}")
        questions = self._by_split[split]
        if not questions:
            raise ValueError(
                f"{self._path}: expected questions of the split {split.value!r}, found none; give "
                "rows a 'split', or leave it out to have it drawn from the id"
            )
        if split is not Split.TRAIN and index >= len(questions):
            raise ValueError(
                f"{self._path}: expected at most {len(questions)} tasks of the split "
                f"{split.value!r}, one for each question, got task {index}; set "
                "evaluation.num_tasks and evaluation.num_baseline_tasks to no more than that"
            )
        round_, place = divmod(index, len(questions))
        question = questions[_order(split, round_, len(questions))[place]]
        return self._task(question, split, index)

    def site(self, task: Task) -> Site:
        """The site on which `task` is worked on: the same for all."""
        return self._site

    def _proof(self, question: Question) -> Proof:
        known = self._proofs.get(question.id)
        if known is not None:
            return known
        proof = self._reader.prove(question)
        error = needle_error(self._path, question, proof)
        if error is not None:
            self.bad.meet(error)
        self._proofs[question.id] = proof
        return proof

    def _task(self, question: Question, split: Split, index: int) -> Task:
        proof = self._proof(question)
        return Task(
            task_id=f"corpus-{split.value}-{index}-{question.id}",
            kind=question.kind,
            split=split,
            language=question.language,
            world_seed=0,
            task_seed=0,
            prompt=TaskPrompt(
                question=question.question, start_url=SEARCH_HOME, max_steps=self._max_steps
            ),
            truth=TaskTruth(
                answers=question.answers,
                evidence=proof.items,
                potential=_potential(proof.urls),
            ),
        )


def _potential(urls: Sequence[str]) -> dict[str, float]:
    """Equal steps over the evidence pages; the way into a long document is half a step."""
    count = len(urls)
    entrances = {document_of(url): (i + 0.5) / count for i, url in enumerate(urls)}
    return entrances | {url: (i + 1) / count for i, url in enumerate(urls)}


@lru_cache(maxsize=8)
def _order(split: Split, round_: int, count: int) -> list[int]:
    """The order of a pass; mixed, because files are often sorted by kind."""
    return Draw("order of questions", split.value, round_).sample(range(count), count)
