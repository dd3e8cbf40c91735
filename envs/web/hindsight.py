# SPDX-License-Identifier: Apache-2.0
"""Other questions to which a visited state belongs: one page, many lessons.

An attempt that reads a page learns from its own question alone, and most of its pages are wrong
for that. The world knows what else the page and the notes are evidence of. A *hindsight task* is
one under which the very same state lies on the way to the answer: a question about the entity of
the page, or one that the newest note answers or leads on from. The agent's own state is asked
anew and scored by the same teacher (Andrychowicz et al. 2017, hindsight experience replay, with
the goals of a question-answering world). Nothing is acted out, and no answer is shown to a policy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from envs.config import EnvConfig, Templates
from envs.observe import asked_anew
from envs.types import EvidenceItem, Note, Observation, Split, Task
from envs.web import task_kinds
from envs.web.article import url_of
from envs.web.draw import Draw
from envs.web.guide import document_of, is_held, states
from envs.web.mix import KINDS, LANGUAGES, parse_mix
from envs.web.permits import PERMITS_HOME, permit_facts, permit_url
from envs.web.questions import QUESTION_KINDS, evidence_of, prove
from envs.web.relations import PERMIT_RELATIONS, RELATION, RELATIONS, Kind, Relation
from envs.web.rewording import Rewording, Told
from envs.web.task_kinds import Draft
from envs.web.world import Entity, Fact, World, build_world

_MAX_TRIES = 6  # drafts that cannot be proven are drawn again
_LONGER = 0.5  # share of chains that go on by one more relation, where one can
_OF_NOTE = 0.5  # share of the tasks that the newest note is evidence of, where it states a fact
_OF_LINK = 0.5  # share of those, on pages of no entity, that begin at a linked page
_FROM_EARLIER = 0.6  # share of those that begin a hop earlier, where a note led there
_KEEPS_NOTES = 0.3  # share of the states whose notes, now beside the point, stay
_DESCRIBED, _COMPARED = 0.25, 0.15  # shares of the questions about a page's entity
_DESCRIBED_BESIDE = 0.7  # share of those about a link that what stands beside it describes
_PERMITTED = 0.3  # share of those about a company that its permit answers
_KINDS_WITHOUT_MIX = ("look_up", "two_hop")


def from_config(config: EnvConfig) -> WorldHindsight:
    """For the kinds of tasks that the run has."""
    mix = config.web.kinds
    kinds = parse_mix(mix, KINDS, key="env.web.kinds") if mix else _KINDS_WITHOUT_MIX
    languages = parse_mix(config.web.languages, LANGUAGES, key="env.web.languages")
    return WorldHindsight(kinds, languages)


class WorldHindsight:
    """See the module; a pure function of task, observation and seed."""

    def __init__(self, kinds: Iterable[str], languages: Mapping[str, float]) -> None:
        """With the kinds of tasks, and the share of each language."""
        self._kinds = frozenset(kinds)
        roots = {name: share**0.5 for name, share in languages.items()}
        self._weights = {name: 1.0 / (root * sum(roots.values())) for name, root in roots.items()}

    def weight(self, task: Task) -> float:
        """More for a language that few tasks are in: its share to the power of -1/2.

        How a language words things has to be learnt from its own pages, and there is as much of it.
        """
        return self._weights[task.language]

    def task(self, task: Task, observation: Observation, *, seed: int) -> Task | None:
        """A task of the same world that the observation lies on the way of.

        None where none was found in a few tries.
        """
        draw = Draw("hindsight", task.task_id, observation.step_index, seed)
        world = build_world(task.world_seed, task.split, task.language, Templates.TRAIN)
        for _ in range(_MAX_TRIES):
            draft, kind = self._draft(world, observation, draw)
            question = prove(world, draft) if draft is not None and kind in self._kinds else None
            if question is not None:
                prompt = dataclasses.replace(task.prompt, question=question.text)
                return dataclasses.replace(task, kind=kind, prompt=prompt, truth=question.truth)
        return None

    def observation(self, task: Task, observation: Observation, *, seed: int) -> Observation:
        """The observation under a hindsight task: its spans, and the notes it could have."""
        draw = Draw("hindsight notes", task.task_id, observation.step_index, seed)
        notes = observation.notes
        needed = any(is_held(item, notes) for item in task.truth.evidence)
        if not needed and not draw.chance(_KEEPS_NOTES):
            notes = ()
        known = f"{task.prompt.question} {' '.join(note.text for note in notes)}".casefold()
        queries = tuple(q for q in observation.queries if q.text.casefold() in known)
        return asked_anew(observation, task.prompt.question, notes, queries)

    def reworded(self, task: Task, observation: Observation, *, seed: int) -> Observation:
        """The observation with its facts in words that say nothing."""
        world = build_world(task.world_seed, task.split, task.language, Templates.TRAIN)
        rewording = Rewording(task.language, task.task_id, observation.step_index, seed)
        notes = [_told(world, note.url) for note in observation.notes]
        return rewording.observation(observation, _told(world, observation.url), notes)

    def _draft(
        self, world: World, observation: Observation, draw: Draw
    ) -> tuple[Draft | None, str]:
        stated = _stated(world, observation.notes[-1]) if observation.notes else ()
        if "cross_site" in self._kinds and observation.url.startswith(PERMITS_HOME):
            return self._at_register(world, stated, draw)
        here = _entities(world).get(document_of(observation.url))
        if stated and draw.chance(_OF_NOTE):
            return self._of_fact(world, observation.notes, draw.pick(stated), here, draw)
        if here is not None:
            return self._of_page(world, *here, draw)
        table = observation.elements
        linked = [row for row, href in enumerate(table.href) if href in _entities(world)]
        if linked and draw.chance(_OF_LINK):
            return self._of_link(world, observation, draw.pick(linked), draw)
        kind = draw.pick(sorted(self._kinds))
        return QUESTION_KINDS[kind](world, draw), kind

    def _at_register(
        self, world: World, stated: Sequence[Fact], draw: Draw
    ) -> tuple[Draft | None, str]:
        """At the form: a question about the permit of a company, of a noted one if there is any."""
        holders = [f for f in stated if RELATION[f.relation].target is Kind.ORGANISATION]
        chain = self._permit(draw)
        if holders:
            fact = draw.pick(holders)
            chain = [RELATION[fact.relation], *chain]
            return task_kinds.chain_from(
                world, world.entities[fact.subject], chain, draw
            ), "cross_site"
        holder = draw.pick(world.by_kind[Kind.ORGANISATION])
        return task_kinds.chain_from(world, holder, chain, draw), "cross_site"

    def _of_fact(
        self,
        world: World,
        notes: Sequence[Note],
        fact: Fact,
        here: tuple[Entity, bool] | None,
        draw: Draw,
    ) -> tuple[Draft | None, str]:
        """A question that the fact answers, or, where it names an entity, leads on from.

        It may begin at an earlier note that led to the fact's subject.
        """
        before = [
            earlier
            for note in notes[:-1]
            for earlier in _stated(world, note)
            if earlier.target == fact.subject
        ]
        chain, subject = [RELATION[fact.relation]], world.entities[fact.subject]
        if before and not fact.year and draw.chance(_FROM_EARLIER):
            first = draw.pick(before)
            chain, subject = [RELATION[first.relation], *chain], world.entities[first.subject]
        target = world.entities[fact.target] if fact.target >= 0 else None
        is_there = target is not None and here is not None and here[0] is target
        if target is not None and (is_there or draw.chance(_LONGER)):
            chain += self._onward(target.kind, draw)
        draft = task_kinds.chain_from(world, subject, chain, draw, year=fact.year)
        return draft, _kind_of(chain)

    def _of_page(
        self, world: World, entity: Entity, is_permit: bool, draw: Draw
    ) -> tuple[Draft | None, str]:
        """A question about the entity of a page, or that begins there."""
        if is_permit:
            chain = self._permit(draw)
        elif "fuzzy" in self._kinds and draw.chance(_DESCRIBED):
            return task_kinds.describe(world, entity, draw), "fuzzy"
        elif "comparison" in self._kinds and draw.chance(_COMPARED):
            return task_kinds.compare(world, entity, draw), "comparison"
        else:
            chain = self._onward(entity.kind, draw)
        return task_kinds.chain_from(world, entity, chain, draw), _kind_of(chain)

    def _of_link(
        self, world: World, observation: Observation, row: int, draw: Draw
    ) -> tuple[Draft | None, str]:
        """A question that begins at a linked page; one that describes it by what is said beside."""
        entity, _ = _entities(world)[observation.elements.href[row]]
        around = observation.elements.context[row]
        said = [
            name
            for name in world.words.describing[entity.kind].clauses
            if world.fact(entity.key, name).text in around
        ]
        if said and "fuzzy" in self._kinds and draw.chance(_DESCRIBED_BESIDE):
            return task_kinds.describe(world, entity, draw, draw.pick(said)), "fuzzy"
        chain = self._onward(entity.kind, draw)
        return task_kinds.chain_from(world, entity, chain, draw), _kind_of(chain)

    def _onward(self, kind: Kind, draw: Draw) -> list[Relation]:
        """One to three relations that follow each other, from a kind of entity on."""
        is_holder = kind is Kind.ORGANISATION and "cross_site" in self._kinds
        if is_holder and draw.chance(_PERMITTED):
            return self._permit(draw)
        relation = draw.pick([r for r in RELATIONS if r.domain is kind])
        if relation.target is None or not draw.chance(_LONGER):
            return [relation]
        return [relation, *self._onward(relation.target, draw)]

    def _permit(self, draw: Draw) -> list[Relation]:
        """A relation of the permit register, and perhaps one that follows."""
        relation = draw.pick(PERMIT_RELATIONS)
        if relation.target is None or not draw.chance(_LONGER):
            return [relation]
        return [relation, draw.pick([r for r in RELATIONS if r.domain is relation.target])]


def _kind_of(chain: Sequence[Relation]) -> str:
    if any(relation in PERMIT_RELATIONS for relation in chain):
        return "cross_site"
    return {1: "look_up", 2: "two_hop", 3: "three_hop"}.get(len(chain), "")


def _stated(world: World, note: Note) -> tuple[Fact, ...]:
    """The facts of the page's entity that a note states."""
    found = _entities(world).get(document_of(note.url))
    if found is None:
        return ()
    return tuple(
        fact
        for fact, item in _evidence(world.seed, world.split, world.language, found[0].key, found[1])
        if states(item, note.text)
    )


