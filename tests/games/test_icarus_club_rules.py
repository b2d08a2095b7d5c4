"""The rules of The Icarus Club, clause by clause (`card_envs/games/icarus_club/rules.md`)."""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.icarus_club import IcarusClub, rules, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.rng import random_legal, seed_words
from card_envs.kernels.state import RUNNING, TERMINATED
from tests.games.icarus_club_positions import CARD, hand, last_trick, late, place, play

COMPILED = not numba.config.DISABLE_JIT
COUNTS = (3, 4, 5)


def dealt(
    num_players: int, deck: list[str], *, first: int = 0, suit_out: str = "slots", **options: Any
) -> RecordedGame:
    table = RecordedGame(IcarusClub(num_players, **options), seed=0, explicit_chance=True)
    table.apply_chance("first-player", first)
    if table.chance == "suit-out":
        table.apply_chance("suit-out", suit_out)
    table.apply_chance("deck", deck)
    return table


def shuffled(seed: int, without: str | None = None) -> list[str]:
    deck = [name for name in state.CARD_NAMES if not (without and name.startswith(without))]
    random.Random(seed).shuffle(deck)
    return deck


# --- names -----------------------------------------------------------------------------------------------------------


def test_cards_are_five_suits_of_ranks_1_to_11():
    assert state.CARD_NAMES[:2] == ("roulette-1", "roulette-2")
    assert state.CARD_NAMES[10:12] == ("roulette-11", "craps-1")
    assert state.CARD_NAMES[22] == "poker-1"
    assert state.CARD_NAMES[33] == "blackjack-1"
    assert state.CARD_NAMES[-1] == "slots-11"
    assert len(set(state.CARD_NAMES)) == 55


@pytest.mark.parametrize("n", COUNTS)
def test_actions_are_the_cards_then_ten_piles(n):
    game = IcarusClub(n)
    assert game.action_names[:55] == state.CARD_NAMES
    assert game.action_names[55:] == tuple(f"lane-{k}" for k in range(1, 11))
    assert game.num_actions == 65
    assert game.phases == ("play", "overwrite-card", "overwrite-pile")


def test_player_counts_are_3_to_5():
    assert (IcarusClub.min_players, IcarusClub.max_players, IcarusClub().num_players) == (3, 5, 4)
    for wrong in (2, 6, "4", 4.0, True):
        with pytest.raises(CardEnvsError, match="from 3 to 5"):
            IcarusClub(wrong)


# --- setup -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suit", state.SUITS)
def test_S1_three_players_leave_a_suit_out(suit):
    table = RecordedGame(IcarusClub(3), explicit_chance=True)
    table.apply_chance("first-player", 1)
    assert table.chance == "suit-out"
    table.apply_chance("suit-out", suit)
    assert table.chance == "deck"
    with pytest.raises(CardEnvsError, match="does not belong"):
        table.apply_chance("deck", shuffled(1, without=next(s for s in state.SUITS if s != suit)))
    table.apply_chance("deck", shuffled(1, without=suit))
    out = [name for name in state.CARD_NAMES if place(table, name) == state.OUT]
    assert out == [f"{suit}-{rank}" for rank in range(1, 12)]


def test_S1_the_suit_is_drawn_afresh_for_every_round_and_uniformly():
    drawn = np.zeros(5, np.int64)
    orders = set()
    for seed in range(300 if COMPILED else 3):
        table = RecordedGame(IcarusClub(3), seed=seed)
        rng = random.Random(seed)
        while not table.over:
            table.play(rng.choice(table.legal_actions()))
        suits = [value for who, kind, *rest in table.events if who == "chance" and kind == "suit-out" for value in rest]
        assert len(suits) == 3
        orders.add(tuple(suits))
        for suit in suits:
            drawn[state.SUITS.index(suit)] += 1
    if COMPILED:
        expected = drawn.sum() / 5
        assert ((drawn - expected) ** 2 / expected).sum() < 18.5  # chi-square, 4 degrees of freedom, p = 0.001
        assert len(orders) > 80  # of 125


@pytest.mark.parametrize("n", [4, 5])
def test_S1_only_three_players_leave_a_suit_out(n):
    table = RecordedGame(IcarusClub(n), explicit_chance=True)
    table.apply_chance("first-player", 0)
    assert table.chance == "deck"


@pytest.mark.parametrize(("n", "size"), [(3, 11), (4, 11), (5, 9)])
def test_S2_hands_and_lane_are_consecutive_runs_of_the_deck(n, size):
    deck = shuffled(n, without="slots" if n == 3 else None)
    table = dealt(n, deck)
    for seat in range(n):
        assert sorted(hand(table, seat)) == sorted(deck[seat * size : (seat + 1) * size])
    lane = deck[n * size : (n + 1) * size]
    s = table.state
    assert s.num_piles == size
    assert s.pile_now == 0
    assert [state.CARD_NAMES[card] for card in s.pile_top[:size]] == lane
    assert list(s.pile_size[:size]) == [1] * size
    assert all(place(table, name) == state.LANE for name in lane)
    assert len(deck) - (n + 1) * size == (1 if n == 5 else 0)


