# SPDX-License-Identifier: Apache-2.0
"""What the agent sees, on a terminal in colours; elsewhere the same as plain lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import IO

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from envs.actions import ACTION_SPECS, Head
from envs.plain import (
    WIDTH_CHARS,
    Line,
    Tone,
    cut,
    element_lines,
    head_lines,
    mask_lines,
    span_lines,
)
from envs.types import Observation

MAX_LINE_CHARS = 1000  # of any terminal
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line ends

_STYLES = {
    Tone.HEAD: "bold",
    Tone.PLAIN: "",
    Tone.FAR: "dim",
    Tone.NEW: "green",
    Tone.CHANGED: "yellow",
    Tone.NOTICE: "red",
}


class Screen:
    """Writes to one stream."""

    def __init__(self, stream: IO[str]) -> None:
        is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._console = Console(
            file=stream,
            force_terminal=is_terminal,
            highlight=False,
            soft_wrap=True,
            width=None if is_terminal else WIDTH_CHARS,
        )

    def scene(self, seen: Observation) -> None:
        """The page as far as it is in view, and what may be done."""
        self.say("")
        self.rule()
        self.show(head_lines(seen))
        self.rule()
        self.show(element_lines(seen, whole_page=False))
        self._fill("legal: ", _legal(seen))
        self._fill("spans: ", [f"s{i} {span.text}" for i, span in enumerate(seen.spans)])

    def page(self, seen: Observation) -> None:
        """All rows."""
        self.show(element_lines(seen))

    def mask(self, seen: Observation) -> None:
        """The legal actions with their arguments."""
        self.show(mask_lines(seen))

    def spans(self, seen: Observation) -> None:
        """The texts that may be typed or answered."""
        self.show(span_lines(seen))

    def show(self, lines: Iterable[Line]) -> None:
        """Each on one line of the terminal."""
        for line in lines:
            text = Text(_shown(cut(line.text, MAX_LINE_CHARS)), style=_STYLES[line.tone])
            # In columns of the terminal: a Chinese character takes two.
            text.truncate(self._console.width, overflow="ellipsis")
            self._console.print(text)

    def _fill(self, head: str, parts: Sequence[str]) -> None:
        """The parts on as many lines as they need, none cut in two."""
        line = head
        for part in parts or ["none"]:
            if line.strip() and cell_len(line + part) > self._console.width:
                self.show([Line(text=line.rstrip())])
                line = " " * len(head)
            line += part + "   "
        self.show([Line(text=line.rstrip())])

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """A text as it is."""
        self._console.print(Text(_shown(text), style=_STYLES[tone]))

    def ask(self) -> None:
        """The prompt."""
        self._console.print(Text("> ", style="bold"), end="")
        self._console.file.flush()

    def rule(self) -> None:
        """A line between two parts."""
        self._console.print(Text("─" * self._console.width, style="dim"))


def _shown(text: str) -> str:
    """A page's text without what a terminal would obey: escapes and other control characters."""
    return _CONTROL.sub(" ", text)


def _legal(seen: Observation) -> list[str]:
    """Legal types, those on elements with the number of elements."""
    words = []
    for kind in np.flatnonzero(seen.mask.type):
        spec = ACTION_SPECS[int(kind)]
        count = int(seen.mask.element[kind].sum()) if Head.ELEMENT in spec.heads else 0
        words.append(f"{spec.name} {count}" if count else spec.name)
    return words
