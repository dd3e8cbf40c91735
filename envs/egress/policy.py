# SPDX-License-Identifier: Apache-2.0
"""What may be reached: asked once for a target, and once for the addresses that it has. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from envs.egress.address import Address, is_metadata, is_public
from envs.egress.config import EgressConfig, EgressMode
from envs.egress.refusal import Reason
from envs.egress.target import Target, parse_authority
from envs.site import HOST_SUFFIX


class EgressPolicy:
    """The rules of one config."""

    def __init__(self, config: EgressConfig) -> None:
        self._mode = config.mode
        self._allowed = frozenset(parse_authority(entry) for entry in config.allow)

    def is_site(self, target: Target) -> bool:
        """Whether the target is a site of the present task, which the env itself serves."""
        return isinstance(target.host, str) and target.host.endswith(HOST_SUFFIX)

    def refusal_of_target(self, target: Target) -> Reason | None:
        """Why a target is refused before anybody resolves it; None when it is not."""
        if is_metadata(target.host):
            return Reason.METADATA
        if self._is_listed(target):
            return None
        if self._mode is not EgressMode.PUBLIC:
            return Reason.NOT_LISTED
        is_private = not isinstance(target.host, str) and not is_public(target.host)
        return Reason.PRIVATE_ADDRESS if is_private else None

    def refusal_of_addresses(self, target: Target, addresses: Sequence[Address]) -> Reason | None:
        """Why a target with these addresses is refused: one bad address is enough.

        A name with one public and one private address is how rebinding looks.
        """
        if any(is_metadata(address) for address in addresses):
            return Reason.METADATA
        if self._is_listed(target) or all(is_public(address) for address in addresses):
            return None
        return Reason.PRIVATE_ADDRESS

    def _is_listed(self, target: Target) -> bool:
        return (target.host, target.port) in self._allowed
