"""The rules of Ice Points, clause by clause (`card_envs/games/ice_points/rules.md`)."""

from __future__ import annotations

import itertools
import random

import numba
import numpy as np
import pytest

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.ice_points import IcePoints, state
from card_envs.games.recorded_game import RecordedGame
from tests.games.ice_points_positions import (
    CARD,
    counts,
    deck_of,
    event,
    in_centre,
    last_event,
    owned,
    points,
    position,
)

COMPILED = not numba.config.DISABLE_JIT
COUNTS = (5, 6, 7, 8)
SET = "LLLLLMMMMMSSSSS"


def opened(num_players: int, cards: str) -> RecordedGame:
    """A game from its first card on, the deck beginning with these."""
    table = RecordedGame(IcePoints(num_players), seed=0, explicit_chance=True)
    table.apply_chance("deck", deck_of(cards))
    return table


def draws_for_the_start(table: RecordedGame) -> list[tuple[int, str]]:
    return [(e.seat, e.card) for e in table.game.events(table.state) if e.what == "for the first turn"]


def first_turn(table: RecordedGame) -> tuple[int, str]:
    return next((e.seat, e.card) for e in table.game.events(table.state) if e.what != "for the first turn")


def exact_sets(pieces: str, amount: int) -> set[str]:
    """Every choice among these pieces that adds up to the amount, by looking at all of them."""
    found = set()
    for size in range(1, amount + 1):
        for chosen in itertools.combinations(sorted(pieces, key="LMS".index), size):
            if points("".join(chosen)) == amount:
                found.add("+".join(chosen))
    return found


# --- names -----------------------------------------------------------------------------------------------------------


def test_cards_are_named_by_rank_and_suit():
    assert state.CARD_NAMES[:5] == ("AS", "AH", "AD", "AC", "KS")
    assert state.CARD_NAMES[-1] == "2C"
    assert "10H" in state.CARD_NAMES
    assert len(set(state.CARD_NAMES)) == 52


@pytest.mark.parametrize("n", COUNTS)
def test_actions_are_the_piece_sets_then_three_exchanges_for_every_partner(n):
    game = IcePoints(n)
    assert game.num_actions == 14 + 3 * n
    assert game.action_names[:14] == (
        *("M", "S+S", "L", "M+S", "S+S+S", "L+S", "M+M", "M+S+S", "S+S+S+S"),
        *("L+M", "L+S+S", "M+M+S", "M+S+S+S", "S+S+S+S+S"),
    )
    assert game.action_names[14:17] == ("L for M+S with centre", "L for S+S+S with centre", "M for S+S with centre")
    assert game.action_names[17] == "L for M+S with opponent-1"
    assert game.action_names[-1] == f"M for S+S with opponent-{n - 1}"
    assert game.phases == ("pay", "take", "exchange")
    assert game.chance_kinds == ("", "deck")


@pytest.mark.parametrize("value", [4, 9, 0, -5, 5.0, "5", True])
def test_player_counts_are_5_to_8(value):
    with pytest.raises(CardEnvsError, match="a whole number from 5 to 8"):
        IcePoints(value)


def test_default_is_5_players_and_there_are_no_options():
    assert IcePoints().num_players == 5
    with pytest.raises(CardEnvsError, match="unknown option 'max_turns'"):
        IcePoints(5, max_turns=10)


# --- setup -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", COUNTS)
def test_S1_everyone_has_a_set_the_centre_is_empty_and_the_deck_is_due(n):
    table = RecordedGame(IcePoints(n), seed=0, explicit_chance=True)
    assert table.chance == "deck"
    assert [owned(table, seat) for seat in range(n)] == [SET] * n
    assert list(table.state.score[:n]) == [30] * n
    assert in_centre(table) == ""


def test_S1_a_drawn_deck_holds_every_card_and_seeds_differ():
    decks = [RecordedGame(IcePoints(5), seed=seed).events[0][2] for seed in (0, 0, 1)]
    assert sorted(decks[0]) == sorted(state.CARD_NAMES)
    assert decks[0] == decks[1] != decks[2]


