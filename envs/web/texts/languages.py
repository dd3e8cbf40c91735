# SPDX-License-Identifier: Apache-2.0
"""The table of languages."""

from __future__ import annotations

from envs.web.texts.en import ENGLISH
from envs.web.texts.shapes import Language, PageTexts
from envs.web.texts.zh import CHINESE

LANGUAGES: dict[str, Language] = {"en": ENGLISH, "zh": CHINESE}
# What controls are called, in any language.
SEARCH_LABELS = frozenset(language.page.search_label for language in LANGUAGES.values())
SUBMIT_LABELS = frozenset(language.page.search_button for language in LANGUAGES.values())
PERMIT_LABELS = frozenset(language.page.permit_button for language in LANGUAGES.values())
LOADING_LABELS = frozenset(language.page.loading for language in LANGUAGES.values())
NEXT_LABELS = frozenset(language.page.next_page for language in LANGUAGES.values())


def page_texts(language: str) -> PageTexts:
    """What stands around the content of pages in `language` (BCP 47); English for unknown ones."""
    return LANGUAGES.get(language.partition("-")[0].lower(), ENGLISH).page
