# SPDX-License-Identifier: Apache-2.0
"""The kinds of tasks: which facts a question rests on, and how it asks for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.web.article import mention_of
from envs.web.draw import Draw
from envs.web.permits import permit_facts
from envs.web.relations import (
    CHAINS,
    PERMIT_RELATIONS,
    RELATION,
    RELATIONS,
    Kind,
    Relation,
    ValueType,
)
from envs.web.world import LIMIT_YEARS, Entity, Fact, World

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_OVER_YEARS = 0.35  # share of the comparisons that look for a year
_THREE_CLAUSES = 0.4  # share of the descriptions
_THERE_AND_BACK = 0.25  # share of the cross-site tasks that come back to the encyclopedia
_LONG_CHAINS = tuple(
    (first, second, third)
    for first, second in CHAINS
    for also_second, third in CHAINS
    if second is also_second
)
_TO_HOLDERS = tuple(r for r in RELATIONS if r.target is Kind.ORGANISATION)


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A question that has still to be proven."""

    text: str
    facts: tuple[Fact, ...]  # what it rests on, in the order in which it is found
    answers: tuple[str, ...] = ()  # () when the last fact's value is the answer
    needs_all: bool = False  # no fact alone states the answer
    clues: tuple[str, ...] = ()  # find the first fact's page, whose name the question leaves out


def look_up(world: World, draw: Draw) -> Draft:
    """One fact of a named entity."""
    relation = draw.pick(RELATIONS)
    return _chain(world, draw.pick(world.by_kind[relation.domain]), (relation,), draw)


def two_hop(world: World, draw: Draw) -> Draft:
    """A fact of an entity that the question names only by its relation to another."""
    chain = draw.pick(CHAINS)
    return _chain(world, draw.pick(world.by_kind[chain[0].domain]), chain, draw)


def three_hop(world: World, draw: Draw) -> Draft:
    """A fact at the end of two such relations; no page is come to twice."""
    while True:
        chain = draw.pick(_LONG_CHAINS)
        draft = _chain(world, draw.pick(world.by_kind[chain[0].domain]), chain, draw)
        if len({fact.subject for fact in draft.facts}) == len(chain):
            return draft


def cross_site(world: World, draw: Draw) -> Draft:
    """A name found in the encyclopedia goes into the permit register's form, or the other way."""
    permit = draw.pick(PERMIT_RELATIONS)
    following = [r for r in RELATIONS if permit.target is not None and r.domain is permit.target]
    chain: tuple[Relation, ...] = (permit,)
    comes_back = bool(following) and draw.chance(_THERE_AND_BACK)
    if not following or comes_back or draw.chance(0.5):
        chain = (draw.pick(_TO_HOLDERS), permit)
    if len(chain) == 1 or comes_back:
        chain = (*chain, draw.pick(following))
    return _chain(world, draw.pick(world.by_kind[chain[0].domain]), chain, draw)


def comparison(world: World, draw: Draw) -> Draft:
    """Which of two entities has more, or in which year a limit first fell below a number."""
    if draw.chance(_OVER_YEARS):
        return _first_year_below(world, draw)
    relation = draw.pick(tuple(world.words.comparing))
    while True:
        pair = draw.sample(world.by_kind[RELATION[relation].domain], 2)
        draft = _which_has_more(world, relation, pair, draw)
        if draft is not None:
            return draft


def compare(world: World, entity: Entity, draw: Draw) -> Draft | None:
    """A comparison of an entity with another of its kind; None where nothing is compared."""
    names = [name for name in world.words.comparing if RELATION[name].domain is entity.kind]
    other = draw.pick(world.by_kind[entity.kind])
    if not names or other is entity:
        return None
    pair = draw.sample((entity, other), 2)
    return _which_has_more(world, draw.pick(names), pair, draw)


