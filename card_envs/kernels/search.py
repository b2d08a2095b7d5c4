"""Information-set Monte Carlo tree search, compiled once per game from its rules.

Source: Cowling, Powley & Whitehouse, "Information Set Monte Carlo Tree Search" (2012), the single-observer version: one
tree over what happens from the searching seat's decision on, and in every simulation another state that this seat can't
tell from the true one. An action counts as available at a node in the simulations in which it was legal there. What
differs:

- Values are vectors of all seats' returns, and every seat maximises its own (max-n).
- Chance after an action is drawn by the simulated state's own generator and has no nodes: an edge is an action,
  whatever chance then brings ("open loop").
- The k-th simulation through any first action meets the k-th hidden state and chance, the same for all of them, so
  that first actions are compared on equal luck.
- A decision with one option is passed without spending a simulation's one new node on it.
- With playouts by the heuristic, its choice also guides the tree, as the prior in PUCT's rule (Silver et al.,
  "Mastering the game of Go without human knowledge", 2017); with random playouts the rule is UCB1.
- A playout may stop before the end, where the game's `Rules.evaluate` says what the table promises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from card_envs.kernels import batch
from card_envs.kernels.batch import HEURISTIC
from card_envs.kernels.jit import jit
from card_envs.kernels.rng import below, split
from card_envs.kernels.state import RUNNING

if TYPE_CHECKING:
    from card_envs.games.game import Game

NODES = 4  # room in the tree, per simulation: one new node each, and those of decisions with one option
DEPTH = 256  # longest path in the tree
BELIEF = 0.5  # the heuristic's part in the prior


def for_game(game: Game | type[Game]) -> Callable[..., Any]:
    """The search kernel of a game, compiled (or found on disk) when it is first used.

    It is `(states, rows, simulations, exploration, length, driver, rngs, mask, value, visits, values)`: for the seat to
    act at each row, `simulations` simulations with playouts of `length` decisions answered by `driver` (`RANDOM` or
    `HEURISTIC`). Into `visits[i, a]` (int64, (len(rows), A)) how many went through the action a, and into
    `values[i, a]` (float64) that seat's mean return in them. `exploration` is the weight of curiosity, in units of
    returns.
    """
    kernels = batch.for_game(game)
    return _build(game.name, game.rules, kernels.move, kernels.play_out)


@functools.cache
def _build(name: str, rules: Any, move: Any, play_out: Any) -> Callable[..., Any]:
    compiled = functools.partial(jit, game=name, rules=rules.apply_action)
    legal_actions, resample, heuristic = rules.legal_actions, rules.resample, rules.heuristic

    @compiled
    def search(states, rows, simulations, exploration, length, driver, rngs, mask, value, visits, values):
        copy, root_mask, players = states[:1].copy(), np.empty_like(mask), states[0].winner.shape[0]
        limit = NODES * simulations + 1  # beyond it only the root gets children
        first, sibling, action_of, tried, available, total = new_tree(limit + mask.shape[0], players)
        seeds, rng = np.empty((simulations, 2), np.uint64), np.empty(2, np.uint64)
        path, child_of, paid = np.empty(DEPTH, np.int64), np.empty(mask.shape[0], np.int64), np.zeros(players)
        for i in range(rows.shape[0]):
            legal_actions(states[rows[i]], root_mask)
            seat = states[rows[i]].player
            for k in range(simulations):
                split(rngs[rows[i]], seeds[k])
            add_node(0, -1, -1, first, sibling, action_of, tried, available, total)
            nodes = 1
            for _ in range(simulations):
                s = copy[0]
                node, depth, growing = 0, 0, True
                while growing:
                    if node == 0:
                        mask[:] = root_mask
                        player, options = seat, count_options(mask)
                    else:
                        options, player = legal_actions(s, mask), s.player
                    fresh = find_children(node, mask, child_of, first, sibling, action_of, available)
                    if driver == HEURISTIC and options > 1:
                        asked, luck = (s, rng) if node else (states[rows[i]], rngs[rows[i]])
                        action = heuristic(asked, mask, luck)
                        action = best_guided(action, options, node, player, mask, child_of, tried, total, exploration)
                    elif fresh > 0:
                        action = pick_fresh(mask, child_of, below(rng if node else rngs[rows[i]], fresh))
                    else:
                        action = best_child(player, mask, child_of, tried, available, total, exploration)
                    child = child_of[action]
                    if child < 0:
                        if node > 0 and nodes >= limit:
                            break
                        child = nodes
                        add_node(child, node, action, first, sibling, action_of, tried, available, total)
                        nodes += 1
                        growing = options == 1
                    if node == 0:  # only now is known which hidden state this simulation meets
                        rng[:] = seeds[tried[child]]
                        copy[0] = states[rows[i]]
                        resample(s, seat, rng)
                    move(s, action, value)
                    path[depth] = child
                    depth += 1
                    node = child
                    growing = growing and s.end == RUNNING and depth < DEPTH
                play_out(s, length, driver, rng, mask, value, paid)
                tried[0] += 1
                for p in range(players):
                    total[0, p] += paid[p]
                for k in range(depth):
                    tried[path[k]] += 1
                    for p in range(players):
                        total[path[k], p] += paid[p]
            visits[i] = 0
            values[i] = 0.0
            child = first[0]
            while child >= 0:
                visits[i, action_of[child]] = tried[child]
                values[i, action_of[child]] = total[child, seat] / tried[child]
                child = sibling[child]

    return search


@jit
def new_tree(room, players):
    """Arrays for `room` nodes. Node 0 is the root; what is said of a node is said of the action that led to it.

    In order: its first child (-1 for none), the next child of its parent (-1 for none), the action, how many
    simulations went through it, in how many it was to be had, and the sum of every seat's returns.
    """
    return (
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((room, players), np.float32),
    )


@jit
def add_node(node, parent, action, first, sibling, action_of, tried, available, total):
    first[node] = -1
    sibling[node] = -1
    if parent >= 0:
        sibling[node] = first[parent]
        first[parent] = node
    action_of[node] = action
    tried[node] = 0
    available[node] = 1
    total[node] = 0.0


@jit
def count_options(mask):
    options = 0
    for action in range(mask.shape[0]):
        options += mask[action]
    return options


@jit
def find_children(node, mask, child_of, first, sibling, action_of, available):
    """Fills `child_of` with the node that each legal action leads to, -1 for none; returns how many have none."""
    fresh = 0
    for action in range(mask.shape[0]):
        child_of[action] = -1
        fresh += mask[action]
    child = first[node]
    while child >= 0:
        if mask[action_of[child]]:
            child_of[action_of[child]] = child
            available[child] += 1
            fresh -= 1
        child = sibling[child]
    return fresh


@jit
def pick_fresh(mask, child_of, number):
    """The legal action without a node that has this number among them."""
    for action in range(mask.shape[0]):
        if mask[action] and child_of[action] < 0:
            if number == 0:
                return action
            number -= 1
    return -1


@jit
def best_guided(suggested, options, node, player, mask, child_of, tried, total, exploration):
    """PUCT with the heuristic's choice as the prior: half of it there, the rest spread over all options.

    An action that was never tried is expected to be worth what the node has been worth so far.
    """
    best, best_value = -1, -np.inf
    so_far = total[node, player] / max(tried[node], 1)
    scale = exploration * math.sqrt(tried[node] + 1.0)
    for action in range(mask.shape[0]):
        if mask[action]:
            child = child_of[action]
            count = tried[child] if child >= 0 else 0
            worth = total[child, player] / count if count > 0 else so_far
            worth += scale * ((1.0 - BELIEF) / options + (BELIEF if action == suggested else 0.0)) / (1.0 + count)
            if worth > best_value:
                best, best_value = action, worth
    return best


@jit
def best_child(player, mask, child_of, tried, available, total, exploration):
    """UCB1 with the number of simulations in which the action was to be had."""
    best, best_value = -1, -np.inf
    for action in range(mask.shape[0]):
        child = child_of[action]
        if child >= 0:
            worth = total[child, player] / tried[child]
            worth += exploration * math.sqrt(math.log(available[child]) / tried[child])
            if worth > best_value:
                best, best_value = action, worth
    return best
