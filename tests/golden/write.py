"""Writes golden games: `python -m tests.golden.write [GAME ...]`.

For every game at every player count under every variant some seeded games of random and of hand-written players, as
records. Files that are there stay as they are unless `--overwrite` is given.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.arena.match import Games, play_games
from card_envs.arena.records import record_of, write_records
from card_envs.conformance import variants_of
from card_envs.games import list_games, short_name
from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words
from card_envs.policies import make_policy

FOLDER = Path(__file__).resolve().parent
SEED = 2026


def path_of(game: Game) -> Path:
    """`icons_v0/3-memory-none.jsonl`: the player count and what differs from the default options."""
    changed = {name: value for name, value in game.options_to_json().items() if name not in ("num_players", "deck")}
    words = "-".join(str(word) for pair in changed.items() for word in pair)
    return FOLDER / game.name / f"{game.num_players}{'-' if words else ''}{words}.jsonl"


def play(game: Game) -> Iterator[dict[str, Any]]:
    """One game of random players and one of hand-written ones."""
    chance, choices = np.random.SeedSequence(SEED).spawn(2)
    games = Games(np.arange(2)[:, None].repeat(game.num_players, axis=1), seed_words(chance, 2), seed_words(choices, 2))
    policies = [make_policy("random", game), make_policy("heuristic", game)]
    results = play_games(game, policies, games, log_actions=True)
    for i, policy in enumerate(policies):
        yield record_of(game, games.chance[i], results.actions[i], policies=[policy.name] * game.num_players, seed=SEED)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.write", description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help="default: all")
    parser.add_argument("--overwrite", action="store_true", help="write files anew that are there already")
    args = parser.parse_args()
    for name in args.games or list_games():
        for game in variants_of(name):
            path = path_of(game)
            if args.overwrite or not path.exists():
                write_records(path, play(game))
                print(f"{short_name(game.name)}: {path.relative_to(FOLDER)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
