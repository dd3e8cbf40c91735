# SPDX-License-Identifier: Apache-2.0
"""Chinese, put together."""

from __future__ import annotations

from envs.web.texts.shapes import Language, with_further
from envs.web.texts.zh_filler import FILLERS
from envs.web.texts.zh_further import FURTHER
from envs.web.texts.zh_held_out import HELD_OUT
from envs.web.texts.zh_kinds import BELOW, COMPARING, DESCRIBING, PERMIT_WORDINGS
from envs.web.texts.zh_page import PAGE
from envs.web.texts.zh_terms import (
    AGENCY_NOUNS,
    BRAND_NOUNS,
    ORGANISATION_NOUNS,
    TERMS,
    TOPICS,
)
from envs.web.texts.zh_wording import WORDINGS

CHINESE = Language(
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
    name_gap="",
    sentence_gap="",
    article="",
    months=("1月", "3月", "4月", "7月", "9月", "10月"),
    date="{year}年{month}{day}日",
    price="{}元",
    limit="{}{}",
    aliases={
        "year": ("{bare}年",),
        "count": ("{bare}", "{bare}人"),
        "price": ("{bare}", "¥{bare}"),
        "limit": ("{bare}",),
    },
)
