# SPDX-License-Identifier: Apache-2.0
"""An entity's article as a page and as the search engine knows it; two sites share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from envs.config import Templates
from envs.site import PageResponse
from envs.web.article import Article, Section, compose_article, picture_path, url_of
from envs.web.relations import Kind
from envs.web.search_index import IndexedPage
from envs.web.sites.shell import Frame, Visit, image, info_table, late, link_list, markup, page
from envs.web.texts.shapes import PageTexts
from envs.web.world import Entity, World


def article_page(visit: Visit, frame: Frame, entity: Entity, categories: str = "") -> PageResponse:
    """The page of an entity; `categories` is markup put at the end."""
    article = compose_article(visit.world, entity)
    main = _article_markup(visit, article, categories)
    return page(visit, frame, entity.name, main)


def indexed_articles(world: World, kinds: Sequence[Kind]) -> Iterator[IndexedPage]:
    """What the search engine knows of the entities of some kinds."""
    for kind in kinds:
        for entity in world.by_kind[kind]:
            text = compose_article(world, entity).text()
            yield IndexedPage(url=url_of(entity), title=entity.name, text=text)


def _article_markup(visit: Visit, article: Article, categories: str) -> str:
    """Everything between header and footer; the held-out template turns the order around."""
    entity, texts = article.entity, visit.texts
    picture = image(picture_path(entity), texts.picture_of.format(entity.name), 240, 180)
    facts = info_table(article.infobox, "facts")
    see_also = f"<h2>{escape(texts.see_also)}</h2>{link_list(article.see_also, 'columns')}"
    sections = "".join(_section(section) for section in article.sections)
    if visit.world.templates is Templates.HELD_OUT:
        overview, glance = escape(texts.overview), escape(texts.at_a_glance)
        body = (
            f"{categories}{see_also}<h2>{overview}</h2>{sections}{_versions(article, texts)}"
            f"<h2>{glance}</h2>{facts}{picture}"
        )
    else:
        infobox = f'<aside class="infobox">{picture}{facts}</aside>'
        body = f"{infobox}{sections}{_versions(article, texts)}{see_also}{categories}"
    return f'<div class="entity"><h1>{escape(entity.name)}</h1>{late(visit, body)}</div>'


def _versions(article: Article, texts: PageTexts) -> str:
    """The table of yearly versions under its heading, if there are any."""
    if not article.versions:
        return ""
    head = "".join(f"<th>{escape(c)}</th>" for c in texts.version_columns.split("|"))
    caption = f"<caption>{escape(article.versions_caption)}</caption>"
    table = info_table(article.versions, "versions")
    return (
        f"<h2>{escape(texts.versions)}</h2><p>{escape(texts.versions_intro)}</p>"
        + table.replace("<tbody>", f"{caption}<thead><tr>{head}</tr></thead><tbody>", 1)
    )


def _section(section: Section) -> str:
    heading = f"<h2>{escape(section.heading)}</h2>" if section.heading else ""
    paragraphs = "".join(f"<p>{markup(block.runs)}</p>" for block in section.paragraphs)
    items = "".join(f"<li>{markup(block.runs)}</li>" for block in section.items)
    return heading + paragraphs + (f"<ul>{items}</ul>" if items else "")
