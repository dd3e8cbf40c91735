# SPDX-License-Identifier: Apache-2.0
"""What a language has to provide before a world can be written in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from envs.web.relations import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """What a regulation is about."""

    term: str  # the policy area as pages write it
    rule_name: str  # second part of a regulation's name
    quantity: str  # what the yearly limit limits
    unit: str
    low: int  # range of the limit in the first year
    high: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """The texts of one relation.

    The first two page wordings of a list are the plain ones. Part of the others share no word stem
    with any question, so that a question cannot always be answered by matching words.

    Placeholders: `{s}` the page's subject, `{v}` the value (written as a link when it is an
    entity), `{x}` what a question is about, `{y}` the year of a yearly version, `{q}` the limited
    quantity.
    """

    headers: tuple[str, ...]  # of an infobox row
    sentences: tuple[str, ...]  # of an article; () keeps the fact in the infobox
    questions: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # names the value without saying it: "the founder of {x}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PageWording:
    """Texts of one relation on pages alone; the questions stay."""

    headers: tuple[str, ...]
    sentences: tuple[str, ...]


def page_wording(headers: str, *sentences: str) -> PageWording:
    """Texts of one relation, whose headers are separated by "|"."""
    return PageWording(headers=tuple(headers.split("|")), sentences=sentences)


def with_further(
    wordings: Mapping[str, Wording], further: Mapping[str, PageWording]
) -> dict[str, Wording]:
    """Wordings by relation with further page wordings behind the plain ones."""
    return {
        relation: replace(
            wording,
            headers=wording.headers + further[relation].headers,
            sentences=wording.sentences + further[relation].sentences,
        )
        if relation in further
        else wording
        for relation, wording in wordings.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparing:
    """Questions that compare two entities `{a}` and `{b}` by the values of one relation."""

    more: tuple[str, ...]  # the larger or later value is asked for
    less: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Describing:
    """How entities of one kind are described without their names.

    Placeholders: `{v}` a value, `{d}` the first year of its decade, `{noun}` what the entity is,
    `{a}`, `{b}` and `{c}` clauses.
    """

    noun: str  # where no term says what it is
    noun_relation: str  # the relation whose term does, or ""
    clauses: Mapping[str, tuple[str, ...]]  # relation -> clauses that it is told by
    with_two: str  # clauses put together
    with_three: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Filler:
    """Sentences around the facts of one kind of entity that state no fact of the world graph.

    Placeholders: `{s}` the subject, `{o}` another entity (a link), `{n}` a year that answers
    nothing.
    """

    leads: tuple[str, ...]  # first sentence
    headings: tuple[str, str, str]  # of the sections after the lead
    sentences: tuple[str, ...]  # at least ten
    mentions: tuple[str, ...]  # sentences about another entity
    decoy_rows: tuple[tuple[str, str], ...]  # infobox rows that answer nothing
    inbound_heading: str  # above the list of entities that refer to this one
    inbound_item: str  # text after the link of such an entity


@dataclass(frozen=True, kw_only=True, slots=True)
class PageTexts:
    """What stands on pages around their content; `{}` is filled in by the page."""

    # Every page
    search_label: str  # of the search engine's box
    search_button: str
    not_found: str
    not_found_text: str
    search_engine: str  # the same, among the links of a site's head
    to_search: str  # a link to the search engine
    loading: str  # in the place of content that comes late
    # Layers
    cookies_label: str
    cookies_text: str
    banner_labels: tuple[str, str, str]  # buttons that close the cookie banner
    sign_in: str
    sign_in_heading: str
    sign_in_text: str
    email_label: str
    dismiss_labels: tuple[str, str, str, str]  # buttons that close the login pop-up
    signed_in_heading: str
    signed_in_text: str
    to_start: str
    # Search engine
    search_name: str
    search_footer: str
    search_title: str
    tips_heading: str
    tips: tuple[str, str]
    register_tip: str
    results_heading: str
    no_match_before: str
    no_match_after: str
    num_results: str  # number, page
    many_results: str
    page_of_results: str
    previous_page: str
    next_page: str
    sponsored: str
    advert_title: str
    advert_text: str
    advert_hit_title: str  # an advert that looks like a hit; the query
    advert_hit_text: str
    # Encyclopedia
    wiki_name: str
    wiki_footer: str
    wiki_home: str
    wiki_welcome: str
    wiki_intro: str
    kind_headings: tuple[str, str, str, str]  # people, organisations, cities, products
    categories: str
    category: str
    browse: str
    list_intro: str
    picture_of: str
    versions: str
    version_columns: str  # four, separated by "|"
    versions_intro: str
    versions_caption: str  # `{q}` is the limited quantity
    see_also: str
    overview: str  # headings of the held-out page template
    at_a_glance: str
    status_current: str
    status_old: str
    # Policy site
    policy_name: str
    policy_footer: str
    policy_home: str
    policy_intro: str
    agencies: str
    by_year: str
    by_year_title: str
    on_topic: str
    since_year: str
    # Its permit register
    permits: str
    permits_intro: str
    permit_label: str  # of the form's box
    permit_button: str
    permit_missing: str
    permit_of: str
    permit_holder: str
    permit_text: str
    permit_rows: tuple[tuple[str, str], ...]  # rows that answer nothing
    to_permits: str
    # Adverts' site
    deals_name: str
    deals_footer: str
    offers: str
    offer: str
    offer_heading: str
    offer_text: str
    newsletter: str
    while_stocks_last: str
    customers_bought: str
    back_to_search: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """All of a language."""

    page: PageTexts
    wordings: Mapping[str, Wording]  # by relation
    held_out: Mapping[str, PageWording]  # by relation, for pages that nobody trained on
    comparing: Mapping[str, Comparing]  # by relation
    below: tuple[str, ...]  # in which year a limit first fell below `{n}`; `{x}`, `{q}` as above
    describing: Mapping[Kind, Describing]
    fillers: Mapping[Kind, Filler]
    topics: tuple[Topic, ...]
    terms: Mapping[str, tuple[str, ...]]  # by relation
    organisation_nouns: tuple[str, ...]
    brand_nouns: tuple[str, ...]
    agency_nouns: tuple[str, ...]
    name_gap: str  # between the words of a name
    sentence_gap: str
    article: str  # before regulations and agencies inside a sentence, e.g. "the "
    months: tuple[str, str, str, str, str, str]
    date: str  # `{day}`, `{month}`, `{year}`
    price: str  # `{}` is the amount
    limit: str  # amount and unit
    # What else is accepted as a value, by relation or by type of value: `{v}` is the value as pages
    # write it, `{bare}` its number without currency, unit and thousands separators.
    aliases: Mapping[str, tuple[str, ...]]

    def topic_of(self, name: str) -> Topic:
        """The topic of the regulation called `name`."""
        (topic,) = (t for t in self.topics if name.endswith(t.rule_name))
        return topic
