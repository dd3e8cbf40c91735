# SPDX-License-Identifier: Apache-2.0
"""Agents: the policy, its features, scripted baselines and the episode loop.

Map: `types` (records that the learner trains on), `episode` (one attempt at one task),
`recording` (what an attempt looked like, for people), `policy` (what a policy brings and what the
learner asks of it), `policy_agent` (any policy as an agent), `pictures` (screenshots as pixels),
`registry` (their names), `config`,
`forager/` (features and network of the default policy; torch only in its network modules),
`scripted/` (oracle, random, BM25-first-hit, wanderer).
"""
