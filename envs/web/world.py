# SPDX-License-Identifier: Apache-2.0
"""A world: entities and facts drawn from a seed; the ground truth behind pages and tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from envs.config import Templates
from envs.types import Split
from envs.web.draw import Draw
from envs.web.names import NameMaker
from envs.web.relations import RELATION, RELATIONS, Kind, Relation, ValueType
from envs.web.seeds import BENCH_SEEDS, TEST_SEEDS
from envs.web.texts.languages import LANGUAGES
from envs.web.texts.shapes import Language, PageWording, Topic, Wording

NUM_ENTITIES: dict[Kind, int] = {
    Kind.PERSON: 1080,
    Kind.ORGANISATION: 440,
    Kind.CITY: 240,
    Kind.PRODUCT: 420,
    Kind.REGULATION: 120,
    Kind.AGENCY: 24,
}
LIMIT_YEARS = tuple(range(2018, 2026))  # a regulation has one version a year
# A training run and its evaluation touch at most this many worlds; each holds a few megabytes.
_MAX_WORLDS_KEPT = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One value of one relation of one entity."""

    subject: int  # key of an entity
    relation: str
    year: int  # version that a yearly fact belongs to, else 0
    text: str  # the value as every page writes it
    target: int  # key of the entity that the value is, else -1


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Something with a page of its own."""

    key: int  # index into `World.entities`
    kind: Kind
    name: str
    short_name: str  # what later sentences call it
    facts: tuple[Fact, ...]

    @property
    def slug(self) -> str:
        """The name as part of a URL."""
        return self.name.replace(" ", "_")


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """All entities, and who is mentioned by whom."""

    seed: int
    split: Split
    language: str  # BCP 47
    templates: Templates
    entities: tuple[Entity, ...]
    by_kind: Mapping[Kind, tuple[Entity, ...]]
    by_slug: Mapping[str, Entity]
    inbound: Mapping[int, tuple[Fact, ...]]  # facts whose value is the entity with this key

    @property
    def words(self) -> Language:
        """The language that the world is written in."""
        return LANGUAGES[self.language]

    def page_wording(self, relation: str) -> Wording | PageWording:
        """How articles word a relation."""
        is_held_out = self.templates is Templates.HELD_OUT
        return self.words.held_out[relation] if is_held_out else self.words.wordings[relation]

    def fact(self, key: int, relation: str, year: int = 0) -> Fact:
        """The fact of an entity; `KeyError` when it has none."""
        for fact in self.entities[key].facts:
            if fact.relation == relation and fact.year == year:
                return fact
        raise KeyError(f"entity {key} has no {relation!r} of {year}")

    def with_term(self, relation: str, term: str) -> tuple[Entity, ...]:
        """Entities whose `relation` has the value `term`."""
        kind = RELATION[relation].domain
        return tuple(e for e in self.by_kind[kind] if self.fact(e.key, relation).text == term)


def build_world(
    seed: int, split: Split, language: str = "en", templates: Templates = Templates.TRAIN
) -> World:
    """The world of a seed; the same everywhere. Names come from the words of `split` alone.

    Those of the benchmark's seeds use no word that names something in the worlds of `TEST_SEEDS`.
    `templates` changes what articles look like, and no fact.
    """
    return _build_world(seed, split, language, templates)


# All by position: the cache takes a call with a default left out for another one.
@lru_cache(maxsize=_MAX_WORLDS_KEPT)
def _build_world(seed: int, split: Split, language: str, templates: Templates) -> World:
    draw = Draw("world", seed, split.value, language)
    is_bench = split is Split.TEST and seed in BENCH_SEEDS
    words = NameMaker(draw, split, language, _test_words(language) if is_bench else frozenset())
    spoken = LANGUAGES[language]
    named = _named_entities(draw, words, spoken)
    keys = {kind: [k for k, entity in enumerate(named) if entity[0] is kind] for kind in Kind}
    values = _ValueMaker(draw, words, spoken, [name for _, name, _ in named], keys)
    entities = []
    for key, (kind, name, short_name) in enumerate(named):
        facts: list[Fact] = []
        for relation in RELATIONS:
            if relation.domain is kind:
                facts.extend(values.facts(key, name, relation, facts))
        entities.append(
            Entity(key=key, kind=kind, name=name, short_name=short_name, facts=tuple(facts))
        )
    inbound: dict[int, list[Fact]] = {entity.key: [] for entity in entities}
    for entity in entities:
        for fact in entity.facts:
            if fact.target >= 0:
                inbound[fact.target].append(fact)
    return World(
        seed=seed,
        split=split,
        language=language,
        templates=templates,
        entities=tuple(entities),
        by_kind={kind: tuple(entities[k] for k in keys[kind]) for kind in Kind},
        by_slug={entity.slug: entity for entity in entities},
        inbound={key: tuple(facts) for key, facts in inbound.items()},
    )


@lru_cache(maxsize=len(LANGUAGES))
def _test_words(language: str) -> frozenset[str]:
    """All words that name the entities of the test split's worlds."""
    found: frozenset[str] = frozenset()
    for seed in TEST_SEEDS:
        draw = Draw("world", seed, Split.TEST.value, language)
        words = NameMaker(draw, Split.TEST, language)
        _named_entities(draw, words, LANGUAGES[language])
        found |= words.words()
    return found


