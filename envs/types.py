# SPDX-License-Identifier: Apache-2.0
"""Everything that crosses a seam of an environment: tasks, observations, evidence and scores.

Frozen, keyword-only and picklable. Lengths: E elements, S spans, T steps.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from envs.actions import ActionMask

# --- Tasks -------------------------------------------------------------------------------------


class Split(enum.Enum):
    """Which part of the data a task belongs to; splits share no entities."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPrompt:
    """All that an agent may know of a task, and only through `Observation`."""

    question: str
    start_url: str
    max_steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceItem:
    """One fact that the answer rests on. In order: earlier items lead to later ones."""

    subject: str  # the entity that the fact is about, as its page is titled
    url: str  # the page that states it
    needles: tuple[str, ...]  # an extracted text holds the fact if it contains all of these
    value: str  # the value stated, e.g. the bridge entity or the answer
    # Texts that find the page through a search although no text names its subject; else ().
    clues: tuple[str, ...] = ()
    # Pages on the way to a form that asks for the subject, which alone leads to the page, the
    # form's own last; () when a search finds the page.
    way: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskTruth:
    """What only scorers, teachers and the scripted oracle may see."""

    answers: tuple[str, ...]  # accepted answers, the canonical one first
    evidence: tuple[EvidenceItem, ...]
    potential: Mapping[str, float]  # URL -> closeness to the evidence in [0, 1]; missing means 0
    needs_all: bool = False  # no item alone states the answer, e.g. in a comparison


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A question with its accepted answers, start page and evidence; made by a task set."""

    task_id: str  # unique over splits, world seeds and kinds
    kind: str  # e.g. "look_up", "two_hop"; success is reported by kind
    split: Split
    language: str  # BCP 47, e.g. "en"
    world_seed: int
    task_seed: int  # draws the hazards
    prompt: TaskPrompt
    truth: TaskTruth
    layer_weights: tuple[float, float, float] = (0.25, 0.5, 2.0)  # base, nav, semantic


# --- Observations ------------------------------------------------------------------------------


class Role(enum.IntEnum):
    """What an element is to a person."""

    LINK = 0
    BUTTON = 1
    TEXTBOX = 2
    SELECT = 3
    CHECKBOX = 4
    HEADING = 5
    PARAGRAPH = 6
    LIST_ITEM = 7
    TABLE_ROW = 8
    IMAGE = 9
    OTHER = 10

    def is_text(self) -> bool:
        """Whether the element is a block of text that `extract_text` can note."""
        return self in _TEXT_ROLES


_TEXT_ROLES = frozenset({Role.HEADING, Role.PARAGRAPH, Role.LIST_ITEM, Role.TABLE_ROW})


class ElementFlag(enum.IntEnum):
    """Columns of `ElementTable.flags`."""

    IN_VIEW = 0  # its box meets the viewport
    OCCLUDED = 1  # a modal layer lies over it
    FOCUSED = 2
    DISABLED = 3
    CHECKED = 4
    CLICKABLE = 5
    TYPABLE = 6
    VISITED = 7  # a link whose URL was opened in this episode
    EXTRACTED = 8  # its text is already among the notes
    IN_DIALOG = 9  # inside a dialog or banner layer


NUM_ELEMENT_FLAGS = len(ElementFlag)


class StyleColumn(enum.IntEnum):
    """Columns of `ElementTable.style`, numbers from the computed style."""

    FONT_SIZE_PX = 0
    IS_BOLD = 1
    IS_POINTER = 2  # cursor: pointer
    LUMINANCE = 3  # of the text colour, in [0, 1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ElementTable:
    """The elements of the whole document in document order; in view is a flag."""

    role: np.ndarray  # int8 [E], a Role
    box: np.ndarray  # float32 [E, 4]: x, y, width, height; CSS px, document coordinates
    frame_slot: np.ndarray  # int16 [E]; 0 is the main document
    flags: np.ndarray  # bool [E, NUM_ELEMENT_FLAGS]
    style: np.ndarray  # float32 [E, len(StyleColumn)]
    text: tuple[str, ...]  # [E] visible text or label, white space folded
    context: tuple[str, ...]  # [E] enclosing block's text, else the nearest heading above
    value: tuple[str, ...]  # [E] current value of a field, else ""
    href: tuple[str, ...]  # [E] absolute URL of a link, else ""
    options: tuple[tuple[str, ...], ...]  # [E] option labels of a select box, else ()
    node_ref: np.ndarray  # int64 [E]; the driver's handle, meaningless to a policy

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A text the agent extracted, with its source."""

    text: str
    url: str
    title: str
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A text the agent typed and sent; kept across pages and hosts."""

    text: str
    step: int


class SpanSource(enum.IntEnum):
    """Where a span comes from."""

    QUESTION = 0
    NOTE = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A text that may be typed or answered, drawn deterministically from question and notes."""

    text: str
    source: SpanSource
    note: int  # index into `Observation.notes`, or -1 for the question
    context: str  # the sentence or row around it


