# SPDX-License-Identifier: Apache-2.0
"""The page of an entity as content, before any HTML: which block states which fact.

Each fact stands in the infobox, in the prose or in both; the worded form is drawn per page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from envs.web.draw import Draw
from envs.web.relations import Kind
from envs.web.texts.shapes import Filler
from envs.web.world import LIMIT_YEARS, Entity, Fact, World

WIKI_HOST = "wiki.forage.test"
POLICY_HOST = "policy.forage.test"
POLICY_HOME = f"http://{POLICY_HOST}/"
_INFOBOX_ONLY = 0.4
_PROSE_ONLY = 0.45  # the rest stands in both
_MAX_INBOUND = 5
_NUM_SEE_ALSO = 6
_PLAIN_SHARE = 0.3  # of the wordings that are one of the first two on their list
_WITH_ARTICLE = frozenset({Kind.REGULATION, Kind.AGENCY})  # "the Tarvane Noise Act"


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A piece of text that leads to another page."""

    text: str
    url: str


Run = str | Link


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A row, paragraph or list item and the facts it states."""

    runs: tuple[Run, ...]
    facts: tuple[Fact, ...] = ()
    header: str = ""  # of an infobox row

    def text(self) -> str:
        """What the element's text will be: "Header: value" for a row."""
        plain = "".join(run if isinstance(run, str) else run.text for run in self.runs)
        return f"{self.header}: {plain}" if self.header else plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading ("" for the lead) with paragraphs and list items."""

    heading: str
    paragraphs: tuple[Block, ...]
    items: tuple[Block, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Article:
    """All content of an entity's page."""

    entity: Entity
    url: str
    infobox: tuple[Block, ...]
    sections: tuple[Section, ...]
    versions_caption: str  # of the table of yearly versions, or ""
    versions: tuple[Block, ...]  # rows of that table, newest first; cells separated by " | "
    see_also: tuple[Link, ...]

    def blocks(self) -> Iterator[Block]:
        """Every block that can state a fact or repeat a value, in page order."""
        yield from self.infobox
        for section in self.sections:
            yield from section.paragraphs
            yield from section.items
        yield from self.versions

    def text(self) -> str:
        """The words of the page, for the search engine."""
        parts = [block.text() for block in self.blocks()]
        parts.extend(section.heading for section in self.sections)
        parts.append(self.versions_caption)
        parts.append(", ".join(link.text for link in self.see_also))
        return "\n".join(part for part in parts if part)


def host_of(kind: Kind) -> str:
    """The site that has the pages of a kind."""
    return POLICY_HOST if kind in (Kind.REGULATION, Kind.AGENCY) else WIKI_HOST


def url_of(entity: Entity) -> str:
    """Address of an entity's page."""
    if host_of(entity.kind) == WIKI_HOST:
        return f"http://{WIKI_HOST}/wiki/{_quoted(entity.slug)}"
    return f"{POLICY_HOME}{entity.kind.value}/{_quoted(entity.slug)}"


@lru_cache(maxsize=1 << 14)  # the entities of some worlds, each linked to from many pages
def _quoted(slug: str) -> str:
    return quote(slug)


def picture_path(entity: Entity) -> str:
    """Path of an entity's picture; every host has it."""
    return f"/img/{entity.kind.value}/{_quoted(entity.slug)}.svg"


def mention_of(world: World, entity: Entity, *, short: bool = False) -> str:
    """The entity inside a sentence."""
    if entity.kind in _WITH_ARTICLE:
        return world.words.article + entity.name
    return entity.short_name if short else entity.name


def compose_article(world: World, entity: Entity) -> Article:
    """The page of `entity`: a pure function of world and entity."""
    composer = _Composer(world, entity)
    return composer.article()


