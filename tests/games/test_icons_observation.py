"""What a seat of Icons observes, on hand-made positions; over many games: `test_icons_games.py`."""

from __future__ import annotations

import numpy as np
import pytest

from card_envs.games.icons import Icons, rules, state
from card_envs.games.recorded_game import RecordedGame


def seen_by(table, seat):
    return table.game.layout.split(table.observe(seat))


def test_observation_is_egocentric():
    table = RecordedGame(Icons(4), seed=2)
    s = table.state
    s.tokens[2] = [1, 2, 0, 0, 0]
    for seat in range(4):
        seen = seen_by(table, seat)
        np.testing.assert_array_equal(np.flatnonzero(seen["to_act"]), [(s.player - seat) % 4])
        np.testing.assert_allclose(seen["tokens"][(2 - seat) % 4] * 9, [1, 2, 0, 0, 0], rtol=1e-6)
        np.testing.assert_allclose(seen["hand"] * state.COPIES, s.hand[seat], rtol=1e-6)


def test_observation_shows_points_within_reach():
    table = RecordedGame(Icons(2), seed=2)
    s = table.state
    s.tokens[0] = [1, 2, 1, 1, 0]
    s.hand[0] = 0
    s.hand[0, [state.ICON + 4, state.CATEGORY + 0]] = 1
    seen = seen_by(table, 0)
    np.testing.assert_allclose(seen["gain"] * 8, [3, 2, 3, 3, 6])
    best = np.zeros(state.NUM_TYPES)
    best[[state.ICON + 0, state.ICON_YOU, state.CATEGORY + 4, state.WILD]] = 3, 3, 6, 6
    np.testing.assert_allclose(seen["best_set"] * 8, best)


# --- what options are shown to do -----------------------------------------------------------------------------------


def option(table, action):
    """The row that describes an action to the seat to act, without the 1 at its beginning."""
    number = state.ACTION_NAMES.index(action)
    for segment in table.game.layout.segments:
        if segment.first_action is not None and 0 <= number - segment.first_action < segment.shape[0]:
            row = seen_by(table, table.player)[segment.name][number - segment.first_action]
            assert row[0] == 1
            return row[1:]
    raise AssertionError(f"no segment describes {action}")


def table_with(hand, tokens=(), bank=None, n=3, **options):
    """A table at which player_0, with these cards, is to flip or, with a card in the bank's first slot, to play."""
    table = RecordedGame(Icons(n, **options), seed=1)
    s = table.state
    s.player = s.turn = 0
    s.hand[0] = 0
    for card in hand:
        s.hand[0, state.CARD_NAMES.index(card)] += 1
    s.hand_size[0] = len(hand)
    for seat, counts in enumerate(tokens):
        s.tokens[seat] = counts
        s.score[seat] = rules.points(s, seat)
    if bank is not None:
        s.slot[0] = state.CARD_NAMES.index(bank)
        table.play("slot-1")
    return table


def test_slot_options_show_known_cards():
    table = table_with(["category-arts"])
    table.state.slot[:3] = state.ICON, state.TORCH, state.ICON
    table.state.slot_known[0, :2] = 1
    np.testing.assert_allclose(option(table, "slot-1"), [1, 1 / 8, 0, 0])
    np.testing.assert_allclose(option(table, "slot-2"), [1, 0, 1, 0])
    np.testing.assert_allclose(option(table, "slot-3"), [0, 0, 0, 0])
    table.state.memory = state.NO_MEMORY
    np.testing.assert_allclose(option(table, "slot-1"), [0, 0, 0, 0])


def test_set_options_show_points_and_what_is_left():
    tokens = [[1, 1, 1, 1, 0]]
    cards = ["icon-arts", "category-arts", "category-arts", "category-wild", "icon-human-rights"]
    table = table_with(cards, tokens, "category-human-rights", points_to_win=10)
    np.testing.assert_allclose(option(table, "set icon-arts category-arts"), [3 / 8, 0, 1 / 8, 2 / 5, 0])
    np.testing.assert_allclose(option(table, "set icon-arts category-wild"), [3 / 8, 0, 1 / 8, 1 / 5, 1])
    np.testing.assert_allclose(option(table, "set icon-human-rights category-wild"), [6 / 8, 1, 1 / 8, 1 / 5, 1])
    np.testing.assert_allclose(
        option(table, "bank set icon-human-rights category-human-rights"), [6 / 8, 1, 1 / 8, 0, 0]
    )