@pytest.mark.parametrize("n", COUNTS)
def test_S2_the_highest_card_begins(n):
    cards = ["3S", "10S", "KS", "QS", "JS", "9S", "8S", "2S"][:n]
    table = opened(n, " ".join([*cards, "KD"]))
    assert draws_for_the_start(table) == list(enumerate(cards))
    assert table.player == 2
    assert last_event(table).card == "KD"


def test_S2_aces_are_high_and_10_is_above_9():
    assert opened(5, "KS KH 2S AS QS 7D").player == 3
    assert opened(5, "9S 10S 2S 3S 4S 7D").player == 1


def test_S2_who_ties_for_the_highest_draws_again_in_seat_order():
    table = opened(5, "9S KS 2S KH KD 4S 5S 3S 7D")
    assert draws_for_the_start(table)[5:] == [(1, "4S"), (3, "5S"), (4, "3S")]
    assert table.player == 3


def test_S2_a_tie_below_the_highest_does_not_matter():
    table = opened(5, "9S 9H 9D KH 2C 7D")
    assert len(draws_for_the_start(table)) == 5
    assert table.player == 3


def test_S2_only_the_tied_of_the_latest_draw_go_on():
    table = opened(5, "KS KH KD 2S 3S 9S 9H AS 5S 6S 7D")
    assert first_turn(table) == (2, "5S")  # the ace of the second draw is alone
    table = opened(5, "KS KH KD 2S 3S 9S 9H 4S 5S 6S 7D")
    assert draws_for_the_start(table)[5:] == [(0, "9S"), (1, "9H"), (2, "4S"), (0, "5S"), (1, "6S")]
    assert first_turn(table) == (1, "7D")


def test_S2_an_earlier_card_does_not_break_a_later_tie():
    table = opened(6, "2S AS AH 3S AD AC 5S 5H 4S 5D QS QH 10S 9S 9H 7D 8D KS")
    # 1, 2, 4 and 5 tie with aces, 1, 2 and 5 with fives, 1 and 2 with queens and with nines
    assert [seat for seat, _ in draws_for_the_start(table)] == [*range(6), 1, 2, 4, 5, 1, 2, 5, 1, 2, 1, 2]
    assert first_turn(table) == (2, "KS")


BELOW_ACE = ("K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3")


def ties(*ranks: str) -> str:
    return " ".join(f"{rank}{suit}" for rank in ranks for suit in "SHDC")


def test_S2_with_three_cards_left_for_four_tied_players_nobody_draws():
    table = opened(5, f"2S {ties('A', *BELOW_ACE)} 2H 2D 2C")
    drawn = draws_for_the_start(table)
    assert len(drawn) == 49
    assert [(e.seat, e.card) for e in table.game.events(table.state)[49:]] == [(1, "2H"), (2, "2D"), (3, "2C")]
    assert table.chance == "deck"  # three 2s and an empty centre: the pass is over at once
    assert table.player == 4


def test_S2_a_tie_that_uses_up_the_whole_deck_ends_the_first_pass():
    table = opened(8, ties("2", "A", *BELOW_ACE))
    assert len(draws_for_the_start(table)) == 52
    assert table.chance == "deck"
    assert table.state.passes == 1
    assert table.player == 4  # the first of those who tied begins the second pass
    table.apply_chance("deck", deck_of("7S"))
    assert (table.player, table.phase) == (4, "pay")


def test_S2_the_first_player_is_uniform():
    first = np.zeros(5)
    total = 2000 if COMPILED else 200
    for seed in range(total):
        table = RecordedGame(IcePoints(5), seed=seed)
        first[first_turn(table)[0]] += 1
    assert (abs(first - total / 5) < 5 * np.sqrt(total * 0.16)).all()


def test_S3_the_cards_drawn_for_the_start_are_missing_from_the_first_pass():
    table = opened(5, "9S KS 2S KH KD 4S 5S 3S 7D")
    assert table.state.drawn == 9  # eight for the start, then the 7
    assert in_centre(table) == ""  # none of the eight was carried out
    while not table.chance:
        table.play(table.legal_actions()[0])
    cards = [e.card for e in table.game.events(table.state)]
    assert len(cards) == 52
    assert sorted(cards) == sorted(state.CARD_NAMES)


# --- a turn ----------------------------------------------------------------------------------------------------------


