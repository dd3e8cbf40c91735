# SPDX-License-Identifier: Apache-2.0
"""What turns scored groups into better weights.

Map, without torch: `types` (groups), `replay` with `held_groups` and `priority` (groups that wait
for the learner, and which come again), `returns` (rewards to advantages), `credit` (groups to
samples), `reservoir` (past states for the step term), `metrics` (means over minibatches),
`storage` (records as files), `checkpoint` (atomic folders), `config`. With torch: `objective`
(every formula of the loss), `minibatch` (records to tensors), `update` (one learner batch),
`saving` (a learner on disk).
"""
