"""Kuhn poker (H. W. Kuhn, "A simplified two-person poker", 1950): three cards, one bet, two players.

Both put one chip into the pot and get a card. In turn each may pass or bet one more chip. After a bet, to pass is to
give up, and to bet is to see. Who has the higher card of those who stayed, or who alone stayed, takes the pot.
"""

from __future__ import annotations

import numpy as np

from card_envs.games.chance import Deck
from card_envs.games.game import Game, Layout, Rules, Segment
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, shuffle, split
from card_envs.kernels.state import TERMINATED, header, rank_by_score, record_dtype

CARDS = ("jack", "queen", "king")
PASS, BET = range(2)
MAX_MOVES = 3
STATE = record_dtype(
    [
        *header(2),
        ("card", np.int8, (2,)),
        ("moves", np.int8, (MAX_MOVES,)),  # what was done, in order
        ("num_moves", np.int8),
    ]
)


@jit
def draw_chance(s, deck):
    for card in range(len(CARDS)):
        deck[card] = card
    shuffle(s.rng, deck, len(CARDS))
    return len(CARDS)


@jit
def apply_chance(s, deck):
    s.card[0], s.card[1] = deck[2], deck[1]  # dealt from the bottom of the list
    s.chance = 0


@jit
def legal_actions(s, mask):
    mask[:] = 1
    return 2


@jit
def apply_action(s, action):
    s.moves[s.num_moves] = action
    s.num_moves += 1
    facing_bet = s.num_moves > 1 and s.moves[s.num_moves - 2] == BET
    if facing_bet or (s.num_moves == 2 and action == PASS):
        pay_out(s, 1 - s.player if facing_bet and action == PASS else np.argmax(s.card), 1 + (facing_bet and action))
    else:
        s.player = 1 - s.player


@jit
def pay_out(s, winner, chips):
    s.winner[winner] = 1
    s.score[winner], s.score[1 - winner] = chips, -chips
    rank_by_score(s)
    s.end = TERMINATED


@jit
def returns(s, out):
    for seat in range(2):
        out[seat] = s.score[seat] if s.end == TERMINATED else 0.0


@jit
def observe(s, seat, at, out):
    out[:] = 0.0
    out[at.card + s.card[seat]] = 1.0
    for k in range(s.num_moves):
        out[at.moves + 2 * k + s.moves[k]] = 1.0


@jit
def resample(s, seat, rng):
    s.card[1 - seat] = (s.card[seat] + 1 + below(rng, 2)) % 3
    split(rng, s.rng)


class KuhnPoker(Game):
    name = "kuhn_poker_v0"
    title = "Kuhn poker"
    min_players = max_players = default_players = 2
    phases = ("bet",)
    chances = (Deck("deck", CARDS),)
    rules = Rules(draw_chance, apply_chance, legal_actions, apply_action, observe, resample, returns=returns)

    def _build(self) -> None:
        self.state_dtype = STATE
        self.action_names = ("pass", "bet")
        self.layout = Layout(
            [
                Segment("card", (3,), "one-hot: one's own card, jack to king"),
                Segment("moves", (MAX_MOVES, 2), "one-hot per move in order: pass, bet"),
            ]
        )
        self.min_return, self.max_return = -2.0, 2.0  # chips won or lost
        self.max_chance_values, self.max_chance_events, self.max_decisions = len(CARDS), 1, MAX_MOVES
        self.initial = np.zeros(1, STATE)
        self.initial[0].chance = 1
