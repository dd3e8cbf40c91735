# SPDX-License-Identifier: Apache-2.0
"""The embedded web: a world drawn from a seed, its sites, its search engine and its tasks."""
