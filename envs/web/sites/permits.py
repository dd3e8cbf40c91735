# SPDX-License-Identifier: Apache-2.0
"""The permit register of the policy site: a form, and the permit that a name leads to."""

from __future__ import annotations

from html import escape

from envs.site import PageResponse
from envs.web.article import Link
from envs.web.permits import PERMIT_FIELD, PERMITS_HOME, compose_permit, permit_url
from envs.web.relations import Kind
from envs.web.sites.shell import (
    HTML_TYPE,
    Frame,
    Visit,
    anchor,
    info_table,
    late,
    markup,
    not_found,
    page,
)
from envs.web.texts.shapes import PageTexts
from envs.web.world import Entity

_FIND = "find"


def respond(visit: Visit, frame: Frame) -> PageResponse:
    """Answer one request below /permits or /permit; only full names lead to a permit."""
    section, name = visit.section_and_name()
    texts = visit.texts
    if section == "permit":
        holder = visit.world.by_slug.get(name)
        if holder is None or holder.kind is not Kind.ORGANISATION:
            return not_found(visit, frame)
        return page(visit, frame, texts.permit_of.format(holder.name), _permit(visit, holder))
    if name not in ("", _FIND):
        return not_found(visit, frame)
    asked = " ".join(visit.request.query.get(PERMIT_FIELD, "").split())
    if name == "" or not asked:
        main = f"<h1>{escape(texts.permits)}</h1><p>{escape(texts.permits_intro)}</p>{_form(texts)}"
        return page(visit, frame, texts.permits, main)
    holder = _holder(visit, asked)
    if holder is not None:
        return PageResponse(
            status=302, content_type=HTML_TYPE, body=b"", location=permit_url(holder)
        )
    missing = escape(texts.permit_missing.format(asked))
    main = f"<h1>{escape(texts.permits)}</h1><p>{missing}</p>{_form(texts, asked)}"
    return page(visit, frame, texts.permits, main)


def _holder(visit: Visit, asked: str) -> Entity | None:
    """The organisation called so, whatever the case."""
    folded = asked.casefold()
    named = (e for e in visit.world.by_kind[Kind.ORGANISATION] if e.name.casefold() == folded)
    return next(named, None)


def _form(texts: PageTexts, value: str = "") -> str:
    label = escape(texts.permit_label)
    return (
        f'<form class="permit-form" action="{PERMITS_HOME}/{_FIND}" method="get">'
        f'<input type="text" name="{PERMIT_FIELD}" value="{escape(value)}" aria-label="{label}" '
        f'placeholder="{label}" autocomplete="off">'
        f'<button type="submit">{escape(texts.permit_button)}</button></form>'
    )


def _permit(visit: Visit, holder: Entity) -> str:
    permit = compose_permit(visit.world, holder)
    texts = visit.texts
    (section,) = permit.sections
    paragraphs = "".join(f"<p>{markup(block.runs)}</p>" for block in section.paragraphs)
    back = anchor(Link(text=texts.to_permits, url=PERMITS_HOME))
    return (
        f"<h1>{escape(texts.permit_of.format(holder.name))}</h1>"
        + late(visit, f"{info_table(permit.infobox, 'facts')}{paragraphs}")
        + f"<p>{back}</p>"
    )
