# SPDX-License-Identifier: Apache-2.0
"""Each part of the three layers pays for its event, once, and for nothing else."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from reward_server import layers
from reward_server.config import RewardConfig
from tests.reward_server.episodes import (
    ASIDE,
    BRIDGE,
    BRIDGE_TEXT,
    GOAL,
    GOAL_TEXT,
    RESULTS,
    START,
    answer,
    episode,
    extract,
    jpeg,
    step,
    visit,
)

CONFIG = RewardConfig()


def test_new_pages_pay_until_the_cap_of_the_episode():
    pages = [visit(f"{RESULTS}&page={n}", is_new_page=True) for n in range(50)]
    values = layers.new_page(episode(step(), *pages), CONFIG)
    assert values[0] == 0.0
    np.testing.assert_allclose(values[1:6], 0.2, atol=1e-6)
    np.testing.assert_allclose(values[6:], 0.0, atol=1e-6)
    assert values.sum() == pytest.approx(CONFIG.base_cap, abs=1e-6)


def test_failed_images_cost_in_proportion_and_only_on_new_pages():
    values = layers.images(
        episode(
            visit(BRIDGE, is_new_page=True, num_images=4, num_images_failed=1),
            visit(GOAL, is_new_page=True, num_images=2, num_images_failed=2),
            visit(ASIDE, is_new_page=True),
            visit(GOAL, num_images=2, num_images_failed=2),
        ),
        CONFIG,
    )
    np.testing.assert_allclose(values, [-0.05, -0.2, 0.0, 0.0], atol=1e-6)


def test_a_page_full_of_broken_images_costs_no_more_than_one_broken_image():
    one = visit(GOAL, is_new_page=True, num_images=1, num_images_failed=1)
    many = visit(GOAL, is_new_page=True, num_images=300, num_images_failed=300)
    np.testing.assert_array_equal(
        layers.images(episode(one), CONFIG), layers.images(episode(many), CONFIG)
    )


def test_a_blank_picture_of_a_new_page_costs_and_a_line_of_text_does_not():
    blank = np.full((360, 640), 255, dtype=np.uint8)
    text = blank.copy()
    cv2.putText(text, "No results", (20, 40), cv2.FONT_HERSHEY_SIMPLEX, 0.5, 0)
    values = layers.blank_page(
        episode(
            visit(GOAL, is_new_page=True, screenshot_jpeg=jpeg(blank)),
            visit(GOAL, screenshot_jpeg=jpeg(blank)),
            visit(ASIDE, is_new_page=True, screenshot_jpeg=jpeg(text)),
            visit(BRIDGE, is_new_page=True),
        ),
        CONFIG,
    )
    np.testing.assert_allclose(values, [-0.2, 0.0, 0.0, 0.0], atol=1e-6)


def test_a_screenshot_that_is_no_picture_is_an_error_and_not_a_blank_page():
    broken = visit(GOAL, is_new_page=True, screenshot_jpeg=b"\xff\xd8 cut off")
    with pytest.raises(ValueError, match=r"expected a JPEG .*city/2"):
        layers.blank_page(episode(broken), CONFIG)


def test_actions_without_effect_cost_until_the_cap():
    values = layers.invalid_action(
        episode(step(), *[step(effect="target_gone") for _ in range(30)]), CONFIG
    )
    np.testing.assert_allclose(values[:3], [0.0, -0.2, -0.2], atol=1e-6)
    assert values.sum() == pytest.approx(-CONFIG.base_cap, abs=1e-6)


def test_only_the_first_visit_to_evidence_pays():
    values = layers.evidence_visit(
        episode(
            visit(RESULTS),
            visit(BRIDGE),
            visit(RESULTS),
            visit(BRIDGE),
            visit(GOAL + "#born"),
            visit(GOAL),
        ),
        CONFIG,
    )
    np.testing.assert_allclose(values, [0.0, 0.5, 0.0, 0.0, 0.5, 0.0])


def test_a_page_that_differs_in_its_query_is_another_page():
    values = layers.evidence_visit(episode(visit(GOAL + "?lang=en")), CONFIG)
    assert not values.any()


def test_the_potential_telescopes_to_the_closest_page_reached():
    route = [START, RESULTS, BRIDGE, ASIDE, RESULTS, GOAL, START]
    values = layers.potential(episode(*[visit(url) for url in route]), CONFIG)
    np.testing.assert_allclose(values, [0.0, 0.1, 0.1, 0.0, 0.0, 0.2, 0.0], atol=1e-6)
    assert values.sum() == pytest.approx(0.5 * (1.0 - 0.2), abs=1e-6)


def test_the_discounted_potential_telescopes_under_the_same_discount():
    gamma = 0.97
    config = RewardConfig(potential_discount=gamma, potential=1.0)
    route = [RESULTS, BRIDGE, RESULTS, ASIDE, GOAL]
    values = layers.potential(episode(*[visit(url) for url in route]), config)
    discounted = sum(gamma**t * float(value) for t, value in enumerate(values))
    assert discounted == pytest.approx(gamma ** len(route) * 1.0 - 0.2, abs=1e-6)


def test_an_evidence_item_is_paid_at_its_first_extraction_from_its_own_page():
    values = layers.evidence_extracted(
        episode(
            extract(BRIDGE_TEXT, ASIDE),
            extract("the mayor", BRIDGE),
            extract(BRIDGE_TEXT, BRIDGE + "#office"),
            extract(BRIDGE_TEXT, BRIDGE),
            extract(GOAL_TEXT, GOAL),
        ),
        CONFIG,
    )
    np.testing.assert_allclose(values, [0.0, 0.0, 0.3, 0.0, 0.3], atol=1e-6)


@pytest.mark.parametrize(("text", "value"), [("orlavia.", 1.0), ("Elsewhere", 0.0)])
def test_the_answer_is_paid_at_the_step_that_gave_it(text: str, value: float):
    values = layers.answer(episode(step(), answer(text)), CONFIG)
    np.testing.assert_array_equal(values, [0.0, value])


def test_a_wrong_answer_costs_what_the_settings_say():
    values = layers.answer(episode(answer("Elsewhere")), RewardConfig(wrong_answer=-0.5))
    np.testing.assert_array_equal(values, [-0.5])


def test_no_answer_is_worth_nothing():
    assert not layers.answer(episode(step(), step()), RewardConfig(wrong_answer=-0.5)).any()