@lru_cache(maxsize=4096)
def _evidence(
    seed: int, split: Split, language: str, key: int, is_permit: bool
) -> tuple[tuple[Fact, EvidenceItem], ...]:
    """The facts of a page that it proves, with what proves them."""
    world = build_world(seed, split, language, Templates.TRAIN)
    entity = world.entities[key]
    facts = permit_facts(world, entity) if is_permit else entity.facts
    pairs = ((fact, evidence_of(world, fact)) for fact in facts)
    return tuple((fact, item) for fact, item in pairs if item is not None)


def _told(world: World, url: str) -> Told | None:
    """What the page at `url` tells of its entity; None of a page of none."""
    found = _entities(world).get(document_of(url))
    if found is None:
        return None
    entity, is_permit = found
    facts = permit_facts(world, entity) if is_permit else entity.facts
    values = tuple(fact.text for fact in facts)
    return Told(values=values, names=(entity.name, entity.short_name))


def _entities(world: World) -> dict[str, tuple[Entity, bool]]:
    return _by_url(world.seed, world.split, world.language)


@lru_cache(maxsize=16)
def _by_url(seed: int, split: Split, language: str) -> dict[str, tuple[Entity, bool]]:
    """Entities by the address of their page, and whether it is their permit."""
    world = build_world(seed, split, language, Templates.TRAIN)
    pages = {url_of(entity): (entity, False) for entity in world.entities}
    holders = world.by_kind[Kind.ORGANISATION]
    return pages | {permit_url(entity): (entity, True) for entity in holders}