def test_S3_with_five_players_the_last_card_stays_out():
    deck = shuffled(5)
    table = dealt(5, deck)
    assert [name for name in state.CARD_NAMES if place(table, name) == state.OUT] == deck[-1:]
    for seat in range(5):
        assert f"left over  {deck[-1]}" in table.render(seat)


@pytest.mark.parametrize("n", COUNTS)
def test_S4_first_of_all_the_start_player_is_drawn(n):
    for first in range(n):
        table = RecordedGame(IcarusClub(n), explicit_chance=True)
        assert table.chance == "first-player"
        table = dealt(n, shuffled(0, without="slots" if n == 3 else None), first=first)
        assert (table.player, table.phase) == (first, "play")
    for wrong in (n, -1, "0", True, None):
        with pytest.raises(CardEnvsError, match=f"0 to {n - 1}"):
            RecordedGame(IcarusClub(n), explicit_chance=True).apply_chance("first-player", wrong)


def test_S4_every_seat_may_be_drawn():
    assert {RecordedGame(IcarusClub(5), seed=seed).events[0][2] for seed in range(60)} == set(range(5))


# --- a trick ---------------------------------------------------------------------------------------------------------


def test_T1_the_top_card_of_the_leftmost_pile_sets_the_suit():
    table = late(
        3, ["craps-1 poker-1", "craps-2 poker-2", "craps-3 poker-3"], ["poker-9 craps-10", "poker-8 roulette-1"]
    )
    assert table.legal_actions() == ["craps-1"]  # not poker, which lies beneath, nor roulette, which comes next


def test_T2_play_goes_clockwise_from_the_start_player():
    table = late(4, ["craps-1", "craps-2", "craps-3", "craps-4"], ["craps-11"], start=2)
    order = []
    for _ in range(4):
        order.append(table.player)
        table.play(table.legal_actions()[0])
    assert order == [2, 3, 0, 1]


def test_T2_who_holds_the_suit_must_follow():
    table = late(
        3,
        ["craps-1 craps-9 poker-1", "poker-2 poker-3 poker-4", "slots-1 slots-2 slots-3"],
        ["craps-5", "roulette-1", "roulette-2"],
    )
    assert table.legal_actions() == ["craps-1", "craps-9"]
    with pytest.raises(
        IllegalActionError, match=r"player_0 can't do 'poker-1' in phase 'play'; legal.*craps-1, craps-9"
    ):
        table.play("poker-1")


def test_T2_who_does_not_hold_the_suit_may_play_any_card():
    table = late(
        3,
        ["craps-1 slots-9 poker-1", "poker-2 poker-3 poker-4", "slots-1 slots-2 slots-3"],
        ["roulette-5", "roulette-1", "roulette-2"],
    )
    assert table.legal_actions() == ["craps-1", "poker-1", "slots-9"]


def test_T3_highest_card_of_the_suit_wins():
    table = late(
        4, ["craps-4 slots-1", "craps-10 slots-2", "slots-11 slots-3", "craps-7 slots-4"], ["craps-2", "slots-5"]
    )
    play(table, "craps-4 craps-10 slots-11 craps-7")
    assert (table.player, table.phase) == (1, "overwrite-card")


def test_T3_follow_card_does_not_compete():
    table = late(3, ["craps-2 poker-1", "craps-1 poker-2", "poker-9 poker-3"], ["craps-11", "poker-4"])
    play(table, "craps-2 craps-1 poker-9")
    assert (table.player, table.phase) == (0, "overwrite-card")


def test_T3_cards_of_other_suits_never_win():
    table = late(3, ["slots-11 poker-1", "craps-1 poker-2", "roulette-11 poker-3"], ["craps-5", "poker-4"])
    play(table, "slots-11 craps-1 roulette-11")
    assert table.player == 1


def test_T4_winner_takes_the_played_cards_and_the_whole_pile():
    table = late(
        3, ["craps-2 poker-1", "craps-1 poker-2", "poker-9 poker-3"], ["roulette-1 slots-3 craps-11", "poker-4"]
    )
    play(table, "craps-2 craps-1 poker-9")
    play(table, "poker-9 lane-1")
    for card in ("roulette-1", "slots-3", "craps-11", "craps-2", "craps-1"):
        assert place(table, card) == state.TAKEN + 0
    assert list(table.state.earnings[:3]) == [5, 0, 0]


def test_T5_the_card_is_one_that_another_player_played():
    table = late(
        4, ["craps-4 slots-1", "craps-10 slots-2", "slots-11 slots-3", "craps-7 slots-4"], ["craps-2", "slots-5"]
    )
    play(table, "craps-4 craps-10 slots-11 craps-7")
    assert table.legal_actions() == ["craps-4", "craps-7", "slots-11"]
    with pytest.raises(IllegalActionError, match="overwrite-card"):
        table.play("craps-10")


