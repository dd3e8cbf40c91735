# SPDX-License-Identifier: Apache-2.0
"""English page wordings that no training page uses; none shares a word stem with a question."""

from __future__ import annotations

from envs.web.texts.shapes import PageWording


def _wording(headers: tuple[str, ...], *sentences: str) -> PageWording:
    return PageWording(headers=headers, sentences=sentences)


HELD_OUT: dict[str, PageWording] = {
    "employer": _wording(
        ("On the payroll of", "Desk at"),
        "{s} draws a monthly salary from {v}.",
        "A badge of {v} opens the door for {s}.",
    ),
    "birthplace": _wording(
        ("Cradle", "Roots in"),
        "{s} first saw daylight in {v}.",
        "The first steps of {s} were taken on a square in {v}.",
    ),
    "profession": _wording(("Calling", "Trade")),
    "birth_year": _wording(
        ("First cry", "Age counted from"),
        "{s} came into the world in {v}.",
        "A cradle for {s} was bought in {v}.",
    ),
    "mentor": _wording(
        ("Apprenticed to", "Master"),
        "{s} served an apprenticeship with {v}.",
        "As a pupil, {s} sat in the front row before {v}.",
    ),
    "headquarters": _wording(
        ("Main building", "Boardroom"),
        "{s} is steered from a tower in {v}.",
        "The boardroom of {s} looks over the roofs of {v}.",
    ),
    "founder": _wording(
        ("Brainchild of", "First owner"),
        "{s} is the brainchild of {v}.",
        "{v} opened the doors of {s} with two friends.",
    ),
    "founded_year": _wording(
        ("Opened", "Trading from"),
        "{s} opened its doors in {v}.",
        "The ledgers of {s} begin in {v}.",
    ),
    "industry": _wording(("Field", "Trade")),
    "employees": _wording(
        ("Payroll", "Team size"),
        "{v} names stand on the payroll of {s}.",
        "{s} pays {v} salaries a month.",
    ),
    "region": _wording(
        ("District", "Governed from"),
        "{s} pays its taxes to {v}.",
        "On maps {s} has the same colour as the rest of {v}.",
    ),
    "population": _wording(
        ("Souls", "Heads counted"),
        "The census found {v} souls in {s}.",
        "{v} letter boxes hang in {s}, one for every head.",
    ),
    "mayor": _wording(
        ("Chain of office", "Keys held by"),
        "{v} wears the chain of office in {s}.",
        "Voters handed the keys of {s} to {v}.",
    ),
    "river": _wording(
        ("Waterfront", "Bridges over"),
        "Seven bridges cross the {v} in the middle of {s}.",
        "The {v} divides {s} into two halves.",
    ),
    "maker": _wording(
        ("From the workshops of", "Seal of"),
        "{s} leaves the workshops of {v}.",
        "The seal under {s} is that of {v}.",
    ),
    "price": _wording(
        ("Tag", "Asked at the counter"),
        "The tag on {s} reads {v}.",
        "Buyers hand over {v} for {s}.",
    ),
    "launch_year": _wording(
        ("First boxes", "In shops from"),
        "{s} reached the shops in {v}.",
        "The first boxes of {s} were opened in {v}.",
    ),
    "category": _wording(("What it is", "Shelf")),
    "agency": _wording(
        ("Penned by", "Watched over by"),
        "{s} was penned by {v}.",
        "Inspectors from {v} watch over {s}.",
    ),
    "effective_year": _wording(
        ("Binding from", "Gazetted"),
        "{s} has been binding from {v} on.",
        "The gazette printed {s} in {v}.",
    ),
    "topic": _wording(("Deals with", "Concerns")),
    "limit": _wording(("{y}",)),
    "seat": _wording(
        ("Doors open in", "Building"),
        "{s} receives visitors in {v}.",
        "The archive of {s} fills a palace in {v}.",
    ),
    "director": _wording(
        ("Run by", "Signature of"),
        "{s} is run by {v}.",
        "Letters from {s} carry the signature of {v}.",
    ),
    "established_year": _wording(
        ("Created", "Statute of"),
        "{s} was created by a statute of {v}.",
        "The oldest letter of {s} is dated {v}.",
    ),
    "permit_number": _wording(("Reference", "Mark")),
    "permit_year": _wording(("Valid from", "Stamped in")),
    "permit_officer": _wording(("Clerk", "Stamp of")),
    "permit_site": _wording(("Chimneys in", "Works at")),
}
