# SPDX-License-Identifier: Apache-2.0
"""Questions over a world: what is asked, which answers are right, and what proves them.

A further kind of task is one more function in `QUESTION_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs.dom import MAX_TEXT_CHARS
from envs.types import EvidenceItem
from envs.web.article import Article, compose_article, mention_of, url_of
from envs.web.draw import Draw
from envs.web.relations import CHAINS, RELATION, RELATIONS, Kind, ValueType
from envs.web.terms import TOPICS
from envs.web.wording import WORDINGS
from envs.web.world import LIMIT_YEARS, Entity, Fact, World


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question with its truth; evidence in the order in which it is found."""

    text: str
    answers: tuple[str, ...]
    evidence: tuple[EvidenceItem, ...]


def draw_question(world: World, kind: str, draw: Draw) -> Question:
    """A question of `kind`; drawn again until it can be proven and does not say its own answer."""
    while True:
        facts, text = QUESTION_KINDS[kind](world, draw)
        if any(fact.text.casefold() in text.casefold() for fact in facts):
            continue
        evidence = [item for fact in facts if (item := evidence_of(world, fact)) is not None]
        if len(evidence) == len(facts):
            answers = answers_of(world, facts[-1])
            return Question(text=text, answers=answers, evidence=tuple(evidence))


def evidence_of(world: World, fact: Fact) -> EvidenceItem | None:
    """What proves a fact, or None if its page has the value in a place that does not state it."""
    entity = world.entities[fact.subject]
    article = compose_article(world, entity)
    stating = [block for block in article.blocks() if fact in block.facts]
    in_row_only = len(stating) == 1 and bool(stating[0].header)
    needle = f"{stating[0].header}: {fact.text}" if in_row_only else fact.text
    if any(needle not in block.text()[:MAX_TEXT_CHARS] for block in stating):
        return None
    if any(needle in text for text in _texts_beside(article, fact)):
        return None
    return EvidenceItem(subject=entity.name, url=url_of(entity), needles=(needle,), value=fact.text)


def _texts_beside(article: Article, fact: Fact) -> list[str]:
    """Everything on the page that does not state `fact`."""
    texts = [block.text() for block in article.blocks() if fact not in block.facts]
    texts += [article.entity.name, article.versions_caption]
    texts += [section.heading for section in article.sections]
    return texts + [link.text for link in article.see_also]


def answers_of(world: World, fact: Fact) -> tuple[str, ...]:
    """Accepted answers, the one written on the page first."""
    value_type = RELATION[fact.relation].value_type
    text = fact.text
    if value_type is ValueType.ENTITY:
        target = world.entities[fact.target]
        # An organisation's first word is unique; a person's family name is not.
        return (text, target.short_name) if target.kind is Kind.ORGANISATION else (text,)
    if value_type is ValueType.NAME and fact.relation == "river":
        return text, f"River {text}", f"{text} River"
    if value_type is ValueType.COUNT:
        return text, text.replace(",", "")
    if value_type is ValueType.PRICE:
        bare = text.removeprefix("$").replace(",", "")
        return text, bare, f"{bare} dollars"
    if value_type is ValueType.LIMIT:
        return text, text.split()[0]
    return (text,)


def _look_up(world: World, draw: Draw) -> tuple[Sequence[Fact], str]:
    """One fact of a named entity."""
    relation = draw.pick(RELATIONS)
    entity = draw.pick(world.by_kind[relation.domain])
    fact = _fact(world, entity, relation.name, draw)
    return (fact,), _ask(world, fact, mention_of(entity), draw)


def _two_hop(world: World, draw: Draw) -> tuple[Sequence[Fact], str]:
    """A fact of an entity that the question names only by its relation to another."""
    first, second = draw.pick(CHAINS)
    entity = draw.pick(world.by_kind[first.domain])
    bridge_fact = _fact(world, entity, first.name, draw)
    bridge = world.entities[bridge_fact.target]
    fact = _fact(world, bridge, second.name, draw)
    phrases = WORDINGS[world.language][first.name].phrases
    described = draw.pick(phrases).replace("{x}", mention_of(entity))
    return (bridge_fact, fact), _ask(world, fact, described, draw)


def _fact(world: World, entity: Entity, relation: str, draw: Draw) -> Fact:
    year = draw.pick(LIMIT_YEARS) if relation == "limit" else 0
    return world.fact(entity.key, relation, year)


def _ask(world: World, fact: Fact, about: str, draw: Draw) -> str:
    """A question for a fact about what `about` describes."""
    text = draw.pick(WORDINGS[world.language][fact.relation].questions).replace("{x}", about)
    if fact.year:
        name = world.entities[fact.subject].name
        topic = next(t for t in TOPICS[world.language] if name.endswith(t.rule_name))
        text = text.replace("{y}", str(fact.year)).replace("{q}", topic.quantity)
    return text


QUESTION_KINDS: dict[str, Callable[[World, Draw], tuple[Sequence[Fact], str]]] = {
    "look_up": _look_up,
    "two_hop": _two_hop,
}
