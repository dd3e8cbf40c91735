# SPDX-License-Identifier: Apache-2.0
"""Features, network and agent: what moves, what must agree, what must stay exactly zero."""

import asyncio
import dataclasses
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch

from agent.config import PolicyConfig
from agent.episode import run_episode
from agent.forager.clues import chains_of, question_view, type_fit
from agent.forager.features import model_inputs
from agent.forager.relations import (
    ASKED_SIZE,
    MAX_STATEMENTS,
    NUM_WORD_IDS,
    RELATION_SIZE,
    StatementTable,
    asked_vector,
    asked_words,
    relation_vector,
    statements_of,
    word_id,
)
from agent.forager.scene import relation_text
from agent.forager.sizes import feature_sizes
from agent.forager.values import value_shape
from agent.forager.words import clue_words, shares_stem, similarities, tokens
from agent.policy import collate, sample_row
from agent.policy_agent import PolicyAgent, build_policy
from agent.scripted.random_agent import RandomAgent
from envs.actions import ACTION_SPECS, NUM_TYPES, TYPE_INDEX, Action, enumerate_actions
from envs.search_env import SearchEnv
from envs.spans import draw_spans
from envs.types import Note, Observation, Role, Split
from tests.envs.small_site import ANN, ORLA
from tests.envs.test_search_env import begin, element, make_small_env, span


def observations(env: SearchEnv | None = None) -> list[Observation]:
    """Start page, article with a note, the second hop's page."""
    env = env or make_small_env(max_steps=50)

    async def run() -> list[Observation]:
        first = await begin(env)
        box = element(first, Role.TEXTBOX, "Search")
        typing = Action(type="type", element=box, span=span(first, "Ann Bell"))
        typed = (await env.step(typing)).observation
        results = (await env.step(Action(type="press_enter"))).observation
        await env.driver.open(ANN)
        seen = (await env.step(Action(type="wait_ms", wait=0))).observation
        row = element(seen, Role.TABLE_ROW, "Employer")
        noted = (await env.step(Action(type="extract_text", element=row))).observation
        await env.driver.open(ORLA)
        last = (await env.step(Action(type="wait_ms", wait=0))).observation
        return [first, seen, noted, last, typed, results]

    return asyncio.run(run())


def hits_seen() -> Observation:
    """Hits with a text beside them, which nobody searched for by their names."""
    results = observations()[5]
    table = results.elements
    beside = tuple(f"{text} and Ann Bell" for text in table.text)
    table = dataclasses.replace(table, context=beside)
    return dataclasses.replace(results, elements=table, queries=())


def chain_followed() -> Observation:
    """With notes of every hop, from page to page."""
    seen = observations()[3]
    names = ["Ann Bell", *(f"Name {letter}" for letter in "ABCD")]
    notes = tuple(
        Note(text=f"Employer: {there}", url="u", title=f"{here} - Encyclopedia", step=step)
        for step, (here, there) in enumerate(pairwise(names))
    )
    return dataclasses.replace(seen, notes=notes, spans=draw_spans(seen.question, notes))


