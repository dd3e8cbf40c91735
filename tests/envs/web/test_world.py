# SPDX-License-Identifier: Apache-2.0
"""Worlds follow from their seed and share no names across splits."""

import itertools

from envs.config import Templates
from envs.types import Split
from envs.web.draw import Draw
from envs.web.names import split_of_word
from envs.web.relations import Kind
from envs.web.world import LIMIT_YEARS, NUM_ENTITIES, World, _build_world, build_world

SEEDS = {Split.TRAIN: (1, 2, 3), Split.VALIDATION: (5001, 5002), Split.TEST: (9001, 9002, 1)}


def _names(world: World) -> set[str]:
    values = {f.text for e in world.entities for f in e.facts if f.relation in ("region", "river")}
    return {entity.name for entity in world.entities} | values


def test_a_world_has_two_thousand_entities_of_all_kinds_with_unique_names() -> None:
    world = build_world(1, Split.TRAIN)
    assert len(world.entities) == sum(NUM_ENTITIES.values()) >= 2000
    assert len({entity.name for entity in world.entities}) == len(world.entities)
    assert len(world.by_slug) == len(world.entities)
    assert all(world.by_kind[kind] for kind in Kind)
    assert all(world.entities[e.key] is e for e in world.entities)


def test_the_same_seed_gives_the_same_world_twice() -> None:
    built = build_world(7, Split.TRAIN)
    again = _build_world.__wrapped__(7, Split.TRAIN, "en", Templates.TRAIN)
    assert built is not again
    assert built == again
    assert built != build_world(8, Split.TRAIN)


def test_splits_share_no_entity_names() -> None:
    names = {
        split: set().union(*(_names(build_world(seed, split)) for seed in seeds))
        for split, seeds in SEEDS.items()
    }
    for one, other in itertools.combinations(names.values(), 2):
        assert not one & other


def test_every_word_of_a_name_belongs_to_the_split_of_its_world() -> None:
    for split, seeds in SEEDS.items():
        world = build_world(seeds[0], split)
        for entity in world.by_kind[Kind.PERSON]:
            assert [split_of_word(word) for word in entity.name.split()] == [split, split]
        for entity in world.by_kind[Kind.CITY]:
            assert split_of_word(entity.name) is split


def test_a_regulation_has_a_different_limit_each_year() -> None:
    world = build_world(9001, Split.TEST)
    for entity in world.by_kind[Kind.REGULATION]:
        limits = [world.fact(entity.key, "limit", year).text for year in LIMIT_YEARS]
        assert len(set(limits)) == len(LIMIT_YEARS) == 8


def test_facts_point_at_entities_of_the_right_kind_and_are_found_from_there() -> None:
    world = build_world(2, Split.TRAIN)
    for entity in world.entities:
        assert len({f.text for f in entity.facts}) == len(entity.facts)
        for fact in entity.facts:
            if fact.target >= 0:
                assert world.entities[fact.target].name == fact.text
                assert fact in world.inbound[fact.target]


def test_draws_depend_on_their_parts_alone() -> None:
    assert [Draw("a", 1).below(10**9) for _ in range(2)] == [985200697] * 2
    assert Draw("a", 1).fraction() != Draw("a", 2).fraction()
    assert sorted(Draw("s").sample(range(10), 10)) == list(range(10))
    assert {Draw("b", i).between(3, 5) for i in range(50)} == {3, 4, 5}