def _which_has_more(
    world: World, relation: str, pair: Sequence[Entity], draw: Draw
) -> Draft | None:
    """Which of two has more or less of a relation's number; None if both have as much."""
    facts = tuple(world.fact(entity.key, relation) for entity in pair)
    values = [_number(fact.text) for fact in facts]
    if values[0] == values[1]:
        return None
    asks_more = draw.chance(0.5)
    comparing = world.words.comparing[relation]
    text = draw.pick(comparing.more if asks_more else comparing.less)
    for slot, entity in zip(("{a}", "{b}"), pair, strict=True):
        text = text.replace(slot, mention_of(world, entity))
    best = pair[values.index(max(values) if asks_more else min(values))]
    return Draft(text=text, facts=facts, answers=names_of(best), needs_all=True)


def _first_year_below(world: World, draw: Draw) -> Draft:
    """The year's own limit and the one before it prove the answer."""
    entity = draw.pick(world.by_kind[Kind.REGULATION])
    facts = [world.fact(entity.key, "limit", year) for year in LIMIT_YEARS]
    tenths = [round(_number(fact.text) * 10) for fact in facts]
    while True:
        place = draw.between(1, len(facts) - 1)
        bound = draw.between(tenths[place] + 1, max(tenths[place] + 1, tenths[place - 1] - 1))
        if min(tenths[:place]) > bound > tenths[place]:
            break
    topic = world.words.topic_of(entity.name)
    text = draw.pick(world.words.below).replace("{x}", mention_of(world, entity))
    text = text.replace("{q}", topic.quantity)
    text = text.replace("{n}", world.words.limit.format(f"{bound / 10:.1f}", topic.unit))
    year = str(facts[place].year)
    answers = (year, *aliases_of(world, year, ValueType.YEAR.value))
    return Draft(text=text, facts=(facts[place - 1], facts[place]), answers=answers, needs_all=True)


def fuzzy(world: World, draw: Draw) -> Draft:
    """A fact of an entity that is described by others of its facts and never named."""
    while True:
        kind = draw.pick(tuple(world.words.describing))
        draft = describe(world, draw.pick(world.by_kind[kind]), draw)
        if draft is not None:
            return draft


def describe(world: World, entity: Entity, draw: Draw, first: str = "") -> Draft | None:
    """Such a question about an entity; None if what was drawn does not tell it from others.

    `first` is a relation that it must tell, one that descriptions of its kind have.
    """
    kind, describing = entity.kind, world.words.describing[entity.kind]
    count = 3 if draw.chance(_THREE_CLAUSES) else 2
    if first:
        others = tuple(name for name in describing.clauses if name != first)
        told = draw.sample((first, *draw.sample(others, count - 1)), count)
    else:
        told = draw.sample(tuple(describing.clauses), count)
    left = [
        r
        for r in RELATIONS
        if r.domain is kind and r.name not in told and r.name != describing.noun_relation
    ]
    if not left or not any(_is_anchor(RELATION[name]) for name in told):
        return None
    if _fitting(world, kind, [_told_fact(world, entity, n) for n in told]) != [entity]:
        return None
    fact = fact_of(world, entity, draw.pick(left).name, draw)
    described, clues = _description(world, entity, told, draw)
    text = ask(world, fact, described, draw)
    return Draft(text=text, facts=(fact,), clues=clues) if entity.name not in text else None


def _is_anchor(relation: Relation) -> bool:
    """Whether values of the relation are names, by which a search finds the page."""
    return relation.value_type in (ValueType.ENTITY, ValueType.NAME)


def _told_fact(world: World, entity: Entity, relation: str) -> Fact:
    return world.fact(entity.key, relation)


def _fitting(world: World, kind: Kind, told: Sequence[Fact]) -> list[Entity]:
    """Entities of a kind of which all that is told is true; of years only the decade is told."""
    return [
        entity
        for entity in world.by_kind[kind]
        if all(_told_text(world.fact(entity.key, f.relation)) == _told_text(f) for f in told)
    ]


def _told_text(fact: Fact) -> str:
    is_year = RELATION[fact.relation].value_type is ValueType.YEAR
    return f"{fact.text[:3]}0" if is_year else fact.text


