# SPDX-License-Identifier: Apache-2.0
"""World seeds by use of the embedded web; no use shares one, or a name, with another."""

from __future__ import annotations

FIRST_TRAIN_SEED = 1
VALIDATION_SEEDS = (5001, 5002)
TEST_SEEDS = (9001, 9002, 9003)
BENCH_SEEDS = (7_000_001, 7_000_002, 7_000_003)  # of the test split, whose words are shared out