def trained_like_policy(seed: int = 0) -> torch.nn.Module:
    """A policy whose weights are not those of the (uniform) initialisation."""
    policy = build_policy(PolicyConfig(width=16), seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return policy


def test_tokens_keep_numbers_whole_and_drop_possessives():
    assert tokens("Orla's 48,210 people") == ["orla", "48210", "people"]
    assert clue_words("In which city is the company of Ann Bell based?") == [
        "city", "company", "ann", "bell", "based",
    ]  # fmt: skip


def test_words_of_one_stem_and_near_words_match_and_strangers_do_not():
    assert shares_stem("employs", "employer") and not shares_stem("car", "card")
    table = similarities(["employer", "costs", "vardo", "1984"], ["employs", "price", "1985"])
    assert table[0, 0] >= 0.8 and table[1, 1] > 0.4
    assert table[2].max() < 0.4 and table[3].max() == 0.0


def test_a_chain_explains_what_its_links_explain_together():
    question = question_view("In which city is the company that employs Ann Bell based?")
    first = Note(text="Employer: Orla Works", url=ANN, title="Ann Bell - Encyclopedia", step=0)
    second = Note(text="City: Vardo", url=ORLA, title="Orla Works - Encyclopedia", step=1)
    alone = chains_of(question, [second])
    chained = chains_of(question, [first, second])
    assert chained.best() > max(alone.best(), chains_of(question, [first]).best())
    assert chained.coverage[1][question.clues.index("bell")] == 1.0
    assert chained.open[question.clues.index("city")] == 0.0
    assert chained.leading_to("Orla Works").sum() > 0 and chained.leading_to("Vardo").sum() > 0
    assert chained.leading_to("Elsewhere").sum() == 0


def test_clues_next_to_the_entity_are_near_and_what_is_asked_in_the_end_is_far():
    question = question_view("Who founded the company that employs Ann Bell?")
    near = dict(zip(question.clues, question.near, strict=True))
    far = dict(zip(question.clues, question.far, strict=True))
    assert near["employs"] > near["company"] > near["founded"] == 0.0
    assert far["founded"] > far["company"] > far["employs"] == 0.0
    assert near["ann"] == near["bell"] == far["ann"] == far["bell"] == 0.0
    assert np.isclose(question.near.sum(), 1.0) and np.isclose(question.far.sum(), 1.0)
    single = question_view("Who founded Orla Works?")
    assert single.near.max() == single.far.max() == 1.0


def test_relation_vectors_speak_of_the_relation_and_not_of_names_or_numbers():
    rows = ("Employer: Orla Works", "Employer: Vardo Mills 12")
    first, second = (relation_vector(relation_text(row)) for row in rows)
    assert np.array_equal(first, second) and np.abs(first).max() > 0
    told, asked_for = "Ann Bell works for Orla Works.", "Works for"
    assert np.allclose(relation_vector(told), relation_vector(asked_for), atol=1e-3)
    assert not relation_vector("Orla Works 1984").any()
    question = question_view("Who founded the company that employs Ann Bell?")
    asked = asked_vector(question)
    founder, employer = relation_vector("founded"), relation_vector("employs")
    near, far = asked[:RELATION_SIZE], asked[RELATION_SIZE : 2 * RELATION_SIZE]
    assert near @ employer > near @ founder and far @ founder > far @ employer


def test_a_row_states_its_header_and_a_paragraph_its_sentences():
    assert statements_of("Employer: Orla Works") == ("Employer",)
    text = "It rained in May. Ann Bell was employed there. The roof is red."
    assert statements_of(text)[1] == "Ann Bell was employed there."
    assert len(statements_of("It rained. " * 20)) == MAX_STATEMENTS
    assert statements_of("") == ()
    table = StatementTable()
    told = [("Employer", ("Orla Works",)), ("Mentor", ())]
    assert table.rows(told, 3).tolist() == [1, 2, 0] and table.rows(told[1:], 1).tolist() == [2]
    inputs = table.inputs()
    assert np.array_equal(inputs["statement"][1], relation_vector("Mentor"))
    assert inputs["statement_word"][0].tolist() == [word_id("employer"), *[0] * 15]
    assert inputs["statement_value"].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert np.array_equal(inputs["value_shape"], [value_shape("Orla Works")])
    assert 0 < word_id("employer") < NUM_WORD_IDS


def test_the_words_asked_for_carry_their_near_and_far_weights():
    question = question_view("Who founded the company that employs Ann Bell?")
    asked = asked_words(question)
    ids, weights = asked["question_word"], asked["question_weight"]
    place = question.clues.index("founded")
    assert ids[place] == word_id("founded") and weights[place, 1] > weights[place, 0] == 0
    assert ids[-1] == word_id("who") and not weights[-1].any(), "then the question words"
    assert len(asked["question_vector"]) == len(ids) == len(question.clues) + 1


def test_a_chinese_question_goes_from_its_entity_to_what_is_asked():
    question = question_view("林远航所在的公司的创始人是谁？")
    assert question.asking == ("who",)
    assert question.near.argmax() == 0 and question.far.argmax() == len(question.clues) - 1
    assert np.isclose(question.near.sum(), 1.0) and np.isclose(question.far.sum(), 1.0)


def test_the_kind_of_answer_that_is_asked_for():
    year = question_view("In which year was Orla Works founded?")
    number = question_view("How many people live in Vardo?")
    name = question_view("Who founded Orla Works?")
    assert type_fit(year, "1984") == 1.0 > type_fit(year, "48,210") > type_fit(year, "Ann Bell")
    assert type_fit(number, "48,210") == 1.0 and type_fit(number, "Ann Bell") == -1.0
    assert type_fit(name, "Ann Bell") == 1.0 and type_fit(name, "1984") == -1.0


def test_feature_shapes_are_those_the_network_is_built_for_and_finite():
    sizes = feature_sizes()
    for seen in observations():
        inputs = model_inputs(seen)
        assert inputs.state.shape == (sizes.state + ASKED_SIZE,)
        assert inputs.element.shape == (len(seen.elements), sizes.element)
        assert inputs.span.shape == (len(seen.spans), sizes.span)
        assert inputs.element_statement.max(initial=0) <= len(inputs.statement)
        assert inputs.span_statement.max(initial=0) <= len(inputs.statement)
        assert len(inputs.statement) == len(inputs.statement_word)
        assert all(np.isfinite(a).all() for a in (inputs.state, inputs.element, inputs.span))
        assert inputs.element.dtype == np.float16


def test_every_match_feature_moves_somewhere():
    inputs = [model_inputs(seen) for seen in (*observations(), hits_seen(), chain_followed())]
    element_rows = np.concatenate([i.element[:, : feature_sizes().element] for i in inputs])
    span_rows = np.concatenate([i.span[:, : feature_sizes().span] for i in inputs])
    # What this tiny site cannot move: check boxes, list items, other roles, layers, disabled and
    # checked controls, controls that close a layer, empty texts, rows of years around a bound; a
    # note that repeats the question, digits in spans, pages and years that are compared.
    assert (element_rows.std(axis=0) == 0).sum() <= 12
    assert (span_rows.std(axis=0) == 0).sum() <= 4


def test_every_feature_column_moves_the_policy():
    policy = trained_like_policy()
    seen = observations()
    kinds = np.arange(NUM_TYPES) == TYPE_INDEX["switch_tab"]
    masks = [
        dataclasses.replace(s.mask, type=s.mask.type | kinds, tab=np.ones_like(s.mask.tab))
        for s in seen
    ]
    batch = collate([model_inputs(s) for s in seen], masks)
    for columns in (batch.state, batch.element, batch.span, batch.tab):
        # Random features on the same pages, so that no column is 0 and no unit is off everywhere.
        columns.normal_(generator=torch.Generator().manual_seed(2)).requires_grad_()
    policy(batch).log_action[batch.flat_mask].square().sum().backward()
    for columns in (batch.state, batch.element, batch.span, batch.tab):
        assert columns.grad is not None
        moves = columns.grad.abs().flatten(end_dim=-2).amax(dim=0)
        assert (moves > 0).all(), (moves == 0).nonzero().flatten().tolist()


def test_statements_and_asked_words_move_the_policy():
    policy = trained_like_policy()
    batch = collate([model_inputs(s) for s in observations()], [s.mask for s in observations()])
    batch.statement.requires_grad_()
    batch.question_weight.requires_grad_()
    policy(batch).log_action[batch.flat_mask].square().sum().backward()
    assert batch.statement.grad is not None and batch.question_weight.grad is not None
    owned = torch.cat([batch.element_statement.flatten(1), batch.span_statement.flatten(1)], dim=1)
    for state, rows in enumerate(owned):
        moves = batch.statement.grad[state].abs().amax(dim=1) > 0
        assert moves[(rows[rows > 0] - 1).unique()].any(), "statements of elements count"
    assert batch.question_weight.grad.abs().max() > 0
    fresh = build_policy(PolicyConfig(width=16), seed=3)
    fresh(batch).log_action[batch.flat_mask].square().sum().backward()
    word = fresh.relation.word.weight
    assert word[0].abs().max() == 0.0 and word.grad[0].abs().max() == 0.0, "no word says nothing"


def test_a_state_without_any_legal_action_is_refused():
    seen = observations()[0]
    mask = dataclasses.replace(seen.mask, type=np.zeros_like(seen.mask.type))
    with pytest.raises(ValueError):
        collate([model_inputs(seen)], [mask])


def test_a_note_moves_the_features_of_spans_and_elements():
    _, before, after, *_ = observations()
    assert len(after.spans) > len(before.spans)
    assert not np.array_equal(model_inputs(before).state, model_inputs(after).state)


def test_the_initial_policy_is_uniform_over_types_and_arguments():
    policy = build_policy(PolicyConfig(width=16), seed=3)
    seen = observations()[1]
    output = policy(collate([model_inputs(seen)], [seen.mask]))
    kinds = torch.from_numpy(seen.mask.type.astype(bool))
    probabilities = output.log_type[0].exp()
    assert torch.allclose(
        probabilities[kinds], torch.full_like(probabilities[kinds], 1 / kinds.sum())
    )
    actions = enumerate_actions(seen.mask)
    for kind in np.unique(actions.type):
        rows = torch.from_numpy(actions.type == kind)
        assert output.log_action[0][rows].std(unbiased=False) < 1e-5


def test_probabilities_of_all_legal_actions_sum_to_one_in_any_batch():
    policy = trained_like_policy()
    seen = observations()
    batch = collate([model_inputs(s) for s in seen], [s.mask for s in seen])
    output = policy(batch)
    assert torch.allclose(output.log_action.exp().sum(dim=1), torch.ones(len(seen)), atol=1e-5)
    assert torch.allclose(
        output.log_heads.sum(dim=-1)[batch.flat_mask], output.log_action[batch.flat_mask]
    )
    for row, single in enumerate(seen):
        alone = policy(collate([model_inputs(single)], [single.mask])).log_action[0]
        assert torch.allclose(output.log_action[row, : len(alone)], alone, atol=1e-5)


def test_masked_arguments_get_no_probability_and_no_gradient():
    policy = trained_like_policy()
    seen = observations()[1]
    inputs = model_inputs(seen)
    batch = collate([inputs], [seen.mask])
    illegal = ~seen.mask.element.any(axis=0)
    assert illegal.any()
    batch.element.requires_grad_(True)
    output = policy(batch)
    output.log_action[0].logsumexp(dim=0).backward()
    output = policy(batch)
    (output.log_action.exp() * output.log_action).sum().backward()
    assert batch.element.grad is not None
    assert batch.element.grad[0][torch.from_numpy(illegal)].abs().max() == 0.0


def test_a_page_without_elements_still_has_a_policy():
    seen = observations()[0]
    table = seen.elements
    empty = {
        f.name: getattr(table, f.name)[:0] for f in dataclasses.fields(table)
    }  # every column cut to no rows
    seen = dataclasses.replace(
        seen,
        elements=dataclasses.replace(table, **empty),
        mask=dataclasses.replace(
            seen.mask,
            type=seen.mask.type & ~seen.mask.element.any(axis=1),
            element=seen.mask.element[:, :0],
            option=seen.mask.option[:0],
        ),
    )
    output = trained_like_policy()(collate([model_inputs(seen)], [seen.mask]))
    assert torch.isfinite(output.log_action).all()
    assert abs(output.log_action.exp().sum().item() - 1.0) < 1e-5


def attempt(seed: int = 5):
    async def run():
        env = make_small_env(max_steps=15)
        await env.start()
        agent = PolicyAgent(PolicyConfig(width=16), seed=0)
        weights = {k: v.numpy() for k, v in trained_like_policy(1).state_dict().items()}
        agent.load_weights(weights, 7)
        return await run_episode(
            env, agent, env.task_set.task(Split.TRAIN, 0),
            trajectory_id="t", group_id="g", seed=seed,
        )  # fmt: skip

    return asyncio.run(run())


def test_actor_and_learner_agree_on_log_probabilities_of_the_same_version():
    trajectory = pickle.loads(pickle.dumps(attempt().trajectory))
    policy = build_policy(PolicyConfig(width=16), seed=99)
    policy.load_state_dict(trained_like_policy(1).state_dict())
    steps = trajectory.steps
    output = policy(collate([s.inputs for s in steps], [s.mask for s in steps]))
    for row, step in enumerate(steps):
        assert step.policy_version == 7
        learner = output.log_heads[row, step.chosen].detach().numpy()
        assert np.abs(learner - step.log_prob_by_head).max() < 1e-5


def test_the_same_seed_gives_the_same_attempt_and_another_one_does_not():
    chosen = [[s.chosen for s in attempt(seed).trajectory.steps] for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]


def test_the_random_agents_log_probabilities_are_those_of_its_draws():
    seen = observations()[1]
    actions = enumerate_actions(seen.mask)
    kinds = np.unique(actions.type)
    decision = asyncio.run(RandomAgent().act(seen, seed=11))
    kind = next(i for i, s in enumerate(ACTION_SPECS) if s.name == decision.action.type)
    rows = (actions.type == kind).sum()
    assert np.isclose(decision.log_prob_by_head.sum(), -np.log(len(kinds)) - np.log(rows))


def test_the_random_agents_log_probabilities_hold_for_boxes_with_different_numbers_of_options():
    seen = observations()[0]
    mask = seen.mask
    kind = TYPE_INDEX["select_option"]
    boxes, options = np.zeros_like(mask.element), np.zeros_like(mask.option)
    boxes[kind, :2] = True
    options[0, :2] = options[1, :5] = True
    only = np.arange(len(mask.type)) == kind
    mask = dataclasses.replace(mask, type=only, element=boxes, option=options)
    seen = dataclasses.replace(seen, mask=mask)
    chances = {}
    for seed in range(100):
        decision = asyncio.run(RandomAgent().act(seen, seed=seed))
        chances[decision.action] = float(np.exp(decision.log_prob_by_head.sum()))
    assert len(chances) == 7
    for action, chance in chances.items():
        assert np.isclose(chance, 1 / 4 if action.element == 0 else 1 / 10)


def test_sampling_follows_the_probabilities_and_temperature_zero_takes_the_best():
    log_probs = np.log(np.array([0.2, 0.5, 0.3]))
    draws = np.bincount([sample_row(log_probs, seed=s) for s in range(3000)], minlength=3) / 3000
    # Five standard errors of a share of 3000 draws.
    assert np.all(np.abs(draws - [0.2, 0.5, 0.3]) < 5 * np.sqrt(0.25 / 3000))
    assert sample_row(log_probs, seed=1, temperature=0.0) == 1
