# SPDX-License-Identifier: Apache-2.0
"""The markup of an entity's article; encyclopedia and policy site share it."""

from __future__ import annotations

from html import escape

from envs.web.article import Article, Section
from envs.web.filler import WEB_TEXTS
from envs.web.sites.shell import image, info_table, link_list, markup


def article_markup(article: Article, language: str, categories: str) -> str:
    """Everything between header and footer; `categories` is markup put at the end."""
    entity, texts = article.entity, WEB_TEXTS[language]
    picture = image(
        f"/img/{entity.kind.value}/{entity.slug}.svg", f"Picture of {entity.name}", 240, 180
    )
    parts = [
        f"<h1>{escape(entity.name)}</h1>",
        f'<aside class="infobox">{picture}{info_table(article.infobox, "facts")}</aside>',
        *(_section(section) for section in article.sections),
    ]
    if article.versions:
        head = "".join(f"<th>{escape(c)}</th>" for c in texts["version_columns"].split("|"))
        caption = f"<caption>{escape(article.versions_caption)}</caption>"
        table = info_table(article.versions, "versions")
        parts.append(
            f"<h2>{escape(texts['versions'])}</h2><p>{escape(texts['versions_intro'])}</p>"
            + table.replace("<tbody>", f"{caption}<thead><tr>{head}</tr></thead><tbody>", 1)
        )
    parts.append(f"<h2>{escape(texts['see_also'])}</h2>{link_list(article.see_also, 'columns')}")
    return f'<div class="entity">{"".join(parts)}{categories}</div>'


def _section(section: Section) -> str:
    heading = f"<h2>{escape(section.heading)}</h2>" if section.heading else ""
    paragraphs = "".join(f"<p>{markup(block.runs)}</p>" for block in section.paragraphs)
    items = "".join(f"<li>{markup(block.runs)}</li>" for block in section.items)
    return heading + paragraphs + (f"<ul>{items}</ul>" if items else "")