class _Composer:
    """Draws wording and layout of one article."""

    def __init__(self, world: World, entity: Entity) -> None:
        self._world = world
        self._entity = entity
        self._draw = Draw("article", world.seed, world.split.value, world.language, entity.key)
        self._filler: Filler = world.words.fillers[entity.kind]
        # Values of the page's own facts may not turn up by chance anywhere else on it.
        self._own_keys = {fact.target for fact in entity.facts} | {entity.key}
        self._own_texts = {fact.text for fact in entity.facts}

    def article(self) -> Article:
        rows, stated = self._place_facts()
        caption, versions = self._versions()
        return Article(
            entity=self._entity,
            url=url_of(self._entity),
            infobox=rows,
            sections=self._sections(stated),
            versions_caption=caption,
            versions=versions,
            see_also=tuple(self._link(e) for e in self._others(_NUM_SEE_ALSO)),
        )

    def _place_facts(self) -> tuple[tuple[Block, ...], list[Block]]:
        """Infobox rows, and one-sentence blocks for the prose."""
        draw = self._draw
        rows: list[Block] = []
        sentences: list[Block] = []
        for fact in self._entity.facts:
            if fact.year:
                continue
            wording = self._world.page_wording(fact.relation)
            place = draw.fraction() if wording.sentences else 0.0
            if place < _INFOBOX_ONLY or place >= _INFOBOX_ONLY + _PROSE_ONLY:
                header = self._pick_wording(wording.headers)
                rows.append(Block(runs=(self._value_run(fact),), facts=(fact,), header=header))
            if place >= _INFOBOX_ONLY:
                runs = self._sentence(self._pick_wording(wording.sentences), fact)
                sentences.append(Block(runs=runs, facts=(fact,)))
        for header, text in draw.sample(self._filler.decoy_rows, 2):
            rows.insert(draw.below(len(rows) + 1), Block(runs=(text,), header=header))
        return tuple(rows), sentences

    def _pick_wording(self, variants: tuple[str, ...]) -> str:
        """One of the variants; the first two are plain and more frequent."""
        is_plain = self._draw.chance(_PLAIN_SHARE)
        return self._draw.pick(variants[:2] if is_plain else variants)

    def _sections(self, stated: list[Block]) -> tuple[Section, ...]:
        """Lead, two sections of prose, and the list of those that refer to the entity."""
        draw, filler = self._draw, self._filler
        plain = draw.sample(filler.sentences, 10)
        start = draw.pick(filler.leads).replace("{s}", mention_of(self._world, self._entity))
        lead = self._paragraph([start, plain.pop()], stated[:1])
        middle = self._paragraph([plain.pop(), plain.pop()], stated[1:2])
        aside = self._paragraph([plain.pop(), draw.pick(filler.mentions)], [])
        last = self._paragraph([plain.pop(), plain.pop()], stated[2:3])
        close = self._paragraph([plain.pop(), plain.pop()], stated[3:])
        views = self._paragraph([draw.pick(filler.mentions), plain.pop()], [])
        end = self._paragraph([plain.pop()], [])
        inbound = [
            self._world.entities[fact.subject] for fact in self._world.inbound[self._entity.key]
        ]
        known = [e for e in dict.fromkeys(inbound) if e.key not in self._own_keys]
        items = tuple(
            Block(
                runs=(
                    self._link(e),
                    self._world.words.sentence_gap + self._fill(filler.inbound_item),
                )
            )
            for e in draw.sample(known, _MAX_INBOUND)
        )
        sections = [
            Section(heading="", paragraphs=(lead,)),
            Section(heading=filler.headings[0], paragraphs=(middle, aside)),
            Section(heading=filler.headings[1], paragraphs=(last, close)),
            Section(heading=filler.headings[2], paragraphs=(views, end)),
        ]
        if items:
            sections.append(Section(heading=filler.inbound_heading, paragraphs=(), items=items))
        return tuple(sections)

    def _paragraph(self, plain: list[str], stated: list[Block]) -> Block:
        """Filler sentences with the stating sentences somewhere between them."""
        draw = self._draw
        parts: list[Block] = [Block(runs=self._sentence(text, None)) for text in plain]
        for sentence in stated:
            parts.insert(1 + draw.below(len(parts)), sentence)
        gap = self._world.words.sentence_gap
        runs: list[Run] = []
        for part in parts:
            runs.extend((*([gap] if runs and gap else []), *part.runs))
        return Block(runs=tuple(runs), facts=tuple(f for part in parts for f in part.facts))

    def _sentence(self, template: str, value: Fact | None) -> tuple[Run, ...]:
        """A template as runs; the value or the other entity becomes a run of its own."""
        slot = "{v}" if value is not None else "{o}"
        before, found, after = template.partition(slot)
        runs: list[Run] = [self._fill(before)]
        if found:
            target = self._others(1)[0] if value is None else self._target(value)
            if target is not None and target.kind in _WITH_ARTICLE:
                runs.append(self._world.words.article)
            if target is not None:
                runs.append(self._link(target))
            elif value is not None:
                runs.append(value.text)
        runs.append(self._fill(after))
        runs = [run for run in runs if run != ""]
        if isinstance(runs[0], str):
            runs[0] = runs[0][0].upper() + runs[0][1:]
        return tuple(runs)

    def _fill(self, text: str) -> str:
        """Subject and decoy year put into a piece of a template."""
        if "{s}" in text:
            subject = mention_of(self._world, self._entity, short=self._draw.chance(0.5))
            text = text.replace("{s}", subject)
        while "{n}" in text:
            year = str(self._draw.between(1936, 2017))
            if year not in self._own_texts:
                text = text.replace("{n}", year, 1)
        return text

    def _versions(self) -> tuple[str, tuple[Block, ...]]:
        """The table of yearly versions of a regulation, newest first."""
        entity, words = self._entity, self._world.words
        if entity.kind is not Kind.REGULATION:
            return "", ()
        quantity = words.topic_of(entity.name).quantity
        rows = []
        for year in reversed(LIMIT_YEARS):
            fact = self._world.fact(entity.key, "limit", year)
            day, month = self._draw.between(1, 28), self._draw.pick(words.months)
            date = words.date.format(day=day, month=month, year=year)
            is_current = year == LIMIT_YEARS[-1]
            status = words.page.status_current if is_current else words.page.status_old
            rows.append(
                Block(runs=(f"{fact.text} | {date} | {status}",), facts=(fact,), header=str(year))
            )
        return words.page.versions_caption.replace("{q}", quantity), tuple(rows)

    def _target(self, fact: Fact) -> Entity | None:
        """The entity that a fact's value is, if it is one."""
        return self._world.entities[fact.target] if fact.target >= 0 else None

    def _value_run(self, fact: Fact) -> Run:
        target = self._target(fact)
        return fact.text if target is None else self._link(target)

    def _others(self, count: int) -> list[Entity]:
        """Entities of the own kind that the page says nothing else about."""
        pool = self._world.by_kind[self._entity.kind]
        found: list[Entity] = []
        while len(found) < count:
            other = self._draw.pick(pool)
            if other.key not in self._own_keys and other not in found:
                found.append(other)
        return found

    def _link(self, entity: Entity) -> Link:
        return Link(text=entity.name, url=url_of(entity))
