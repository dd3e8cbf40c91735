# SPDX-License-Identifier: Apache-2.0
"""A page's name is its title without its site's, however long the title is."""

import pytest

from agent.forager.clues import page_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Ann Bell - Encyclopedia", "Ann Bell"),
        ("Ann Bell – a – b", "Ann Bell – a"),
        ("Jean-Luc", "Jean-Luc"),
        ("A - B-C", "A - B-C"),
        (" - x", " - x"),
        ("a" + "\u00a0" * 100_000 + "b", "a" + "\u00a0" * 100_000 + "b"),  # in no time
        ("", ""),
    ],
)
def test_a_page_is_named_without_its_site(title: str, name: str):
    assert page_name(title) == name