def test_T5_any_remaining_pile_may_be_overwritten_counted_from_the_left():
    hands = ["craps-1 craps-2 craps-3", "poker-1 poker-2 poker-3", "slots-1 slots-2 slots-3"]
    for name, pile in (("lane-1", 1), ("lane-2", 2)):
        table = late(3, hands, ["craps-5", "roulette-1 roulette-2", "roulette-3"])
        play(table, "craps-1 poker-1 slots-1 slots-1")
        assert table.phase == "overwrite-pile"
        assert table.player == 0
        assert table.legal_actions() == ["lane-1", "lane-2"]
        before = list(table.state.pile_size[8:11])
        table.play(name)
        s = table.state
        assert s.pile_now == 9
        assert s.pile_top[8 + pile] == CARD["slots-1"]
        assert s.pile_size[8 + pile] == before[pile] + 1
        assert s.pile[CARD["slots-1"]] == 8 + pile
        # the new card sets the suit (T1) at once if it lies on the leftmost pile
        assert table.legal_actions() == ["craps-2", "craps-3"]
        play(table, "craps-2 poker-2")
        assert table.legal_actions() == ["slots-2", "slots-3"]


def test_T5_after_the_deal_ten_piles_remain_to_choose_from():
    table = dealt(4, shuffled(3))
    while table.phase != "overwrite-pile":
        table.play(table.legal_actions()[0])
    assert len(table.legal_actions()) == 10 - (table.state.pile_now)


def test_T5_the_overwriting_card_is_taken_with_the_pile_not_with_the_trick():
    table = late(3, ["craps-2 poker-1", "craps-1 poker-2", "poker-9 poker-3"], ["craps-11", "poker-4"])
    play(table, "craps-2 craps-1 poker-9 poker-9 lane-1")
    assert place(table, "poker-9") == state.LANE
    assert list(table.state.earnings[:3]) == [3, 0, 0]
    play(table, "poker-1 poker-2 poker-3")  # poker is still to be followed: player_2's 3 takes the pile of two
    assert place(table, "poker-9") == state.TAKEN + 2
    assert list(table.state.earnings[:3]) == [3, 0, 5]


def test_T5_the_last_trick_has_no_overwrite_and_the_winner_takes_all_played_cards():
    table = late(3, ["craps-2", "craps-1", "poker-9"], ["slots-1 craps-11"], earnings=[4, 9, 0])
    play(table, "craps-2 craps-1 poker-9")
    assert table.chance == "suit-out"  # the round is over
    assert list(table.state.earnings[:3]) == [9, 9, 0]
    for card in ("craps-2", "craps-1", "poker-9", "slots-1", "craps-11"):
        assert place(table, card) == state.TAKEN + 0


def test_T6_nobody_played_the_suit_nobody_wins_and_all_is_discarded():
    table = late(3, ["craps-2 poker-1", "craps-1 poker-2", "poker-9 poker-3"], ["roulette-3 slots-11", "poker-4"])
    play(table, "craps-2 craps-1 poker-9")
    assert (table.phase, table.state.pile_now) == ("play", 10)
    for card in ("craps-2", "craps-1", "poker-9", "slots-11", "roulette-3"):
        assert place(table, card) == state.DISCARDED
    assert list(table.state.earnings[:3]) == [0, 0, 0]


def test_T7_winner_leads_the_next_trick():
    table = late(3, ["craps-2 poker-1", "craps-1 poker-2", "craps-9 poker-3"], ["craps-11", "poker-4"])
    play(table, "craps-2 craps-1 craps-9 craps-1 lane-1")
    assert (table.player, table.phase) == (2, "play")


def test_T7_after_a_trick_without_winner_its_start_player_leads_again():
    table = late(3, ["craps-2 poker-1", "craps-1 poker-2", "poker-9 poker-3"], ["slots-11", "poker-4"], start=1)
    play(table, "craps-1 poker-9 craps-2")
    assert (table.player, table.phase) == (1, "play")


# --- end of a round --------------------------------------------------------------------------------------------------


def finish(table: RecordedGame) -> RecordedGame:
    """Plays the last trick of `last_trick`, which nobody wins."""
    while not table.chance and not table.over:
        table.play(table.legal_actions()[0])
    return table


def test_R1_earnings_are_the_cards_taken_in_the_round():
    table = late(3, ["craps-2", "craps-1", "poker-9"], ["slots-1 craps-11"], earnings=[4, 10, 11], score=[7, 7, 7])
    play(table, "craps-2 craps-1 poker-9")
    assert list(table.state.earnings[:3]) == [9, 10, 11]
    assert list(table.state.score[:3]) == [16, 17, 7]
    table.apply_chance("suit-out", "slots")
    table.apply_chance("deck", shuffled(0, without="slots"))
    assert list(table.state.earnings[:3]) == [0, 0, 0]  # a new round counts from 0
    assert list(table.state.score[:3]) == [16, 17, 7]


