# SPDX-License-Identifier: Apache-2.0
"""Names of policies and of scripted agents to what builds them; see `envs.registry.resolve`.

Each is a class, or a function, that is called without arguments: of `POLICIES` it gives an
`agent.policy.PolicyFamily`, of `AGENTS` an `agent.types.Agent`.
"""

from __future__ import annotations

POLICIES: dict[str, str] = {
    "forager": "agent.forager.family:ForagerFamily",
}
AGENTS: dict[str, str] = {
    "oracle": "agent.scripted.oracle:OracleAgent",
    "random": "agent.scripted.random_agent:RandomAgent",
    "bm25_first_hit": "agent.scripted.bm25_first_hit:Bm25FirstHitAgent",
    "wanderer": "agent.scripted.wanderer:WandererAgent",
}
