"""Damaged files, thousands of a kind, through the commands that read them: `python -m tests.fuzz --seconds 600`.

`mutations.py` has the ways to damage text and values, `kinds.py` the files and their commands, `judge.py` what may come
of an input, `workers.py` the processes that try them.
"""