def test_R2_most_earnings_score_nothing():
    table = finish(last_trick(4, [8, 20, 3, 0], score=[1, 2, 3, 4]))
    assert list(table.state.score[:4]) == [9, 2, 6, 4]


def test_R2_all_with_the_most_score_nothing():
    table = finish(last_trick(4, [15, 15, 3, 0], score=[1, 2, 3, 4]))
    assert list(table.state.score[:4]) == [1, 2, 6, 4]


def test_R3_who_scored_nothing_for_the_most_leads_the_next_round():
    table = finish(last_trick(4, [8, 20, 3, 0], start=3))
    table.apply_chance("deck", shuffled(1))
    assert table.player == 1


def test_R3_a_natural_0_does_not_lead():
    # player_3 took nothing and would have led the next trick, player_2 has the most
    table = finish(last_trick(4, [8, 3, 20, 0], start=3))
    table.apply_chance("deck", shuffled(1))
    assert table.player == 2


@pytest.mark.parametrize(("start", "leads"), [(0, 0), (1, 2), (2, 2), (3, 0)])
def test_R3_several_the_first_clockwise_from_who_would_have_led(start, leads):
    table = finish(last_trick(4, [15, 0, 15, 3], start=start))
    table.apply_chance("deck", shuffled(1))
    assert table.player == leads


def test_R3_the_winner_of_the_last_trick_would_have_led_the_next():
    # player_1 wins the last trick and then ties with player_2; player_0 led that trick
    table = late(4, ["poker-1", "craps-5", "craps-4", "craps-3"], ["craps-11"], earnings=[10, 5, 10, 0])
    play(table, "poker-1 craps-5 craps-4 craps-3")
    assert list(table.state.earnings[:4]) == [10, 10, 10, 0]
    table.apply_chance("deck", shuffled(1))
    assert table.player == 1


@pytest.mark.parametrize("earnings", [[5, 5, 5, 5], [0, 0, 0, 0]])
def test_R3_all_equal_all_are_set_to_0_and_who_would_have_led_leads(earnings):
    table = finish(last_trick(4, earnings, start=3, score=[1, 1, 1, 1]))
    assert list(table.state.score[:4]) == [1, 1, 1, 1]
    table.apply_chance("deck", shuffled(1))
    assert table.player == 3


@pytest.mark.parametrize("n", COUNTS)
def test_R4_as_many_rounds_as_players_each_dealt_afresh(n):
    table = RecordedGame(IcarusClub(n), seed=n)
    rng = random.Random(n)
    while not table.over:
        assert table.state.rounds < n
        table.play(rng.choice(table.legal_actions()))
    decks = [tuple(value) for who, kind, *rest in table.events if (who, kind) == ("chance", "deck") for value in rest]
    assert len(decks) == len(set(decks)) == n
    assert sum(kind == "first-player" for _, kind, *_ in table.events) == 1
    assert sum(kind == "suit-out" for _, kind, *_ in table.events) == (3 if n == 3 else 0)
    assert table.state.rounds == n


# --- end of the game -------------------------------------------------------------------------------------------------


def ended(score: list[int]) -> RecordedGame:
    """A game with these final sums: everybody takes as much as everybody in the last round."""
    n = len(score)
    table = finish(last_trick(n, [0] * n, score=score, rounds=n - 1))
    assert table.over
    assert table.state.end == TERMINATED
    assert table.legal_actions() == []
    assert list(table.state.score[:n]) == score
    return table


def outcome(table: RecordedGame) -> tuple[list[int], list[int]]:
    s = table.state
    n = int(s.num_players)
    return [seat for seat in range(n) if s.winner[seat]], [int(rank) for rank in s.rank[:n]]


def test_G1_the_highest_sum_is_ejected_and_keeps_its_score():
    assert outcome(ended([30, 50, 40, 10])) == ([2], [2, 4, 1, 3])


def test_G1_all_with_the_highest_sum_are_ejected():
    assert outcome(ended([50, 50, 20, 10])) == ([2], [3, 3, 1, 2])
    assert outcome(ended([50, 50, 50, 10])) == ([3], [2, 2, 2, 1])


def test_G1_the_last_round_counts_for_the_sums():
    table = finish(last_trick(4, [9, 5, 7, 0], score=[0, 10, 7, 13], rounds=3))
    assert list(table.state.score[:4]) == [0, 15, 14, 13]
    assert outcome(table) == ([2], [3, 4, 1, 2])


def test_G2_the_highest_of_the_rest_wins():
    assert outcome(ended([0, 1, 2])) == ([1], [2, 1, 3])


def test_G2_several_share_the_win():
    table = ended([40, 50, 40, 10, 40])
    assert outcome(table) == ([0, 2, 4], [1, 5, 1, 4, 1])
    np.testing.assert_allclose(table.returns(), [1 / 6, -1 / 4, 1 / 6, -1 / 4, 1 / 6], atol=1e-12)


def test_G2_a_sum_of_0_can_win():
    assert outcome(ended([5, 0, 5])) == ([1], [2, 1, 2])


