"""The table of Ice Points as text, and the list of what has happened at it."""

from __future__ import annotations

import random

import pytest

from card_envs.games.ice_points import IcePoints
from card_envs.games.recorded_game import RecordedGame
from tests.games.ice_points_positions import deck_of, event, last_event, position


@pytest.mark.parametrize(
    ("card", "action", "what"),
    [
        ("KS", "M+S", "puts M+S in the centre"),
        ("QS", "L", "gives L to player_4 on the left"),
        ("JS", "L", "gives L to player_2 on the right"),
        ("7S", "S+S+S+S+S", "puts S+S+S+S+S in the centre"),
        ("4S", "M+S+S", "takes M+S+S from the centre"),
    ],
)
def test_events_tell_what_was_chosen(card, action, what):
    table = position(f"{card} 7H", centre="LMMSS", start=3)
    assert (last_event(table).seat, last_event(table).card) == (3, card)
    table.play(action)
    assert event(table, 0)[1:] == (3, card, what)


@pytest.mark.parametrize(
    ("card", "what"),
    [
        ("KS", "to put 3 points in the centre"),
        ("QS", "to give 3 points to player_1 on the left"),
        ("JS", "to give 3 points to player_4 on the right"),
        ("9S", "to put 5 points in the centre"),
        ("5S", "to take 5 points from the centre"),
    ],
)
def test_the_last_event_tells_what_is_open(card, what):
    table = position(f"{card} 7H", centre="LLLMMMSSS")
    assert last_event(table).what == what
    assert str(last_event(table)) == f"player_0 draws  {card}: {what}"


def test_events_tell_an_exchange_while_its_payment_is_open_and_after_it():
    table = position("7S 7H", pieces={0: "LL", 2: "MS"}, others="L")
    table.play("L for M+S with opponent-2")
    assert last_event(table).what == "swaps L for M+S with player_2, then to put 5 points in the centre"
    table.play("L+M")
    assert event(table, 0).what == "swaps L for M+S with player_2, then puts L+M in the centre"
    table = position("7S 7H", pieces={0: "LL"}, centre="SSS")
    table.play("L for S+S+S with centre")
    assert last_event(table).what.startswith("swaps L for S+S+S with the centre, then")


def test_render_shows_pieces_points_the_deck_and_what_is_asked():
    table = position("4S 7H", pieces={0: "LLM", 1: ""}, centre="LMMSS", start=1)
    lines = table.render().splitlines()
    assert lines[0] == "Ice Points · 5 players · pass 2 of 2 · 51 cards left · player_1 to take 4"
    assert lines[1] == "  in the deck  A×4 K×4 Q×4 J×4 10×4 9×4 8×4 7×4 6×4 5×4 4×3 3×4 2×4"
    rows = {line[2:].split()[0]: line.split() for line in lines[4:10]}
    assert rows["player_0"] == ["player_0", "8", "2", "1", "0"]
    assert rows["player_1"] == ["▶", "player_1", "0", "0", "0", "0"]
    assert rows["centre"] == ["centre", "9", "1", "2", "2"]
    assert lines[-1] == "    player_1 draws  4S: to take 4 points from the centre"


def test_render_asks_for_an_exchange_and_the_payment_after_it():
    table = position("KS 7H", pieces={0: "MM"})
    assert "player_0 to exchange, then pay 3" in table.render()


def test_render_goes_back_to_the_last_decision_of_the_seat():
    table = position("KS 6S AS 6H 7S 7H 7D 2H")
    assert table.render(0).splitlines()[-2:] == ["  so far", "    player_0 draws  KS: to put 3 points in the centre"]
    table.play("L")
    table.play("L+M")
    assert table.player == 0
    shown = table.render(0).splitlines()
    assert shown[shown.index("  since player_0 last decided") + 1 :] == [
        "    player_0 draws  KS: puts L in the centre",
        "    player_1 draws  6S: is skipped",
        "    player_2 draws  AS: takes all that lies in the centre, L",
        "    player_3 draws  6H: is skipped",
        "    player_4 draws  7S: puts L+M in the centre",
        "    player_0 draws  7H: to put 5 points in the centre",
    ]
    assert table.render() == table.render(0)
    assert table.render(4).splitlines()[-3:-1] == ["  since player_4 last decided", shown[-2]]


def test_render_before_a_shuffle_and_after_the_end():
    table = RecordedGame(IcePoints(5), seed=0, explicit_chance=True)
    assert table.render() == "Ice Points · 5 players · the cards are being shuffled for pass 1 of 2"
    table = position("KS", passes=0, last=True)
    table.play("L")
    assert table.render() == "Ice Points · 5 players · the cards are being shuffled for pass 2 of 2"
    table = position("KS", pieces={0: "LL", 1: "LL"}, others="M", last=True)
    table.play("L")
    lines = table.render().splitlines()
    assert lines[0] == "Ice Points · 5 players · the game has ended"
    assert lines[3].endswith("rank 2")
    assert lines[4].endswith("rank 1 · wins")
    assert "rank" not in lines[8]


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_every_position_of_a_game_can_be_shown(n):
    table, rng = RecordedGame(IcePoints(n), seed=n), random.Random(n)
    while True:
        for seat in (None, *range(n)):
            assert all(len(line) <= 110 for line in table.render(seat).splitlines())
        if table.over:
            break
        table.play(rng.choice(table.legal_actions()))


def test_draws_for_the_start_are_events_too():
    table = RecordedGame(IcePoints(5), seed=0, explicit_chance=True)
    table.apply_chance("deck", deck_of("2S 3S KS 4S 5S 7S"))
    assert [str(e) for e in table.game.events(table.state)][1:3] == [
        "player_1 draws  3S: for the first turn",
        "player_2 draws  KS: for the first turn",
    ]


def test_environment_tells_what_happened_between_two_decisions():
    """For displays of PettingZoo's users, who hold no state record."""
    from card_envs import icarus_club_v0, ice_points_v0
    from card_envs.errors import CardEnvsError

    env = ice_points_v0.env(num_players=5)
    with pytest.raises(CardEnvsError, match="call reset"):
        env.event_log()
    env.reset(options={"chance": [["deck", deck_of("2S 3S KS 4S 5S KH 6S QS 7D")]]})
    assert env.event_log()[5:] == ["player_2 draws  KH: to put 3 points in the centre"]
    env.step(env.action_names.index("M+S"))
    assert env.event_log()[5:] == [
        "player_2 draws  KH: puts M+S in the centre",
        "player_3 draws  6S: is skipped",
        "player_4 draws  QS: to give 3 points to player_0 on the left",
    ]
    other = icarus_club_v0.env(num_players=3)
    other.reset(seed=0)
    assert other.event_log() == []  # its events say it all