@dataclass(frozen=True, kw_only=True, slots=True)
class Tab:
    """An open tab."""

    url: str
    title: str
    active: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PageDiff:
    """What changed since the observation before, position-invariant."""

    navigated: bool  # another document; then every element counts as added
    added: np.ndarray  # int16 [*] rows of the present table
    changed: np.ndarray  # int16 [*] rows whose text, value or flags changed
    removed: int  # number of rows that are gone


class PageState(enum.Enum):
    """What the host knows of the page from its events."""

    IDLE = "idle"
    LOADING = "loading"
    UNRESPONSIVE = "unresponsive"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """Everything an agent sees at one step; made by the env."""

    question: str
    step_index: int
    steps_left: int
    url: str
    title: str
    elements: ElementTable
    page_text: str  # text blocks joined by newlines, capped
    scroll_y_px: float
    page_height_px: float
    viewport: tuple[int, int]  # width, height; CSS px
    diff: PageDiff
    queries: tuple[Query, ...]  # oldest first
    notes: tuple[Note, ...]  # oldest first
    spans: tuple[Span, ...]  # [S], S <= MAX_SPANS
    tabs: tuple[Tab, ...]
    mask: ActionMask
    page_state: PageState
    last_effect: str  # "" before the first step, "ok", or why the last action did nothing
    screenshot_jpeg: bytes  # b"" when nobody asked for one
    screenshot_scale: float  # image px per CSS px; 0.0 without a screenshot


# --- What an attempt leaves behind ---------------------------------------------------------------


class StopReason(enum.Enum):
    """Why an attempt ended."""

    ANSWERED = "answered"
    STEP_LIMIT = "step_limit"
    INFRA_BROWSER = "infra_browser"  # browser or driver died
    INFRA_TIMEOUT = "infra_timeout"  # a call outlived its deadline
    INFRA_ACTOR = "infra_actor"  # the process that ran the attempt is gone

    def is_infra_failure(self) -> bool:
        """The world broke, not the agent: never a reward, always counted."""
        return self.value.startswith("infra_")

    def is_truncated(self) -> bool:
        """Whether the attempt was cut off rather than ended by the agent."""
        return self is not StopReason.ANSWERED


@dataclass(frozen=True, kw_only=True, slots=True)
class StepEvidence:
    """What one step did, as far as a scorer needs it; made by the env."""

    action_type: str
    effect: str  # "ok", or why the action did nothing
    url: str  # after the step
    title: str
    is_new_page: bool  # the first time in this episode that this URL finished loading
    num_images: int  # images requested by the page, when `is_new_page`
    num_images_failed: int
    settle_ms: float
    extracted_text: str  # "" unless the action was a successful extract_text
    extracted_url: str
    answer: str  # "" unless the action was answer
    # The step's outcome was decided by the world's clock or the boundary, not by the action.
    is_exogenous: bool
    screenshot_jpeg: bytes  # half size; b"" when not recorded
    refusals: tuple[str, ...] = ()  # what the boundary refused during the step, `Effect.refusals`


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The evidence of one finished attempt; rollout actor -> reward pool."""

    trajectory_id: str
    group_id: str
    task: Task
    steps: tuple[StepEvidence, ...]  # [T]
    final_answer: str  # "" when none was given
    stop: StopReason


LAYERS = ("base", "nav", "semantic")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The rewards of one attempt; reward pool -> replay."""

    trajectory_id: str
    rewards: np.ndarray  # float32 [T, 3] in the order of LAYERS, each in [-1, 1]
    parts: Mapping[str, np.ndarray]  # float32 [T] by named part; a layer is the sum of its parts
    is_right: bool  # the final answer is accepted
    scorer_version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unscored:
    """There is no score; this is not a score of zero."""

    trajectory_id: str
    reason: str
