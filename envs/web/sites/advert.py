# SPDX-License-Identifier: Apache-2.0
"""Where the search engine's adverts lead: offers whose prices answer no question."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from envs.site import PageResponse
from envs.web.article import Link
from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.sites.shell import SEARCH_HOME, Frame, Visit, anchor, image, not_found, page
from envs.web.world import Entity, World

HOST = "deals.forage.test"
FRAME = Frame(
    name="Bargain Barn",
    home=f"http://{HOST}/",
    theme="deals",
    nav=(Link(text="Search engine", url=SEARCH_HOME),),
    has_search_box=False,
    footer="Offers end at midnight. Pictures may differ from the goods.",
)


def advert_url(product: Entity) -> str:
    """Address of a product's advert page."""
    return f"http://{HOST}/offer/{product.slug}"


def respond(visit: Visit) -> PageResponse:
    """Answer one request for a page."""
    world = visit.world
    section, name = visit.section_and_name()
    if section == "":
        products = Draw("offers", visit.hazards.advert_seed).sample(world.by_kind[Kind.PRODUCT], 24)
        return page(visit, FRAME, "Offers", f"<h1>Offers</h1>{_cards(products)}")
    product = world.by_slug.get(name) if section == "offer" else None
    if product is None or product.kind is not Kind.PRODUCT:
        return not_found(visit, FRAME)
    return page(visit, FRAME, f"Offer: {product.name}", _offer(world, product))


def _cards(products: Sequence[Entity]) -> str:
    cards = []
    for product in products:
        title = anchor(Link(text=product.name, url=advert_url(product)))
        picture = image(f"/img/product/{product.slug}.svg", product.name, 120, 90)
        cards.append(f"<li>{picture}{title}<p>Only while stocks last</p></li>")
    return f'<ul class="cards">{"".join(cards)}</ul>'


def _offer(world: World, product: Entity) -> str:
    draw = Draw("offer", world.seed, product.key)
    more = _cards(draw.sample(world.by_kind[Kind.PRODUCT], 8))
    picture = image(f"/img/product/{product.slug}.svg", product.name, 240, 180)
    return (
        f"<h1>{escape(product.name)} and more</h1>{picture}"
        f"<p>Second-hand and boxed sets from ${draw.between(11, 99)}.95, delivered to the door.</p>"
        "<p>Sign up for the newsletter and save on the next order.</p>"
        f'<p><a href="{SEARCH_HOME}">Back to the search engine</a></p>'
        f"<h2>Customers also bought</h2>{more}"
    )
