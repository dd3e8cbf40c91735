# SPDX-License-Identifier: Apache-2.0
"""English words that worlds are furnished with: professions, industries, topics."""

from __future__ import annotations

from envs.web.texts.shapes import Topic

TOPICS: tuple[Topic, ...] = tuple(
    Topic(term=term, rule_name=rule, quantity=quantity, unit=unit, low=low, high=high)
    for term, rule, quantity, unit, low, high in (
        ("Noise control", "Noise Ordinance", "night-time sound level", "dB", 52, 90),
        ("Air quality", "Clean Air Rule", "fine dust concentration", "ppm", 45, 140),
        ("Drinking water", "Water Code", "nitrate concentration", "mg", 40, 120),
        ("Road traffic", "Road Traffic Act", "vehicle weight", "tonnes", 34, 88),
        ("Energy use", "Energy Directive", "yearly heat demand", "kWh", 60, 190),
        ("Waste management", "Waste Act", "landfill share", "percent", 36, 72),
        ("Food labelling", "Food Label Code", "added sugar", "grams", 34, 80),
        ("Building safety", "Building Code", "floor load", "kN", 34, 95),
        ("Coastal fishing", "Fisheries Act", "daily catch", "kg", 50, 260),
        ("Radio transmission", "Radio Rule", "transmitter power", "watts", 40, 180),
    )
)

TERMS: dict[str, tuple[str, ...]] = {
    "profession": (
        "Architect", "Astronomer", "Botanist", "Cartographer", "Chemist", "Composer",
        "Dentist", "Economist", "Geologist", "Historian", "Illustrator", "Journalist",
        "Linguist", "Mathematician", "Meteorologist", "Notary", "Oceanographer", "Pharmacist",
        "Photographer", "Physicist", "Sculptor", "Surgeon", "Translator", "Veterinarian",
    ),
    "industry": (
        "Aerospace", "Agriculture", "Banking", "Biotechnology", "Brewing", "Ceramics",
        "Education", "Forestry", "Glassmaking", "Insurance", "Logistics", "Mining",
        "Pharmaceuticals", "Printing", "Publishing", "Robotics", "Shipbuilding", "Software",
        "Textiles", "Tourism",
    ),
    "category": (
        "Air purifier", "Bicycle", "Blender", "Camera", "Coffee machine", "Drone",
        "Electric piano", "Headphones", "Keyboard", "Lawn mower", "Microscope", "Projector",
        "Printer", "Sewing machine", "Smartwatch", "Telescope", "Vacuum cleaner", "Violin",
    ),
}  # fmt: skip

ORGANISATION_NOUNS = (
    "Group", "Works", "Partners", "Holdings", "Industries", "Brothers", "Union", "Company",
    "Collective", "International", "Associates", "Ventures",
)  # fmt: skip
BRAND_NOUNS = (
    "Pulse", "Nova", "Prime", "Classic", "Compact", "Studio", "Horizon", "Spark", "Glide",
    "Pro", "Air", "Max",
)  # fmt: skip
AGENCY_NOUNS = ("Standards Agency", "Safety Board")
