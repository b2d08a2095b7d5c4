"""The forward pass of trained networks, for kernels: `Networks` holds them, `score` computes one's logits.

`policies.scorer.OptionScorer` is the same network in PyTorch, and says what it is for. Here it is a flat row of weights
and a *plan*, a row of whole numbers that says what stands where, so that one compiled kernel takes any number of
networks of any widths:

    z       the trunk's layers on the observation, each but the last with an activation
    logit   of an action: a row of weights on act(z), and a bias;
            of an option that the observation describes in a row f, with the weights that all options share:
            v on act(W on act(z + description on f + opinion on what the hand-written player says of it
            [+ suggested, if it would choose it])), biases
    value   the critic's layers on the observation, each with an activation, then a row of weights and a bias

The suggested action's logit has one more weight. Observations are mostly zeros, so layers go over their inputs and skip
those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from card_envs.kernels.jit import borrow, jit

# What stands where in a plan. At LISTS stands the number of the trunk's layers, then their widths; then the same for
# the critic; then how many segments of options there are, and of each its start, rows, columns and first action.
ADVISED, OPINIONS, DRAWN, TANH, INPUTS, ACTIONS, CRITIC, LISTS = range(8)
NONE = -1


class Networks(NamedTuple):
    """Networks that answer for seats inside kernels, where number k is the driver -1 - k.

    Attributes:
        weights: float32, (K, W), a row each; shorter ones end in zeros.
        plans: int64, (K, P), likewise.
        at: `Layout.at` of the game.
    """

    weights: Any
    plans: Any
    at: Any


class Room(NamedTuple):
    """Scratch for networks.

    Attributes:
        observation: float32, (O,), what the network is asked about.
        opinions: float32, (A, F), the numbers behind the hand-written player's choice.
        logits: float32, (A,), the answer.
        a: float32, (M,), as wide as the widest layer.
        b: float32, (M,).
        z: float32, (M,).
    """

    observation: Any
    opinions: Any
    logits: Any
    a: Any
    b: Any
    z: Any


@jit
def new_room(networks):
    """Scratch for these networks; None for None."""
    if networks is not None:
        inputs, actions, opinions, widest = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(networks.plans.shape[0]):
            plan = networks.plans[k]
            inputs, actions = max(inputs, plan[INPUTS]), max(actions, plan[ACTIONS])
            opinions = max(opinions, plan[OPINIONS])
            lists = LISTS
            for _ in range(2):
                for i in range(plan[lists]):
                    widest = max(widest, plan[lists + 1 + i])
                lists += 1 + plan[lists]
        return Room(
            np.zeros(inputs, np.float32),
            np.zeros((actions, opinions), np.float32),
            np.zeros(actions, np.float32),
            np.zeros(widest, np.float32),
            np.zeros(widest, np.float32),
            np.zeros(widest, np.float32),
        )
    return None


@jit
def score(weights, plan, mask, advice, room):
    """Fills `room.logits` for what is in `room.observation`; those of illegal actions mean nothing.

    Args:
        weights: float32, (W,), the network's.
        plan: int64, (P,), likewise.
        mask: int8, (A,).
        advice: the hand-written player's choice, for networks that look at it; else `NONE`.
        room: scratch.
    """
    weights, plan, mask = borrow(weights, plan, mask)
    logits, a, b, z = room.logits, room.a, room.b, room.z
    actions, tanh, width = plan[ACTIONS], plan[TANH], plan[LISTS + plan[LISTS]]
    here = hidden_layers(weights, plan, LISTS, 0, plan[LISTS] - 1, room)
    before = plan[LISTS + plan[LISTS] - 1] if plan[LISTS] > 1 else plan[INPUTS]
    here = linear(weights, here, room.observation if plan[LISTS] == 1 else a, 0, before, width, z)
    for j in range(width):
        a[j] = z[j]
    activate(a, width, tanh)
    for action in range(actions):
        if mask[action]:
            bias = weights[here + actions * width + action]
            logits[action] = bias + product(weights, here + action * width, a, width)
    here += actions * (width + 1)
    added, suggested, opinion = weights[here], here + 1, here + 1 + width
    here = shared = opinion + plan[OPINIONS] * width
    here += width * width + width + width + 1
    lists = LISTS + 1 + plan[LISTS]
    lists += 1 + plan[lists]
    for k in range(plan[lists]):
        start, rows = plan[lists + 1 + 4 * k], plan[lists + 2 + 4 * k]
        columns, first_action = plan[lists + 3 + 4 * k], plan[lists + 4 + 4 * k]
        for row in range(rows):
            action = first_action + row
            if mask[action]:
                linear(weights, here, room.observation, start + row * columns, columns, width, a)
                for j in range(width):
                    a[j] += z[j]
                for i in range(plan[OPINIONS]):
                    for j in range(width):
                        a[j] += room.opinions[action, i] * weights[opinion + i * width + j]
                if action == advice:
                    for j in range(width):
                        a[j] += weights[suggested + j]
                activate(a, width, tanh)
                last = linear(weights, shared, a, 0, width, width, b)
                activate(b, width, tanh)
                logits[action] = weights[last + width] + product(weights, last, b, width)
        here += (columns + 1) * width
    if advice != NONE:
        logits[advice] += added


@jit
def value_of(weights, plan, room):
    """The critic's value of what is in `room.observation`, for the seat that observes."""
    weights, plan = borrow(weights, plan)
    lists = LISTS + 1 + plan[LISTS]
    here = hidden_layers(weights, plan, lists, plan[CRITIC], plan[lists], room)
    width = plan[lists + plan[lists]]
    return weights[here + width] + product(weights, here, room.a, width)


@jit
def hidden_layers(weights, plan, lists, here, count, room):
    """The first `count` layers of the list at `lists`, from the observation into `room.a`, each with an activation.

    Their weights begin at `here`; returns where they end.
    """
    inputs = plan[INPUTS]
    for k in range(count):
        width = plan[lists + 1 + k]
        here = linear(weights, here, room.observation if k == 0 else room.a, 0, inputs, width, room.b)
        activate(room.b, width, plan[TANH])
        for j in range(width):
            room.a[j] = room.b[j]
        inputs = width
    return here


@jit
def linear(weights, here, x, start, inputs, width, out):
    """A linear layer on the inputs from `x[start]` on; its weights, (inputs, width), begin at `here`, then its bias.

    Returns where they end.
    """
    end = here + inputs * width
    matrix, bias = weights[here:end].reshape(inputs, width), weights[end : end + width]
    for j in range(width):
        out[j] = bias[j]
    for i in range(inputs):
        value = x[start + i]
        if value != 0.0:
            for j in range(width):
                out[j] += value * matrix[i, j]
    return end + width


@jit
def product(weights, here, x, width):
    total = np.float32(0.0)
    for j in range(width):
        total += weights[here + j] * x[j]
    return total


@jit
def activate(x, width, tanh):
    if tanh:
        for j in range(width):
            x[j] = np.tanh(x[j])
    else:
        for j in range(width):
            x[j] = max(x[j], np.float32(0.0))
