"""Icons by its rules page: one test per clause, on hand-made positions."""

from __future__ import annotations

import numpy as np
import pytest

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.icons import Icons, rules, state
from card_envs.games.icons.state import ACTION_NAMES, CARD_NAMES, CATEGORIES, DECK_NAMES, NUM_CARDS
from card_envs.games.icons.text import WOMEN, icon_name
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.state import RUNNING, TERMINATED, TRUNCATED

ID = {name: card for card, name in enumerate(CARD_NAMES)}
ARTS, SCIENCE, LEADERSHIP, ADVENTURE, RIGHTS = range(5)


def position(
    hands=(), bank=(), pile=None, tokens=(), *, n=3, player=0, flipped=None, last_turns=None, skips=(), **options
):
    """A table on which `player` is to flip, or to play with the bank card `flipped` open.

    `hands` and `bank` list card names, `pile` from the top; `tokens` counts by category and seat. Cards named nowhere
    are the pile, or the discards if a pile is given.
    """
    table = RecordedGame(Icons(n, **options), seed=0, explicit_chance=True)
    s = table.state
    rest = list(DECK_NAMES)
    for seat, hand in enumerate(hands):
        for card in hand:
            rest.remove(card)
            s.hand[seat, ID[card]] += 1
        s.hand_size[seat] = len(hand)
    for k, card in enumerate(bank):
        rest.remove(card)
        s.slot[k] = ID[card]
    for card in pile or ():
        rest.remove(card)
    for i, card in enumerate(rest if pile is None else pile):
        s.pile[i] = ID[card]
    s.pile_size = len(rest) if pile is None else len(pile)
    if pile is not None:
        for card in rest:
            s.discards[ID[card]] += 1
    for seat, counts in enumerate(tokens):
        s.tokens[seat] = counts
    for seat, count in enumerate(skips):
        s.skips[seat] = count
    for seat in range(n):
        s.score[seat] = rules.points(s, seat)
    s.at_most[:] = state.COPIES
    s.player = s.turn = player
    s.chance = state.NO_CHANCE
    s.phase = state.FLIP if s.slot.max() >= 0 else state.PLAY
    if last_turns is not None:
        s.turns_left = last_turns
    if flipped is not None:
        table.play(f"slot-{flipped}")
    return table


def play(table, *actions):
    for action in actions:
        table.play(action)


def hand(table, seat):
    return sorted(name for name in CARD_NAMES for _ in range(table.state.hand[seat, ID[name]]))


def discards(table):
    return sorted(name for name in CARD_NAMES for _ in range(table.state.discards[ID[name]]))


def pile(table):
    s = table.state
    return [CARD_NAMES[s.pile[(s.pile_top + i) % NUM_CARDS]] for i in range(s.pile_size)]


def bank(table):
    return [CARD_NAMES[card] if card >= 0 else None for card in table.state.slot]


def legal(table, *beginnings):
    return [name for name in table.legal_actions() if name.startswith(beginnings or ("",))]


def winners(table):
    return list(np.flatnonzero(table.state.winner))


def fresh_table(n, deck, first=0, **options):
    table = RecordedGame(Icons(n, **options), seed=0, explicit_chance=True)
    table.apply_chance("first-player", first)
    table.apply_chance("deck", deck)
    return table


# --- names, options, chance -----------------------------------------------------------------------------------------


def test_deck_has_95_cards_of_18_types():
    assert len(CARD_NAMES) == 18
    assert len(DECK_NAMES) == state.COPIES.sum() == 95
    assert [DECK_NAMES.count(name) for name in CARD_NAMES] == [8] * 5 + [1] + [5] * 6 + [4] * 6


def test_actions_are_102_in_the_order_of_the_page():
    assert len(ACTION_NAMES) == len(set(ACTION_NAMES)) == 102
    at = {
        0: "slot-1",
        8: "slot-9",
        9: "end-turn",
        10: "set icon-arts category-arts",
        14: "set icon-human-rights category-human-rights",
        15: "set icon-arts category-wild",
        20: "set icon-you category-arts",
        25: "set icon-you category-wild as arts",
        29: "set icon-you category-wild as human-rights",
        30: "bank set icon-arts category-arts",
        49: "bank set icon-you category-wild as human-rights",
        50: "ahead-of-your-time",
        51: "pay-it-forward",
        52: "share-the-love",
        53: "return-the-favor",
        54: "break-the-barrier",
        55: "pass-the-torch category-arts",
        60: "pass-the-torch category-wild",
        61: "bank ahead-of-your-time",
        66: "bank pass-the-torch category-arts",
        71: "bank pass-the-torch category-wild",
        72: "opponent-1",
        78: "opponent-7",
        79: "card icon-arts",
        84: "card icon-you",
        90: "card category-wild",
        91: "card ahead-of-your-time",
        96: "card pass-the-torch",
        97: "token arts",
        101: "token human-rights",
    }
    assert {i: ACTION_NAMES[i] for i in at} == at


def test_forty_women_and_you():
    assert list(WOMEN) == list(CATEGORIES)
    names = [name for women in WOMEN.values() for name in women]
    assert [len(women) for women in WOMEN.values()] == [8] * 5
    assert len(set(names)) == 40
    assert icon_name(ID["icon-science"], 0) == "Marie Curie"
    assert icon_name(ID["icon-you"], 0) == "YOU"


@pytest.mark.parametrize("n", [1, 9, 2.0, True, "3"])
def test_player_counts_out_of_range_are_refused(n):
    with pytest.raises(CardEnvsError, match="from 2 to 8"):
        Icons(n)


