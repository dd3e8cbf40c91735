# SPDX-License-Identifier: Apache-2.0
"""How far along the chain of a question something is, and the plan that reads it in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from agent.forager.clues import chains_of, question_view
from agent.forager.features import model_inputs
from agent.forager.hops import MAX_TOKENS, NAME_TOKEN, NO_HOP, NUM_HOPS, Hops, question_tokens
from agent.forager.plan import NUM_WEIGHTS, PLAN_SIZE, QuestionPlan
from agent.forager.relations import asked_words
from agent.forager.words import tokens
from envs.types import Note
from tests.agent.test_forager import observations

QUESTION = "Who is the mayor of the city where the founder of Orla Works was born?"


def note(title: str, text: str) -> Note:
    return Note(text=text, url="u", title=f"{title} - Encyclopedia", step=0)


def hops_of(question: str, notes: Sequence[Note]) -> Hops:
    view = question_view(question)
    return Hops(view, chains_of(view, notes))


def test_hops_count_from_the_entity_of_the_question():
    founder = note("Orla Works", "Founder: Ann Bell")
    city = note("Ann Bell", "She was born in Vardo.")
    none, one, two = (hops_of(QUESTION, notes) for notes in ((), (founder,), (founder, city)))
    assert [h.of("ann bell") for h in (none, one, two)] == [NO_HOP, 1, 1]
    assert [h.of("vardo") for h in (none, one, two)] == [NO_HOP, NO_HOP, 2]
    assert [h.of("orla works") for h in (none, one, two)] == [0, 0, 0]
    assert [h.next for h in (none, one, two)] == [0, 1, 2]
    assert two.of_notes == [0, 1] and two.of("") == NO_HOP


def test_the_shortest_way_counts_and_a_page_does_not_name_itself():
    notes = (
        note("Orla Works", "Founder: Ann Bell"),
        note("Ann Bell", "Ann Bell founded Orla Works and Vardo Group."),
        note("Orla Works", "Vardo Group owns it."),
        note("Elsewhere", "Zed Sun lives here."),
    )
    hops = hops_of(QUESTION, notes)
    assert hops.of_notes == [0, 1, 0, NO_HOP]
    assert hops.of("ann bell") == 1, "not 2, by its own note"
    assert hops.of("vardo group") == 1 and hops.of("zed sun") == NO_HOP


def test_the_last_hop_is_any_later_one_too():
    names = ["Orla Works", *(f"Name {letter}" for letter in "ABCDEF")]
    notes = [note(a, f"Next: {b}") for a, b in pairwise(names)]
    hops = hops_of(QUESTION, notes)
    assert hops.of_notes == [0, 1, 2, 3, 3, 3] and hops.next == NUM_HOPS - 1


def test_tokens_are_in_order_and_point_at_the_words_asked():
    question = question_view(QUESTION)
    found = question_tokens(question, ("orla works",))
    words = tokens(QUESTION)
    assert found.shape == (len(words), 2) and found.dtype == np.int16
    named = [w for w, (number, _) in zip(words, found, strict=True) if number == NAME_TOKEN]
    assert named == ["orla", "works"]
    rows = (*question.clues, *question.asking)
    for word, (number, row) in zip(words, found.tolist(), strict=True):
        assert number > 0 and (row == 0 or rows[row - 1] == word)
        assert (row > 0) == (word in rows)
    twice = question_tokens(question_view("Which city has the mayor of the city Vardo?"), ())
    assert (twice[1] == twice[7]).all(), "a word asked twice is two tokens of one row"
    assert len(question_tokens(question_view("word " * 99), ())) == MAX_TOKENS
    assert question_tokens(question_view(""), ()).shape == (0, 2)
    chinese = question_tokens(question_view("凤石府的员工人数是多少？"), ("员工 工人 人数",))
    assert len(chinese) == 5 and NAME_TOKEN not in chinese[:, 0]


# --- The plan -----------------------------------------------------------------------------------


def asked(*questions: str) -> SimpleNamespace:
    """What a plan reads of a batch."""
    views = [question_view(text) for text in questions]
    parts = [(question_tokens(v, ("orla works",)), asked_words(v)) for v in views]
    most = max(len(t) for t, _ in parts)
    rows = max(len(a["question_word"]) for _, a in parts)

    def padded(array: np.ndarray, length: int) -> np.ndarray:
        return np.pad(array, ((0, length - len(array)), (0, 0)))

    return SimpleNamespace(
        question_token=torch.tensor(np.stack([padded(t, most) for t, _ in parts])).long(),
        question_word=torch.tensor(
            np.stack([padded(a["question_word"], rows) for _, a in parts])
        ).long(),
        question_weight=torch.tensor(
            np.stack([padded(a["question_weight"], rows) for _, a in parts])
        ).float(),
    )


def plan_of(seed: int = 0) -> QuestionPlan:
    torch.manual_seed(seed)
    return QuestionPlan()


def test_a_plan_is_what_its_formula_says():
    plan, batch = plan_of(), asked(QUESTION)
    ids, rows = batch.question_token[0].T.tolist()
    f = torch.zeros(len(ids), plan.around.out_channels)
    for t in range(len(ids)):
        total = plan.around.bias.clone()
        for k in range(5):
            if 0 <= t + k - 2 < len(ids):
                total = total + plan.around.weight[:, :, k] @ plan.token.weight[ids[t + k - 2]]
        f[t] = torch.tanh(total)
    first = ids.index(NAME_TOKEN)
    score = []
    for t, row in enumerate(rows):
        near_far = batch.question_weight[0, row - 1] if row else torch.zeros(NUM_WEIGHTS)
        sums = [f[:t].sum(dim=0), f[t + 1 :].sum(dim=0), f[:first].sum(dim=0)]
        columns = torch.cat([f[t], *(0.25 * s for s in sums), 3.0 * near_far])
        score.append(plan.attention(torch.relu(plan.read(columns))))
    rows = [0 if number == NAME_TOKEN else row for number, row in zip(ids, rows, strict=True)]
    is_asked = torch.tensor([row > 0 for row in rows])
    attention = torch.stack(score)[is_asked].softmax(dim=0)
    expected = torch.zeros(NUM_HOPS, batch.question_word.shape[1])
    for a, row in zip(attention, [row for row in rows if row], strict=True):
        expected[:, row - 1] += a
    weights, summary = plan(batch)
    assert torch.allclose(weights[0], expected, atol=1e-5)
    whole = torch.cat([f.sum(dim=0), f[:first].sum(dim=0)]) * 0.25
    assert torch.allclose(summary[0], torch.tanh(plan.summary(whole)), atol=1e-5)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(1, NUM_HOPS)) and summary.shape[1] == (
        PLAN_SIZE
    )


def test_padding_changes_nothing():
    plan = plan_of()
    questions = (QUESTION, "Who founded Orla Works?", "")
    both, summary = plan(asked(*questions))
    for row, question in enumerate(questions[:2]):
        alone, own = plan(asked(question))
        assert torch.allclose(both[row, :, : alone.shape[2]], alone[0], atol=1e-6)
        assert torch.allclose(summary[row], own[0], atol=1e-6)
    assert not both[2, :, 1:].any(), "nothing is asked but the word that stands for no clue"


def test_the_order_of_the_words_counts():
    plan = plan_of()
    one, _ = plan(asked("Who is the mentor of the founder of Orla Works?"))
    other, _ = plan(asked("Who is the founder of the mentor of Orla Works?"))
    # mentor and founder change places among the words asked, too
    assert not torch.allclose(one[0, :, [1, 0, *range(2, one.shape[2])]], other[0], atol=1e-3)


@pytest.mark.parametrize("num_hops", [2, 3])
def test_which_relation_comes_when_is_learnt_for_chains_that_were_never_seen(num_hops: int):
    """Nested relations: each hop is to read the relation that is as far from the entity."""
    relations = ("mentor", "founder", "mayor", "maker", "owner", "author", "editor", "rival")
    rng = np.random.default_rng(num_hops)
    chains = {tuple(rng.choice(relations, num_hops, replace=False)) for _ in range(400)}
    ordered = sorted(chains)
    held_out, known = ordered[::5], [c for i, c in enumerate(ordered) if i % 5]

    def question(chain: tuple[str, ...]) -> str:
        return f"Who is the {' of the '.join(reversed(chain))} of Orla Works?"

    def right(plan: QuestionPlan, some: list[tuple[str, ...]]) -> tuple[torch.Tensor, float]:
        batch = asked(*(question(chain) for chain in some))
        weights, _ = plan(batch)
        rows = [[question_view(question(c)).clues.index(r) for r in c] for c in some]
        target = torch.tensor(rows)  # [B, hops]
        own = weights[:, :num_hops].gather(2, target[..., None])[..., 0]
        loss = -(own + 1e-6).log().mean()
        return loss, float((own > 0.5).float().mean())

    plan = plan_of(1)
    optimizer = torch.optim.Adam(plan.parameters(), lr=3e-3)
    for _ in range(120):
        some = [known[i] for i in rng.integers(0, len(known), 32)]
        loss, _ = right(plan, some)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert right(plan, held_out)[1] > 0.95


# --- In the features ----------------------------------------------------------------------------


def test_the_hop_of_a_page_that_nothing_names_is_the_next_one():
    seen = observations()[3]
    assert seen.notes, "a page with a note"
    unknown = dataclasses.replace(seen, title="Results")
    hops = hops_of(seen.question, seen.notes)
    assert hops.of("results") == NO_HOP
    assert model_inputs(unknown).page_hop.tolist() == [[hops.next]]
    spans = model_inputs(seen).span_hop[:, 0].tolist()
    assert spans == [1 + hops.of_notes[s.note] if s.note >= 0 else 0 for s in seen.spans]
    assert any(spans)
