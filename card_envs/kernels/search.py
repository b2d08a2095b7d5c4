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
- The heuristic's choice, or the probabilities of a network, may guide the tree as the prior in PUCT's rule (Silver
  et al., "Mastering the game of Go without human knowledge", 2017); without a guide the rule is UCB1.
- A playout may stop before the end, where the game's `Rules.evaluate` says what the table promises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from card_envs.kernels import batch
from card_envs.kernels.batch import RANDOM
from card_envs.kernels.jit import borrow, jit
from card_envs.kernels.network import new_room
from card_envs.kernels.rng import below, split
from card_envs.kernels.state import RUNNING

if TYPE_CHECKING:
    from card_envs.games.game import Game

NODES = 4  # room in the tree, per simulation: one new node each, and those of decisions with one option
DEPTH = 256  # longest path in the tree
BELIEF = 0.5  # the heuristic's part in the prior
EVEN = 0.1  # what is spread evenly over all options in a network's
ROOT, NONE = 0, -1


class Tree(NamedTuple):
    """Room for N nodes; what is said of a node is said of the action that led to it.

    Attributes:
        child: int32, (N,). Its first child, `NONE` for none.
        sibling: int32, (N,). The next child of its parent, `NONE` for none.
        action: int32, (N,).
        visits: int32, (N,). How many simulations went through it.
        available: int32, (N,). In how many simulations it was to be had.
        total: float32, (N, max players). The sum of every seat's returns.
    """

    child: Any
    sibling: Any
    action: Any
    visits: Any
    available: Any
    total: Any


def for_game(game: Game | type[Game]) -> Callable[..., Any]:
    """The search kernel of a game, compiled (or found on disk) when it is first used.

    It is `(states, rows, simulations, exploration, length, guide, driver, rngs, mask, outcome, visits, values,
    networks)`: for the seat to act at each row, `simulations` simulations, guided by `guide` (`RANDOM` for no
    guide), with playouts of `length` decisions answered by `driver`. Into `visits[i, a]` (int64, (len(rows), A)) how
    many went through the action a, and into `values[i, a]` (float64) that seat's mean return in them. `exploration` is
    the weight of curiosity, in units of returns.
    """
    kernels = batch.for_game(game)
    return _build(game.name, game.rules, kernels.move, kernels.play_out, kernels.ask_network)


@functools.cache
def _build(name: str, rules: Any, move: Any, play_out: Any, ask_network: Any) -> Callable[..., Any]:
    compiled = functools.partial(jit, game=name, rules=rules.apply_action)
    legal_actions, resample, heuristic = rules.legal_actions, rules.resample, rules.heuristic

    @compiled
    def suggest(s, guide, mask, options, rng, prior, networks, room):
        """Fills `prior` with the guide's opinion of the legal actions."""
        if networks is not None:  # noqa: SIM102 - alone, so that without networks the compiler drops it
            if guide < 0:
                ask_network(s, -1 - guide, mask, rng, networks, room)
                soften(room.logits, mask, options, prior)
                return
        prior[:] = (1.0 - BELIEF) / options
        prior[heuristic(s, mask, rng)] += BELIEF

    @compiled
    def grow(tree, root, luck, simulations, exploration, length, guide, driver, mask, outcome, scratch, networks, room):
        """Carries out all simulations of one decision, the one of the state `root`."""
        tree = Tree(*borrow(*tree))
        luck, mask, outcome = borrow(luck, mask, outcome)
        copy, root_mask, child_of, path, paid, seeds, rng, prior, root_prior = borrow(*scratch)
        s, seat = copy[0], root.player
        limit = tree.visits.shape[0] - mask.shape[0]  # beyond it only the root gets children
        root_options = legal_actions(root, root_mask)
        if guide < 0:  # a network's opinion of the root stays the same
            suggest(root, guide, root_mask, root_options, luck, root_prior, networks, room)
        for k in range(simulations):
            split(luck, seeds[k])
        expand(tree, ROOT, NONE, NONE)
        nodes = 1
        for _ in range(simulations):
            path[0] = node = ROOT
            depth, growing = 1, True
            while growing:
                if node == ROOT:
                    mask[:] = root_mask
                    player, options = seat, root_options
                else:
                    options, player = legal_actions(s, mask), s.player
                guided = guide != RANDOM and options > 1
                if guided and node == ROOT and guide < 0:
                    prior[:] = root_prior
                elif guided and node == ROOT:
                    suggest(root, guide, mask, options, luck, prior, networks, room)
                elif guided:
                    suggest(s, guide, mask, options, rng, prior, networks, room)
                action = select(tree, node, player, mask, guided, prior, exploration, child_of, rng if node else luck)
                child = child_of[action]
                if child == NONE:
                    if node != ROOT and nodes >= limit:
                        break
                    child = nodes
                    expand(tree, child, node, action)
                    nodes += 1
                    growing = options == 1
                if node == ROOT:  # only now is known which hidden state this simulation meets
                    rng[:] = seeds[tree.visits[child]]
                    copy[0] = root
                    resample(s, seat, rng)
                move(s, action, outcome)
                path[depth] = node = child
                depth += 1
                growing = growing and s.end == RUNNING and depth < path.shape[0]
            play_out(s, length, driver, rng, mask, outcome, paid, networks, room)
            backup(tree, path[:depth], paid)

    @compiled
    def search(
        states,
        rows,
        simulations,
        exploration,
        length,
        guide,
        driver,
        rngs,
        mask,
        outcome,
        visits,
        values,
        networks,
    ):
        actions, players = mask.shape[0], states[0].winner.shape[0]
        tree = new_tree(NODES * simulations + 1 + actions, players)
        scratch = (
            states[:1].copy(),
            np.empty_like(mask),
            np.empty(actions, np.int64),
            np.empty(1 + DEPTH, np.int64),
            np.zeros(players),
            np.empty((simulations, 2), np.uint64),
            np.empty(2, np.uint64),
            np.empty(actions),
            np.empty(actions),
        )
        room = new_room(networks)
        for i in range(rows.shape[0]):
            root, luck = states[rows[i]], rngs[rows[i]]
            grow(
                tree,
                root,
                luck,
                simulations,
                exploration,
                length,
                guide,
                driver,
                mask,
                outcome,
                scratch,
                networks,
                room,
            )
            read_root(tree, root.player, visits[i], values[i])

    return search