def _description(
    world: World, entity: Entity, told: Sequence[str], draw: Draw
) -> tuple[str, tuple[str, ...]]:
    """The words for an entity, and those of them that its page has as well."""
    describing = world.words.describing[entity.kind]
    noun, clues = describing.noun, []
    if describing.noun_relation:
        term = world.fact(entity.key, describing.noun_relation).text
        noun = term.lower()
        clues.append(term)
    clauses = []
    for relation in told:
        fact = world.fact(entity.key, relation)
        clause = draw.pick(describing.clauses[relation])
        if "{v}" in clause:
            clues.append(fact.text)
        is_term = RELATION[relation].value_type is ValueType.TERM
        value = fact.text.lower() if is_term else fact.text
        clauses.append(clause.replace("{v}", value).replace("{d}", _told_text(fact)))
    text = describing.with_three if len(told) == 3 else describing.with_two
    for slot, clause in zip(("{a}", "{b}", "{c}"), clauses, strict=False):
        text = text.replace(slot, clause)
    return text.replace("{noun}", noun), tuple(clues)


def chain_from(
    world: World, entity: Entity, chain: Sequence[Relation], draw: Draw, *, year: int = 0
) -> Draft | None:
    """A question along relations from an entity; None if it comes to a page twice.

    `year` is that of the first fact, where it is a yearly one.
    """
    draft = _chain(world, entity, chain, draw, year=year)
    return draft if len({fact.subject for fact in draft.facts}) == len(chain) else None


def _chain(
    world: World, entity: Entity, chain: Sequence[Relation], draw: Draw, *, year: int = 0
) -> Draft:
    """A fact at the end of relations, each of which leads from one entity to the next."""
    facts: list[Fact] = []
    at = entity
    for relation in chain:
        is_given = year and not facts
        fact = (
            world.fact(at.key, relation.name, year)
            if is_given
            else fact_of(world, at, relation.name, draw)
        )
        facts.append(fact)
        if facts[-1].target >= 0:
            at = world.entities[facts[-1].target]
    about = mention_of(world, entity)
    for relation in chain[:-1]:
        phrase = draw.pick(world.words.wordings[relation.name].phrases)
        about = phrase.replace("{x}", about)
    return Draft(text=ask(world, facts[-1], about, draw), facts=tuple(facts))


def fact_of(world: World, entity: Entity, relation: str, draw: Draw) -> Fact:
    """The entity's fact; of yearly facts one of any year."""
    if RELATION[relation] in PERMIT_RELATIONS:
        return next(f for f in permit_facts(world, entity) if f.relation == relation)
    year = draw.pick(LIMIT_YEARS) if relation == "limit" else 0
    return world.fact(entity.key, relation, year)


def ask(world: World, fact: Fact, about: str, draw: Draw) -> str:
    """A question for a fact about what `about` describes."""
    text = draw.pick(world.words.wordings[fact.relation].questions).replace("{x}", about)
    if fact.year:
        quantity = world.words.topic_of(world.entities[fact.subject].name).quantity
        text = text.replace("{y}", str(fact.year)).replace("{q}", quantity)
    return text


def names_of(entity: Entity) -> tuple[str, ...]:
    """What an entity may be called in an answer."""
    # An organisation's first word is unique; a person's family name is not.
    is_organisation = entity.kind is Kind.ORGANISATION
    return (entity.name, entity.short_name) if is_organisation else (entity.name,)


def aliases_of(world: World, text: str, name: str) -> tuple[str, ...]:
    """What else is accepted for the value `text` of a relation, or type of value, called `name`."""
    found = _NUMBER.search(text)
    bare = found.group().replace(",", "") if found else ""
    patterns = world.words.aliases.get(name, ())
    return tuple(p.replace("{v}", text).replace("{bare}", bare) for p in patterns)


def _number(text: str) -> float:
    found = _NUMBER.search(text)
    assert found is not None
    return float(found.group().replace(",", ""))