def test_T1_ace_takes_every_piece_in_the_centre():
    table = position("AS 7S", pieces={0: "S"}, centre="LLMMSSS")
    assert owned(table, 0) == "LLMMSSSS"
    assert table.state.score[0] == 14
    assert in_centre(table) == ""
    assert table.player == 1
    assert event(table, 0).what == "takes all that lies in the centre, 2L+2M+3S"


def test_T1_ace_with_an_empty_centre_changes_nothing():
    table = position("AS 7S")
    assert owned(table, 0) == SET
    assert event(table, 0).what == "finds the centre empty"


@pytest.mark.parametrize("card", ["KS", "KH", "KD", "KC"])
def test_T1_king_puts_3_points_in_the_centre(card):
    table = position(f"{card} 6S 7S")
    assert (table.phase, table.legal_actions()) == ("pay", ["L", "M+S", "S+S+S"])
    table.play("M+S")
    assert in_centre(table) == "MS"
    assert list(table.state.score[:5]) == [27, 30, 30, 30, 30]
    assert table.player == 2


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("seat", [0, 2, -1])
@pytest.mark.parametrize(("card", "step"), [("QS", 1), ("JD", -1)])
def test_T1_queen_gives_3_points_to_the_left_and_jack_to_the_right(n, seat, card, step):
    giver = seat % n
    table = position(f"{card} 7S", n, start=giver)
    table.play("L")
    expected = [30] * n
    expected[giver], expected[(giver + step) % n] = 27, 33
    assert list(table.state.score[:n]) == expected
    assert owned(table, (giver + step) % n) == "L" + SET
    assert in_centre(table) == ""


@pytest.mark.parametrize("card", ["7S", "8H", "9D", "10C"])
def test_T1_7_to_10_put_5_points_in_the_centre(card):
    table = position(f"{card} 7D")
    assert table.legal_actions() == ["L+M", "L+S+S", "M+M+S", "M+S+S+S", "S+S+S+S+S"]
    table.play("M+M+S")
    assert in_centre(table) == "MMS"
    assert table.state.score[0] == 25


def test_T1_6_skips_the_turn():
    table = position("6S 6H 7S", centre="LMS")
    assert table.player == 2
    assert (in_centre(table), owned(table, 0), owned(table, 1)) == ("LMS", SET, SET)
    assert event(table, 0).what == "is skipped"


@pytest.mark.parametrize(("card", "amount"), [("2S", 2), ("3H", 3), ("4D", 4), ("5C", 5)])
def test_T1_2_to_5_take_that_many_points_from_the_centre(card, amount):
    table = position(f"{card} 7S", pieces={0: ""}, centre="LMMSSSSS")
    assert table.phase == "take"
    table.play(table.legal_actions()[0])
    assert table.state.score[0] == amount
    assert points(in_centre(table)) == 12 - amount


def test_T1_the_turn_passes_clockwise():
    table = position("KS KH KD KC 7S 7H 7D", start=3)
    seats = []
    for _ in range(7):
        seats.append(table.player)
        table.play(table.legal_actions()[0])
    assert seats == [3, 4, 0, 1, 2, 3, 4]


def test_T1_cards_are_drawn_from_the_top_and_each_once():
    table = position("6S AS 2H KS 6D 7C")
    assert [e.card for e in table.game.events(table.state)] == ["6S", "AS", "2H", "KS"]
    table.play("L")
    assert [e.card for e in table.game.events(table.state)][3:] == ["KS", "6D", "7C"]


@pytest.mark.parametrize("card", ["KS", "QS", "JS", "7S"])
def test_T2_every_exact_choice_of_own_pieces_is_offered_and_no_other(card):
    rng = random.Random(card)
    for _ in range(150 if COMPILED else 20):
        pieces = "".join(size * rng.randrange(6) for size in "LMS")
        table = position(f"{card} 7H", pieces={0: pieces}, centre="LLLMMMSSS")
        expected = exact_sets(pieces, 5 if card == "7S" else 3)
        if expected:
            assert (table.player, table.phase) == (0, "pay")
            assert set(table.legal_actions()) == expected
        else:
            assert table.player != 0 or table.phase == "exchange"


def test_T2_a_single_way_to_pay_is_still_asked():
    table = position("KS 7H", pieces={0: "L"})
    assert table.legal_actions() == ["L"]
    table.play("L")
    assert owned(table, 0) == ""


