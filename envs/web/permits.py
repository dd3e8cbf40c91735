# SPDX-License-Identifier: Apache-2.0
"""The permit register of the policy site: facts that only its own form leads to.

No page links to a permit and no search engine knows it: whoever wants one has to carry the
company's name to the register. Permits follow from the world; the articles do not mention them.
"""

from __future__ import annotations

from urllib.parse import quote

from envs.web.article import POLICY_HOME, Article, Block, Link, Run, Section, url_of
from envs.web.draw import Draw
from envs.web.relations import PERMIT_RELATIONS, Relation, ValueType
from envs.web.world import Entity, Fact, World

PERMITS_HOME = f"{POLICY_HOME}permits"
PERMIT_FIELD = "holder"  # name of the form's field
_FIRST_YEAR, _LAST_YEAR = 1996, 2024
_MARK_LETTERS = "BCDFGHKLMNPRSTVWXZ"


def permit_url(holder: Entity) -> str:
    """Address of an organisation's permit."""
    return f"{POLICY_HOME}permit/{quote(holder.slug)}"


def permit_facts(world: World, holder: Entity) -> tuple[Fact, ...]:
    """What the register says of `holder`; never a value that its article states."""
    draw = Draw("permit", world.seed, world.split.value, world.language, holder.key)
    taken = {fact.text for fact in holder.facts} | {holder.name}
    facts: list[Fact] = []
    for relation in PERMIT_RELATIONS:
        while True:
            text, target = _value(world, relation, draw)
            if text not in taken:
                break
        taken.add(text)
        facts.append(
            Fact(subject=holder.key, relation=relation.name, year=0, text=text, target=target)
        )
    return tuple(facts)


def _value(world: World, relation: Relation, draw: Draw) -> tuple[str, int]:
    """Text and target of one value."""
    if relation.target is not None:
        entity = draw.pick(world.by_kind[relation.target])
        return entity.name, entity.key
    if relation.value_type is ValueType.YEAR:
        return str(draw.between(_FIRST_YEAR, _LAST_YEAR)), -1
    letters = "".join(draw.pick(_MARK_LETTERS) for _ in range(2))
    return f"{letters}-{draw.between(1000, 9999)}", -1


def compose_permit(world: World, holder: Entity) -> Article:
    """The page of a permit: one table of facts and of rows that answer nothing."""
    draw = Draw("permit page", world.seed, world.split.value, world.language, holder.key)
    words = world.words
    rows = [
        Block(
            runs=(_value_run(world, fact),),
            facts=(fact,),
            header=draw.pick(world.page_wording(fact.relation).headers),
        )
        for fact in permit_facts(world, holder)
    ]
    for header, text in draw.sample(words.page.permit_rows, 2):
        rows.insert(draw.below(len(rows) + 1), Block(runs=(text,), header=header))
    own = Link(text=holder.name, url=url_of(holder))
    rows.insert(0, Block(runs=(own,), header=words.page.permit_holder))
    validity = Block(runs=(words.page.permit_text,))
    return Article(
        entity=holder,
        url=permit_url(holder),
        infobox=tuple(rows),
        sections=(Section(heading="", paragraphs=(validity,)),),
        versions_caption="",
        versions=(),
        see_also=(),
    )


def _value_run(world: World, fact: Fact) -> Run:
    if fact.target < 0:
        return fact.text
    return Link(text=fact.text, url=url_of(world.entities[fact.target]))
