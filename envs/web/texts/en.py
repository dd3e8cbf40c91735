# SPDX-License-Identifier: Apache-2.0
"""English, put together."""

from __future__ import annotations

from envs.web.texts.en_filler import FILLERS
from envs.web.texts.en_further import FURTHER
from envs.web.texts.en_held_out import HELD_OUT
from envs.web.texts.en_kinds import BELOW, COMPARING, DESCRIBING, PERMIT_WORDINGS
from envs.web.texts.en_page import PAGE
from envs.web.texts.en_terms import (
    AGENCY_NOUNS,
    BRAND_NOUNS,
    ORGANISATION_NOUNS,
    TERMS,
    TOPICS,
)
from envs.web.texts.en_wording import WORDINGS
from envs.web.texts.shapes import Language, with_further

ENGLISH = Language(
    page=PAGE,
    wordings=with_further(WORDINGS | PERMIT_WORDINGS, FURTHER),
    held_out=HELD_OUT,
    comparing=COMPARING,
    below=BELOW,
    describing=DESCRIBING,
    fillers=FILLERS,
    topics=TOPICS,
    terms=TERMS,
    organisation_nouns=ORGANISATION_NOUNS,
    brand_nouns=BRAND_NOUNS,
    agency_nouns=AGENCY_NOUNS,
    name_gap=" ",
    sentence_gap=" ",
    article="the ",
    months=("January", "March", "April", "July", "September", "October"),
    date="{day} {month} {year}",
    price="${}",
    limit="{} {}",
    aliases={
        "river": ("River {v}", "{v} River"),
        "count": ("{bare}",),
        "price": ("{bare}", "{bare} dollars"),
        "limit": ("{bare}",),
    },
)