def test_T2_the_chosen_pieces_and_no_others_move():
    table = position("7S 7H", pieces={0: "LMMSSSS"})
    table.play("M+S+S+S")
    assert owned(table, 0) == "LMS"
    assert in_centre(table) == "MSSS"


def test_T2_other_amounts_are_illegal_and_leave_the_game_as_it_was():
    table = position("KS 7H")
    before = table.states.tobytes()
    for action in ("M", "L+M", "L for M+S with centre", "S+S", "M for S+S with opponent-1"):
        with pytest.raises(IllegalActionError, match=r"in phase 'pay'; legal actions: L, M\+S, S\+S\+S$"):
            table.play(action)
    assert table.states.tobytes() == before


@pytest.mark.parametrize(("card", "amount"), [("2S", 2), ("3S", 3), ("4S", 4), ("5S", 5)])
def test_T3_every_exact_choice_in_the_centre_is_offered_and_no_other(card, amount):
    rng = random.Random(card)
    for _ in range(150 if COMPILED else 20):
        centre = "".join(size * rng.randrange(4) for size in "LMS")
        table = position(f"{card} 7H", pieces={0: SET}, centre=centre)
        expected = exact_sets(centre, amount)
        if expected:
            assert (table.player, table.phase) == (0, "take")
            assert set(table.legal_actions()) == expected
        else:
            assert table.player == 1
            assert event(table, 0).what == f"finds no {amount} points in the centre"


@pytest.mark.parametrize(
    ("card", "centre"),
    [("2S", "LLL"), ("2S", "S"), ("3S", "MM"), ("4S", "LL"), ("4S", "LM"), ("5S", "LLS"), ("5S", "")],
)
def test_T3_without_an_exact_choice_nothing_happens_and_nothing_is_exchanged(card, centre):
    table = position(f"{card} 7H", centre=centre)
    assert table.player == 1
    assert (owned(table, 0), in_centre(table)) == (SET, centre)
    assert event(table, 0).what == f"finds no {card[0]} points in the centre"


def test_T3_the_chosen_pieces_move_and_the_rest_stays():
    table = position("4S 7H", pieces={0: "L"}, centre="LMMSS")
    assert table.legal_actions() == ["L+S", "M+M", "M+S+S"]
    table.play("M+S+S")
    assert (owned(table, 0), in_centre(table)) == ("LMSS", "LM")


def test_T3_a_single_way_to_take_is_still_asked():
    assert position("2S 7H", centre="LLM").legal_actions() == ["M"]


# --- exchanges -------------------------------------------------------------------------------------------------------


def test_T4_example_of_the_rulebook_two_large_and_a_7():
    table = position("7S 7H", pieces={0: "LL", 1: "LM"}, others="", centre="MS")
    assert (table.player, table.phase) == (0, "exchange")
    assert table.legal_actions() == ["L for M+S with centre"]
    table.play("L for M+S with centre")
    assert (owned(table, 0), in_centre(table)) == ("LMS", "L")
    assert (table.player, table.phase, table.legal_actions()) == (0, "pay", ["L+M"])
    table.play("L+M")
    assert (owned(table, 0), in_centre(table)) == ("S", "LLM")


def test_T4_large_for_medium_and_small():
    table = position("7S 7H", pieces={0: "LLL", 3: "MS"}, others="L")
    assert table.legal_actions() == ["L for M+S with opponent-3"]
    table.play("L for M+S with opponent-3")
    assert (owned(table, 0), owned(table, 3)) == ("LLMS", "L")


def test_T4_large_for_three_small():
    table = position("7S 7H", pieces={0: "LL", 1: "SSSS"}, others="L")
    assert table.legal_actions() == ["L for S+S+S with opponent-1"]
    table.play("L for S+S+S with opponent-1")
    assert (owned(table, 0), owned(table, 1)) == ("LSSS", "LS")
    assert table.legal_actions() == ["L+S+S"]


def test_T4_medium_for_two_small():
    table = position("KS 7H", pieces={0: "MM", 4: "SS"}, others="L")
    assert table.legal_actions() == ["M for S+S with opponent-4"]
    table.play("M for S+S with opponent-4")
    assert (owned(table, 0), owned(table, 4)) == ("MSS", "M")
    assert table.legal_actions() == ["M+S"]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("seat", [0, 3])
