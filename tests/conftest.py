# SPDX-License-Identifier: Apache-2.0
"""The process that tests run in: nothing phones home, and one thread per library."""

import os

# Ray turns token authentication on by itself where an earlier run left a token, and a cluster of
# mixed modes never comes up.
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["WANDB_MODE"] = "offline"
# Several processes share few cores; set before numpy and torch are imported.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
