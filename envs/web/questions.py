# SPDX-License-Identifier: Apache-2.0
"""Questions over a world: what is asked, which answers are right, and what proves them.

A further kind of task is one more function in `QUESTION_KINDS`, and its name in `mix.KINDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from envs.dom import MAX_TEXT_CHARS
from envs.types import EvidenceItem, TaskTruth
from envs.web import task_kinds
from envs.web.article import POLICY_HOME, Article, compose_article
from envs.web.draw import Draw
from envs.web.permits import PERMITS_HOME, compose_permit
from envs.web.relations import PERMIT_RELATIONS, RELATION, ValueType
from envs.web.sites.shell import SEARCH_HOME
from envs.web.task_kinds import Draft, aliases_of, names_of
from envs.web.world import Fact, World

QUESTION_KINDS: dict[str, Callable[[World, Draw], Draft]] = {
    "look_up": task_kinds.look_up,
    "two_hop": task_kinds.two_hop,
    "three_hop": task_kinds.three_hop,
    "comparison": task_kinds.comparison,
    "fuzzy": task_kinds.fuzzy,
    "cross_site": task_kinds.cross_site,
}
_WAY_TO_PERMITS = (SEARCH_HOME, POLICY_HOME, PERMITS_HOME)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question with its truth."""

    text: str
    truth: TaskTruth


def draw_question(world: World, kind: str, draw: Draw) -> Question:
    """A question of `kind`; drawn again until it can be proven and does not say its own answer."""
    while True:
        question = prove(world, QUESTION_KINDS[kind](world, draw))
        if question is not None:
            return question


def prove(world: World, draft: Draft) -> Question | None:
    """The question with its truth; None if it says its own answer or cannot be proven."""
    text = draft.text.casefold()
    if any(fact.text.casefold() in text for fact in draft.facts):
        return None
    evidence = [item for f in draft.facts if (item := evidence_of(world, f)) is not None]
    if len(evidence) < len(draft.facts):
        return None
    evidence[0] = dataclasses.replace(evidence[0], clues=draft.clues)
    return Question(text=draft.text, truth=_truth(world, draft, tuple(evidence)))


def _truth(world: World, draft: Draft, evidence: tuple[EvidenceItem, ...]) -> TaskTruth:
    """Potentials rise along a chain of facts; facts to be compared are as near as each other."""
    count = len(evidence)
    potential: dict[str, float] = {}
    for i, item in enumerate(evidence):
        if item.way:
            potential.setdefault(item.way[-1], (i + 0.5) / count)
        if draft.needs_all:
            potential[item.url] = sum(other.url == item.url for other in evidence) / count
        else:
            potential[item.url] = (i + 1) / count
    return TaskTruth(
        answers=draft.answers or answers_of(world, draft.facts[-1]),
        evidence=evidence,
        potential=potential,
        needs_all=draft.needs_all,
    )


def evidence_of(world: World, fact: Fact) -> EvidenceItem | None:
    """What proves a fact, or None if its page has the value in a place that does not state it."""
    entity = world.entities[fact.subject]
    is_permit = RELATION[fact.relation] in PERMIT_RELATIONS
    article = compose_permit(world, entity) if is_permit else compose_article(world, entity)
    stating = [block for block in article.blocks() if fact in block.facts]
    in_row_only = len(stating) == 1 and bool(stating[0].header)
    needle = f"{stating[0].header}: {fact.text}" if in_row_only else fact.text
    if any(needle not in block.text()[:MAX_TEXT_CHARS] for block in stating):
        return None
    if any(needle in text for text in _texts_beside(article, fact)):
        return None
    return EvidenceItem(
        subject=entity.name,
        url=article.url,
        needles=(needle,),
        value=fact.text,
        way=_WAY_TO_PERMITS if is_permit else (),
    )


def _texts_beside(article: Article, fact: Fact) -> list[str]:
    """Everything on the page that does not state `fact`."""
    texts = [block.text() for block in article.blocks() if fact not in block.facts]
    texts += [article.entity.name, article.versions_caption]
    texts += [section.heading for section in article.sections]
    return texts + [link.text for link in article.see_also]


def answers_of(world: World, fact: Fact) -> tuple[str, ...]:
    """Accepted answers, the one written on the page first."""
    value_type = RELATION[fact.relation].value_type
    if value_type is ValueType.ENTITY:
        return names_of(world.entities[fact.target])
    by_name = world.words.aliases
    name = fact.relation if fact.relation in by_name else value_type.value
    return fact.text, *aliases_of(world, fact.text, name)
