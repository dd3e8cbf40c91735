# SPDX-License-Identifier: Apache-2.0
"""The default policy: match features, a gated network and an agent that samples from it."""
