# SPDX-License-Identifier: Apache-2.0
"""What a converter gives: the rows of `documents.jsonl` and `questions.jsonl`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.corpus.rows import BadRows

JsonRow = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """The rows of a corpus; `documents` can be large and is gone through once, first."""

    documents: Iterator[JsonRow]
    questions: list[JsonRow]


Converter = Callable[[Sequence[Path], BadRows], Converted]