def _named_entities(
    draw: Draw, words: NameMaker, language: Language
) -> list[tuple[Kind, str, str]]:
    """Kind, name and short name of every entity; names are unique."""
    # Names of persons are put together from two words where a gap shows which is which.
    has_parts = bool(language.name_gap)
    given = [words.word("given") for _ in range(120 if has_parts else 0)]
    family = [words.word("family") for _ in range(360 if has_parts else 0)]

    def person() -> tuple[str, str]:
        if not has_parts:
            name = words.word("person")
            return name, name
        surname = draw.pick(family)
        return f"{draw.pick(given)} {surname}", surname

    def with_noun(style: str, nouns: Sequence[str]) -> tuple[str, str]:
        word = words.word(style)
        return f"{word}{language.name_gap}{draw.pick(nouns)}", word

    def city() -> tuple[str, str]:
        word = words.word("city")
        return word, word

    makers: dict[Kind, Callable[[], tuple[str, str]]] = {
        Kind.PERSON: person,
        Kind.ORGANISATION: lambda: with_noun("brand", language.organisation_nouns),
        Kind.CITY: city,
        Kind.PRODUCT: lambda: with_noun("brand", language.brand_nouns),
        Kind.REGULATION: lambda: with_noun("region", [t.rule_name for t in language.topics]),
        Kind.AGENCY: lambda: with_noun("region", language.agency_nouns),
    }
    named: list[tuple[Kind, str, str]] = []
    seen: set[str] = set()
    for kind, count in NUM_ENTITIES.items():
        target = len(named) + count
        while len(named) < target:
            name, short_name = makers[kind]()
            if name not in seen:
                seen.add(name)
                named.append((kind, name, short_name))
    return named


class _ValueMaker:
    """Draws the values of facts."""

    def __init__(
        self,
        draw: Draw,
        words: NameMaker,
        language: Language,
        names: list[str],
        keys: dict[Kind, list[int]],
    ) -> None:
        self._draw = draw
        self._names = names
        self._keys = keys
        self._language = language
        self._free_names = {
            "region": [words.word("region") for _ in range(24)],
            "river": [words.word("river") for _ in range(60)],
        }

    def facts(self, key: int, name: str, relation: Relation, earlier: list[Fact]) -> list[Fact]:
        """The facts of one relation of an entity; never a value that `earlier` facts have."""
        taken = {fact.text for fact in earlier} | {name}
        if relation.value_type is ValueType.LIMIT:
            texts = self._limits(self._language.topic_of(name))
            return [
                Fact(subject=key, relation=relation.name, year=year, text=text, target=-1)
                for year, text in zip(LIMIT_YEARS, texts, strict=True)
            ]
        while True:
            text, target = self._value(name, relation)
            if text not in taken:
                return [Fact(subject=key, relation=relation.name, year=0, text=text, target=target)]

    def _value(self, name: str, relation: Relation) -> tuple[str, int]:
        """Text and target of one value."""
        draw = self._draw
        if relation.target is not None:
            key = draw.pick(self._keys[relation.target])
            return self._names[key], key
        if relation.value_type is ValueType.NAME:
            return draw.pick(self._free_names[relation.name]), -1
        if relation.value_type is ValueType.TERM:
            if relation.name == "topic":
                return self._language.topic_of(name).term, -1
            return draw.pick(self._language.terms[relation.name]), -1
        low, high = _RANGES[relation.name]
        number = draw.between(low, high)
        if relation.value_type is ValueType.YEAR:
            return str(number), -1
        # Counts spread evenly over orders of magnitude look natural.
        scaled = round(low * (high / low) ** draw.fraction())
        is_price = relation.value_type is ValueType.PRICE
        return (self._language.price if is_price else "{}").format(f"{scaled:,}"), -1

    def _limits(self, topic: Topic) -> list[str]:
        """Eight different limits that drift downwards."""
        draw = self._draw
        value = draw.between(topic.low, topic.high) * 10
        numbers: list[int] = []
        for _ in LIMIT_YEARS:
            while value in numbers or value % 10 == 0:
                value += draw.between(-9, 4)
            numbers.append(value)
            value -= draw.between(2, 19)
        return [self._language.limit.format(f"{number / 10:.1f}", topic.unit) for number in numbers]


_RANGES: dict[str, tuple[int, int]] = {
    "birth_year": (1931, 1994),
    "founded_year": (1871, 2012),
    "employees": (1_020, 96_000),
    "population": (11_000, 2_400_000),
    "price": (101, 4_800),
    "launch_year": (1996, 2025),
    "effective_year": (1974, 2014),
    "established_year": (1902, 1990),
}
