# SPDX-License-Identifier: Apache-2.0
"""English for comparisons, for descriptions without a name, and for the permit register."""

from __future__ import annotations

from envs.web.relations import Kind
from envs.web.texts.shapes import Comparing, Describing, Wording

COMPARING: dict[str, Comparing] = {
    "population": Comparing(
        more=(
            "Which city has more inhabitants, {a} or {b}?",
            "Where do more people live, {a} or {b}?",
        ),
        less=(
            "Which city has fewer inhabitants, {a} or {b}?",
            "Which is the smaller city, {a} or {b}?",
        ),
    ),
    "employees": Comparing(
        more=(
            "Which company has more employees, {a} or {b}?",
            "Who employs more people, {a} or {b}?",
        ),
        less=(
            "Which company has fewer employees, {a} or {b}?",
            "Who employs fewer people, {a} or {b}?",
        ),
    ),
    "price": Comparing(
        more=(
            "Which costs more, {a} or {b}?",
            "Which product has the higher list price, {a} or {b}?",
        ),
        less=(
            "Which is cheaper, {a} or {b}?",
            "Which product has the lower list price, {a} or {b}?",
        ),
    ),
    "birth_year": Comparing(
        more=("Who was born later, {a} or {b}?", "Who is younger, {a} or {b}?"),
        less=("Who was born earlier, {a} or {b}?", "Who is older, {a} or {b}?"),
    ),
    "founded_year": Comparing(
        more=(
            "Which company was founded later, {a} or {b}?",
            "Which is the younger firm, {a} or {b}?",
        ),
        less=(
            "Which company was founded first, {a} or {b}?",
            "Which is the older firm, {a} or {b}?",
        ),
    ),
    "launch_year": Comparing(
        more=(
            "Which came out later, {a} or {b}?",
            "Which product was launched more recently, {a} or {b}?",
        ),
        less=(
            "Which came out earlier, {a} or {b}?",
            "Which product was launched first, {a} or {b}?",
        ),
    ),
    "effective_year": Comparing(
        more=(
            "Which took effect later, {a} or {b}?",
            "Which rule is the more recent one, {a} or {b}?",
        ),
        less=(
            "Which took effect first, {a} or {b}?",
            "Which rule has been in force for longer, {a} or {b}?",
        ),
    ),
    "established_year": Comparing(
        more=(
            "Which was set up later, {a} or {b}?",
            "Which agency is the younger one, {a} or {b}?",
        ),
        less=("Which was set up first, {a} or {b}?", "Which agency is the older one, {a} or {b}?"),
    ),
}

BELOW = (
    "In which year did the {q} permitted by {x} first fall below {n}?",
    "Since which yearly version has {x} allowed less than {n}?",
    "What is the first year in which {x} set a limit under {n}?",
)

_WHO = ("the {noun} who {a} and {b}", "the {noun} who {a}, {b} and {c}")
_THAT = ("the {noun} that {a} and {b}", "the {noun} that {a}, {b} and {c}")


def _describing(
    noun: str, noun_relation: str, patterns: tuple[str, str], **clauses: tuple[str, ...]
) -> Describing:
    return Describing(
        noun=noun,
        noun_relation=noun_relation,
        clauses=clauses,
        with_two=patterns[0],
        with_three=patterns[1],
    )


DESCRIBING: dict[Kind, Describing] = {
    Kind.PERSON: _describing(
        "person",
        "profession",
        _WHO,
        employer=("works for {v}", "earns a living at {v}"),
        birthplace=("was born in {v}", "grew up in {v}"),
        mentor=("studied under {v}", "was once a pupil of {v}"),
        birth_year=("was born in the {d}s", "is a child of the {d}s"),
    ),
    Kind.ORGANISATION: _describing(
        "company",
        "",
        _THAT,
        headquarters=("is based in {v}", "is run from {v}"),
        founder=("was founded by {v}", "was started by {v}"),
        industry=("is active in {v}", "does business in {v}"),
        founded_year=("dates from the {d}s", "was started in the {d}s"),
    ),
    Kind.CITY: _describing(
        "city",
        "",
        _THAT,
        region=("lies in {v}", "belongs to {v}"),
        river=("stands on the {v}", "was built on the river {v}"),
        mayor=("is governed by {v}", "has {v} as its mayor"),
    ),
    Kind.PRODUCT: _describing(
        "product",
        "category",
        _THAT,
        maker=("is made by {v}", "comes from {v}"),
        launch_year=("came out in the {d}s", "was first sold in the {d}s"),
    ),
    Kind.REGULATION: _describing(
        "rule",
        "",
        _THAT,
        agency=("was issued by the {v}", "is enforced by the {v}"),
        topic=("deals with {v}", "is about {v}"),
        effective_year=("took effect in the {d}s", "goes back to the {d}s"),
    ),
    Kind.AGENCY: _describing(
        "agency",
        "",
        _THAT,
        seat=("has its seat in {v}", "works from {v}"),
        director=("is headed by {v}", "has {v} as its director"),
        established_year=("was set up in the {d}s", "dates from the {d}s"),
    ),
}

PERMIT_WORDINGS: dict[str, Wording] = {
    "permit_number": Wording(
        headers=("Permit number", "Permit no.", "File mark"),
        sentences=(),
        questions=(
            "Which permit number does the Policy Register hold for {x}?",
            "According to the Policy Register, what is the permit number of {x}?",
            "Under which number is the operating permit of {x} filed in the Policy Register?",
        ),
    ),
    "permit_year": Wording(
        headers=("Granted in", "Year of grant", "Issued"),
        sentences=(),
        questions=(
            "According to the Policy Register, in which year was the permit of {x} granted?",
            "When was the operating permit of {x} in the Policy Register issued?",
        ),
    ),
    "permit_officer": Wording(
        headers=("Responsible officer", "Signed by", "Case officer"),
        sentences=(),
        questions=(
            "Which officer signed the permit of {x} in the Policy Register?",
            "According to the Policy Register, who is responsible for the permit of {x}?",
        ),
        phrases=(
            "the officer who signed the permit of {x} in the Policy Register",
            "the person responsible for the operating permit of {x} in the Policy Register",
        ),
    ),
    "permit_site": Wording(
        headers=("Plant in", "Site of the plant", "Place of operation"),
        sentences=(),
        questions=(
            "For a plant in which city does {x} hold a permit in the Policy Register?",
            "According to the Policy Register, in which city is the permitted plant of {x}?",
        ),
        phrases=(
            "the city with the permitted plant of {x} in the Policy Register",
            "the city for which {x} holds a plant permit in the Policy Register",
        ),
    ),
}
