# SPDX-License-Identifier: Apache-2.0
"""Variants of training side by side, over several seeds: run them, and tell what they reached."""
