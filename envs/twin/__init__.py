# SPDX-License-Identifier: Apache-2.0
"""The pages of a `Site` read straight from their HTML, without Chromium, as a `PageDriver`."""
