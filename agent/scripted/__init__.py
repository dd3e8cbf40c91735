# SPDX-License-Identifier: Apache-2.0
"""Agents without weights, under the same contract as the policy."""
