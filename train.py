# SPDX-License-Identifier: Apache-2.0
"""Train: `python train.py key=value ...`; every setting is in `conf/train.yaml` and its groups."""

import sys

from actors.entry import run

if __name__ == "__main__":
    sys.exit(run(["train", *sys.argv[1:]]))
