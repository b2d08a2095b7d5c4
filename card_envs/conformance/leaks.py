"""No seat sees what it cannot know."""

from __future__ import annotations

from collections import Counter

import numpy as np

from card_envs.conformance.comparing import Array, demand, difference, place
from card_envs.conformance.playing import Env, actions_of, card_env, go_to, observe, spread
from card_envs.conformance.rules import check_results, deal, decisions
from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.policies.game_batch import GameBatch

_MANY, _OFTEN = 6_000, 20  # states met so often and never drawn: by chance in one of a million
_SHORT = 12  # a game of so few decisions is looked at in all of them


def check_leak(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A seat's observation, mask and info, and the picture drawn for it, hold nothing that it can't know.

    All that a seat can't know is drawn anew (`Rules.resample`); whatever it is shown must stay the same to the bit.
    Only for environments of this package, and those built on them.

    Prevents: opponents' cards in an observation, and agents that win by looking.
    """
    raw = card_env(env)
    if raw is None:
        return
    name, kernels = "check_leak", raw._kernels
    words, changed = seed_words(seed, 1)[0], False
    for k in range(num_games):
        actions = actions_of(env, seed + k)
        looked_at = range(len(actions)) if len(actions) <= _SHORT else spread(len(actions), 6)
        for position in [*looked_at, len(actions)]:
            go_to(env, seed + k, actions, position)
            states, mask = raw._states.copy(), raw._mask.copy()
            for seat, agent in enumerate(env.possible_agents):
                text = raw.game.render_text(states[0], seat) if k == 0 else ""
                before = (observe(env, agent), env.infos[agent], text)
                kernels.resample(raw._states, 0, seat, words)
                changed |= raw._states.tobytes() != states.tobytes()
                if raw._player == seat:
                    kernels.legal(raw._states, 0, raw._mask)
                raw._fill_infos()
                text = raw.game.render_text(raw._states[0], seat) if k == 0 else ""
                after = (observe(env, agent), env.infos[agent], text)
                raw._states[:], raw._mask[:] = states, mask
                raw._fill_infos()
                where = difference(before, after, ("observe", "info", "render_text"))
                demand(not where, name, f"after {position} actions {agent} sees what it can't know, in {where}")
    demand(changed, name, "resample changed nothing at all, so nothing was tested")


def check_game_leak(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """`resample` changes nothing that a seat may know, and gives a state that can be played to its end.

    At every decision and for every seat: observation, mask, the hand-written player's choice, and the public header
    fields are the same to the bit before and after. What it draws depends on nothing that the seat can't know: drawn
    once more with the same random numbers from what was drawn, with other chance to come, the state is the same.

    Prevents: observations that leak, a hand-written player that looks at others' cards, searches that start from
    impossible deals.
    """
    name, kernels, at = "check_game_leak", batch.for_game(game), game.layout.at
    tables, words, changed = deal(game, num_games, seed), seed_words(seed + 1, 1)[0], False
    for round_number, rows in enumerate(decisions(tables, batch.RANDOM)):
        real, obs = tables.states, np.zeros((2, len(rows), game.layout.size), np.float32)
        for seat in range(game.num_players):
            drawn, used = real.copy(), words.copy()
            for row in rows:
                kernels.resample(drawn, row, seat, words)
            again = drawn.copy()
            again["rng"][rows] ^= np.uint64(4)  # what chance will bring is hidden too
            for row in rows:
                kernels.resample(again, row, seat, used)
            same = again.tobytes() == drawn.tobytes()
            demand(same, name, f"what resample draws for seat {seat} depends on what that seat can't know")
            changed |= drawn.tobytes() != real.tobytes()
            for field in ("num_players", "player", "phase", "chance", "end", "winner", "rank"):
                same = drawn[field].tobytes() == real[field].tobytes()
                demand(same, name, f"resample changes the public field {field!r}")
            for which, states in enumerate((real, drawn)):
                kernels.observe_rows(states, rows, np.full(len(rows), seat), at, obs[which])
            differing = np.flatnonzero((obs[0] != obs[1]).any(axis=0))
            if len(differing):
                demand(False, name, f"seat {seat} sees what it can't know, in {place(game, int(differing[0]))}")
            _check_same_answers(name, tables, drawn, rows[real["player"][rows] == seat])
        if round_number % 16 == 0:
            others = GameBatch(game, num_games)
            others.states[:], others.rngs[:] = drawn, tables.rngs
            others.advance(rows)
            check_results(name, game, others.states[rows], others.returns(rows))
    demand(changed, name, "resample changed nothing at all, so nothing was tested")


def check_game_resample(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """In games so small that a seat often sees the same, `resample` draws the states that are dealt and no others.

    Thousands of games are played side by side, up to their third decisions. From all in which a seat has seen the same,
    the same random numbers give the same state; a state that is met again and again among those is drawn too, and one
    that is drawn again and again is met. `num_games` makes no difference.

    Prevents: searches that know a card because it was not drawn anew, or believe in deals that can't be.
    """
    name, kernels, rows = "check_game_resample", batch.for_game(game), np.arange(_MANY)
    tables = deal(game, _MANY, seed)
    words = seed_words(seed + 1, 1 + _MANY)
    for _, playing in zip(range(3), decisions(tables, batch.RANDOM), strict=False):
        seen = np.zeros((_MANY, game.layout.size), np.float32)
        for seat in range(game.num_players):
            kernels.observe_rows(tables.states, rows, np.full(_MANY, seat), game.layout.at, seen)
            alike: dict[bytes, list[int]] = {}
            for row in playing:
                public = bytes([tables.states["player"][row], tables.states["phase"][row]])
                alike.setdefault(seen[row].tobytes() + public, []).append(row)
            groups = [group for group in alike.values() if len(group) >= 2 * _OFTEN]
            for group in groups:
                met, drawn, same = (tables.states[group] for _ in range(3))
                for k in range(len(group)):
                    kernels.resample(drawn, k, seat, words[1 + k])
                    kernels.resample(same, k, seat, words[0].copy())
                good = len(np.unique(same.view(np.uint8).reshape(len(group), -1), axis=0)) == 1
                demand(good, name, f"what resample draws for seat {seat} depends on what that seat can't know")
                counts = [_counted(states) for states in (met, drawn)]
                for state, count in counts[0].items():
                    good = count < _OFTEN or state in counts[1]
                    demand(good, name, f"resample never draws a state for seat {seat} that was dealt {count} times")
                for state, count in counts[1].items():
                    good = count < _OFTEN or state in counts[0]
                    demand(good, name, f"resample draws a state {count} times for seat {seat} that was never dealt")


def _counted(states: Array) -> Counter[bytes]:
    """How often each state is among these, whatever chance will bring."""
    states["rng"] = 0
    return Counter(state.tobytes() for state in states)


def _check_same_answers(name: str, tables: GameBatch, drawn: Array, rows: Array) -> None:
    """Masks and the hand-written player's choices and opinions at `rows` must be the same in `drawn` for the mover."""
    game, answers, scratch = tables.game, [], np.zeros(tables.game.num_actions, np.int8)
    for states in (tables.states, drawn):
        masks, chosen = np.zeros((len(rows), game.num_actions), np.int8), np.zeros(len(rows), np.int64)
        again, opinions = chosen.copy(), np.zeros((*masks.shape, game.num_opinions), np.float32)
        for i, row in enumerate(rows):
            tables.kernels.legal(states, row, masks[i])
        tables.kernels.decide(states, rows, batch.HEURISTIC, tables.rngs.copy(), scratch, chosen, None)
        tables.kernels.opine(states, rows, tables.rngs.copy(), scratch, again, opinions)
        answers.append((masks, chosen, opinions))
    demand(np.array_equal(answers[0][0], answers[1][0]), name, "a mask tells what its seat can't know")
    demand(np.array_equal(answers[0][1], answers[1][1]), name, "the hand-written player uses what it can't know")
    demand(np.array_equal(answers[0][2], answers[1][2]), name, "opinions tells what its seat can't know")
    demand(np.array_equal(chosen, again), name, "opinions answers another choice than heuristic")
    demand(bool((opinions[masks == 0] == 0).all()), name, "opinions says something of an illegal action")
    demand(bool(np.isfinite(opinions).all()), name, "opinions says NaN or infinity")
