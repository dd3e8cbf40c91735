# SPDX-License-Identifier: Apache-2.0
"""How English words a fact: on a page, in a table, in a question; see `shapes.Wording`."""

from __future__ import annotations

from envs.web.texts.shapes import Wording

WORDINGS: dict[str, Wording] = {
    "employer": Wording(
        headers=("Employer", "Works for", "Affiliation"),
        sentences=(
            "{s} works for {v}.",
            "{s} is employed by {v}.",
            "{s} has been on the staff of {v} ever since graduating.",
            "A post at {v} pays the bills.",
        ),
        questions=(
            "Which company employs {x}?",
            "Who is the employer of {x}?",
            "For which organisation does {x} work?",
        ),
        phrases=(
            "the company that employs {x}",
            "the employer of {x}",
            "the organisation that {x} works for",
        ),
    ),
    "birthplace": Wording(
        headers=("Birthplace", "Place of birth", "Native of", "Home town"),
        sentences=(
            "{s} was born in {v}.",
            "{s} is a native of {v}.",
            "Childhood was spent in {v}, where the family had always lived.",
        ),
        questions=(
            "In which city was {x} born?",
            "What is the birthplace of {x}?",
            "Which town does {x} come from?",
        ),
        phrases=("the city where {x} was born", "the birthplace of {x}", "the home town of {x}"),
    ),
    "profession": Wording(
        headers=("Profession", "Occupation", "Known as"),
        sentences=(),
        questions=(
            "What is the profession of {x}?",
            "What does {x} do for a living?",
            "Which occupation does {x} have?",
        ),
    ),
    "birth_year": Wording(
        headers=("Year of birth", "Born", "Birth year"),
        sentences=(
            "{s} was born in {v}.",
            "The parish register records the birth for {v}.",
            "The family welcomed {s} in {v}.",
        ),
        questions=(
            "In which year was {x} born?",
            "When was {x} born?",
            "What is the year of birth of {x}?",
        ),
    ),
    "mentor": Wording(
        headers=("Mentor", "Teacher", "Trained by"),
        sentences=(
            "{s} studied under {v}.",
            "The mentor of {s} was {v}.",
            "{s} learned the craft from {v}.",
        ),
        questions=(
            "Who was the mentor of {x}?",
            "Who taught {x}?",
            "Under whom did {x} study?",
        ),
        phrases=("the mentor of {x}", "the person who taught {x}"),
    ),
    "headquarters": Wording(
        headers=("Headquarters", "Head office", "Based in", "Seat"),
        sentences=(
            "{s} has its headquarters in {v}.",
            "{s} is based in {v}.",
            "The board meets in {v}, where every decision is taken.",
        ),
        questions=(
            "In which city is {x} based?",
            "Where are the headquarters of {x}?",
            "Which city is home to the head office of {x}?",
        ),
        phrases=("the city where {x} is based", "the city with the headquarters of {x}"),
    ),
    "founder": Wording(
        headers=("Founder", "Founded by", "Started by"),
        sentences=(
            "{s} was founded by {v}.",
            "It was {v} who set up {s}.",
            "The business goes back to {v}, who began in a rented workshop.",
        ),
        questions=(
            "Who founded {x}?",
            "Who is the founder of {x}?",
            "Which person started {x}?",
        ),
        phrases=("the founder of {x}", "the person who founded {x}"),
    ),
    "founded_year": Wording(
        headers=("Founded", "Established", "In business since"),
        sentences=(
            "{s} was founded in {v}.",
            "{s} was established in {v}.",
            "The first customers were served in {v}.",
        ),
        questions=(
            "In which year was {x} founded?",
            "When was {x} established?",
            "Since which year has {x} been in business?",
        ),
    ),
    "industry": Wording(
        headers=("Industry", "Sector", "Line of business"),
        sentences=(),
        questions=(
            "In which industry does {x} operate?",
            "Which sector is {x} active in?",
            "What is the line of business of {x}?",
        ),
    ),
    "employees": Wording(
        headers=("Employees", "Number of staff", "Workforce", "Headcount"),
        sentences=(
            "{s} has {v} employees.",
            "A workforce of {v} keeps {s} running.",
            "The payroll lists {v} people.",
        ),
        questions=(
            "How many people does {x} employ?",
            "How many employees does {x} have?",
            "What is the number of staff at {x}?",
        ),
    ),
    "region": Wording(
        headers=("Region", "Province", "Part of"),
        sentences=(
            "{s} lies in the region of {v}.",
            "{s} is part of {v}.",
            "Taxes are collected by the authorities of {v}.",
        ),
        questions=(
            "In which region does {x} lie?",
            "Which region is {x} part of?",
            "To which province does {x} belong?",
        ),
    ),
    "population": Wording(
        headers=("Population", "Inhabitants", "Residents"),
        sentences=(
            "{s} has a population of {v}.",
            "The last census counted {v} inhabitants.",
            "{s} is home to {v} people.",
        ),
        questions=(
            "How many people live in {x}?",
            "What is the population of {x}?",
            "How many inhabitants does {x} have?",
        ),
    ),
    "mayor": Wording(
        headers=("Mayor", "Head of the council", "Town hall led by"),
        sentences=(
            "The mayor of {s} is {v}.",
            "The city council is headed by {v}.",
            "Voters last handed the chain of office to {v}.",
        ),
        questions=(
            "Who is the mayor of {x}?",
            "Who heads the city council of {x}?",
            "Which person governs {x}?",
        ),
        phrases=("the mayor of {x}", "the head of the city council of {x}"),
    ),
    "river": Wording(
        headers=("River", "Waterway", "Stands on"),
        sentences=(
            "The river {v} flows through {s}.",
            "{s} stands on the {v}.",
            "Barges on the {v} once carried grain to the mills.",
        ),
        questions=(
            "Which river flows through {x}?",
            "On which river does {x} stand?",
            "What is the name of the river in {x}?",
        ),
    ),
    "maker": Wording(
        headers=("Maker", "Manufacturer", "Made by", "Brand owner"),
        sentences=(
            "{s} is made by {v}.",
            "{v} is the manufacturer of {s}.",
            "Every unit leaves the workshops of {v}.",
        ),
        questions=(
            "Which company makes {x}?",
            "Who is the manufacturer of {x}?",
            "Which firm produces {x}?",
        ),
        phrases=("the company that makes {x}", "the manufacturer of {x}"),
    ),
    "price": Wording(
        headers=("List price", "Price", "Recommended retail"),
        sentences=(
            "The list price of {s} is {v}.",
            "{s} sells for {v}.",
            "Buyers pay {v} at the counter.",
        ),
        questions=(
            "What is the list price of {x}?",
            "How much does {x} cost?",
            "At what price does {x} sell?",
        ),
    ),
    "launch_year": Wording(
        headers=("Launched", "Released", "On sale since"),
        sentences=(
            "{s} was launched in {v}.",
            "{s} was released in {v}.",
            "The first boxes reached the shops in {v}.",
        ),
        questions=(
            "In which year was {x} launched?",
            "When was {x} released?",
            "Since which year has {x} been on sale?",
        ),
    ),
    "category": Wording(
        headers=("Category", "Type", "Product class"),
        sentences=(),
        questions=(
            "What kind of product is {x}?",
            "Which product category does {x} fall into?",
            "What type of device is {x}?",
        ),
    ),
    "agency": Wording(
        headers=("Issued by", "Agency", "Competent authority"),
        sentences=(
            "{s} was issued by {v}.",
            "{v} is the agency in charge.",
            "Inspectors of {v} watch over compliance.",
        ),
        questions=(
            "Which agency issued {x}?",
            "Which authority is in charge of {x}?",
            "Who enforces {x}?",
        ),
        phrases=("the agency that issued {x}", "the authority in charge of {x}"),
    ),
    "effective_year": Wording(
        headers=("In force since", "Effective", "First adopted"),
        sentences=(
            "{s} has been in force since {v}.",
            "{s} took effect in {v}.",
            "Parliament passed the first text in {v}.",
        ),
        questions=(
            "Since which year has {x} been in force?",
            "In which year did {x} take effect?",
            "When was {x} first adopted?",
        ),
    ),
    "topic": Wording(
        headers=("Policy area", "Subject", "Topic"),
        sentences=(),
        questions=(
            "Which policy area does {x} belong to?",
            "What is the subject of {x}?",
        ),
    ),
    "limit": Wording(
        headers=("{y}",),
        sentences=(),
        questions=(
            "What limit did {x} set in {y}?",
            "Which {q} was allowed by {x} in {y}?",
            "What was the highest {q} under the {y} version of {x}?",
        ),
    ),
    "seat": Wording(
        headers=("Seat", "Head office", "Located in"),
        sentences=(
            "{s} has its seat in {v}.",
            "The head office is in {v}.",
            "Visitors are received in {v} on weekdays.",
        ),
        questions=(
            "In which city does {x} have its seat?",
            "Where is the head office of {x}?",
            "In which city is {x} located?",
        ),
        phrases=("the city where {x} has its seat", "the city with the head office of {x}"),
    ),
    "director": Wording(
        headers=("Director", "Headed by", "In charge"),
        sentences=(
            "The director of {s} is {v}.",
            "{s} is headed by {v}.",
            "Final decisions carry the signature of {v}.",
        ),
        questions=(
            "Who is the director of {x}?",
            "Who heads {x}?",
            "Which person is in charge of {x}?",
        ),
        phrases=("the director of {x}", "the person who heads {x}"),
    ),
    "established_year": Wording(
        headers=("Established", "Set up in", "Active since"),
        sentences=(
            "{s} was established in {v}.",
            "{s} was set up in {v}.",
            "The first inspectors were sworn in during {v}.",
        ),
        questions=(
            "In which year was {x} established?",
            "When was {x} set up?",
            "Since which year has {x} been active?",
        ),
    ),
}
