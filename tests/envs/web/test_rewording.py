# SPDX-License-Identifier: Apache-2.0
"""Reworded pages: the words of facts are others, all that a value can be told by stays."""

import numpy as np
import pytest

from envs.han import FUNCTION_WORDS
from envs.types import Observation, Role, SpanSource, Split, Task
from envs.web import hindsight
from envs.web.article import compose_article
from envs.web.rewording import Rewording, Told
from envs.web.world import build_world
from tests.envs.web.test_hindsight import CONFIG, walks

_FACTS_AT = ("/wiki/", "/permit/", "/regulation/", "/agency/")
TOLD = Told(values=("Orla Bay", "1987"), names=("Tarvane Works", "Tarvane"))


def test_a_row_keeps_its_value_and_a_sentence_its_names_and_short_words() -> None:
    rewording = Rewording("en", 1)
    row = rewording.text("Head office: Orla Bay", TOLD)
    assert row.endswith(": Orla Bay") and "office" not in row.casefold()
    filler = "A fire in 1950 spared the archive."
    text = rewording.text(f"{filler} Tarvane has its headquarters in Orla Bay.", TOLD)
    assert text.startswith(f"{filler} Tarvane has ") and text.endswith(" in Orla Bay.")
    assert "headquarters" not in text
    assert len(text.split()) == len(f"{filler} Tarvane has its headquarters in Orla Bay.".split())


def test_the_same_words_become_the_same_and_other_seeds_give_others() -> None:
    row = "Head office: Orla Bay"
    assert Rewording("en", 1).text(row, TOLD) == Rewording("en", 1).text(row, TOLD)
    assert len({Rewording("en", seed).text(row, TOLD) for seed in range(20)}) > 10


@pytest.mark.parametrize("text", ["2019: 1987 | 3 March", "Motto: Plain", "Tarvane has a canteen."])
def test_what_states_no_fact_and_what_a_year_heads_stays(text: str) -> None:
    assert Rewording("en", 1).text(text, TOLD) == text


def test_chinese_keeps_names_function_words_and_the_word_for_a_year() -> None:
    told = Told(values=("林远航", "1987"), names=("北辰集团", "北辰"))
    rewording = Rewording("zh", 1)
    text = rewording.text("北辰的创始人是林远航。食堂得过奖。", told)
    assert text.startswith("北辰的") and text.endswith("是林远航。食堂得过奖。")
    assert "创始人" not in text
    assert "1987年" in rewording.text("北辰成立于1987年。", told)
    assert "的" in FUNCTION_WORDS and "是" in FUNCTION_WORDS


@pytest.fixture(scope="module")
def reworded() -> list[tuple[Task, Observation, Observation]]:
    found = hindsight.from_config(CONFIG)
    return [
        (task, seen, found.reworded(task, seen, seed=seed))
        for task, observations in walks(CONFIG, 12)
        for seen in observations
        for seed in range(2)
    ]


def test_pages_of_facts_are_reworded_and_no_other(reworded) -> None:
    changed = {True: [], False: []}
    for _, before, after in reworded:
        is_of_facts = any(part in before.url for part in _FACTS_AT)
        changed[is_of_facts].append(before.elements.text != after.elements.text)
    assert len(changed[True]) > 20 and np.mean(changed[True]) > 0.9
    assert not any(changed[False])


def test_values_stay_and_no_stating_sentence_does(reworded) -> None:
    seen = 0
    for task, before, after in reworded:
        if before.elements.text == after.elements.text:
            continue
        seen += 1
        world = build_world(task.world_seed, Split.TRAIN, task.language)
        article = next(
            (
                compose_article(world, e)
                for e in world.entities
                if e.name == before.title.split(" - ")[0]
            ),
            None,
        )
        pairs = list(zip(before.elements.text, after.elements.text, strict=True))
        for old, new in pairs:
            if old == new:
                continue
            assert old not in after.elements.text
            assert old.partition(": ")[2] == new.partition(": ")[2] or ". " in new or "。" in new
        facts = () if article is None else article.entity.facts
        texts = " ".join(after.elements.text)
        assert all(f.text in texts for f in facts if f.text in " ".join(before.elements.text))
    assert seen > 20


def test_spans_mask_and_controls_are_as_before(reworded) -> None:
    noted = 0
    for _, before, after in reworded:
        assert after.mask is before.mask and after.question == before.question
        assert [s.text for s in after.spans] == [s.text for s in before.spans]
        texts = zip(before.elements.text, after.elements.text, strict=True)
        controls = [a == b for i, (a, b) in enumerate(texts) if not _is_text(before, i)]
        assert all(controls)
        for span, other in zip(before.spans, after.spans, strict=True):
            if span.source is SpanSource.NOTE and span.context != other.context:
                noted += 1
                assert any(other.context in note.text for note in after.notes)
    assert noted > 0


def _is_text(observation: Observation, row: int) -> bool:
    return Role(int(observation.elements.role[row])).is_text()
