"""Golden games: records that every later version of the package must play again to the byte.

`python -m tests.golden.write` writes them, only where there are none or with `--overwrite`. CONTRIBUTING.md says when a
game's version must change instead.
"""
