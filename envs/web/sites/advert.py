# SPDX-License-Identifier: Apache-2.0
"""Where the search engine's adverts lead: offers whose prices answer no question."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from envs.site import PageResponse
from envs.web.article import Link, picture_path
from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.sites.shell import SEARCH_HOME, Frame, Visit, anchor, image, not_found, page
from envs.web.texts.shapes import PageTexts
from envs.web.world import Entity, World

HOST = "deals.forage.test"


def frame(visit: Visit) -> Frame:
    """The look of this site."""
    texts = visit.texts
    return Frame(
        name=texts.deals_name,
        home=f"http://{HOST}/",
        theme="deals",
        nav=(Link(text=texts.search_engine, url=SEARCH_HOME),),
        has_search_box=False,
        footer=texts.deals_footer,
    )


def advert_url(product: Entity) -> str:
    """Address of a product's advert page."""
    return f"http://{HOST}/offer/{quote(product.slug)}"


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    world, texts = visit.world, visit.texts
    section, name = visit.section_and_name()
    if section == "":
        products = Draw("offers", visit.hazards.advert_seed).sample(world.by_kind[Kind.PRODUCT], 24)
        main = f"<h1>{escape(texts.offers)}</h1>{_cards(texts, products)}"
        return page(visit, frame(visit), texts.offers, main)
    product = world.by_slug.get(name) if section == "offer" else None
    if product is None or product.kind is not Kind.PRODUCT:
        return not_found(visit, frame(visit))
    return page(
        visit, frame(visit), texts.offer.format(product.name), _offer(world, product, texts)
    )


def _cards(texts: PageTexts, products: Sequence[Entity]) -> str:
    cards = []
    for product in products:
        title = anchor(Link(text=product.name, url=advert_url(product)))
        picture = image(picture_path(product), product.name, 120, 90)
        cards.append(f"<li>{picture}{title}<p>{escape(texts.while_stocks_last)}</p></li>")
    return f'<ul class="cards">{"".join(cards)}</ul>'


def _offer(world: World, product: Entity, texts: PageTexts) -> str:
    draw = Draw("offer", world.seed, product.key)
    more = _cards(texts, draw.sample(world.by_kind[Kind.PRODUCT], 8))
    picture = image(picture_path(product), product.name, 240, 180)
    return (
        f"<h1>{escape(texts.offer_heading.format(product.name))}</h1>{picture}"
        f"<p>{escape(texts.offer_text.format(draw.between(11, 99)))}</p>"
        f"<p>{escape(texts.newsletter)}</p>"
        f"<p>{anchor(Link(text=texts.back_to_search, url=SEARCH_HOME))}</p>"
        f"<h2>{escape(texts.customers_bought)}</h2>{more}"
    )