def test_T4_the_centre_and_every_other_player_are_partners(n, seat):
    table = position("7S 7H", n, pieces={seat: "LLS"}, start=seat, centre="MSSS")
    partners = ["centre"] + [f"opponent-{k}" for k in range(1, n)]
    assert table.legal_actions() == [f"L for {get} with {p}" for p in partners for get in ("M+S", "S+S+S")]
    for k in range(1, n):
        table = position("7S 7H", n, pieces={seat: "LLS"}, start=seat)
        table.play(f"L for S+S+S with opponent-{k}")
        assert owned(table, (seat + k) % n) == "LLLLLLMMMMMSS"
        assert owned(table, seat) == "LSSSS"


@pytest.mark.parametrize(("card", "pieces"), [("KS", "MM"), ("QS", "MM"), ("JS", "MM"), ("7S", "LLS"), ("10S", "MMM")])
def test_T4_applies_to_all_kinds_of_payment(card, pieces):
    table = position(f"{card} 7H", pieces={0: pieces})
    assert (table.player, table.phase) == (0, "exchange")


def test_T4_after_a_queen_the_exchanged_pieces_go_to_the_left():
    table = position("QS 7H", pieces={0: "MM", 1: "SS"}, others="")
    table.play("M for S+S with opponent-1")
    table.play("M+S")
    assert (owned(table, 0), owned(table, 1)) == ("S", "MMS")


def test_T4_an_exchange_leaves_all_scores_as_they_are():
    table = position("7S 7H", pieces={0: "LL"})
    before = list(table.state.score)
    table.play("L for M+S with opponent-2")
    assert list(table.state.score) == before
    assert points(owned(table, 0)) == 6


def test_T4_is_asked_only_when_it_is_needed():
    rng = random.Random(4)
    asked = 0
    for _ in range(300 if COMPILED else 40):
        pieces = "".join(size * rng.randrange(4) for size in "LMS")
        amount = rng.choice((3, 5))
        table = position("KS 7H" if amount == 3 else "7S 7H", pieces={0: pieces}, centre="LMSSS")
        needed = points(pieces) >= amount and not exact_sets(pieces, amount)
        assert (table.player == 0 and table.phase == "exchange") == needed
        asked += needed
    assert asked > 0


def test_T4_one_exchange_of_any_kind_always_suffices():
    needed = 0
    for large, medium, small in itertools.product(range(7), repeat=3):
        pieces = "L" * large + "M" * medium + "S" * small
        for amount, card in ((3, "KS"), (5, "7S")):
            if points(pieces) < amount or exact_sets(pieces, amount):
                continue
            needed += 1
            options = position(f"{card} 7H", pieces={0: pieces}, centre="MSSS").legal_actions()
            offered = {name.split(" for ")[0] for name in options}
            assert offered == {size for size in "LM" if size in pieces}
            for option in options[:3] if COMPILED else options[:1]:
                table = position(f"{card} 7H", pieces={0: pieces}, centre="MSSS")
                table.play(option)
                assert (table.player, table.phase) == (0, "pay")
                assert set(table.legal_actions()) == exact_sets(owned(table, 0), amount) != set()
    assert needed > 15


def test_T4_only_one_exchange_is_made():
    table = position("7S 7H", pieces={0: "LLLL"}, centre="MSSS")
    table.play("L for S+S+S with centre")
    assert table.phase == "pay"
    assert table.legal_actions() == ["L+S+S"]


def test_T4_a_partner_has_all_the_smaller_pieces_alone():
    table = position("7S 7H", pieces={0: "LL", 1: "LM", 2: "S", 3: "SS"}, others="", centre="S")
    assert table.player == 1  # nobody has M+S or S+S+S: the 7 is not paid
    assert event(table, 0).what.startswith("can't make 5 points or exchange")


def test_T4_one_option_left_is_still_asked_and_must_be_made():
    table = position("KS 7H", pieces={0: "MM"}, others="LLM", centre="SS")
    assert table.legal_actions() == ["M for S+S with centre"]
    with pytest.raises(IllegalActionError, match="in phase 'exchange'"):
        table.play("M+S")