def test_G3_all_sums_equal_nobody_wins():
    for score in ([7, 7, 7, 7], [0, 0, 0]):
        table = ended(score)
        assert outcome(table) == ([], [1] * len(score))
        assert list(table.returns()) == [0.0] * len(score)


def test_returns_of_a_sole_winner():
    assert list(ended([30, 50, 40, 10]).returns()) == [-1 / 3, -1 / 3, 1.0, -1 / 3]
    assert list(ended([1, 2, 3]).returns()) == [-0.5, 1.0, -0.5]


def test_returns_are_0_while_the_game_runs():
    assert list(last_trick(3, [1, 2, 3]).returns()) == [0.0, 0.0, 0.0]


# --- a table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", [-1, 65, 1.0, True, None, "roulette-12", "lane-11", "", [3], np.float64(0.0), 10**30]
)
def test_an_action_that_is_none_is_refused_and_changes_nothing(action):
    table = late(3, ["craps-1 poker-1", "craps-2 poker-2", "craps-3 poker-3"], ["craps-10", "roulette-1"])
    before, events = table.states.tobytes(), list(table.events)
    with pytest.raises(IllegalActionError):
        table.play(action)
    assert table.states.tobytes() == before
    assert table.events == events


def test_actions_go_by_name_and_by_any_kind_of_id():
    for action in ("craps-1", CARD["craps-1"], np.int64(CARD["craps-1"]), np.int8(CARD["craps-1"])):
        table = late(3, ["craps-1 poker-1", "craps-2 poker-2", "craps-3 poker-3"], ["craps-10", "roulette-1"])
        table.play(action)
        assert table.events == [["player_0", "craps-1"]]


@pytest.mark.parametrize("spoil", ["missing", "twice", "unknown", "no list"])
def test_S2_a_deck_that_is_not_the_right_set_of_cards_is_refused(spoil):
    deck: Any = shuffled(1)
    if spoil == "missing":
        deck = deck[:-1]
    elif spoil == "twice":
        deck[0] = deck[1]
    elif spoil == "unknown":
        deck[0] = "poker-12"
    else:
        deck = " ".join(deck)
    table = RecordedGame(IcarusClub(4), explicit_chance=True)
    table.apply_chance("first-player", 0)
    before = table.states.tobytes()
    with pytest.raises(CardEnvsError):
        table.apply_chance("deck", deck)
    assert table.states.tobytes() == before


def test_chance_that_is_not_due_is_refused():
    table = RecordedGame(IcarusClub(4), explicit_chance=True)
    with pytest.raises(CardEnvsError, match="expected 'first-player'"):
        table.apply_chance("deck", shuffled(1))
    with pytest.raises(IllegalActionError, match="before the chance event 'first-player'"):
        table.play("slots-1")
    table = dealt(4, shuffled(1))
    with pytest.raises(CardEnvsError, match="no chance event is due"):
        table.apply_chance("deck", shuffled(1))


def test_what_was_drawn_replays_to_the_same_states():
    for n in COUNTS:
        drawn = RecordedGame(IcarusClub(n), seed=11)
        rng = random.Random(11)
        while not drawn.over:
            drawn.play(rng.choice(drawn.legal_actions()))
        replayed = RecordedGame(IcarusClub(n), explicit_chance=True)
        for who, what, *rest in drawn.events:
            if who == "chance":
                replayed.apply_chance(what, *rest)
            else:
                assert who == f"player_{replayed.player}"
                replayed.play(what)
        replayed.state.rng = drawn.state.rng
        assert replayed.states.tobytes() == drawn.states.tobytes()
        assert replayed.events == drawn.events


# --- reduced games ---------------------------------------------------------------------------------------------------


def reduced_deck(suits: int, ranks: int) -> list[str]:
    return [f"{suit}-{rank}" for suit in state.SUITS[:suits] for rank in range(1, ranks + 1)]


def test_V1_the_first_suits_and_the_lowest_ranks_are_in_the_game():
    deck = reduced_deck(2, 4)
    assert deck[3:5] == ["roulette-4", "craps-1"]
    table = dealt(3, deck, suits=2, ranks=4)
    assert [hand(table, seat) for seat in range(3)] == [deck[:2], deck[2:4], deck[4:6]]
    for foreign in ("poker-1", "craps-5"):
        with pytest.raises(CardEnvsError, match=f"{foreign}' does not belong to the deck; expected 8 cards"):
            dealt(3, [*deck[:-1], foreign], suits=2, ranks=4)
    assert sorted(RecordedGame(IcarusClub(3, suits=2, ranks=4), seed=1).events[1][2]) == sorted(deck)


def test_V1_what_is_not_a_number_of_suits_or_ranks_is_refused():
    for option, most in (("suits", 5), ("ranks", 11)):
        for wrong in (0, most + 1, "2", 2.0, True, None):
            with pytest.raises(CardEnvsError, match=f"{option} is .*; allowed: a whole number from 1 to {most}"):
                IcarusClub(3, **{option: wrong})


