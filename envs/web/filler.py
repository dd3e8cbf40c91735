# SPDX-License-Identifier: Apache-2.0
"""Sentences that make an article read like one and state no fact of the world graph.

Placeholders: `{s}` the subject, `{o}` another entity (a link), `{n}` a year that answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from envs.web.relations import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Filler:
    """What surrounds the facts of one kind of entity."""

    leads: tuple[str, ...]  # first sentence
    headings: tuple[str, str, str]  # of the sections after the lead
    sentences: tuple[str, ...]
    mentions: tuple[str, ...]  # sentences about another entity
    decoy_rows: tuple[tuple[str, str], ...]  # infobox rows that answer nothing
    inbound_heading: str  # above the list of entities that refer to this one
    inbound_item: str  # text after the link of such an entity


FILLERS: dict[str, dict[Kind, Filler]] = {
    "en": {
        Kind.PERSON: Filler(
            leads=(
                "{s} is known to colleagues for patience and for a dry sense of humour.",
                "{s} is a public figure whose notebooks are widely read.",
                "{s} has been the subject of several radio features.",
            ),
            headings=("Life", "Career", "Reception"),
            sentences=(
                "Friends describe a quiet person with a large library and little taste for fame.",
                "The early years left few records, and letters from that time are rare.",
                "A first long journey abroad changed the direction of the work.",
                "Several notebooks survive, most of them filled with sketches and lists.",
                "The lectures drew large audiences and were printed in {n}.",
                "Reviewers praised the clear style and complained about the many footnotes.",
                "An exhibition in {n} brought the collected papers together for the first time.",
                "Illness forced a pause, after which the pace of work became slower.",
                "Students remember long walks and very few blackboards.",
                "A prize was accepted in {n}, though the ceremony was avoided.",
                "The correspondence is kept in a private archive and can be read on request.",
                "In interviews {s} prefers to talk about gardening.",
            ),
            mentions=(
                "A long friendship with {o} is documented in their letters.",
                "A joint essay with {o} is still quoted.",
                "Rivals included {o}, with whom a public quarrel broke out in {n}.",
            ),
            decoy_rows=(
                ("Languages", "three"),
                ("Awards", "Silver Medal of Merit"),
                ("Years active", "four decades"),
                ("Archive", "private collection"),
            ),
            inbound_heading="Associated pages",
            inbound_item="mentions {s}",
        ),
        Kind.ORGANISATION: Filler(
            leads=(
                "{s} is a mid-sized enterprise with customers on three continents.",
                "{s} is a privately held enterprise known for its plain advertising.",
                "{s} is an enterprise that has changed its name only once.",
            ),
            headings=("History", "Operations", "Reputation"),
            sentences=(
                "Its early years were marked by shortages and by a loyal circle of customers.",
                "A fire in {n} destroyed the old warehouse and much of the archive.",
                "The logo was redrawn in {n} and has stayed the same since then.",
                "Profits are reinvested, and dividends have been modest.",
                "A training centre opened in {n} and takes apprentices every autumn.",
                "Suppliers are chosen by a committee that publishes its criteria.",
                "Analysts call the balance sheet solid and the strategy cautious.",
                "An attempt to list the shares was abandoned in {n}.",
                "Quality control is carried out by a separate department.",
                "The canteen has won two awards for its vegetable soup.",
                "Annual reports are available in the reading room.",
                "The sports club of {s} plays in the regional league.",
            ),
            mentions=(
                "A joint venture with {o} was dissolved in {n}.",
                "Consultants of {o} reviewed the accounts.",
                "A long lawsuit against {o} ended with a settlement.",
            ),
            decoy_rows=(
                ("Legal form", "private company"),
                ("Fiscal year", "ends in March"),
                ("Ownership", "family trust"),
                ("Motto", "Plain and sturdy"),
            ),
            inbound_heading="Associated pages",
            inbound_item="is linked to {s}",
        ),
        Kind.CITY: Filler(
            leads=(
                "{s} is a city with a covered market and a well-kept old town.",
                "{s} is a city known for its brick arcades and its tramway.",
                "{s} is a city whose harbour quarter has been rebuilt twice.",
            ),
            headings=("History", "Daily life", "Culture"),
            sentences=(
                "The old walls were taken down in {n} and replaced by a ring of gardens.",
                "A great fire in {n} spared only the granaries and the bell tower.",
                "The tramway carries commuters from the hills to the station square.",
                "Every autumn the lantern festival fills the arcades for nine days.",
                "The museum of crafts holds a large collection of clocks.",
                "Winters are mild and damp, and fog is common until noon.",
                "The theatre reopened in {n} after long repairs.",
                "Local cooking relies on barley, smoked fish and plums.",
                "A university college trains teachers and nurses.",
                "The central library lends musical instruments free of charge.",
                "Cyclists share the quays with street musicians.",
                "Guided walks through {s} start at the station square.",
            ),
            mentions=(
                "A bust of {o} stands in the public gardens.",
                "A partnership with {o} was sealed in {n}.",
                "A lecture series named after {o} is held in the old mint.",
            ),
            decoy_rows=(
                ("Time zone", "Central"),
                ("Twin towns", "two"),
                ("Climate", "mild"),
                ("Tram lines", "five"),
            ),
            inbound_heading="Associated pages",
            inbound_item="has ties to {s}",
        ),
        Kind.PRODUCT: Filler(
            leads=(
                "{s} is what reviewers call sturdy rather than elegant.",
                "{s} is sold in specialist stores and by mail order.",
                "{s} has a small but devoted circle of owners.",
            ),
            headings=("Development", "Reception", "Use"),
            sentences=(
                "The first prototypes were built from spare parts and plywood.",
                "An internal review in {n} nearly ended the project.",
                "The casing is moulded in one piece, which makes repairs easy.",
                "A second edition in {n} brought a quieter motor.",
                "Testers liked the large dials and disliked the short cable.",
                "Spare parts are promised for fifteen years.",
                "The manual has become a collector's item.",
                "A recall in {n} concerned a loose screw in the base.",
                "Owners meet once a year to exchange tips.",
                "The design received a commendation in {n}.",
                "Accessories include a carrying case and a spare lid.",
                "A refurbished {s} keeps most of its value.",
            ),
            mentions=(
                "Reviewers often compare it with {o}.",
                "A limited edition was made for {o}.",
                "A test run with {o} was filmed in {n}.",
            ),
            decoy_rows=(
                ("Colours", "grey and green"),
                ("Warranty", "five years"),
                ("Weight", "light"),
                ("Accessories", "carrying case"),
            ),
            inbound_heading="Related articles",
            inbound_item="mentions {s}",
        ),
        Kind.REGULATION: Filler(
            leads=(
                "{s} is a binding text for companies and public bodies.",
                "{s} is a national text that is revised once a year.",
            ),
            headings=("Background", "Compliance", "Commentary"),
            sentences=(
                "Public hearings were held before the first draft was written.",
                "A commission of experts reviews the thresholds every spring.",
                "Exemptions can be requested in writing and are granted for two years.",
                "Fines are set by the courts and published in the gazette.",
                "A consultation in {n} drew more than a hundred letters.",
                "Small firms may use a simplified form.",
                "The text was consolidated in {n} without change of substance.",
                "Measurements have to be taken by accredited laboratories.",
                "Guidance for inspectors fills a separate manual.",
                "Neighbouring countries use comparable rules.",
            ),
            mentions=(
                "Its wording follows {o} in several places.",
                "Parts were taken over from {o} in {n}.",
                "Lawyers often read it together with {o}.",
            ),
            decoy_rows=(
                ("Status", "in force"),
                ("Gazette section", "B"),
                ("Review cycle", "yearly"),
            ),
            inbound_heading="Related pages",
            inbound_item="refers to {s}",
        ),
        Kind.AGENCY: Filler(
            leads=(
                "{s} is a public body that writes and supervises technical rules.",
                "{s} is a public body with a small technical staff.",
            ),
            headings=("Mandate", "Organisation", "Public record"),
            sentences=(
                "Its reports are laid before parliament every summer.",
                "Laboratories and archives occupy two separate buildings.",
                "A reform in {n} merged the regional offices.",
                "Complaints are answered within thirty days.",
                "Inspectors work in pairs and rotate between districts.",
                "The library of {s} is open to the public.",
                "An external audit in {n} praised the filing system.",
                "Budgets have been stable for many years.",
                "Training courses are offered every autumn.",
                "Field reports are kept for twenty years and then destroyed.",
                "A staff exchange brings in engineers from abroad.",
                "Public hearings take place in the large hall.",
            ),
            mentions=(
                "Measurements are bought from {o}.",
                "A study by {o} led to a new manual.",
                "A contract with {o} ran until {n}.",
            ),
            decoy_rows=(
                ("Legal form", "public body"),
                ("Reports to", "parliament"),
                ("Opening hours", "weekdays"),
            ),
            inbound_heading="Regulations in its care",
            inbound_item="is supervised by {s}",
        ),
    }
}

WEB_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "versions": "Yearly versions",
        "version_columns": "Version|Limit|Applies from|Status",
        "see_also": "See also",
        "status_current": "Current",
        "status_old": "Superseded",
        "versions_intro": "Each version replaces the one before it. The newest comes first.",
        "versions_caption": "Highest permitted {q}",
    }
}
