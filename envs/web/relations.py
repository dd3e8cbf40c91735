# SPDX-License-Identifier: Apache-2.0
"""Kinds of entities and the relations between them; free of any language."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What an entity is."""

    PERSON = "person"
    ORGANISATION = "organisation"
    CITY = "city"
    PRODUCT = "product"
    REGULATION = "regulation"
    AGENCY = "agency"


class ValueType(enum.Enum):
    """What a relation's value looks like."""

    ENTITY = "entity"  # the name of another entity
    NAME = "name"  # a name without a page of its own
    TERM = "term"  # a word of the language, e.g. a profession
    YEAR = "year"
    COUNT = "count"
    PRICE = "price"
    LIMIT = "limit"  # a number with a unit
    CODE = "code"  # a mark of letters and digits


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """One kind of fact."""

    name: str
    domain: Kind
    value_type: ValueType
    target: Kind | None = None  # kind of the value when it is an entity


def _relation(
    domain: Kind, name: str, value_type: ValueType, target: Kind | None = None
) -> Relation:
    return Relation(name=name, domain=domain, value_type=value_type, target=target)


RELATIONS: tuple[Relation, ...] = (
    _relation(Kind.PERSON, "employer", ValueType.ENTITY, Kind.ORGANISATION),
    _relation(Kind.PERSON, "birthplace", ValueType.ENTITY, Kind.CITY),
    _relation(Kind.PERSON, "profession", ValueType.TERM),
    _relation(Kind.PERSON, "birth_year", ValueType.YEAR),
    _relation(Kind.PERSON, "mentor", ValueType.ENTITY, Kind.PERSON),
    _relation(Kind.ORGANISATION, "headquarters", ValueType.ENTITY, Kind.CITY),
    _relation(Kind.ORGANISATION, "founder", ValueType.ENTITY, Kind.PERSON),
    _relation(Kind.ORGANISATION, "founded_year", ValueType.YEAR),
    _relation(Kind.ORGANISATION, "industry", ValueType.TERM),
    _relation(Kind.ORGANISATION, "employees", ValueType.COUNT),
    _relation(Kind.CITY, "region", ValueType.NAME),
    _relation(Kind.CITY, "population", ValueType.COUNT),
    _relation(Kind.CITY, "mayor", ValueType.ENTITY, Kind.PERSON),
    _relation(Kind.CITY, "river", ValueType.NAME),
    _relation(Kind.PRODUCT, "maker", ValueType.ENTITY, Kind.ORGANISATION),
    _relation(Kind.PRODUCT, "price", ValueType.PRICE),
    _relation(Kind.PRODUCT, "launch_year", ValueType.YEAR),
    _relation(Kind.PRODUCT, "category", ValueType.TERM),
    _relation(Kind.REGULATION, "agency", ValueType.ENTITY, Kind.AGENCY),
    _relation(Kind.REGULATION, "effective_year", ValueType.YEAR),
    _relation(Kind.REGULATION, "topic", ValueType.TERM),
    _relation(Kind.REGULATION, "limit", ValueType.LIMIT),  # one fact per yearly version
    _relation(Kind.AGENCY, "seat", ValueType.ENTITY, Kind.CITY),
    _relation(Kind.AGENCY, "director", ValueType.ENTITY, Kind.PERSON),
    _relation(Kind.AGENCY, "established_year", ValueType.YEAR),
)
# What the permit register knows of organisations; the articles do not say it.
PERMIT_RELATIONS: tuple[Relation, ...] = (
    _relation(Kind.ORGANISATION, "permit_number", ValueType.CODE),
    _relation(Kind.ORGANISATION, "permit_year", ValueType.YEAR),
    _relation(Kind.ORGANISATION, "permit_officer", ValueType.ENTITY, Kind.PERSON),
    _relation(Kind.ORGANISATION, "permit_site", ValueType.ENTITY, Kind.CITY),
)
RELATION: dict[str, Relation] = {
    relation.name: relation for relation in RELATIONS + PERMIT_RELATIONS
}

# Chains of two relations whose middle entity is what a two-hop question leaves unnamed.
CHAINS: tuple[tuple[Relation, Relation], ...] = tuple(
    (first, second)
    for first in RELATIONS
    for second in RELATIONS
    if first.target is not None and second.domain is first.target and second.name != first.name
)