@pytest.mark.parametrize(
    ("option", "bad", "allowed"),
    [
        ("points_to_win", 0, '"printed", a whole number from 1, or None'),
        ("points_to_win", -3, "from 1"),
        ("points_to_win", 12.5, "from 1"),
        ("points_to_win", True, "from 1"),
        ("points_to_win", "many", '"printed"'),
        ("max_turns", 0, "from 1"),
        ("max_turns", None, "from 1"),
        ("memory", "good", '"perfect" or "none"'),
        ("memory", None, '"perfect" or "none"'),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(option, bad, allowed):
    with pytest.raises(CardEnvsError) as error:
        Icons(3, **{option: bad})
    assert option in str(error.value)
    assert repr(bad) in str(error.value)
    assert allowed in str(error.value)


def test_unknown_options_are_refused():
    with pytest.raises(CardEnvsError, match="did you mean 'memory'"):
        Icons(3, memroy="none")


def test_options_are_fields_of_the_state():
    s = Icons(3, points_to_win=7, max_turns=50, memory="none").initial[0]
    assert (s.goal, s.max_turns, state.MEMORIES[s.memory]) == (7, 50, "none")
    assert Icons(3, points_to_win=10**12).initial[0].goal == state.NO_GOAL
    assert Icons(3, points_to_win=7).options_to_json() == {"num_players": 3, "points_to_win": 7}
    assert Icons(3, points_to_win=None).options_to_json() == {"num_players": 3, "points_to_win": None}


@pytest.mark.parametrize("seat", [-1, 3, True, "0", 1.0, None])
def test_S1_first_player_from_a_record_is_checked(seat):
    table = RecordedGame(Icons(3), seed=0, explicit_chance=True)
    with pytest.raises(CardEnvsError, match="from 0 to 2"):
        table.apply_chance("first-player", seat)
    assert table.chance == "first-player"


@pytest.mark.parametrize(
    ("deck", "message"),
    [
        (DECK_NAMES[1:], "'icon-arts' is missing"),
        ([*DECK_NAMES, "icon-you"], "too often"),
        (["icon-me", *DECK_NAMES[1:]], "does not belong"),
        (["icon-you", *DECK_NAMES[1:]], "too often"),
        ("icon-you", "a deck is a list"),
        ([1, 2], "a deck is a list"),
    ],
)
def test_S1_deck_from_a_record_is_checked(deck, message):
    table = RecordedGame(Icons(3), seed=0, explicit_chance=True)
    table.apply_chance("first-player", 0)
    with pytest.raises(CardEnvsError, match=message):
        table.apply_chance("deck", deck)
    assert table.chance == "deck"


def test_S1_chance_comes_in_order_and_is_written_as_it_is_read():
    table = RecordedGame(Icons(5), seed=3)
    (_, kind_1, first), (_, kind_2, deck) = table.events
    assert (kind_1, kind_2) == ("first-player", "deck")
    assert sorted(deck) == sorted(DECK_NAMES)
    again = fresh_table(5, deck, first)
    for part in state.STATE.names:
        if part != "rng":
            np.testing.assert_array_equal(again.state[part], table.state[part], part)


def test_S1_first_players_are_drawn_evenly():
    firsts = [RecordedGame(Icons(4), seed=seed).player for seed in range(200)]
    assert min(firsts.count(seat) for seat in range(4)) > 30


# --- setup and turn -------------------------------------------------------------------------------------------------


def test_S1_hands_then_bank_then_pile():
    table = fresh_table(3, DECK_NAMES, first=1)
    assert hand(table, 0) == ["icon-arts"] * 4
    assert hand(table, 1) == sorted(["icon-arts"] * 4 + [DECK_NAMES[21]])  # T1 drew the first card of the pile
    assert hand(table, 2) == ["icon-science"] * 4
    assert bank(table) == DECK_NAMES[12:21]
    assert pile(table) == DECK_NAMES[22:]
    assert table.player == 1


def test_T1_player_draws_the_top_card():
    table = position([[], []], ["icon-arts"], ["icon-you", "category-arts"], n=2, flipped=1)
    play(table, "end-turn")
    assert table.player == 1
    assert hand(table, 1) == ["icon-you"]
    assert pile(table) == ["category-arts"]


def test_T2_flip_shows_a_card_to_everyone():
    table = position([[], [], []], ["icon-arts", "icon-you"])
    assert table.phase == "flip"
    assert table.legal_actions() == ["slot-1", "slot-2"]
    play(table, "slot-2")
    for seat in range(3):
        seen = table.game.layout.split(table.observe(seat))
        assert seen["flipped_slot"].argmax() == 1
        assert seen["flipped_card"].argmax() == ID["icon-you"]
        assert seen["slot_card"][1].argmax() == ID["icon-you"]
        assert not seen["slot_card"][0].any()


def test_T2_without_bank_cards_nothing_is_asked():
    table = position([[], []], [], ["icon-you", "icon-arts"], n=2)
    assert table.phase == "play"
    play(table, "end-turn")
    assert table.phase == "play"
    assert table.player == 1


def test_T3_any_number_of_plays_in_any_order_or_none():
    cards = ["icon-arts", "category-arts", "ahead-of-your-time", "icon-science", "category-science"]
    table = position([cards, [], []], ["icon-you"], flipped=1)
    assert "end-turn" in legal(table)
    play(table, "set icon-science category-science", "ahead-of-your-time", "opponent-2", "set icon-arts category-arts")
    assert table.phase == "play"
    assert hand(table, 0) == []
    assert legal(table) == ["end-turn"]


def test_T4_bank_set_uses_the_flipped_card_and_refills_its_slot_face_down():
    table = position(
        [["category-arts"], [], []], ["icon-you", "icon-arts"], ["icon-science", "category-wild"], flipped=2
    )
    assert legal(table) == ["end-turn", "bank set icon-arts category-arts"]
    before = discards(table)
    play(table, "bank set icon-arts category-arts")
    assert table.state.tokens[0].tolist() == [1, 0, 0, 0, 0]
    assert hand(table, 0) == []
    assert bank(table)[:2] == ["icon-you", "icon-science"]
    assert discards(table) == sorted([*before, "icon-arts", "category-arts"])
    assert pile(table) == ["category-wild"]
    for seat in range(3):
        assert not table.game.layout.split(table.observe(seat))["slot_card"][1].any()


def test_T4_bank_set_with_the_flipped_category_card():
    table = position([["icon-arts", "icon-you"], [], []], ["category-arts"], flipped=1)
    assert legal(table, "bank") == ["bank set icon-arts category-arts", "bank set icon-you category-arts"]
    play(table, "bank set icon-you category-arts")
    assert hand(table, 0) == ["icon-arts"]


def test_T4_flipped_card_serves_one_play():
    table = position([["category-arts", "category-arts"], [], []], ["icon-arts", "icon-arts"], flipped=1)
    play(table, "bank set icon-arts category-arts")
    assert legal(table) == ["end-turn"]


def test_T4_two_cards_of_a_bank_play_do_not_both_come_from_hand_or_bank():
    table = position([["icon-arts", "category-arts"], [], []], ["icon-science"], flipped=1)
    assert legal(table) == ["end-turn", "set icon-arts category-arts"]
    table = position([[], [], []], ["icon-arts", "category-arts"], flipped=1)
    assert legal(table) == ["end-turn"]


def test_T4_bank_torch_with_its_category_from_hand():
    table = position([["category-arts"], []], ["pass-the-torch"], tokens=[[0] * 5, [1, 1, 0, 0, 0]], n=2, flipped=1)
    assert legal(table) == ["end-turn", "bank pass-the-torch category-arts"]
    play(table, "bank pass-the-torch category-arts", "opponent-1")
    assert table.state.tokens[:2].tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert hand(table, 0) == []
    assert table.state.slot[0] == ID[DECK_NAMES[0]]


def test_T4_bank_category_with_the_torch_from_hand():
    table = position([["pass-the-torch"], []], ["category-arts"], tokens=[[0] * 5, [1, 1, 0, 0, 0]], n=2, flipped=1)
    assert legal(table) == ["end-turn", "bank pass-the-torch category-arts"]
    play(table, "bank pass-the-torch category-arts", "opponent-1")
    assert table.state.tokens[:2].tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert hand(table, 0) == []


def test_T4_bank_action_card_alone():
    table = position([[], [], []], ["ahead-of-your-time"], flipped=1)
    play(table, "bank ahead-of-your-time")
    assert table.state.slot[0] == ID[DECK_NAMES[0]]  # refilled before the effect
    play(table, "opponent-1")
    assert table.state.skips[:3].tolist() == [0, 1, 0]


def test_T4_flipped_card_is_not_in_the_hand():
    table = position([["share-the-love", "return-the-favor"], [], []], ["icon-arts"], flipped=1)
    play(table, "return-the-favor", "opponent-1")
    assert legal(table) == ["card share-the-love"]
    table = position([["share-the-love"], ["icon-you"], []], ["icon-arts"], player=1, flipped=1)
    assert table.state.hand_size[1] == 1


def test_T4_empty_pile_leaves_the_slot_empty():
    table = position([["category-arts"], [], []], ["icon-arts", "icon-you"], [], last_turns=2, flipped=1)
    play(table, "bank set icon-arts category-arts")
    assert bank(table)[:2] == [None, "icon-you"]
    play(table, "end-turn")
    assert table.legal_actions() == ["slot-2"]
    assert table.game.layout.split(table.observe(1))["slot_empty"][:2].tolist() == [1, 0]


def test_T5_unused_card_is_turned_back_and_remembered():
    table = position([[], [], []], ["icon-arts", "icon-you"], flipped=1)
    play(table, "end-turn")
    seen = table.game.layout.split(table.observe(2))
    assert not seen["flipped_slot"].any()
    assert seen["slot_card"][0].argmax() == ID["icon-arts"]


def test_T6_played_cards_are_discarded_for_good():
    table = position([["icon-arts", "category-wild"], [], []], ["icon-you"], ["icon-science"] * 3, flipped=1)
    before = discards(table)
    play(table, "set icon-arts category-wild")
    assert discards(table) == sorted([*before, "icon-arts", "category-wild"])
    assert pile(table) == ["icon-science"] * 3
    np.testing.assert_array_equal(
        table.game.layout.split(table.observe(2))["discards"], (table.state.discards / state.COPIES).astype(np.float32)
    )


def test_T7_hand_is_cut_to_seven_under_the_pile_last_chosen_lowest():
    cards = ["icon-arts"] * 5 + ["icon-science", "icon-you", "category-wild", "pass-the-torch"]
    table = position([cards, [], []], ["icon-leadership"], ["share-the-love", "category-arts"], flipped=1)
    play(table, "end-turn")
    assert table.phase == "discard"
    assert table.player == 0
    expected = ("icon-arts", "icon-science", "icon-you", "category-wild", "pass-the-torch")
    assert table.legal_actions() == [f"card {card}" for card in expected]
    play(table, "card icon-science")
    assert table.player == 0
    play(table, "card icon-arts")
    assert table.player == 1
    assert table.state.hand_size[0] == 7
    assert pile(table) == ["category-arts", "icon-science", "icon-arts"]
    own = table.game.layout.split(table.observe(0))["pile_own"]
    np.testing.assert_allclose(own[:4] * 18, [0, ID["icon-science"] + 1, ID["icon-arts"] + 1, 0])
    for seat in (1, 2):
        assert not table.game.layout.split(table.observe(seat))["pile_own"].any()


def test_T7_seven_cards_may_stay():
    table = position([["icon-arts"] * 7, [], []], ["icon-you"], flipped=1)
    play(table, "end-turn")
    assert table.player == 1


def test_T7_holds_at_the_end_of_the_last_turn_too():
    table = position([["icon-arts"] * 8, [], []], ["icon-you"], [], last_turns=0, flipped=1)
    play(table, "end-turn")
    assert table.phase == "discard"
    assert not table.over
    play(table, "card icon-arts")
    assert table.state.end == TERMINATED


def test_T8_turns_go_clockwise():
    table = position([[], [], []], ["icon-arts"], player=1, flipped=1)
    order = []
    for _ in range(4):
        play(table, "end-turn")
        order.append(table.player)
        play(table, "slot-1")
    assert order == [2, 0, 1, 2]


# --- sets -----------------------------------------------------------------------------------------------------------


def test_M1_what_matches():
    table = position([["icon-arts", "icon-science", "category-science", "category-adventure"], [], []])
    assert legal(table, "set") == ["set icon-science category-science"]
    table = position([["icon-arts", "icon-science", "category-wild"], [], []])
    assert legal(table, "set") == ["set icon-arts category-wild", "set icon-science category-wild"]
    table = position([["icon-you", "category-adventure"], [], []])
    assert legal(table, "set") == ["set icon-you category-adventure"]
    table = position([["icon-you", "category-wild"], [], []])
    assert legal(table, "set") == [f"set icon-you category-wild as {category}" for category in CATEGORIES]


@pytest.mark.parametrize("c", range(5))
def test_M2_token_counts_for_the_icons_category(c):
    cards = [f"icon-{CATEGORIES[c]}", f"category-{CATEGORIES[c]}", f"icon-{CATEGORIES[c]}", "category-wild"]
    table = position([cards, [], []])
    play(table, f"set {cards[0]} {cards[1]}")
    assert table.state.tokens[0].tolist() == [int(i == c) for i in range(5)]
    play(table, f"set {cards[2]} category-wild")
    assert table.state.tokens[0].tolist() == [2 * int(i == c) for i in range(5)]
    assert hand(table, 0) == []


def test_M2_you_with_a_category_card_counts_for_its_category():
    table = position([["icon-you", "category-leadership", "category-arts"], [], []])
    play(table, "set icon-you category-leadership")
    assert table.state.tokens[0].tolist() == [0, 0, 1, 0, 0]
    assert hand(table, 0) == ["category-arts"]


def test_M2_you_with_wild_counts_for_the_category_named():
    table = position([["icon-you", "category-wild"], [], []])
    play(table, "set icon-you category-wild as human-rights")
    assert table.state.tokens[0].tolist() == [0, 0, 0, 0, 1]


# --- Action cards ---------------------------------------------------------------------------------------------------


def test_A1_loses_the_next_turn():
    table = position([["ahead-of-your-time"], [], []], ["icon-arts"], flipped=1)
    play(table, "ahead-of-your-time")
    assert table.phase == "opponent"
    assert table.legal_actions() == ["opponent-1", "opponent-2"]
    assert "ahead-of-your-time" in discards(table)
    play(table, "opponent-1", "end-turn")
    assert table.player == 2
    assert hand(table, 1) == []  # no draw in a lost turn
    play(table, "slot-1", "end-turn", "slot-1", "end-turn")
    assert table.player == 1


def test_A1_several_cards_cost_as_many_turns():
    table = position([["ahead-of-your-time"] * 3, []], ["icon-arts"], n=2, flipped=1)
    play(table, *["ahead-of-your-time", "opponent-1"] * 3)
    order = []
    for _ in range(4):
        play(table, "end-turn")
        order.append(table.player)
        play(table, "slot-1")
    assert order == [0, 0, 0, 1]


def test_A1_in_the_last_round_only_who_still_has_a_turn_to_lose():
    four = [["ahead-of-your-time"] * 2, [], [], []]
    table = position(four, ["icon-arts"], [], n=4, last_turns=2, flipped=1)
    play(table, "ahead-of-your-time")
    assert table.legal_actions() == ["opponent-1", "opponent-2"]  # player_3 has had its turn
    play(table, "opponent-1", "ahead-of-your-time")
    assert table.legal_actions() == ["opponent-2"]  # player_1 has lost it
    play(table, "opponent-2", "end-turn")
    assert table.state.end == TERMINATED  # E3: both last turns were lost


def test_A1_in_the_last_round_needs_somebody_to_lose_a_turn():
    table = position([["ahead-of-your-time"], [], []], ["icon-arts"], [], last_turns=0, flipped=1)
    assert legal(table) == ["end-turn"]
    table = position([["ahead-of-your-time"], [], []], ["icon-arts"], [], last_turns=1, skips=[0, 1], flipped=1)
    assert legal(table) == ["end-turn"]


def test_A1_whose_refill_begins_the_last_round():
    table = position([[], [], []], ["ahead-of-your-time"], ["icon-you"], skips=[0, 1, 0], flipped=1)
    play(table, "bank ahead-of-your-time")
    assert table.state.turns_left == 3
    assert table.legal_actions() == ["opponent-2"]
    table = position([[], [], []], ["ahead-of-your-time"], ["icon-you"], skips=[0, 1, 1], flipped=1)
    assert legal(table) == ["end-turn"]
    table = position([[], [], []], ["ahead-of-your-time"], ["icon-you", "icon-arts"], skips=[0, 1, 1], flipped=1)
    assert "bank ahead-of-your-time" in legal(table)


def test_A2_everyone_passes_a_card_to_the_right():
    hands = [["pay-it-forward", "icon-arts"], ["icon-science", "icon-you"], ["icon-leadership", "category-wild"]]
    table = position(hands, player=0)
    play(table, "pay-it-forward")
    asked = []
    for card in ("icon-arts", "icon-you", "category-wild"):
        assert table.phase == "card-pass"
        asked.append(table.player)
        play(table, f"card {card}")
    assert asked == [0, 1, 2]
    assert [hand(table, seat) for seat in range(3)] == [
        ["icon-you"],
        ["category-wild", "icon-science"],
        ["icon-arts", "icon-leadership"],
    ]
    assert table.player == 0
    assert table.phase == "play"


def test_A2_cards_are_chosen_in_secret_and_passed_at_once():
    hands = [["pay-it-forward", "icon-arts", "icon-you"], ["icon-science", "icon-leadership"], ["icon-leadership"]]
    tables = [position(hands) for _ in range(2)]
    for table, card in zip(tables, ("icon-arts", "icon-you"), strict=True):
        play(table, "pay-it-forward", f"card {card}")
        assert len(hand(table, 0)) == 2  # still there
    for seat in (1, 2):
        np.testing.assert_array_equal(tables[0].observe(seat), tables[1].observe(seat))
        assert tables[0].game.layout.split(tables[0].observe(seat))["has_chosen"].sum() == 1
    assert tables[0].game.layout.split(tables[0].observe(0))["chosen"].argmax() == ID["icon-arts"]


def test_A2_a_received_card_cannot_be_passed_on():
    table = position([["pay-it-forward", "icon-arts"], ["icon-science"], ["icon-leadership"]])
    play(table, "pay-it-forward", "card icon-arts")
    assert table.legal_actions() == ["card icon-science"]
    play(table, "card icon-science")
    assert table.legal_actions() == ["card icon-leadership"]


def test_A2_an_empty_hand_passes_none_and_still_receives():
    table = position([["pay-it-forward", "icon-arts"], [], ["icon-you"]])  # an empty hand to the left
    play(table, "pay-it-forward", "card icon-arts")
    assert table.player == 2
    play(table, "card icon-you")
    assert [hand(table, seat) for seat in range(3)] == [[], ["icon-you"], ["icon-arts"]]
    table = position([["pay-it-forward", "icon-arts"], ["icon-you"], []])  # and one to the right
    play(table, "pay-it-forward", "card icon-arts", "card icon-you")
    assert [hand(table, seat) for seat in range(3)] == [["icon-you"], [], ["icon-arts"]]


def test_A2_the_acting_player_may_have_no_card():
    table = position([["pay-it-forward"], ["icon-you"], []])
    play(table, "pay-it-forward")
    assert table.player == 1
    play(table, "card icon-you")
    assert [hand(table, seat) for seat in range(3)] == [["icon-you"], [], []]
    assert table.player == 0


def test_A2_needs_a_card_in_any_hand():
    table = position([["pay-it-forward"], [], []])
    assert legal(table) == ["end-turn"]
    table = position([[], [], []], ["pay-it-forward"], flipped=1)
    assert legal(table) == ["end-turn"]
    table = position([["icon-arts"], [], []], ["pay-it-forward"], flipped=1)
    assert legal(table) == ["end-turn", "bank pay-it-forward"]


def test_A3_a_card_that_is_there_goes_to_the_asker_and_the_turn_goes_on():
    table = position([["share-the-love"], [], ["icon-arts", "icon-arts", "icon-you"]], ["icon-science"], flipped=1)
    play(table, "share-the-love")
    assert table.legal_actions() == ["opponent-1", "opponent-2"]  # player_1 may be asked without cards
    play(table, "opponent-2", "card icon-arts")
    assert hand(table, 0) == ["icon-arts"]
    assert hand(table, 2) == ["icon-arts", "icon-you"]
    assert table.player == 0
    assert table.phase == "play"


def test_A3_seventeen_types_can_be_asked_for():
    table = position([["share-the-love"], [], ["icon-you"]])
    play(table, "share-the-love", "opponent-2")
    assert table.phase == "card-ask"
    assert table.legal_actions() == [f"card {name}" for name in CARD_NAMES if name != "icon-you"]


def test_A3_without_the_card_the_turn_is_over():
    table = position([["share-the-love", "icon-arts", "category-arts"], ["icon-you"], []], ["icon-science"], flipped=1)
    play(table, "share-the-love", "opponent-1", "card icon-science")
    assert table.player == 1
    assert table.phase == "flip"
    assert table.state.flipped == -1  # T5


def test_A3_that_fails_with_nine_cards_in_hand_cuts_it_to_seven():
    table = position([["share-the-love", *["icon-arts"] * 8, "icon-you"], [], []], ["icon-science"], flipped=1)
    play(table, "share-the-love", "opponent-1", "card icon-arts")
    assert table.phase == "discard"
    assert table.player == 0
    play(table, "card icon-arts", "card icon-arts")
    assert table.state.hand_size[0] == 7
    assert table.player == 1
    assert table.phase == "flip"


def test_A4_gives_a_card_and_gets_one_back():
    table = position([["return-the-favor", "icon-arts", "icon-you"], [], ["icon-science"]])
    play(table, "return-the-favor", "opponent-2")
    assert table.phase == "card-give"
    assert table.player == 0
    play(table, "card icon-arts")
    assert table.phase == "card-return"
    assert table.player == 2
    assert table.legal_actions() == ["card icon-arts", "card icon-science"]
    play(table, "card icon-science")
    assert hand(table, 0) == ["icon-science", "icon-you"]
    assert hand(table, 2) == ["icon-arts"]
    assert table.player == 0
    assert table.phase == "play"


def test_A4_the_same_card_may_come_back():
    table = position([["return-the-favor", "icon-arts"], [], []])
    play(table, "return-the-favor", "opponent-1", "card icon-arts")
    assert table.legal_actions() == ["card icon-arts"]  # the other player had none before
    play(table, "card icon-arts")
    assert hand(table, 0) == ["icon-arts"]
    assert hand(table, 1) == []


def test_A4_needs_a_further_card():
    assert legal(position([["return-the-favor"], ["icon-arts"], []])) == ["end-turn"]
    assert legal(position([["return-the-favor"] * 2, [], []])) == ["end-turn", "return-the-favor"]
    table = position([[], ["icon-arts"], []], ["return-the-favor"], flipped=1)
    assert legal(table) == ["end-turn"]


def test_A4_only_the_two_see_the_cards():
    tables = [position([["return-the-favor", "icon-arts", "icon-you"], ["icon-science"], []]) for _ in range(2)]
    for table, card in zip(tables, ("icon-arts", "icon-you"), strict=True):
        play(table, "return-the-favor", "opponent-1", f"card {card}")
    np.testing.assert_array_equal(tables[0].observe(2), tables[1].observe(2))
    assert (tables[0].observe(1) != tables[1].observe(1)).any()


def test_A5_trades_one_token_for_one():
    tokens = [[2, 0, 0, 0, 0], [0] * 5, [0, 1, 1, 0, 0]]
    table = position([["break-the-barrier"], [], []], tokens=tokens)
    play(table, "break-the-barrier")
    assert table.phase == "token-give"
    assert table.legal_actions() == ["token arts"]
    play(table, "token arts")
    assert table.phase == "opponent"
    assert table.legal_actions() == ["opponent-2"]  # player_1 has no token
    play(table, "opponent-2")
    assert table.phase == "token-take"
    assert table.legal_actions() == ["token science", "token leadership"]
    play(table, "token science")
    assert table.state.tokens[:3].tolist() == [[1, 1, 0, 0, 0], [0] * 5, [1, 0, 1, 0, 0]]
    assert table.state.score[:3].tolist() == [2, 0, 2]


def test_A5_tokens_of_one_category_may_be_traded():
    table = position([["break-the-barrier"], []], tokens=[[1, 0, 0, 0, 0]] * 2, n=2)
    play(table, "break-the-barrier", "token arts", "opponent-1", "token arts")
    assert table.state.tokens[:2].tolist() == [[1, 0, 0, 0, 0]] * 2


def test_A5_both_must_have_a_token():
    for tokens in ([[1, 0, 0, 0, 0], [0] * 5], [[0] * 5, [1, 0, 0, 0, 0]]):
        assert legal(position([["break-the-barrier"], []], tokens=tokens, n=2)) == ["end-turn"]


def test_A6_takes_a_token_of_the_category():
    tokens = [[0] * 5, [1, 2, 0, 0, 0], [0, 0, 1, 0, 0]]
    cards = ["pass-the-torch", "category-science", "category-adventure"]
    table = position([cards, [], []], tokens=tokens)
    assert legal(table, "pass") == ["pass-the-torch category-science"]  # nobody has one of adventure
    play(table, "pass-the-torch category-science")
    assert table.legal_actions() == ["opponent-1"]
    play(table, "opponent-1")
    assert table.state.tokens[:3].tolist() == [[0, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    assert hand(table, 0) == ["category-adventure"]


def test_A6_with_wild_takes_any_token():
    tokens = [[0] * 5, [1, 2, 0, 0, 0], [0, 0, 1, 0, 0]]
    table = position([["pass-the-torch", "category-wild"], [], []], tokens=tokens)
    play(table, "pass-the-torch category-wild")
    assert table.legal_actions() == ["opponent-1", "opponent-2"]
    play(table, "opponent-1")
    assert table.phase == "token-take"
    assert table.legal_actions() == ["token arts", "token science"]
    play(table, "token arts")
    assert table.state.tokens[0].tolist() == [1, 0, 0, 0, 0]


def test_A6_needs_another_player_with_such_a_token():
    tokens = [[1, 1, 1, 1, 1], [0] * 5]
    table = position([["pass-the-torch", "category-wild", "category-arts"], []], tokens=tokens, n=2)
    assert legal(table) == ["end-turn"]


# --- points ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "points"),
    [
        ([0, 0, 0, 0, 0], 0),
        ([1, 0, 0, 0, 0], 1),  # P1
        ([1, 1, 1, 1, 0], 4),
        ([2, 0, 0, 0, 0], 4),  # P2
        ([3, 0, 0, 0, 0], 6),
        ([4, 0, 0, 0, 0], 8),
        ([5, 0, 0, 0, 0], 10),
        ([6, 0, 0, 0, 0], 12),  # two groups of three
        ([9, 0, 0, 0, 0], 18),
        ([0, 0, 1, 0, 3], 7),  # the printed example
        ([1, 1, 1, 1, 1], 10),  # P3
        ([2, 2, 2, 2, 2], 25),  # once only
        ([2, 1, 1, 1, 3], 18),
    ],
)
def test_P1_P2_P3_points(tokens, points):
    assert position(tokens=[tokens]).state.score[0] == points


def test_P2_scoring_example_of_the_rulebook():
    hands = [["icon-human-rights", "category-human-rights"], [], []]
    table = position(hands, tokens=[[0, 0, 1, 0, 2]])
    play(table, "set icon-human-rights category-human-rights")
    assert table.state.score[0] == 7


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "goal"), [(2, 20), (3, 20), (4, 16), (5, 12)])
def test_E1_printed_points_to_win(n, goal):
    tokens = {20: [4, 2, 2, 2, 0], 16: [2, 2, 2, 2, 0], 12: [2, 2, 2, 0, 0]}[goal]
    one_less = list(tokens)
    one_less[0] -= 1
    table = position([["icon-arts", "category-arts", "category-wild"]], ["icon-you"], tokens=[one_less], n=n, flipped=1)
    play(table, "set icon-arts category-arts")
    assert table.state.score[0] == goal
    assert table.state.end == TERMINATED
    assert winners(table) == [0]
    assert table.state.rank[:n].tolist() == [1] + [2] * (n - 1)
    np.testing.assert_allclose(table.returns(), [1.0] + [-1 / (n - 1)] * (n - 1))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_E1_a_point_less_does_not_win(n):
    goal = state.PRINTED_GOALS[n]
    table = position(
        [["icon-arts", "category-arts"]], n=n, points_to_win=goal + 1, tokens=[[goal // 2 - 1, 0, 0, 0, 0]]
    )
    play(table, "set icon-arts category-arts")
    assert table.state.score[0] == goal
    assert not table.over


def test_E1_wins_at_once_even_with_more_than_seven_cards():
    table = position([["icon-arts", "category-arts", *["icon-science"] * 8], []], n=2, tokens=[[9, 0, 0, 0, 0]])
    play(table, "set icon-arts category-arts")
    assert table.state.end == TERMINATED


def test_E1_a_theft_wins():
    table = position(
        [["pass-the-torch", "category-arts"], []], n=2, tokens=[[2, 2, 2, 2, 1], [1, 0, 0, 0, 0]], points_to_win=24
    )
    play(table, "pass-the-torch category-arts", "opponent-1")
    assert winners(table) == [0]


def test_E1_another_player_can_win_by_a_trade():
    tokens = [[2, 0, 0, 0, 0], [0, 1, 1, 1, 1]]
    table = position([["break-the-barrier"], []], n=2, tokens=tokens, points_to_win=5)
    play(table, "break-the-barrier", "token arts", "opponent-1", "token science")
    assert table.state.score[:2].tolist() == [2, 4]
    assert not table.over
    table = position([["break-the-barrier"], []], n=2, tokens=[[3, 0, 0, 0, 0], [0, 2, 1, 1, 1]], points_to_win=10)
    play(table, "break-the-barrier", "token arts", "opponent-1", "token science")
    assert table.state.score[:2].tolist() == [5, 10]
    assert winners(table) == [1]


def test_E1_two_players_lifted_by_one_trade_the_one_in_turn_wins():
    for first, other in ((0, 1), (1, 0)):
        tokens = [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0] * 5]
        hands = [["break-the-barrier"] if seat == first else [] for seat in range(3)]
        table = position(hands, player=first, tokens=tokens, points_to_win=4)
        play(table, "break-the-barrier", "token arts", f"opponent-{(other - first) % 3}", "token science")
        assert table.state.score[:3].tolist() == [4, 4, 0]
        assert winners(table) == [first]
        assert [int(table.state.rank[seat]) for seat in (first, other, 2)] == [1, 2, 3]


@pytest.mark.parametrize("n", [6, 7, 8])
def test_E2_nobody_wins_early_with_six_to_eight(n):
    table = position([["icon-arts", "category-arts"]], n=n, tokens=[[7, 8, 8, 8, 8]])
    assert table.state.goal == state.NO_GOAL
    play(table, "set icon-arts category-arts")
    assert table.state.end == RUNNING
    assert not table.game.layout.split(table.observe(0))["missing"].any()


def test_E2_points_to_win_for_any_count():
    table = position([["icon-arts", "category-arts"]], n=8, points_to_win=1)
    play(table, "set icon-arts category-arts")
    assert winners(table) == [0]
    table = position([["icon-arts", "category-arts"]], n=2, points_to_win=None, tokens=[[7, 8, 8, 8, 8]])
    play(table, "set icon-arts category-arts")
    assert not table.over


def test_E3_the_last_card_drawn_begins_the_last_round():
    table = position([[], [], []], ["icon-arts"], ["icon-you"], flipped=1)
    play(table, "end-turn")  # player_1 draws the last card
    assert table.player == 1
    assert hand(table, 1) == ["icon-you"]
    assert table.game.layout.split(table.observe(0))["last_round"] == 1
    order = []
    while not table.over:
        order.append(table.player)
        play(table, "slot-1", "end-turn")
    assert order == [1, 2, 0, 1]
    assert hand(table, 2) == []  # without T1
    assert hand(table, 1) == ["icon-you"]


def test_E3_the_last_card_drawn_by_a_refill():
    table = position([["category-arts"], [], []], ["icon-arts"], ["icon-you"], player=0, flipped=1)
    play(table, "bank set icon-arts category-arts")
    assert bank(table)[0] == "icon-you"
    assert table.state.turns_left == 3
    assert table.player == 0  # the turn in progress is finished
    order = []
    play(table, "end-turn")
    while not table.over:
        order.append(table.player)
        play(table, "slot-1", "end-turn")
    assert order == [1, 2, 0]


def test_E3_cards_put_under_the_pile_do_not_call_it_off_but_refill():
    hands = [["category-arts", *["icon-science"] * 8], ["category-wild"], []]
    table = position(hands, ["icon-arts"], ["icon-you"], flipped=1)
    play(table, "bank set icon-arts category-arts", "end-turn", "card icon-science")
    assert pile(table) == ["icon-science"]
    assert table.player == 1
    assert hand(table, 1) == ["category-wild"]  # not drawn
    play(table, "slot-1", "bank set icon-you category-wild as arts")
    assert bank(table)[0] == "icon-science"
    assert table.state.turns_left == 2  # the pile ran out again, the round goes on as it was
    play(table, "end-turn", "slot-1", "end-turn", "slot-1", "end-turn")
    assert table.over


def test_E3_a_skip_uses_up_the_last_turn():
    table = position([["ahead-of-your-time"], [], []], ["icon-arts"], [], last_turns=2, flipped=1)
    play(table, "ahead-of-your-time", "opponent-2", "end-turn")
    assert table.player == 1
    seen = table.game.layout.split(table.observe(0))["turn_to_come"]
    assert seen.tolist() == [0, 0, 0]
    play(table, "slot-1", "end-turn")
    assert table.over


def test_E3_turn_to_come_is_shown():
    table = position([[], [], [], []], ["icon-arts"], [], n=4, player=1, last_turns=2, skips=[0, 0, 1, 0], flipped=1)
    assert table.game.layout.split(table.observe(0))["turn_to_come"].tolist() == [0, 0, 0, 1]


def test_E4_most_points_win_and_equals_share():
    tokens = [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [2, 0, 0, 0, 0], [0] * 5]
    table = position([], ["icon-arts"], [], n=4, tokens=tokens, last_turns=0, flipped=1)
    play(table, "end-turn")
    assert table.state.end == TERMINATED
    assert winners(table) == [1, 2]
    assert table.state.rank[:4].tolist() == [3, 1, 1, 4]
    np.testing.assert_allclose(table.returns(), [-1 / 3, 1 / 3, 1 / 3, -1 / 3])


def test_E4_all_equal_is_no_gain_for_anybody():
    table = position([], ["icon-arts"], [], last_turns=0, flipped=1)
    play(table, "end-turn")
    assert winners(table) == [0, 1, 2]
    assert table.returns().tolist() == [0, 0, 0]


def test_E5_max_turns_stops_the_game():
    table = position([], ["icon-arts"], max_turns=3, tokens=[[2, 0, 0, 0, 0]], skips=[0, 1, 0], flipped=1)
    play(table, "end-turn", "slot-1", "end-turn", "slot-1")  # the lost turn is none
    assert not table.over
    play(table, "end-turn")
    assert table.state.end == TRUNCATED
    assert winners(table) == []
    assert table.returns().tolist() == [0, 0, 0]
    assert table.state.score[:3].tolist() == [4, 0, 0]
    assert "stopped after 3 turns" in table.render()


def test_E5_a_turn_that_ends_the_game_by_its_rules_does_so():
    table = position([], ["icon-arts"], [], max_turns=1, last_turns=0, flipped=1)
    play(table, "end-turn")
    assert table.state.end == TERMINATED


def test_illegal_actions_name_the_phase_and_change_nothing():
    table = position([["icon-arts"], [], []], ["icon-arts"], flipped=1)
    before = table.state.tobytes()
    with pytest.raises(
        IllegalActionError, match=r"'set icon-arts category-arts' in phase 'play'; legal actions: end-turn"
    ):
        play(table, "set icon-arts category-arts")
    assert table.state.tobytes() == before


# --- K: what players know -------------------------------------------------------------------------------------------


def bounds(table, observer, holder, card):
    """At least and at most how many cards of a type a hand holds, as the observation shows it."""
    seen = table.game.layout.split(table.observe(observer))
    k = (holder - observer) % table.game.num_players - 1
    copies = state.COPIES[ID[card]]
    return round(seen["at_least"][k, ID[card]] * copies), round(seen["at_most"][k, ID[card]] * copies)


def test_K_answers_of_A3_are_heard_by_all():
    table = position([["share-the-love"] * 2, [], ["icon-arts"] * 2], ["icon-you"], flipped=1)
    play(table, "share-the-love", "opponent-2", "card icon-arts")
    for observer in (1, 2):
        assert bounds(table, observer, 0, "icon-arts") == (1, 8)
    assert bounds(table, 1, 2, "icon-arts") == (0, 7)
    play(table, "share-the-love", "opponent-2", "card category-wild")
    for observer in (0, 1):
        assert bounds(table, observer, 2, "category-wild") == (0, 0)
    play(table, "slot-1", "end-turn")  # player_1's turn; then player_2 draws an unknown card
    assert bounds(table, 0, 2, "category-wild") == (0, 1)


def test_K_known_cards_are_forgotten_when_they_may_have_left():
    hands = [["share-the-love", "pay-it-forward"], ["icon-you"], ["icon-arts"] * 2]
    table = position(hands, ["icon-science"], flipped=1)
    play(table, "share-the-love", "opponent-2", "card icon-arts")
    assert bounds(table, 1, 0, "icon-arts") == (1, 8)
    play(table, "pay-it-forward", "card icon-arts", "card icon-you", "card icon-arts")
    assert bounds(table, 1, 0, "icon-arts") == (0, 8)  # player_0 passed a card that player_1 did not see
    assert bounds(table, 1, 0, "icon-you") == (1, 1)  # player_1 passed it there
    assert bounds(table, 2, 0, "icon-you") == (0, 1)
    assert bounds(table, 2, 1, "icon-arts") == (1, 8)  # player_2 passed it there


def test_K_a_played_card_is_no_longer_known_in_the_hand():
    table = position([["share-the-love", "category-arts"], [], ["icon-arts"]], ["icon-you"], flipped=1)
    play(table, "share-the-love", "opponent-2", "card icon-arts", "set icon-arts category-arts")
    assert bounds(table, 1, 0, "icon-arts") == (0, 7)


def test_K_both_cards_of_A4_are_known_to_the_two():
    table = position(
        [["return-the-favor", "icon-arts"], ["icon-you"], ["icon-science"]], ["icon-leadership"], flipped=1
    )
    play(table, "return-the-favor", "opponent-1", "card icon-arts", "card icon-you")
    assert bounds(table, 0, 1, "icon-arts") == (1, 8)
    assert bounds(table, 1, 0, "icon-you") == (1, 1)
    assert bounds(table, 2, 0, "icon-you") == (0, 1)
    assert bounds(table, 2, 1, "icon-arts") == (0, 8)


def test_K_cards_under_the_pile_are_known_when_they_come_up_again():
    hands = [["icon-science"] * 8 + ["icon-you"], [], []]
    table = position(hands, ["icon-arts"], ["icon-leadership"], last_turns=None, flipped=1)
    play(table, "end-turn", "card icon-you", "card icon-science")
    seen = table.game.layout.split(table.observe(0))["pile_own"]
    assert np.rint(seen[:3] * 18).tolist() == [ID["icon-you"] + 1, ID["icon-science"] + 1, 0]
    table.state.turns_left = -1  # as if the pile had not run out: player_2 draws the YOU Icon
    play(table, "slot-1", "end-turn")
    assert hand(table, 2) == ["icon-you"]
    assert bounds(table, 0, 2, "icon-you") == (1, 1)
    assert bounds(table, 1, 2, "icon-you") == (0, 1)


def test_K_who_put_a_card_under_the_pile_knows_the_slot_that_it_fills():
    hands = [["icon-science"] * 8, ["category-arts"], []]
    table = position(hands, ["icon-arts"], [], last_turns=2, flipped=1)
    play(table, "end-turn", "card icon-science", "slot-1", "bank set icon-arts category-arts")
    assert table.game.layout.split(table.observe(0))["slot_card"][0].argmax() == ID["icon-science"]
    assert not table.game.layout.split(table.observe(1))["slot_card"][0].any()


def test_K_memory_none_shows_only_what_lies_open():
    hands = [["share-the-love", "category-arts"], ["icon-you"], ["icon-arts"]]
    table = position(hands, ["icon-science", "icon-leadership"], memory="none", flipped=1)
    play(table, "share-the-love", "opponent-2", "card icon-arts", "end-turn", "slot-2")
    seen = table.game.layout.split(table.observe(2))
    for part in ("at_least", "at_most", "unseen", "pile_own"):
        assert not seen[part].any(), part
    assert not seen["slot_card"][0].any()
    assert seen["slot_card"][1].argmax() == ID["icon-leadership"]
    assert seen["flipped_card"].argmax() == ID["icon-leadership"]
    assert seen["discards"].any()


# --- text -----------------------------------------------------------------------------------------------------------


def test_text_shows_a_seat_only_what_it_knows():
    hands = [["share-the-love", "category-arts"], ["icon-you"], ["pass-the-torch", "icon-arts"]]
    table = position(hands, ["icon-science", "category-wild"], flipped=1)
    assert "[icon-science] is Marie Curie" in table.render()
    everything, own = table.render(), table.render(1)
    assert "pass-the-torch" in everything
    assert "category-wild" in everything
    assert "pass-the-torch" not in own
    assert "category-wild" not in own
    assert "icon-you" in own
    play(table, "share-the-love", "opponent-2", "card icon-arts")
    assert "2 cards, among them icon-arts" in table.render(1)
    play(table, "set icon-arts category-arts")
    assert "honoured     Frida Kahlo" in table.render(2)


def test_text_at_every_moment_of_a_game():
    for n in (2, 8):
        table = RecordedGame(Icons(n, max_turns=60), seed=1, explicit_chance=True)
        assert "being dealt" in table.render(0)
        table = RecordedGame(Icons(n), seed=1)
        rng = np.random.default_rng(0)
        while not table.over:
            for seat in (None, 0, n - 1):
                assert "Icons" in table.render(seat)
            play(table, rng.choice(table.legal_actions()))
        assert "wins" in table.render()