# --- nothing paid ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "pieces"), [("KS", "M"), ("QS", "SS"), ("JS", "S"), ("7S", "LS"), ("10S", "MM"), ("8S", "SSSS")]
)
def test_T5_with_too_few_points_nothing_is_paid_not_even_a_part(card, pieces):
    table = position(f"{card} 7H", pieces={0: pieces}, centre="LLMMSSS")
    assert table.player == 1
    assert owned(table, 0) == pieces
    assert in_centre(table) == "LLMMSSS"
    assert event(table, 0).what == f"has fewer than {3 if card[0] in 'KQJ' else 5} points and pays nothing"


@pytest.mark.parametrize(
    ("card", "pieces", "others", "centre"),
    [
        ("7S", "LL", "L", "LL"),  # only large pieces anywhere
        ("7S", "LL", "M", "MM"),  # no small piece for M+S
        ("7S", "LLS", "SS", "SS"),  # two small ones are not three
        ("KS", "MM", "LS", "LMS"),  # one small piece each, two are needed
        ("QS", "MMM", "L", ""),
        ("JS", "MM", "M", "S"),
    ],
)
def test_T5_without_a_partner_nothing_is_paid(card, pieces, others, centre):
    table = position(f"{card} 6H KD", pieces={0: pieces, 2: "L"}, others=others, centre=centre)
    assert table.player == 2
    assert (owned(table, 0), in_centre(table)) == (pieces, centre)
    assert event(table, 0).what.startswith("can't make")
    assert event(table, 1).seat == 1  # is skipped; player_2 has the king


def test_T5_own_smaller_pieces_are_no_partner():
    table = position("7S KH", pieces={0: "LLS", 1: "LM"}, others="")
    assert table.player == 1  # M of player_1 and the own S make no M+S
    assert owned(table, 0) == "LLS"


def test_T6_a_player_without_pieces_still_draws_and_may_take():
    table = position("KS 6H 6D 6C 6S 5H 7H", pieces={0: ""}, centre="LM")
    assert [(e.seat, e.card) for e in table.game.events(table.state)][:6] == [
        *((0, "KS"), (1, "6H"), (2, "6D"), (3, "6C"), (4, "6S"), (0, "5H"))
    ]
    assert (table.player, table.legal_actions()) == (0, ["L+M"])
    table.play("L+M")
    assert owned(table, 0) == "LM"


def test_T6_a_player_without_pieces_may_get_some_from_a_neighbour():
    table = position("QS KH 7H", pieces={1: ""})
    table.play("L")
    assert (table.player, table.legal_actions()) == (1, ["L"])


# --- end -------------------------------------------------------------------------------------------------------------


def test_E1_after_the_first_pass_the_whole_deck_is_shuffled():
    table = position("6S KH", passes=0, last=True, start=3)
    assert (table.player, table.chance) == (4, "")
    table.play("L")  # the last card has to be resolved first
    assert table.chance == "deck"
    assert table.legal_actions() == []
    with pytest.raises(IllegalActionError, match="comes before the chance event 'deck'"):
        table.play("L")
    table.apply_chance("deck", deck_of("KH"))  # the same king again
    assert table.state.drawn == 1


def test_E1_the_order_of_turns_runs_on_and_nobody_draws_for_the_start():
    table = position("6S KH", passes=0, last=True, start=3)
    table.play("L")
    table.apply_chance("deck", deck_of("6C 7H AS"))
    assert table.player == 1  # player_4 had the last card, player_0 is skipped
    assert [(e.pass_number, e.seat, e.card) for e in table.game.events(table.state)] == [
        *((1, 3, "6S"), (1, 4, "KH"), (1, 0, "6C"), (1, 1, "7H"))
    ]
    assert in_centre(table) == "L"  # pieces stay where they are


def test_E1_a_last_card_without_a_choice_ends_the_pass_too():
    table = position("6S", passes=0, last=True, start=4)
    assert table.chance == "deck"
    assert table.player == 0
    assert not table.over


