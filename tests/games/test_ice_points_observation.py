"""What a seat of Ice Points sees, the orders of the deck that look the same to it, and the hand-written player."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest
from numba import njit

from card_envs.games.ice_points import IcePoints, heuristic, observation, resample, rules, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.rng import random_legal, seed_words, split
from tests.games.ice_points_positions import position

COMPILED = not numba.config.DISABLE_JIT
COUNTS = (5, 6, 7, 8)


def view(table: RecordedGame, seat: int) -> dict[str, np.ndarray]:
    return table.game.layout.split(table.observe(seat))


def one_hot(values: np.ndarray) -> int:
    assert sorted(values) == [0.0] * (len(values) - 1) + [1.0]
    return int(values.argmax())


@pytest.mark.parametrize("n", COUNTS)
def test_layout_covers_the_observation_and_all_values_lie_in_0_to_1(n):
    layout = IcePoints(n).layout
    ends = [part.start + part.size for part in layout.segments]
    assert [part.start for part in layout.segments] == [0, *ends[:-1]]
    assert ends[-1] == layout.size
    table, rng = RecordedGame(IcePoints(n), seed=3), random.Random(3)
    while True:
        for seat in range(n):
            seen = table.observe(seat)
            assert seen.dtype == np.float32
            assert 0 <= seen.min() <= seen.max() <= 1
        if table.over:
            break
        table.play(rng.choice(table.legal_actions()))


@pytest.mark.parametrize("n", COUNTS)
def test_every_segment_says_what_its_meaning_promises(n):
    rng = random.Random(n)
    for seed in range(8 if COMPILED else 1):
        table = RecordedGame(IcePoints(n), seed=seed)
        while True:
            if rng.random() < 0.3 or table.over:
                check_view(table, rng.randrange(n))
            if table.over:
                break
            table.play(rng.choice(table.legal_actions()))


def check_view(table: RecordedGame, seat: int) -> None:
    n, s, seen = table.game.num_players, table.state, view(table, seat)
    clockwise = [(seat + k) % n for k in range(n)]
    log = table.game.events(s)
    decks = [event[2] for event in table.events if event[0] == "chance"]
    left = [name[:-1] for deck in decks for name in deck][len(log) :]
    if table.over:
        for name in ("phase", "to_act", "card", "amount"):
            assert not seen[name].any()
    else:
        rank = log[-1].card[:-1]
        due = 3 if rank in "KQJ" else int(rank) if int(rank) < 6 else 5
        assert ("pay", "take", "exchange")[one_hot(seen["phase"])] == table.phase
        assert clockwise[one_hot(seen["to_act"])] == table.player
        assert state.RANKS[one_hot(seen["card"])] == rank
        assert one_hot(seen["amount"]) + 2 == due
    assert one_hot(seen["pass_number"]) == len(decks) - 1
    assert seen["cards_left"][0] == pytest.approx(len(left) / 52)
    assert seen["ranks_left"] == pytest.approx([left.count(rank) / 4 for rank in state.RANKS])
    here, game = len(left), len(left) + 52 * (2 - len(decks))
    drawers = [(int(log[-1].seat) + 1 + i) % n for i in range(game)]
    assert seen["draws_left"] == pytest.approx([drawers.count(p) / 20 for p in clockwise])
    assert seen["draws_left_here"] == pytest.approx([drawers[:here].count(p) / 20 for p in clockwise])
    assert list(seen["last_draws"]) == [p not in drawers for p in clockwise]
    points = {p: int(s.pieces[p] @ [1, 2, 3]) for p in clockwise}
    for k, p in enumerate([*clockwise, state.CENTRE]):
        pieces = [int(count) for count in s.pieces[p]]
        shares, exact = (
            (seen["centre"], seen["centre_count"]) if k == n else (seen["pieces"][k], seen["piece_count"][k])
        )
        assert shares == pytest.approx([count / (5 * n) for count in pieces])
        assert [one_hot(values) for values in exact] == [min(count, 6) for count in pieces]
    for k, p in enumerate(clockwise):
        assert seen["points"][k] == pytest.approx(min(points[p] / 60, 1))
        assert seen["leads"][k] == (points[p] == max(points.values()))
        assert list(seen["owns"][k]) == [points[p] >= 3, points[p] >= 5]
        assert list(seen["makes"][k]) == [3 in sums(s.pieces[p]), 5 in sums(s.pieces[p])]
        if k:
            lead = points[seat] - points[p]
            assert one_hot(seen["lead"][k - 1]) - 15 == min(max(lead, -15), 15)
            assert seen["far_lead"][k - 1] == pytest.approx((min(max(lead, -60), 60) + 60) / 120)
    assert seen["centre_points"][0] == pytest.approx(int(s.pieces[state.CENTRE] @ [1, 2, 3]) / (30 * n))
    assert list(seen["centre_makes"]) == [amount in sums(s.pieces[state.CENTRE]) for amount in (2, 3, 4, 5)]


def sums(pieces: np.ndarray) -> set[int]:
    small, medium, large = (int(count) for count in pieces)
    return {a + 2 * b + 3 * c for a in range(small + 1) for b in range(medium + 1) for c in range(large + 1)}


def test_draws_left_at_the_last_cards():
    table = position("KS 6H 6D", last=True, start=3)
    seen = view(table, 3)
    assert list(np.round(seen["draws_left"] * 20)) == [0, 1, 1, 0, 0]
    assert list(seen["last_draws"]) == [1, 0, 0, 1, 1]
    assert list(view(table, 4)["last_draws"]) == [0, 0, 1, 1, 1]


def test_seats_are_egocentric():
    table = position("KS 7H", pieces={0: "L", 1: "LL", 2: "LLL", 3: "", 4: "LM"})
    assert list(np.round(view(table, 0)["points"] * 60)) == [3, 6, 9, 0, 5]
    assert list(np.round(view(table, 3)["points"] * 60)) == [0, 5, 3, 6, 9]


# --- other orders of the deck -----------------------------------------------------------------------------------------

SAME, OBSERVATION, MASK, PAST, CARDS, FIELD = range(6)


@njit
def leak(s, other, seat, rng, at, seen, seen_other, mask, mask_other):
    """What of `s` changed when its copy `other` was redrawn for `seat`; and how many cards moved."""
    observation.observe(s, seat, at[0], seen)
    resample.resample(other, seat, rng)
    observation.observe(other, seat, at[0], seen_other)
    for i in range(seen.shape[0]):
        if seen[i] != seen_other[i]:
            return OBSERVATION, 0
    if s.end == 0:
        if rules.legal_actions(s, mask) != rules.legal_actions(other, mask_other):
            return MASK, 0
        for i in range(mask.shape[0]):
            if mask[i] != mask_other[i]:
                return MASK, 0
    moved = 0
    for i in range(52):
        if s.deck[i] != other.deck[i]:
            moved += 1
            if i < s.drawn:
                return PAST, 0
    count = np.zeros(52, np.int64)
    for i in range(52):
        count[other.deck[i]] += 1
    for card in range(52):
        if count[card] != 1:
            return CARDS, 0
    if s.logged != other.logged or s.player != other.player or s.passes != other.passes or s.card != other.card:
        return FIELD, 0
    return SAME, moved


@njit
def leaks(wanted, states, others, initial, rng, mask, mask_other, value, at, seen, seen_other):
    """The first leak at `wanted` decisions of random games, and after their ends; and how many cards moved."""
    found, moved = 0, 0
    while found < wanted:
        states[0] = initial[0]
        s = states[0]
        split(rng, s.rng)
        running = True
        while running:
            while s.chance != 0:
                length = rules.draw_chance(s, value)
                rules.apply_chance(s, value[:length])
            running = s.end == 0
            found += 1
            for seat in range(s.num_players):
                others[0] = states[0]
                code, cards = leak(s, others[0], seat, rng, at, seen, seen_other, mask, mask_other)
                if code != SAME:
                    return code, moved
                moved += cards
            if running:
                rules.apply_action(s, random_legal(rng, mask, rules.legal_actions(s, mask)))
    return SAME, moved


@pytest.mark.parametrize("n", COUNTS)
def test_resample_changes_nothing_that_a_seat_may_know(n):
    game, wanted = IcePoints(n), 10_000 if COMPILED else 60
    masks = np.zeros((2, game.num_actions), np.int8)
    seen = np.zeros((2, game.layout.size), np.float32)
    code, moved = leaks(
        *(wanted, game.initial.copy(), game.initial.copy(), game.initial, seed_words(n, 1)[0]),
        *(masks[0], masks[1], np.zeros(52, np.int16), game.layout.at, seen[0], seen[1]),
    )
    assert code == SAME
    assert moved > 10 * wanted * n


@njit
def redraw(states, seat, rng):
    resample.resample(states[0], seat, rng)


def test_resample_makes_every_remaining_card_equally_likely_to_come_next():
    table = position("KS 7H 6S 6H 6D", last=True)
    rng = seed_words(1, 1)[0]
    total = 4000 if COMPILED else 400
    came = {name: 0 for name in ("7H", "6S", "6H", "6D")}
    generators = set()
    for _ in range(total):
        redraw(table.states, 0, rng)
        came[state.CARD_NAMES[table.state.deck[48]]] += 1
        generators.add(tuple(table.state.rng))
    assert all(abs(count - total / 4) < 5 * np.sqrt(total * 3 / 16) for count in came.values())
    assert len(generators) == total  # the next shuffle differs too


# --- the hand-written player -----------------------------------------------------------------------------------------


@njit
def choose(states, mask, rng):
    rules.legal_actions(states[0], mask)
    return heuristic.heuristic(states[0], mask, rng)


def choice(table: RecordedGame) -> str:
    mask = np.zeros(table.game.num_actions, np.int8)
    return table.game.action_names[choose(table.states, mask, seed_words(0, 1)[0])]


@pytest.mark.parametrize(
    ("cards", "pieces", "centre", "expected"),
    [
        ("KS 7H", "LMS", "", "L"),  # a large piece serves only a 3
        ("7S 7H", "LMMSSSSS", "", "L+M"),
        ("2S 7H", "", "MSS", "S+S"),  # M alone serves only a 2; of S+S the next could make no more
        ("5S 7H", "", "LLMSS", "L+S+S"),  # L+M would serve a 2, a 3 and a 5
        ("QS 7H", "LMS", "", "M+S"),  # change for the neighbours, the large piece for the centre
        ("7S 7H", "LL", "MSS", "L for M+S with centre"),
    ],
)
def test_heuristic_leaves_little_to_take_in_the_centre(cards, pieces, centre, expected):
    assert choice(position(cards, pieces={0: pieces}, centre=centre)) == expected


def test_heuristic_counts_the_cards_left():
    # what remains in the centre serves a 2 or a 3; which of them can still come decides
    assert choice(position("4S 7H 3H", pieces={0: ""}, centre="LMMS", last=True)) == "L+S"
    assert choice(position("4S 7H 2H", pieces={0: ""}, centre="LMMS", last=True)) == "M+M"


def test_heuristic_ignores_what_it_can_not_know():
    rng, dice = seed_words(1, 1)[0], random.Random(1)
    for seed in range(5 if COMPILED else 1):
        table = RecordedGame(IcePoints(5), seed=seed)
        while not table.over:
            chosen, kept = choice(table), table.states.copy()
            for _ in range(8):
                redraw(table.states, table.player, rng)
                assert choice(table) == chosen
            table.states[:] = kept
            table.play(dice.choice(table.legal_actions()))
