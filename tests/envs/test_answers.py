# SPDX-License-Identifier: Apache-2.0
"""Answers are compared by what they say, not by how they are written."""

import pytest

from envs.answers import is_accepted, normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  The Orlavia   Instruments. ", "orlavia instruments"),
        ("48,210 inhabitants", "48210"),
        ("$1,249.00", "1249"),
        ("1,249 dollars", "1249"),
        ("48.5 mg", "48.5 mg"),
        ("2.50", "2.50"),
        ("12,5", "12 5"),
        ("People Express", "people express"),
        ("“Mara Veldin”", "mara veldin"),
        ("", ""),
        ("the", ""),
    ],
)
def test_normalise_keeps_what_is_said(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize("answer", ["48210", "48,210", "48,210 people", "48,210."])
def test_a_number_is_accepted_with_and_without_separator_and_counting_word(answer: str) -> None:
    assert is_accepted(answer, ("48,210",))


@pytest.mark.parametrize(
    "answer", ["48,211", "148,210", "8,210", "48,21", "", "   ", "the", "in 1962"]
)
def test_another_number_or_nothing_is_not_accepted(answer: str) -> None:
    assert not is_accepted(answer, ("48,210", "1962"))


def test_any_alias_is_accepted() -> None:
    assert is_accepted("river tessin", ("Tessin", "River Tessin"))
    assert not is_accepted("Tessin Valley", ("Tessin", "River Tessin"))