def test_E1_two_decks_are_drawn_in_a_game():
    table = RecordedGame(IcePoints(5), seed=5)
    rng = random.Random(5)
    while not table.over:
        table.play(rng.choice(table.legal_actions()))
    decks = [event[2] for event in table.events if event[0] == "chance"]
    assert len(decks) == 2
    assert decks[0] != decks[1]
    log = table.game.events(table.state)
    assert [e.card for e in log] == decks[0] + decks[1]
    assert [e.pass_number for e in log] == [1] * 52 + [2] * 52
    start = next(i for i, e in enumerate(log) if e.what != "for the first turn")
    assert [e.seat for e in log[start:]] == [(log[start].seat + k) % 5 for k in range(104 - start)]


def test_E2_the_most_points_win_and_the_centre_counts_for_no_one():
    table = position("KS", pieces={0: "LLM", 1: "SSS", 2: "LLS", 3: "M", 4: "LL"}, centre="LLLLL", last=True)
    table.play("L")
    assert table.over
    assert list(table.state.score[:5]) == [5, 3, 7, 2, 6]
    assert list(table.state.winner[:5]) == [0, 0, 1, 0, 0]
    assert list(table.state.rank[:5]) == [3, 4, 1, 5, 2]
    assert list(table.returns()) == [-0.25, -0.25, 1.0, -0.25, -0.25]
    assert points(in_centre(table)) == 18


def test_E2_the_last_card_is_resolved_before_the_end():
    table = position("4S", pieces={0: "L", 1: "LL"}, others="", centre="LS", last=True)
    assert not table.over
    table.play("L+S")
    assert list(table.state.winner[:5]) == [1, 0, 0, 0, 0]


def test_E2_a_last_card_without_a_choice_ends_the_game():
    table = position("AS", pieces={0: "L", 1: "LL"}, others="", centre="LS", last=True)
    assert table.over
    assert table.state.score[0] == 7
    assert table.returns()[0] == 1


def test_E2_equal_players_share():
    table = position("6S", pieces={0: "LL", 1: "MMM", 2: "M"}, others="", last=True)
    assert list(table.state.winner[:5]) == [1, 1, 0, 0, 0]
    assert list(table.state.rank[:5]) == [1, 1, 3, 4, 4]
    assert list(table.returns()) == [0.375, 0.375, -0.25, -0.25, -0.25]


@pytest.mark.parametrize("others", ["LMS", ""])
def test_E2_when_everyone_is_equal_nobody_gets_anything(others):
    table = position("6S", others=others, last=True)
    assert table.over
    assert list(table.state.winner[:5]) == [1] * 5
    assert list(table.returns()) == [0.0] * 5


def test_E2_a_whole_pass_without_a_choice_runs_to_the_end_of_the_game():
    table = position("", others="")
    assert table.over
    assert table.state.logged == 52


# --- chance events in records ----------------------------------------------------------------------------------------


def test_decks_round_trip_through_json():
    game = IcePoints(5)
    cards = random.Random(1).sample(state.CARD_NAMES, 52)
    value = game.chance_from_json(game.initial[0], cards)
    assert value.dtype == np.int16
    assert game.chance_to_json(state.DECK, value) == cards
    assert [CARD[name] for name in cards] == list(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda deck: deck[:-1], "'2C' is missing"),
        (lambda deck: [*deck[:-1], "AS"], "'AS' is in the deck too often"),
        (lambda deck: [*deck, "AS"], "'AS' is in the deck too often"),
        (lambda deck: [*deck[:-1], "1S"], "'1S' does not belong to the deck"),
        (lambda deck: [*deck[:-1], "2c"], "'2c' does not belong to the deck"),
        (lambda deck: [*deck[:-1], 51], "a deck is a list of 52 card names"),
        (lambda deck: " ".join(deck), "a deck is a list of 52 card names"),
        (lambda deck: None, "a deck is a list of 52 card names"),
        (lambda deck: [], "'AS' is missing"),
    ],
)
def test_wrong_decks_are_refused_and_nothing_changes(change, message):
    table = RecordedGame(IcePoints(5), seed=0, explicit_chance=True)
    before = table.states.tobytes()
    with pytest.raises(CardEnvsError, match=message):
        table.apply_chance("deck", change(list(state.CARD_NAMES)))
    with pytest.raises(CardEnvsError, match="'first-player' is not due, expected 'deck'"):
        table.apply_chance("first-player", 0)
    assert table.states.tobytes() == before
    assert counts(owned(table, 0)) == [5, 5, 5]