@pytest.mark.parametrize(("suits", "event"), [(4, "deck"), (5, "suit-out")])
def test_V2_three_players_leave_a_suit_out_only_of_five(suits, event):
    table = RecordedGame(IcarusClub(3, suits=suits, ranks=2), explicit_chance=True)
    table.apply_chance("first-player", 0)
    assert table.chance == event
    assert table.state.num_piles == 2


@pytest.mark.parametrize(
    ("n", "suits", "ranks", "size", "left_over"), [(3, 2, 4, 2, 0), (4, 3, 5, 3, 0), (5, 3, 5, 2, 3), (3, 4, 11, 11, 0)]
)
def test_V3_runs_are_as_long_as_the_cards_allow_and_the_rest_lies_open(n, suits, ranks, size, left_over):
    deck = reduced_deck(suits, ranks)
    table = dealt(n, deck, suits=suits, ranks=ranks)
    assert table.state.num_piles == size
    for seat in range(n):
        assert hand(table, seat) == sorted(deck[seat * size : (seat + 1) * size], key=CARD.get)
    assert [state.CARD_NAMES[card] for card in table.state.pile_top[:size]] == deck[n * size : (n + 1) * size]
    assert all(place(table, name) == state.OUT for name in deck[(n + 1) * size :])
    assert len(deck) - (n + 1) * size == left_over
    shown = f"left over  {', '.join(deck[-left_over:])}"
    assert all((shown in table.render(seat)) == (left_over > 0) for seat in range(n))


def test_V3_too_few_cards_to_give_everyone_one_are_refused():
    assert IcarusClub(3, suits=2, ranks=2).initial[0].num_piles == 1
    with pytest.raises(CardEnvsError, match="1 suits of 3 ranks are too few cards; 3 players need 4 at least"):
        IcarusClub(3, suits=1, ranks=3)
    with pytest.raises(CardEnvsError, match="5 suits of 1 ranks are too few cards; 5 players need 6 at least"):
        IcarusClub(5, ranks=1)


def test_V4_the_game_ends_after_the_rounds_that_were_asked_for():
    table = finish(last_trick(4, [8, 20, 3, 0]))
    assert not table.over  # the first of four
    table = last_trick(4, [8, 20, 3, 0])
    table.state.num_rounds = 1
    assert finish(table).over
    assert [int(score) for score in table.state.score[:4]] == [8, 0, 3, 0]
    assert list(table.state.winner[:4]) == [0, 0, 1, 0]  # 8 is the highest sum and ejected
    assert IcarusClub(4, rounds=2).initial[0].num_rounds == 2
    assert IcarusClub(4).initial[0].num_rounds == 4


@pytest.mark.parametrize("wrong", [0, 5, 6, "2", True])
def test_V4_more_rounds_than_players_are_refused(wrong):
    with pytest.raises(CardEnvsError, match=r"rounds is .*; allowed: a whole number from 1 to the number of players"):
        IcarusClub(4, rounds=wrong)


def test_a_record_names_the_options_of_a_reduced_game_only():
    assert IcarusClub(3).options_to_json() == {"num_players": 3}
    assert IcarusClub(3, suits=2, rounds=1).options_to_json() == {"num_players": 3, "suits": 2, "rounds": 1}


# --- many random games -----------------------------------------------------------------------------------------------

REDUCED = [
    IcarusClub(3, suits=2, ranks=4, rounds=1),
    IcarusClub(3, ranks=3),
    IcarusClub(4, suits=3, ranks=7, rounds=2),
    IcarusClub(5, suits=3, ranks=5),
    IcarusClub(5, suits=1, ranks=11, rounds=3),
]
# cards played in a game, cards that are dealt in a round, rounds
SIZES = {REDUCED[0]: (6, 8, 1), REDUCED[1]: (27, 12, 3), REDUCED[2]: (32, 20, 2), REDUCED[3]: (50, 12, 5)}
SIZES |= {REDUCED[4]: (15, 6, 3), IcarusClub(3): (99, 44, 3), IcarusClub(4): (176, 55, 4), IcarusClub(5): (225, 54, 5)}
each_game = pytest.mark.parametrize("game", SIZES, ids=repr)

# What `faults` found, as a number so that compiled code can tell.
FINE, PLACE, HAND, PILE, TRICK, EARNINGS, VOID = range(7)


