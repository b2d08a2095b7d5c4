"""The rules of Micons, clause by clause (`card_envs/games/micons/rules.md`)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games.micons import Micons, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.state import TERMINATED, TRUNCATED
from tests.games.micons_positions import CARD, DECK, NAMES, active, cards_at, deck, options, part, play, position

COUNTS = (2, 3, 4)


def dealt(n: int, cards: list[str], *, first: int = 0, **options) -> RecordedGame:
    table = RecordedGame(Micons(n, deck=DECK, **options), seed=0, explicit_chance=True)
    table.apply_chance("first-player", first)
    table.apply_chance("deck", cards)
    return table


def shuffled(seed: int) -> list[str]:
    cards = list(NAMES)
    random.Random(seed).shuffle(cards)
    return cards


# --- names -----------------------------------------------------------------------------------------------------------


def test_player_counts_are_2_to_4():
    assert (Micons.min_players, Micons.max_players, Micons().num_players) == (2, 4, 3)
    for wrong in (1, 5, "2", 2.0, True):
        with pytest.raises(CardEnvsError, match="from 2 to 4"):
            Micons(wrong)


def test_actions_are_the_cards_then_four_words():
    game = Micons(2, deck=DECK)
    assert game.action_names == (*NAMES, "draw", "keep", "accept", "reject")
    assert game.phases == ("play", "drawn", "vote")
    assert game.chance_kinds == ("", "first-player", "deck")


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ({"judging": "vot"}, "judging is 'vot'; allowed: one of table, strict, vote"),
        ({"judging": None}, "judging is None"),
        ({"max_turns": 0}, "max_turns is 0; allowed: a whole number from 1"),
        ({"max_turns": True}, "max_turns is True"),
        ({"max_turn": 9}, "did you mean 'max_turns'"),
    ],
)
def test_options_are_checked(option, allowed):
    with pytest.raises(CardEnvsError, match=allowed):
        Micons(2, **option)


# --- setup -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("n", COUNTS)
def test_S1_deal(n, first):
    cards = shuffled(n)
    table = dealt(n, cards, first=first)
    for seat in range(n):
        assert cards_at(table, seat) == set(cards[5 * seat : 5 * seat + 5])
        assert table.state.hand_size[seat] == 5
        assert table.state.score[seat] == -5
    assert active(table) == cards[5 * n]
    assert deck(table) == cards[5 * n + 1 :]
    assert (table.player, table.phase, table.chance) == (first, "play", "")
    assert table.state.dealt == 1


def test_S1_chance_events_are_checked():
    table = RecordedGame(Micons(2, deck=DECK), explicit_chance=True)
    assert table.chance == "first-player"
    with pytest.raises(CardEnvsError, match="'deck' is not due, expected 'first-player'"):
        table.apply_chance("deck", list(NAMES))
    for wrong in (2, -1, True, "player_0", [0]):
        with pytest.raises(CardEnvsError, match="a seat is a whole number from 0 to 1"):
            table.apply_chance("first-player", wrong)
    with pytest.raises(CardEnvsError, match="comes before the chance event"):
        table.play("draw")
    table.apply_chance("first-player", 1)
    for wrong, message in (
        (list(NAMES[1:]), "'blue-blue' is missing"),
        ([*NAMES, "blue-blue"], "too often"),
        (["sock", *NAMES[1:]], "does not belong"),
        ("blue-blue", "a deck is a list of 22"),
        (list(range(22)), "a deck is a list of 22"),
    ):
        with pytest.raises(CardEnvsError, match=message):
            table.apply_chance("deck", wrong)
    table.apply_chance("deck", list(NAMES))
    assert [event[1] for event in table.events] == ["first-player", "deck"]
    with pytest.raises(CardEnvsError, match="no chance event is due"):
        table.apply_chance("deck", list(NAMES))


def test_S1_first_player_and_deck_are_drawn_evenly():
    starts, tops = np.zeros(3), np.zeros(len(NAMES))
    for seed in range(600):
        table = RecordedGame(Micons(3, deck=DECK), seed=seed)
        starts[table.events[0][2]] += 1
        tops[CARD[table.events[1][2][0]]] += 1
    assert starts.min() > 150
    assert tops.min() > 8
    assert tops.max() < 55


@pytest.mark.parametrize("n", COUNTS)
def test_S1_hands_the_active_trait_and_the_trait_on_top_of_the_deck_are_open(n):
    cards = shuffled(5)
    table = dealt(n, cards)
    for seat in range(n):
        hands = part(table, seat, "hands")
        for k in range(n):
            other = (seat + k) % n
            assert {NAMES[i] for i in np.flatnonzero(hands[k])} == set(cards[5 * other : 5 * other + 5])
        assert state.TRAITS[part(table, seat, "active_trait").argmax()] == cards[5 * n].rsplit("-", 1)[1]
        assert state.TRAITS[part(table, seat, "top_trait").argmax()] == cards[5 * n + 1].rsplit("-", 1)[1]
        # the first active card lies trait side up: its object is as unknown as those of the deck
        assert {NAMES[i] for i in np.flatnonzero(part(table, seat, "unseen"))} == set(cards[5 * n :])
        assert not part(table, seat, "active_card").any()


# --- a turn ----------------------------------------------------------------------------------------------------------


def test_T1_the_trait_on_the_back_of_the_active_card_is_matched():
    table = position(["blue-hot red-hot hot-hot", "blue-loud"], active="red-blue", rest="deck")
    assert table.legal_actions() == ["blue-hot"]  # not red, as the active card's object is


@pytest.mark.parametrize("n", COUNTS)
def test_T2_match_is_played_onto_the_active_card(n):
    hands = ["blue-hot blue-red red-red", "blue-loud red-loud", "hot-hot luck-blue", "hot-loud luck-red"][:n]
    table = position(hands, active="red-blue", deck="hot-red", turn=0)
    assert table.legal_actions() == ["blue-red", "blue-hot"]
    table.play("blue-hot")
    assert active(table) == "blue-hot"
    assert "red-blue" in cards_at(table, state.BENEATH)
    assert cards_at(table, 0) == {"blue-red", "red-red"}
    assert (table.player, table.phase) == (1, "play")
    assert table.legal_actions() == ["draw"]  # hot is asked for now
    assert table.state.turns == 1


def test_T2_play_passes_clockwise():
    table = position(["blue-blue red-hot", "blue-red red-blue", "red-red hot-hot"], active="hot-blue", deck="luck-hot")
    play(table, "blue-blue blue-red red-red")
    assert table.player == 0


def test_T2_who_has_a_match_may_not_draw():
    table = position(["blue-hot red-red", "blue-loud"], active="red-blue", deck="hot-red")
    with pytest.raises(IllegalActionError, match=r"legal actions: blue-hot$"):
        table.play("draw")
    with pytest.raises(IllegalActionError, match="'red-red'"):
        table.play("red-red")


def test_T3_luck_card_may_be_played_instead_of_a_match():
    table = position(["blue-hot luck-red red-red", "red-loud"], active="red-blue", deck="hot-red")
    assert table.legal_actions() == ["blue-hot", "luck-red"]
    table.play("luck-red")
    assert active(table) == "luck-red"
    assert (table.player, table.legal_actions()) == (1, ["red-loud"])


def test_T3_luck_card_is_never_forced():
    table = position(["hot-hot luck-red", "red-loud"], active="red-blue", deck="hot-red")
    assert table.legal_actions() == ["luck-red", "draw"]
    table.play("draw")
    assert cards_at(table, 0) == {"hot-hot", "luck-red", "hot-red"}
    assert table.player == 1


def test_T3_luck_card_has_no_traits():
    table = position(["luck-red red-red", "blue-loud"], active="red-blue", deck="hot-red")
    assert table.legal_actions() == ["luck-red", "draw"]
    assert not part(table, 0, "can_match")[0]
    assert not part(table, 0, "hand_traits")[0][state.TRAITS.index("blue")]


def test_T4_drawn_card_with_the_trait_is_played_at_once():
    table = position(["hot-hot red-red", "red-loud hot-red"], active="red-blue", deck="blue-hot red-hot")
    assert table.legal_actions() == ["draw"]
    table.play("draw")
    assert active(table) == "blue-hot"
    assert cards_at(table, 0) == {"hot-hot", "red-red"}
    assert deck(table) == ["red-hot"]
    assert (table.player, table.legal_actions()) == (1, ["hot-red"])


def test_T4_other_drawn_card_is_kept_and_nothing_else_is_played():
    table = position(["hot-hot luck-red", "red-loud hot-red"], active="red-blue", deck="red-hot blue-hot")
    table.play("draw")
    assert active(table) == "red-blue"
    assert cards_at(table, 0) == {"hot-hot", "luck-red", "red-hot"}
    assert table.state.score[0] == -3
    assert (table.player, table.phase) == (1, "play")


@pytest.mark.parametrize("answer", ["luck-hot", "keep"])
def test_T4_drawn_luck_card_may_be_played_or_kept(answer):
    table = position(["hot-hot luck-red", "red-loud"], active="red-blue", deck="luck-hot blue-hot")
    table.play("draw")
    assert (table.player, table.phase) == (0, "drawn")
    assert table.legal_actions() == ["luck-hot", "keep"]
    assert part(table, 1, "was_drawn") == 1
    assert NAMES[part(table, 1, "in_question").argmax()] == "luck-hot"
    table.play(answer)
    assert active(table) == ("luck-hot" if answer == "luck-hot" else "red-blue")
    assert ("luck-hot" in cards_at(table, 0)) == (answer == "keep")
    assert (table.player, table.phase) == (1, "play")
    assert part(table, 1, "in_question").sum() == 0


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("last", ["blue-hot", "luck-hot"])
def test_T5_who_has_no_card_left_wins(n, last):
    hands = ["hot-hot", last, "red-red red-hot", "hot-red"][:n]
    table = position(hands, active="red-blue", deck="hot-loud", turn=1)
    table.play(last)
    assert table.state.end == TERMINATED
    assert list(table.state.winner[:n]) == [int(seat == 1) for seat in range(n)]
    assert table.state.score[1] == 0
    expected = np.full(n, -1 / (n - 1))
    expected[1] = 1
    np.testing.assert_allclose(table.returns(), expected)
    ranks = {2: [2, 1], 3: [2, 1, 3], 4: [2, 1, 4, 2]}[n]
    assert list(table.state.rank[:n]) == ranks
    assert table.legal_actions() == []
    assert np.isfinite(table.observe(0)).all()


# --- judging ---------------------------------------------------------------------------------------------------------


def test_J1_table_accepts_arguable_traits_like_plain_ones():
    table = position(["maybe-blue-red hot-hot", "red-loud hot-loud"], active="red-blue", deck="maybe-red-blue")
    assert table.legal_actions() == ["maybe-blue-red"]  # a match: no draw
    table.play("maybe-blue-red")
    assert active(table) == "maybe-blue-red"
    table = position(["hot-hot", "red-loud"], active="blue-red", deck="maybe-red-blue", turn=0)
    table.play("draw")
    assert active(table) == "maybe-red-blue"  # played at once


def test_J2_strict_does_not_count_arguable_traits():
    table = position(
        ["maybe-blue-red hot-hot", "hot-loud"], active="red-blue", deck="maybe-blue-blue", judging="strict"
    )
    assert table.legal_actions() == ["draw"]
    table.play("draw")
    assert cards_at(table, 0) == {"maybe-blue-red", "hot-hot", "maybe-blue-blue"}
    assert (table.player, table.phase) == (1, "play")


def vote_position(n: int, own: str = "maybe-blue-red hot-hot", deck: str = "red-hot red-loud") -> RecordedGame:
    hands = [own, "hot-loud red-blue", "hot-red red-red", "hot-blue luck-red"][:n]
    return position(hands, active="luck-blue", deck=deck, judging="vote")


@pytest.mark.parametrize(
    ("n", "answers", "played"),
    [
        (2, "accept", True),
        (2, "reject", False),
        (3, "accept accept", True),
        (3, "accept reject", True),  # as many accept as reject
        (3, "reject accept", True),
        (3, "reject reject", False),
        (4, "accept reject reject", False),
        (4, "reject accept accept", True),
        (4, "reject reject accept", False),
        (4, "reject reject reject", False),
    ],
)
def test_J3_as_many_must_accept_as_reject(n, answers, played):
    table = vote_position(n)
    assert table.legal_actions() == ["maybe-blue-red", "draw"]
    table.play("maybe-blue-red")
    for k, answer in enumerate(answers.split(), 1):  # clockwise, everybody is asked
        assert (table.player, table.phase) == (k, "vote")
        assert table.legal_actions() == ["accept", "reject"]
        assert active(table) == "luck-blue"
        table.play(answer)
    assert table.phase == "play"
    assert active(table) == ("maybe-blue-red" if played else "luck-blue")
    assert table.player == (1 if played else 0)
    assert ("maybe-blue-red" in cards_at(table, 0)) != played


def test_J3_votes_are_open():
    table = vote_position(4)
    play(table, "maybe-blue-red accept")
    for seat in range(4):
        votes = part(table, seat, "votes")
        assert votes.sum() == 1
        assert votes[(1 - seat) % 4].tolist() == [1, 0]
        assert NAMES[part(table, seat, "in_question").argmax()] == "maybe-blue-red"
        assert part(table, seat, "was_drawn") == 0
    play(table, "reject")
    assert part(table, 3, "votes")[3].tolist() == [0, 1]


def test_J3_rejected_card_cannot_be_argued_for_again_in_this_turn():
    table = vote_position(2, own="maybe-blue-red maybe-blue-blue hot-hot")
    assert table.legal_actions() == ["maybe-blue-blue", "maybe-blue-red", "draw"]
    play(table, "maybe-blue-red reject")
    assert (table.player, table.legal_actions()) == (0, ["maybe-blue-blue", "draw"])
    assert options(table) == {"maybe-blue-blue": [1, 0.5, 0, 0, 0]}
    for seat in range(2):
        assert part(table, seat, "in_question")[CARD["maybe-blue-red"]] == 0.5
    play(table, "maybe-blue-blue")
    assert part(table, 1, "in_question")[CARD["maybe-blue-red"]] == 0.5
    assert part(table, 1, "in_question")[CARD["maybe-blue-blue"]] == 1
    assert part(table, 0, "votes").sum() == 0  # a new vote
    play(table, "reject")
    assert table.legal_actions() == ["draw"]
    assert table.state.turns == 0
    play(table, "draw")
    assert table.player == 1
    play(table, "draw")  # red-loud
    assert table.player == 0
    assert table.legal_actions() == ["maybe-blue-blue", "maybe-blue-red", "draw"]  # in the next turn it can


def test_J3_with_only_arguable_matches_a_luck_card_or_a_draw_is_possible():
    table = vote_position(2, own="maybe-blue-red luck-hot hot-hot")
    assert table.legal_actions() == ["maybe-blue-red", "luck-hot", "draw"]
    play(table, "maybe-blue-red reject")
    assert table.legal_actions() == ["luck-hot", "draw"]
    play(table, "luck-hot")
    assert active(table) == "luck-hot"


def test_J3_with_a_plain_match_something_must_be_played():
    table = vote_position(2, own="maybe-blue-red blue-hot luck-hot hot-hot")
    assert table.legal_actions() == ["blue-hot", "maybe-blue-red", "luck-hot"]
    play(table, "maybe-blue-red reject")
    assert table.legal_actions() == ["blue-hot", "luck-hot"]
    play(table, "blue-hot")  # no vote about a plain match
    assert (active(table), table.player, table.phase) == ("blue-hot", 1, "play")


@pytest.mark.parametrize("actions", ["keep", "maybe-blue-blue accept", "maybe-blue-blue reject"])
def test_J3_drawn_arguable_card_may_be_argued_for_or_kept(actions):
    table = vote_position(2, own="hot-hot", deck="maybe-blue-blue red-loud")
    play(table, "draw")
    assert (table.phase, table.legal_actions()) == ("drawn", ["maybe-blue-blue", "keep"])
    for action in actions.split():
        if action != "keep" and table.phase == "vote":
            assert part(table, 0, "was_drawn") == 1
        table.play(action)
    accepted = actions.endswith("accept")
    assert active(table) == ("maybe-blue-blue" if accepted else "luck-blue")
    assert cards_at(table, 0) == ({"hot-hot"} if accepted else {"hot-hot", "maybe-blue-blue"})
    assert (table.player, table.phase) == (1, "play")  # when rejected it is kept, and the turn is over


def test_J3_rejection_ends_the_turn_only_after_a_draw():
    table = position(["hot-hot", "maybe-blue-red blue-hot"], "luck-blue", "luck-red red-loud", judging="vote")
    play(table, "draw keep maybe-blue-red reject")  # the card drawn was another player's
    assert (table.player, table.legal_actions()) == (1, ["blue-hot"])


def test_J3_drawn_plain_match_is_played_without_a_question():
    table = vote_position(2, own="hot-hot", deck="blue-red red-loud")
    play(table, "draw")
    assert (active(table), table.player) == ("blue-red", 1)


def test_J3_accepted_last_card_wins():
    table = vote_position(2, own="maybe-blue-red")
    play(table, "maybe-blue-red accept")
    assert table.state.end == TERMINATED
    assert table.returns().tolist() == [1, -1]


def test_J3_arguable_cards_are_no_matches_of_the_table():
    table = vote_position(2)
    assert not part(table, 0, "can_match")[0]
    assert options(table)["maybe-blue-red"][1] == 0.5


# --- running out -----------------------------------------------------------------------------------------------------


def test_X1_cards_beneath_the_active_card_become_the_new_deck():
    table = position(["hot-hot red-red", "red-loud hot-loud"], active="red-blue", deck="")
    beneath = cards_at(table, state.BENEATH)
    assert len(beneath) == 17
    table.play("draw")
    assert table.chance == "deck"
    assert table.legal_actions() == []
    for wrong, message in (
        (sorted(beneath)[1:], "is missing"),
        ([*sorted(beneath), "red-blue"], "does not belong"),
        (list(NAMES), "does not belong"),
    ):
        with pytest.raises(CardEnvsError, match=message):
            table.apply_chance("deck", wrong)
    order = sorted(beneath - {"red-hot"})
    table.apply_chance("deck", ["red-hot", *order])
    assert cards_at(table, 0) == {"hot-hot", "red-red", "red-hot"}  # the player draws from it
    assert deck(table) == order
    assert cards_at(table, state.BENEATH) == set()
    assert table.state.num_beneath == 0
    assert (table.player, active(table)) == (1, "red-blue")
    assert {NAMES[i] for i in np.flatnonzero(part(table, 0, "unseen"))} == set(order)


def test_X1_new_deck_is_shuffled():
    orders = set()
    for seed in range(5):
        table = position(["hot-hot red-red", "red-loud"], active="red-blue", deck="")
        table.states["rng"] = [[seed + 1, 1]]
        table.explicit_chance = False
        beneath = cards_at(table, state.BENEATH)
        table.play("draw")
        kind, name, order = table.events[-1]
        assert (kind, name, set(order)) == ("chance", "deck", beneath)
        orders.add(tuple(order))
    assert len(orders) == 5


def test_X1_match_from_the_new_deck_is_played_at_once():
    table = position(["hot-hot red-red", "red-loud"], active="red-blue", deck="")
    table.play("draw")
    table.apply_chance("deck", ["blue-red", *sorted(cards_at(table, state.BENEATH) - {"blue-red"})])
    assert active(table) == "blue-red"
    assert cards_at(table, state.BENEATH) == {"red-blue"}


def test_X1_who_can_do_nothing_is_not_asked():
    table = position(["blue-hot red-red", "red-hot red-loud", "hot-loud"], active="red-blue", rest="last")
    play(table, "blue-hot draw")  # red-blue lies beneath the active card now, so there is something to draw
    table.apply_chance("deck", ["red-blue"])
    play(table, "hot-loud draw")
    table.apply_chance("deck", ["blue-hot"])
    # loud is asked for, seat 1 has neither a match nor a luck card, and there is nothing to draw
    assert cards_at(table, 1) == {"red-hot", "red-loud", "red-blue"}
    assert (table.player, table.state.passes, table.state.turns) == (2, 1, 5)


def test_X1_luck_card_with_nothing_to_draw_is_asked_and_may_decline():
    hands = ["red-red blue-red", "red-hot luck-hot", "blue-hot hot-hot"]
    table = position(hands, active="luck-loud", rest="last", turn=1)
    assert (table.player, table.legal_actions()) == (1, ["luck-hot", "draw"])
    table.play("draw")  # draws nothing
    assert table.state.hand_size[1] == 2
    assert (table.player, table.state.passes, table.state.turns) == (2, 1, 1)


def test_X1_arguable_match_with_nothing_to_draw_is_asked_and_may_decline():
    hands = ["red-red maybe-blue-red", "red-hot red-loud"]
    table = position(hands, active="red-blue", rest="last", judging="vote")
    assert table.legal_actions() == ["maybe-blue-red", "draw"]
    table.play("draw")
    assert (table.player, table.state.passes, table.state.turns) == (1, 1, 1)
    table = position(hands, active="red-blue", rest="last", judging="vote")
    play(table, "maybe-blue-red reject")  # now there is nothing left to choose: the turn passes by itself
    assert (table.player, table.state.passes, table.state.turns) == (1, 1, 1)
    assert not table.state.rejected.any()


def without_choice(n: int, judging: str, sizes: list[int], **options) -> RecordedGame:
    """Nothing to draw; seat 0 alone is asked: it may play a luck card or decline."""
    table = position([""] * n, active="luck-loud", rest="last", judging=judging, **options)
    s = table.state
    s.hand_size[:] = 0
    cards = iter(i for i in range(len(NAMES)) if NAMES[i] != "luck-loud" and not NAMES[i].startswith("luck"))
    s.where[:] = -1  # cards that are in nobody's way
    s.where[s.active] = state.ACTIVE
    s.where[CARD["luck-red"]] = 0
    for seat, size in enumerate(sizes):
        for _ in range(size - (seat == 0)):
            s.where[next(cards)] = seat
        s.hand_size[seat] = size
        s.score[seat] = -size
    return table


@pytest.mark.parametrize("judging", state.JUDGING)
@pytest.mark.parametrize(
    ("sizes", "winners", "ranks"),
    [
        ([3, 2], [1], [2, 1]),
        ([2, 2], [0, 1], [1, 1]),
        ([4, 2, 2], [1, 2], [3, 1, 1]),
        ([2, 3, 5], [0], [1, 2, 3]),
        ([3, 3, 3, 3], [0, 1, 2, 3], [1, 1, 1, 1]),
        ([5, 2, 4, 2], [1, 3], [4, 1, 3, 1]),
    ],
)
def test_X2_when_all_pass_in_a_row_fewest_cards_win(sizes, winners, ranks, judging):
    n = len(sizes)
    table = without_choice(n, judging, sizes)
    assert table.legal_actions() == ["luck-red", "draw"]
    table.play("draw")  # a pass; the others pass by themselves
    s = table.state
    assert (s.end, s.turns, s.passes) == (TERMINATED, n, n)
    assert list(np.flatnonzero(s.winner)) == winners
    assert list(s.rank[:n]) == ranks
    assert list(s.score[:n]) == [-size for size in sizes]
    share = (n / len(winners) - 1) / (n - 1)
    expected = [0.0 if len(winners) == n else share if p in winners else -1 / (n - 1) for p in range(n)]
    np.testing.assert_allclose(table.returns(), expected)


def test_X2_a_card_played_or_drawn_begins_the_count_anew():
    table = without_choice(2, "table", [3, 2])
    table.state.passes = 1
    table.play("luck-red")
    assert table.state.end == 0
    assert table.state.passes == 0
    table = position(["hot-hot", "red-loud"], active="red-blue", deck="red-hot")
    table.state.passes = 1
    table.play("draw")
    assert (table.state.end, table.state.passes) == (0, 0)


def test_X3_max_turns_truncates():
    table = position(["hot-hot", "red-loud hot-red"], active="red-blue", deck="red-hot hot-blue", max_turns=2)
    table.play("draw")
    assert not table.over
    table.play("draw")
    assert table.truncated
    assert table.state.end == TRUNCATED
    assert list(table.state.score[:2]) == [-2, -3]
    assert not table.state.winner.any()
    assert table.returns().tolist() == [0, 0]
    assert part(table, 0, "turns") == 1


def test_X3_turns_that_pass_by_themselves_count():
    table = without_choice(3, "table", [3, 2, 2], max_turns=2)
    table.play("draw")
    assert table.truncated
    assert (table.state.turns, table.state.passes) == (2, 2)


def test_X3_order_is_T5_X2_X3():
    table = position(["blue-hot", "red-loud hot-red"], active="red-blue", deck="red-hot", max_turns=1)
    table.play("blue-hot")
    assert table.state.end == TERMINATED  # T5 before X3
    table = without_choice(3, "table", [3, 2, 2], max_turns=3)
    table.play("draw")
    assert table.state.end == TERMINATED  # X2 before X3
    assert list(table.state.winner[:3]) == [0, 1, 1]


# --- what is known ---------------------------------------------------------------------------------------------------


def test_D4_first_active_card_becomes_known_when_every_other_card_has_been_seen():
    cards = ["red-red", "red-hot", "red-loud", "hot-hot", "hot-red", "hot-loud", "hot-blue", "maybe-hot-red"]
    cards += ["maybe-hot-blue", "maybe-red-red", "blue-blue"]
    cards += [name for name in NAMES if name not in cards and not name.startswith("luck")]
    cards += [name for name in NAMES if name not in cards]
    table = dealt(2, cards, judging="strict")
    assert active(table) == "blue-blue"
    assert state.TRAITS[part(table, 0, "starter_trait").argmax()] == "blue"
    while table.state.deck_size > 0:
        assert not part(table, 0, "active_card")[CARD["blue-blue"]]
        assert part(table, 0, "unseen")[CARD["blue-blue"]]
        table.play("keep" if table.phase == "drawn" else table.legal_actions()[-1])
    assert table.state.where[CARD["blue-blue"]] == state.BENEATH
    assert not part(table, 0, "unseen").any()
    assert not part(table, 0, "starter_trait").any()


def test_observation_shows_who_could_follow():
    table = position(["blue-red blue-hot", "red-loud", "hot-hot"], active="red-blue", deck="blue-blue luck-red")
    assert options(table) == {"blue-red": [1, 1, 0, 1, 0], "blue-hot": [1, 1, 0, 0, 1]}
    assert part(table, 0, "can_match").tolist() == [1, 0, 0]
    assert not part(table, 1, "card_options").any()  # it is not asked
    assert part(table, 0, "top_match") == 1  # only the two cards left are possible, and the trait on top is blue
    assert part(table, 0, "hand_count").argmax(1).tolist() == [1, 0, 0]


def test_observation_shows_what_every_card_would_do():
    own = "blue-red blue-hot red-hot luck-red maybe-blue-blue"
    table = position([own, "red-loud", "hot-hot red-red", "hot-red"], "hot-blue", "blue-blue luck-hot", judging="vote")
    assert options(table) == {
        "blue-red": [1, 1, 0.25, 1, 0.5],
        "blue-hot": [1, 1, 0, 0, 1],
        "maybe-blue-blue": [1, 0.5, 0.5, 0, 0],
        "luck-red": [1, 0, 0.25, 1, 0.5],
    }
    play(table, "maybe-blue-blue")
    for seat in range(4):
        assert not part(table, seat, "card_options").any()
        assert part(table, seat, "can_follow").tolist() == [(seat + k) % 4 == 0 for k in range(4)]


def test_render_shows_what_a_seat_may_know():
    table = dealt(3, shuffled(1))
    first, top = active(table), deck(table)[0]
    everything, seat = table.render(), table.render(1)
    assert first in everything
    assert top in everything
    assert f"card: {first}" not in seat
    assert top not in seat
    for name in (*cards_at(table, 0), *cards_at(table, 2)):
        assert name in seat
    table = vote_position(3)
    play(table, "maybe-blue-red accept")
    assert "player_0 argues that maybe-blue-red is blue · player_1 accepts · player_2 is asked" in table.render(0)
    play(table, "reject")
    assert "rank" not in table.render()
    finished = position(["blue-hot", "red-loud hot-red"], active="red-blue", deck="red-hot")
    assert "player_0" in play(finished, "blue-hot").render()
    assert "wins" in finished.render()
    assert "being dealt" in RecordedGame(Micons(2), explicit_chance=True).render()


def test_render_marks_a_rejected_card_an_empty_deck_and_a_stopped_game():
    table = vote_position(3)
    assert "?maybe-blue-red" in table.render()
    play(table, "maybe-blue-red reject reject")
    assert "×maybe-blue-red" in table.render()
    hands = ["blue-hot red-hot", "red-loud hot-red"]
    assert "empty" in position(hands, active="red-blue").render()
    table = position(hands, active="red-blue", deck="hot-blue blue-red", max_turns=1)
    assert "stopped after 1 turns" in play(table, "blue-hot").render()
