"""List the games: their ids, player counts and options."""

from __future__ import annotations

import argparse

from card_envs.errors import CardEnvsError
from card_envs.games import game_class, list_games


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def main(args: argparse.Namespace) -> None:
    failed = []
    for name in list_games():
        try:
            cls = game_class(name)
        except CardEnvsError as error:  # one package that is broken does not hide the others
            failed.append(str(error))
            continue
        least, most = cls.min_players, cls.max_players
        counts = f"{least}" if least == most else f"{least}-{most}"
        print(f"{name:<16} {counts:>3} players  {cls.title}")
        for option, described in cls.option_table.items():
            print(f"{'':<16}   --option {option}=VALUE  {described.allowed} (default: {described.default})")
    if failed:
        raise CardEnvsError("; ".join(failed))
