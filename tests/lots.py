"""Lots: a small game whose odds can be reckoned by hand, to check what measures policies.

Everybody in turn takes lots: "few" is 1, "many" is 2, "gamble" is 0 or 3, the same for all who gamble, drawn beforehand
and seen by nobody. Then one lot is drawn, and its owner wins. The heuristic always takes many.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.chance import Draw, Seat
from card_envs.games.game import Game, Layout, Rules, Segment
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, split
from card_envs.kernels.state import TERMINATED, header, rank_by_score, record_dtype

MAX_PLAYERS = 6
FEW, MANY, GAMBLE = range(3)
NO_CHANCE, SECRET, DRAW = range(3)
STATE = record_dtype(
    [*header(MAX_PLAYERS), ("secret", np.int8), ("lots", np.int8, (MAX_PLAYERS,)), ("taken", np.int8, (MAX_PLAYERS,))]
)


@jit
def draw_chance(s, value):
    if s.chance == SECRET:
        value[0] = 3 * below(s.rng, 2)
    else:
        lots = 0
        for p in range(s.num_players):
            lots += s.lots[p]
        lot = below(s.rng, lots) if lots > 0 else -1  # all have gambled for nothing: nobody wins
        value[0] = -1
        for p in range(s.num_players):
            if lot >= 0 and lot < s.lots[p]:
                value[0] = p
                lot = -1
            lot -= s.lots[p]
    return 1


@jit
def apply_chance(s, value):
    if s.chance == SECRET:
        s.secret = value[0]
    else:
        if value[0] >= 0:
            s.winner[value[0]] = 1
            s.score[value[0]] = 1
        rank_by_score(s)
        s.end = TERMINATED
    s.chance = NO_CHANCE


@jit
def legal_actions(s, mask):
    mask[:] = 1
    return 3


@jit
def apply_action(s, action):
    s.taken[s.player] = 1 + action
    s.lots[s.player] = s.secret if action == GAMBLE else 1 + action
    s.player += 1
    if s.player == s.num_players:
        s.player = 0
        s.chance = DRAW


@jit
def observe(s, seat, at, out):
    for p in range(s.num_players):
        out[at.taken + p] = s.taken[p] / 3


@jit
def resample(s, seat, rng):
    s.secret = 3 * below(rng, 2)
    for p in range(s.num_players):
        if s.taken[p] == 1 + GAMBLE:
            s.lots[p] = s.secret
    split(rng, s.rng)


@jit
def heuristic(s, mask, rng):
    return MANY


class Lots(Game):
    name = "lots_v0"
    title = "Lots"
    min_players, max_players, default_players = 2, MAX_PLAYERS, 3
    phases = ("take",)
    chances = (Draw("secret", ("0", "1", "2", "3")), Seat("draw"))
    rules = Rules(draw_chance, apply_chance, legal_actions, apply_action, observe, resample, heuristic)

    def _build(self):
        self.state_dtype = STATE
        self.action_names = ("few", "many", "gamble")
        self.layout = Layout([Segment("taken", (self.num_players,), "1 + action / 3")])
        self.max_chance_values, self.max_chance_events, self.max_decisions = 1, 2, self.num_players
        self.initial = np.zeros(1, STATE)
        self.initial[0].chance = SECRET


@jit
def apply_same(s, action):
    apply_action(s, FEW if action == MANY else action)


class SameTwice(Lots):
    """Lots in which "many" is as few as "few"."""

    name = "same_twice_v0"
    rules = Lots.rules._replace(apply_action=apply_same)
