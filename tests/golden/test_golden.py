"""A game's version can't change its meaning unseen: the golden games are played again to the byte."""

from __future__ import annotations

import json

import pytest

from card_envs.arena.records import read_records, replay, to_record
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, make_game
from card_envs.games.recorded_game import RecordedGame
from tests.golden.write import FOLDER, path_of, play
from tests.variants import VARIANTS, each_variant

#: keys of a record that say who played, not what was played
ABOUT = ("policies", "seed")


def explain(game, what: str) -> str:
    path = path_of(game).relative_to(FOLDER.parent.parent).as_posix()
    rules = f"{game_class(game.name).__module__.replace('.', '/')}/rules.md"
    return (
        f"{path}: {what}. {game.name} means something else now; the clauses are in {rules}. A change that is meant "
        "needs a new version of the game (CONTRIBUTING.md, 'Versions of environments'); any other is a fault."
    )


@each_variant
def test_golden_games_are_played_again(game):
    """By the rules: every chance event and action is possible, and the ends are the same."""
    for line, record in read_records(path_of(game)):
        try:
            again = to_record(replay(record, line), **{key: record[key] for key in ABOUT})
        except CardEnvsError as error:
            pytest.fail(explain(game, str(error)))
        if json.dumps(again) != json.dumps(record):
            pytest.fail(explain(game, f"line {line} is replayed otherwise"))


@each_variant
def test_golden_seeds_deal_and_play_the_same_game(game):
    """From the seed alone: chance is drawn, and random players choose, as on the day of the version."""
    _, record = next(read_records(path_of(game)))
    again = next(play(game))
    if json.dumps(again) != json.dumps(record):
        events = zip(record["events"], again["events"], strict=False)
        differing = next((i for i, (before, now) in enumerate(events) if before != now), "the last")
        pytest.fail(explain(game, f"line 1, event {differing}: the seed gives another game"))


def test_every_golden_file_belongs_to_a_variant():
    assert {path_of(game) for game in VARIANTS} == set(FOLDER.glob("*/*.jsonl"))


def test_a_change_of_meaning_is_told_with_its_rules_and_the_version_rule(monkeypatch):
    game, honest = make_game("icarus_club", 3), RecordedGame.play

    def play_otherwise(self, action):
        honest(self, action)
        self.states["score"][0, 0] += len(self.events) == 6

    monkeypatch.setattr(RecordedGame, "play", play_otherwise)
    with pytest.raises(pytest.fail.Exception, match=r"golden/icarus_club_v0/3\.jsonl: .*rules\.md.*new version"):
        test_golden_games_are_played_again(game)