@njit
def faults(s, out_of_round):
    """The first thing wrong with where the cards of a running game are, `FINE` if all are in exactly one place."""
    n, piles = s.num_players, s.num_piles
    count = np.zeros(14, np.int64)
    for card in range(55):
        if s.where[card] < 0 or s.where[card] > 13:
            return PLACE
        count[s.where[card]] += 1
    if count[13] != out_of_round or count[n:5].sum() != 0 or count[5 + n : 10].sum() != 0:
        return PLACE
    played = 0
    for seat in range(n):
        card = s.played[seat]
        if count[seat] != piles - s.pile_now - (card >= 0):
            return HAND
        if card >= 0:
            played += 1
            if s.where[card] != 10:
                return TRICK
        if count[5 + seat] != s.earnings[seat]:
            return EARNINGS
        for suit in range(5):
            for rank in range(11):
                if s.void[seat, suit] and s.where[suit * 11 + rank] == seat:
                    return VOID
    if played != count[10]:
        return TRICK
    if s.phase == 0 and played == n:
        return TRICK
    lane = 0
    for k in range(s.pile_now, piles):
        size = 0
        for card in range(55):
            size += s.where[card] == 11 and s.pile[card] == k
        if k == s.pile_now and s.phase != 0:  # won, so already with the winner
            if size != 0:
                return PILE
        elif size != s.pile_size[k] or s.where[s.pile_top[k]] != 11 or s.pile[s.pile_top[k]] != k:
            return PILE
        lane += size
    if lane != count[11]:
        return PILE
    return FINE


@njit
def play_games(games, states, initial, rng, mask, value, out_of_round, summary):
    """The first fault in random games. `summary[g]`: plays, decisions, rounds, cards, scores, winners, ranks."""
    for g in range(games):
        states[0] = initial[0]
        s = states[0]
        s.rng[0], s.rng[1] = rng[0], rng[1]
        rounds = 0
        before = np.zeros(5, np.int64)
        while s.end == RUNNING:
            if s.chance != 0:
                length = rules.draw_chance(s, value)
                rules.apply_chance(s, value[:length])
            else:
                count = rules.legal_actions(s, mask)
                if count < 1 or count != mask.sum():
                    return g, -1
                action = random_legal(rng, mask, count)
                summary[g, 0] += s.phase == 0
                summary[g, 1] += 1
                rules.apply_action(s, action)
            if s.rounds == rounds and s.chance == 0:
                fault = faults(s, out_of_round)
                if fault != FINE:
                    return g, fault
            if s.rounds != rounds:
                rounds += 1
                counted, most = 0, 0
                for card in range(55):
                    counted += 5 <= s.where[card] <= 9 or s.where[card] == 12
                for seat in range(s.num_players):
                    most = max(most, s.earnings[seat])
                for seat in range(s.num_players):
                    gained = s.score[seat] - before[seat]
                    if gained != (0 if s.earnings[seat] == most else s.earnings[seat]):
                        return g, EARNINGS
                    before[seat] = s.score[seat]
                    taken = 0
                    for card in range(55):
                        taken += s.where[card] == 5 + seat
                    if taken != s.earnings[seat]:
                        return g, EARNINGS
                summary[g, 2] += 1
                summary[g, 3] += counted
        for seat in range(s.num_players):
            summary[g, 4 + seat] = s.score[seat]
            summary[g, 9 + seat] = s.winner[seat]
            summary[g, 14 + seat] = s.rank[seat]
    return games, FINE


def winners_by_hand(score: list[int]) -> list[int]:
    rest = [points for points in score if points < max(score)]
    return [int(bool(rest) and points == max(rest)) for points in score]


@each_game
def test_random_games_keep_every_card_in_one_place(game):
    n, (all_plays, in_round, all_rounds), printed = game.num_players, SIZES[game], game not in REDUCED
    games = 2500 if COMPILED else 4
    summary = np.zeros((games, 19), np.int64)
    mask, value = np.zeros(game.num_actions, np.int8), np.zeros(game.max_chance_values, np.int16)
    rng = seed_words(100 + n, 1)[0]
    with np.errstate(over="ignore"):
        played, fault = play_games(games, game.initial.copy(), game.initial, rng, mask, value, 55 - in_round, summary)
    assert (played, fault) == (games, FINE)
    plays, decisions, rounds, counted = summary[:, :4].T
    assert (plays == all_plays).all()
    assert (rounds == all_rounds).all()
    assert (counted == all_rounds * in_round).all()
    assert ((decisions - plays) % 2 == 0).all()  # an overwrite is two decisions
    assert (decisions <= all_plays + 2 * all_rounds * (int(game.initial[0].num_piles) - 1)).all()
    if COMPILED and printed:
        assert abs(decisions.mean() - {3: 153, 4: 248, 5: 298}[n]) < 2
    score, winner, rank = summary[:, 4 : 4 + n], summary[:, 9 : 9 + n], summary[:, 14 : 14 + n]
    for g in range(games):
        assert list(winner[g]) == winners_by_hand(list(score[g]))
        states = game.initial.copy()
        states[0].end, states[0].winner[:n] = TERMINATED, winner[g]
        if g < 200:
            table = RecordedGame(game, seed=0)
            table.states[:] = states
            returns, share = table.returns(), winner[g].sum()
            assert abs(returns.sum()) < 1e-12
            assert all(r > 0 for r, w in zip(returns, winner[g], strict=True) if w and share < n)
        highest = score[g].max()
        for seat in range(n):
            if not winner[g].any() or winner[g, seat]:
                expected = 1
            elif score[g, seat] == highest:
                expected = 1 + int((score[g] < highest).sum())
            else:
                expected = 1 + int(((score[g] > score[g, seat]) & (score[g] < highest)).sum())
            assert rank[g, seat] == expected