@pytest.mark.parametrize(
    ("hand", "bank", "shown"),
    [
        (["icon-you", "category-arts"], "pay-it-forward", {"set icon-you category-arts": [3, 1, 1, 0]}),
        (["icon-you", "category-wild"], "pay-it-forward", {"set icon-you category-wild as arts": [3, 1, 1, 1]}),
        (["category-arts"], "icon-arts", {"bank set icon-arts category-arts": [3, 0, 1, 0]}),
        (["category-wild"], "icon-arts", {"bank set icon-arts category-wild": [3, 0, 1, 1]}),
        (["icon-you"], "category-arts", {"bank set icon-you category-arts": [3, 1, 0, 0]}),
        (["icon-arts", "icon-human-rights"], "category-wild", {"bank set icon-arts category-wild": [3, 1, 0, 1]}),
        (["icon-you"], "category-wild", {"bank set icon-you category-wild as human-rights": [6, 1, 0, 1]}),
        (["category-arts"], "icon-you", {"bank set icon-you category-arts": [3, 0, 1, 0]}),
        (["category-wild"], "icon-you", {"bank set icon-you category-wild as human-rights": [6, 0, 1, 1]}),
    ],
)
def test_every_kind_of_set_shows_its_points_and_the_cards_it_takes(hand, bank, shown):
    """M1, M2: Icon or Icon You, Category card or wild one, from hand or with the bank's open card; what is in hand."""
    table = table_with(hand, [[1, 1, 1, 1, 0]], bank, points_to_win=100)
    for action, (points, icons, categories, wild) in shown.items():
        row = option(table, action)
        np.testing.assert_allclose(row[[0, 1, 4]], [points / 8, 0, wild])
        assert [value > 0 for value in row[2:4]] == [icons > 0, categories > 0]


def test_torch_options_show_points_won_and_lost():
    tokens = [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    cards = ["pass-the-torch", "category-arts", "category-science", "category-wild"]
    table = table_with(cards, tokens, "category-leadership")
    np.testing.assert_allclose(option(table, "pass-the-torch category-arts"), [3 / 8, 6 / 8])
    np.testing.assert_allclose(option(table, "pass-the-torch category-science"), [1 / 8, 6 / 8])
    np.testing.assert_allclose(option(table, "pass-the-torch category-wild"), [3 / 8, 6 / 8])
    np.testing.assert_allclose(option(table, "bank pass-the-torch category-leadership"), [1 / 8, 6 / 8])


def change(points):
    return (points + 8) / 16


def test_options_of_a_theft_show_changes_of_points():
    tokens = [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    table = table_with(["pass-the-torch", "category-wild"], tokens, "icon-you")
    table.play("pass-the-torch category-wild")
    one, two = option(table, "opponent-1"), option(table, "opponent-2")
    np.testing.assert_allclose(one[[0, 1, 4, 5]], [4 / 40, 16 / 20, change(3), change(-3)])
    np.testing.assert_allclose(two[[0, 1, 4, 5]], [10 / 40, 10 / 20, change(3), change(-6)])
    table.play("opponent-2")
    np.testing.assert_allclose(option(table, "token arts"), [1 / 9, change(3), change(-6)])
    np.testing.assert_allclose(option(table, "token science"), [0, change(1), change(-6)])


def test_options_of_a_trade_show_changes_of_points():
    tokens = [[2, 1, 0, 0, 0], [0, 1, 0, 0, 0]]
    table = table_with(["break-the-barrier"], tokens, "icon-you", n=2)
    table.play("break-the-barrier")
    np.testing.assert_allclose(option(table, "token arts"), [2 / 9, change(-3), change(0)])
    table.play("token arts")
    np.testing.assert_allclose(option(table, "opponent-1")[4:], [change(0), change(0)])
    table.play("opponent-1")
    np.testing.assert_allclose(option(table, "token science"), [1 / 9, change(0), change(0)])


def test_card_options_show_what_is_held_and_what_the_asked_player_may_hold():
    table = table_with(["share-the-love", "category-arts"], (), "icon-you")
    table.state.at_least[0, 1, state.ICON] = 2
    table.state.at_most[0, 1, state.CATEGORY] = 0
    table.play("share-the-love")
    table.play("opponent-1")
    np.testing.assert_allclose(option(table, "card icon-arts"), [0, 1 / 8, 1, 0, 0, 0, 0, 2 / 8, 1])
    np.testing.assert_allclose(option(table, "card category-arts"), [1 / 5, 0, 0, 1, 0, 0, 0, 0, 0])
    table.state.memory = state.NO_MEMORY
    np.testing.assert_allclose(option(table, "card icon-arts")[-2:], [0, 0])
