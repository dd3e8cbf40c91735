# SPDX-License-Identifier: Apache-2.0
"""Hydra groups in YAML and the schema that composes each folder's own config dataclasses."""