# --- a second set of rules -------------------------------------------------------------------------------------------


class Model:
    """The game again, slow and with lists of names, to compare with."""

    def __init__(self, n: int) -> None:
        self.n, self.rounds, self.score = n, 0, [0] * n
        self.piles: list[list[str]] = []

    def deal(self, deck: list[str]) -> None:
        size = len(deck) // (self.n + 1)
        runs = [deck[i * size : (i + 1) * size] for i in range(self.n + 1)]
        self.hands, self.piles = runs[:-1], [[card] for card in runs[-1]]
        self.taken: list[list[str]] = [[] for _ in range(self.n)]
        self.begin()

    def begin(self) -> None:
        self.on_table: dict[int, str] = {}
        self.winner: int | None = None
        self.chosen: str | None = None
        self.to_act = self.leader

    def legal(self) -> set[str]:
        if self.winner is None:
            suit = self.piles[0][-1].split("-")[0]
            hand = self.hands[self.to_act]
            return {card for card in hand if card.split("-")[0] == suit} or set(hand)
        if self.chosen is None:
            return {card for seat, card in self.on_table.items() if seat != self.winner}
        return {f"lane-{k}" for k in range(1, len(self.piles))}

    def play(self, name: str) -> None:
        if self.winner is None:
            self.hands[self.to_act].remove(name)
            self.on_table[self.to_act] = name
            self.to_act = (self.to_act + 1) % self.n
            if len(self.on_table) == self.n:
                self.close()
        elif self.chosen is None:
            self.chosen = name
        else:
            assert self.chosen is not None
            self.taken[self.winner] += self.piles.pop(0)
            self.taken[self.winner] += [card for card in self.on_table.values() if card != self.chosen]
            self.piles[int(name[5:]) - 1].append(self.chosen)
            self.leader = self.winner
            self.begin()

    def close(self) -> None:
        suit = self.piles[0][-1].split("-")[0]
        entrants = [(int(card.split("-")[1]), seat) for seat, card in self.on_table.items() if card.startswith(suit)]
        if entrants and len(self.piles) > 1:
            self.winner = self.to_act = max(entrants)[1]
            return
        if entrants:
            self.leader = max(entrants)[1]
            self.taken[self.leader] += [*self.piles[0], *self.on_table.values()]
        self.piles.pop(0)
        if self.piles:
            self.begin()
        else:
            self.close_round()

    def close_round(self) -> None:
        earned = [len(cards) for cards in self.taken]
        self.score = [a + (b if b < max(earned) else 0) for a, b in zip(self.score, earned, strict=True)]
        clockwise = [(self.leader + k) % self.n for k in range(self.n)]
        self.leader = next(seat for seat in clockwise if earned[seat] == max(earned))
        self.rounds += 1


@each_game
def test_random_games_agree_with_a_second_set_of_rules(game):
    n = game.num_players
    for seed in range(40 if COMPILED else 2):
        table, model, rng = RecordedGame(game, seed=1000 + seed), Model(n), random.Random(seed)
        seen = 0
        while True:
            for who, what, *rest in table.events[seen:]:
                if who == "chance" and what == "first-player":
                    model.leader = rest[0]
                elif who == "chance" and what == "deck":
                    model.deal(list(rest[0]))
            seen = len(table.events)
            if table.over:
                break
            legal = table.legal_actions()
            assert table.player == model.to_act
            assert set(legal) == model.legal()
            assert [int(x) for x in table.state.score[:n]] == model.score
            action = rng.choice(legal)
            model.play(action)
            table.play(action)
        assert model.rounds == SIZES[game][2]
        assert [int(x) for x in table.state.score[:n]] == model.score
        assert [int(x) for x in table.state.winner[:n]] == winners_by_hand(model.score)


# --- the table as text -----------------------------------------------------------------------------------------------


def test_text_shows_a_seat_its_own_hand_only():
    table = late(3, ["craps-1 poker-1", "craps-2 poker-2", "craps-3 poker-3"], ["poker-9 craps-10", "roulette-8"])
    text = table.render(1)
    assert "craps 2 · poker 2" in text
    assert "craps 1" not in text
    assert "craps 3" not in text
    assert "craps-10 (×2) | roulette-8" in text
    assert "craps 3 · poker 3" in table.render()
    play(table, "craps-1 craps-2 craps-3 craps-1")
    assert "craps-1*" in table.render(0)


def test_text_at_the_end_shows_sums_ranks_and_winners():
    lines = ended([30, 50, 40, 10]).render().splitlines()
    assert lines[-2].split() == ["player_2", "40", "0", "-", "rank", "1", "·", "wins"]


def test_text_between_rounds_shows_no_cards():
    table = finish(last_trick(4, [8, 20, 3, 0]))
    assert "being dealt" in table.render()
