# SPDX-License-Identifier: Apache-2.0
"""What turns scored groups into better weights.

Map: `types` (groups), `replay` (numpy only), `objective` (every formula), `collate` (records to
tensors), `update` (one learner batch), `checkpoint` (atomic files).
"""
