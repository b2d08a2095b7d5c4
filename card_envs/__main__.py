"""`python -m card_envs` is `card-envs`."""

from __future__ import annotations

import sys

from card_envs.cli import main

if __name__ == "__main__":
    sys.exit(main())
