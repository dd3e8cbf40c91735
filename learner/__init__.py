# SPDX-License-Identifier: Apache-2.0
"""What turns scored groups into better weights.

Map: `types` (groups), `replay` (groups waiting for the learner), `returns` (rewards to advantages),
`reservoir` (past states for the step term); these four without torch. `objective` (every formula of
the loss), `minibatch` (records to tensors), `metrics` (means over minibatches), `update` (one
learner batch), `checkpoint` (atomic files), `config`.
"""
