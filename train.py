# SPDX-License-Identifier: Apache-2.0
"""Train: `python train.py key=value ...`; every setting is in `conf/train.yaml` and its groups."""

import sys

from actors.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
