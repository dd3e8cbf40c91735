# SPDX-License-Identifier: Apache-2.0
"""Further English page wordings that training pages use, for rules, agencies and permits."""

from __future__ import annotations

from envs.web.texts.shapes import PageWording, page_wording

FURTHER_POLICY: dict[str, PageWording] = {
    "agency": page_wording(
        "Issuing agency|Issuing authority|Enforced by|Authority in charge|Responsible authority"
        "|Supervised by|Administered by|Issuer|Overseen by|Drafted by|Enforcement body|Regulator",
        "The agency that issued {s} is {v}.",
        "{v} enforces {s}.",
        "The authority in charge of {s} is {v}.",
        "{v} has been charged with the enforcement of {s}.",
        "Issuing authority and point of contact is {v}.",
        "{s} was drawn up and published by {v}.",
        "{s} falls within the remit of {v}.",
        "Among the regulations that {v} administers is {s}.",
        "Supervision under {s} has been entrusted to {v}.",
        "Responsibility for carrying out the rules rests with {v}.",
        "{s} was decreed by {v} after lengthy consultation.",
        "Violations of {s} are prosecuted by {v}.",
        "Whoever breaches {s} will soon hear from {v}.",
        "Fines for offenders are imposed by {v}.",
        "Officials of {v} verify that the provisions are respected.",
        "Lawyers who need a clause of {s} interpreted write to {v}, its author.",
    ),
    "effective_year": page_wording(
        "Effective since|Year of effect|Took effect|Came into force|Adoption|Enacted"
        "|Applicable since|Year of adoption|Law since|Entry into force",
        "{s} came into force in {v}.",
        "The year {v} marks the adoption of {s}.",
        "{s} has been effective since {v}.",
        "First adopted in {v}, {s} has been amended often.",
        "The rules took effect in {v}.",
        "{s} became law in {v}.",
        "In {v} legislators enacted {s} in its original form.",
        "{s} has applied since {v}.",
        "{s} entered the statute book in {v}.",
        "Legal validity began in {v}.",
        "Since {v}, courts have been able to invoke {s}.",
        "Prior to {v} nobody was obliged to heed {s}.",
        "Compliance with {s} became mandatory in {v}.",
        "It was in {v} that ignoring {s} turned into an offence.",
        "What used to be tolerated has been unlawful since {v}.",
    ),
    "topic": page_wording(
        "Subject matter|Area of policy|Theme|Field of regulation|About|Regulated matter|Scope"
        "|Regulated field|Policy field|Policy domain",
    ),
    "seat": page_wording(
        "Official seat|Agency address|Seat of agency|City of seat|Offices in|Central office"
        "|Location|Housed in|Operates from|Domiciled in|Agency city",
        "The seat of {s} is {v}.",
        "{s} is located in {v}.",
        "{v} is the city where {s} has its head office.",
        "With its seat in {v}, {s} is within walking distance of the law courts.",
        "The head office can be found in {v}, behind a plain facade.",
        "{s} operates out of {v}.",
        "{v} hosts {s} and its reading room.",
        "The central offices are situated in {v}.",
        "{s} has its permanent quarters in {v}.",
        "Petitions addressed to {s} must be posted to {v}.",
        "Most civil servants of {s} commute to {v}.",
        "To ring the doorbell of {s}, one travels to {v}.",
        "An appointment at {s} means a trip to {v}.",
        "A flag at the main entrance flutters over a square in {v}.",
    ),
    "director": page_wording(
        "Led by|Agency head|Director general|Chief|Person in charge|Directed by|Managed by"
        "|Current director|Chief executive|Top official|Leadership",
        "{v} is director of {s}.",
        "{v} heads {s}.",
        "The person in charge of {s} is {v}.",
        "Ministers placed {v} in charge of {s}.",
        "The post of director is held by {v}.",
        "{v} leads {s}.",
        "{s} operates under the leadership of {v}.",
        "Presiding over {s} is {v}.",
        "The management of {s} was handed to {v} in a brief ceremony.",
        "The present chief is {v}, a quiet negotiator.",
        "At the top of {s} sits {v}.",
        "Nobody at {s} outranks {v}.",
        "All inspectors of {s} answer to {v}.",
        "The helm of {s} is in the grip of {v}.",
        "The largest room upstairs belongs to {v}, to whom every department reports.",
        "Before parliamentary committees the entire body is represented by its boss, {v}.",
    ),
    "established_year": page_wording(
        "Year established|Year of establishment|Formed|In operation since|Came into being"
        "|Beginning of service|In existence since|Instituted|Inaugurated|Operational since",
        "{s} has been active since {v}.",
        "{v} was the year when {s} was set up.",
        "Established in {v}, {s} has survived several reforms.",
        "Setting up the agency was completed in {v}.",
        "{s} came into being in {v}.",
        "{s} took up its duties in {v}.",
        "In {v}, {s} was formed out of an obsolete bureau.",
        "The formal inauguration was celebrated in {v}.",
        "{s} was instituted in {v} amid fierce debate.",
        "{s} has existed since {v}.",
        "Until {v} nobody had heard of {s}.",
        "Jubilees of {s} are reckoned from {v}.",
        "The official life of {s} dawned in {v}.",
        "In {v} the monarch sealed the charter that called the institution to life.",
        "A nameplate was screwed to the door in {v}, and the telephones rang at once.",
    ),
    "permit_number": page_wording(
        "Permit code|Number of permit|Licence number|Register number|File number|Filed under"
        "|Permit identifier|Docket number",
    ),
    "permit_year": page_wording(
        "Permit year|Date of grant|Permit granted|Permit issued in|Year of issue|Date of issue"
        "|Permit since|Licensed since|Permit dated|Year of approval|Approval date",
    ),
    "permit_officer": page_wording(
        "Permit officer|Signatory|Officer in charge|Official responsible|Signing officer"
        "|Permit signed by|Handled by|Desk officer|Approving official",
    ),
    "permit_site": page_wording(
        "Plant location|Plant site|City of plant|Location of plant|Permitted site"
        "|Permitted plant in|Factory town|Operating site|Facility in|Site of operation"
        "|Plant city",
    ),
}