@jit
def new_tree(room, players):
    return Tree(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((room, players), np.float32),
    )


@jit
def read_root(tree, seat, visits, values):
    """How many simulations went through each of the root's actions, and the seat's mean return in them."""
    visits[:] = 0
    values[:] = 0.0
    child = tree.child[ROOT]
    while child != NONE:
        visits[tree.action[child]] = tree.visits[child]
        values[tree.action[child]] = tree.total[child, seat] / tree.visits[child]
        child = tree.sibling[child]


@jit
def select(tree, node, player, mask, guided, prior, exploration, child_of, rng):
    """The action that a simulation takes at a node; `child_of` then says which node each legal one leads to.

    `prior` is the guide's opinion, if `guided`.
    """
    fresh = find_children(tree, node, mask, child_of)
    if guided:
        return best_guided(tree, node, player, mask, prior, exploration, child_of)
    if fresh > 0:
        return pick_fresh(mask, child_of, below(rng, fresh))
    return best_child(tree, player, mask, exploration, child_of)


@jit
def expand(tree, node, parent, action):
    """Makes `node` the child of `parent` that `action` leads to."""
    tree.child[node] = NONE
    tree.sibling[node] = NONE
    if parent != NONE:
        tree.sibling[node] = tree.child[parent]
        tree.child[parent] = node
    tree.action[node] = action
    tree.visits[node] = 0
    tree.available[node] = 1
    tree.total[node] = 0.0


@jit
def backup(tree, path, paid):
    """Counts one simulation that went through the nodes of `path` and returned `paid` to the seats."""
    for k in range(path.shape[0]):
        tree.visits[path[k]] += 1
        for p in range(paid.shape[0]):
            tree.total[path[k], p] += paid[p]


@jit
def soften(logits, mask, options, prior):
    """The probabilities that logits stand for, a little of each evened out so that no option is out of sight."""
    highest, total = -np.inf, 0.0
    for action in range(mask.shape[0]):
        if mask[action]:
            highest = max(highest, logits[action])
    for action in range(mask.shape[0]):
        prior[action] = math.exp(logits[action] - highest) if mask[action] else 0.0
        total += prior[action]
    for action in range(mask.shape[0]):
        prior[action] = (1.0 - EVEN) * prior[action] / total + EVEN / options


@jit
def find_children(tree, node, mask, child_of):
    """Fills `child_of` with the node that each legal action leads to, `NONE` for none; returns how many have none."""
    fresh = 0
    for action in range(mask.shape[0]):
        child_of[action] = NONE
        fresh += mask[action]
    child = tree.child[node]
    while child != NONE:
        action = tree.action[child]
        if mask[action]:
            child_of[action] = child
            tree.available[child] += 1
            fresh -= 1
        child = tree.sibling[child]
    return fresh


@jit
def pick_fresh(mask, child_of, number):
    """The legal action without a node that has this number among them."""
    for action in range(mask.shape[0]):
        if mask[action] and child_of[action] == NONE:
            if number == 0:
                return action
            number -= 1
    return NONE


@jit
def best_guided(tree, node, player, mask, prior, exploration, child_of):
    """PUCT. An action that was never tried is expected to be worth what the node has been worth so far."""
    best, best_value = NONE, -np.inf
    so_far = tree.total[node, player] / max(tree.visits[node], 1)
    scale = exploration * math.sqrt(tree.visits[node] + 1.0)
    for action in range(mask.shape[0]):
        if mask[action]:
            child = child_of[action]
            count = tree.visits[child] if child != NONE else 0
            worth = tree.total[child, player] / count if count > 0 else so_far
            worth += scale * prior[action] / (1.0 + count)
            if worth > best_value:
                best, best_value = action, worth
    return best


@jit
def best_child(tree, player, mask, exploration, child_of):
    """UCB1 with the number of simulations in which the action was to be had."""
    best, best_value = NONE, -np.inf
    for action in range(mask.shape[0]):
        child = child_of[action]
        if child != NONE:
            worth = tree.total[child, player] / tree.visits[child]
            worth += exploration * math.sqrt(math.log(tree.available[child]) / tree.visits[child])
            if worth > best_value:
                best, best_value = action, worth
    return best
