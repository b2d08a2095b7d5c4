"""What a seat of The Icarus Club sees, and the deals that look the same to it."""

from __future__ import annotations

import math
import random
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit

from card_envs.games.icarus_club import IcarusClub, observation, resample, rules, state
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels.rng import below, random_legal, seed_words
from tests.chi_square import too_far
from tests.games.icarus_club_positions import CARD, late, play

COMPILED = not numba.config.DISABLE_JIT
COUNTS = (3, 4, 5)


def buffers(game: IcarusClub) -> tuple[Any, ...]:
    return np.zeros(game.num_actions, np.int8), np.zeros(game.max_chance_values, np.int16), game.layout.at


def view(table: RecordedGame, seat: int) -> dict[str, np.ndarray]:
    return table.game.layout.split(table.observe(seat))


def random_tables(n: int, count: int, seed: int, **options: int) -> list[RecordedGame]:
    """Tables at random decisions of random games, the ended game included now and then."""
    game, rng, tables = IcarusClub(n, **options), random.Random(seed), []
    s = game.initial[0]
    most = int(s.num_rounds) * (int(s.num_piles) * (n + 2) - 2)
    for i in range(count):
        table = RecordedGame(game, seed=seed * 1000 + i)
        for _ in range(rng.randrange(most)):
            if table.over:
                break
            table.play(rng.choice(table.legal_actions()))
        tables.append(table)
    return tables


# --- the layout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", COUNTS)
def test_layout_pieces_are_the_tensor(n):
    layout = IcarusClub(n).layout
    assert layout.segments[0].start == 0
    for before, after in zip(layout.segments, layout.segments[1:], strict=False):
        assert after.start == before.start + before.size
    assert layout.segments[-1].start + layout.segments[-1].size == layout.size
    for table in random_tables(n, 5, seed=1):
        seen = table.observe(0)
        assert seen.shape == (layout.size,)
        assert seen.dtype == np.float32
        pieces = layout.split(seen)
        assert list(pieces) == [segment.name for segment in layout.segments]
        assert [pieces[s.name].shape for s in layout.segments] == [s.shape for s in layout.segments]
        assert np.concatenate([piece.ravel() for piece in pieces.values()]).tobytes() == seen.tobytes()
        for segment in layout.segments:
            assert np.array_equal(seen[layout[segment.name]], pieces[segment.name].ravel())
            assert layout.at[0][segment.name] == segment.start


@njit
def cover(games, states, initial, rng, mask, value, at, seen, times):
    """How often each value is above 0 over all seats and decisions; returns the least and the greatest value."""
    low, high = 0.0, 0.0
    for _ in range(games):
        states[0] = initial[0]
        s = states[0]
        s.rng[0], s.rng[1] = rng[0], rng[1]
        while True:
            if s.chance != 0:
                length = rules.draw_chance(s, value)
                rules.apply_chance(s, value[:length])
                continue
            for seat in range(s.num_players):
                seen[:] = np.nan
                observation.observe(s, seat, at[0], seen)
                for i in range(seen.shape[0]):
                    if not 0.0 <= seen[i] <= 1.0:
                        return -1.0, 2.0
                    low, high = min(low, seen[i]), max(high, seen[i])
                    times[i] += seen[i] > 0
            if s.end != 0:
                break
            rules.apply_action(s, random_legal(rng, mask, rules.legal_actions(s, mask)))
    return low, high


@pytest.mark.parametrize("n", COUNTS)
def test_every_value_lies_in_0_to_1_and_can_be_above_0(n):
    game = IcarusClub(n)
    mask, value, at = buffers(game)
    times, seen = np.zeros(game.layout.size, np.int64), np.zeros(game.layout.size, np.float32)
    rng = seed_words(1, 1)[0]
    with np.errstate(over="ignore"):
        low, high = cover(1000 if COMPILED else 2, game.initial.copy(), game.initial, rng, mask, value, at, seen, times)
    assert (low, high) == (0.0, 1.0)
    if COMPILED:
        # Piles that most of a round's overwrites went to are too rare under random play; the next test builds them.
        stake = game.layout["stake"]
        rare = {stake.stop - 3, stake.stop - 2, stake.stop - 1}
        assert set(np.flatnonzero(times == 0)) <= rare | never(game)


def never(game: IcarusClub) -> set[int]:
    """Places that stay 0: no card is higher than an 11, and with five players the lane never has `lane-9`."""
    cards, piles = game.layout["card_options"], game.layout["pile_options"]
    last_pile = piles.start + state.PILE_OPTION * (state.cards_per_hand(game.num_players) - 1)
    return {cards.start + state.CARD_OPTION * card + 5 for card in range(10, 55, 11)} | set(
        range(last_pile, piles.stop)
    )


@pytest.mark.parametrize("n", COUNTS)
def test_stake_shows_piles_up_to_all_that_a_round_can_put_together(n):
    piles = state.cards_per_hand(n)
    in_hand = {f"craps-{seat + 1}" for seat in range(n)}
    others = [name for name in state.CARD_NAMES if name not in in_hand and not name.startswith("slots")]
    for size in range(1, piles + 1):
        table = late(n, [f"craps-{seat + 1}" for seat in range(n)], [" ".join(others[:size])])
        seen = view(table, 1)
        assert np.flatnonzero(seen["stake"]).tolist() == [size - 1]
        assert seen["lane_depth"][0] == pytest.approx(size / piles)


# --- what the segments say -------------------------------------------------------------------------------------------


def suits_of(names: list[str]) -> list[str]:
    return [name.split("-")[0] for name in names]


def expected_view(table: RecordedGame, seat: int) -> dict[str, np.ndarray]:
    """The observation again, slowly, from the state's fields and the game's history."""
    s, n = table.state, int(table.state.num_players)
    piles, done = int(s.num_piles), int(s.pile_now)
    out = {segment.name: np.zeros(segment.shape) for segment in table.game.layout.segments}
    clockwise = [(seat + k) % n for k in range(n)]
    hands = {p: [name for name in state.CARD_NAMES if s.where[CARD[name]] == p] for p in range(n)}
    out["phase"][state.PHASES.index(table.phase)] = 1
    out["to_act"][clockwise.index(table.player)] = 1
    out["round_number"][min(int(s.rounds), int(s.num_rounds) - 1)] = 1
    if done < piles:
        out["tricks_left"][piles - done - 1] = 1
    for name in hands[seat]:
        out["hand"][CARD[name]] = 1
    for p in clockwise[1:]:
        for name in hands[p]:
            out["unseen"][CARD[name]] = 1
    tops = [state.CARD_NAMES[s.pile_top[k]] for k in range(done, piles)]
    for k, top in enumerate(tops):
        suit = top.split("-")[0]
        depth = sum(s.where[c] == state.LANE and s.pile[c] == done + k for c in range(55))
        if k == 0 and table.phase != "play":  # the winner has it already, yet it is the trick's pile
            depth = s.pile_size[done]
        out["lane_suit"][k, state.SUITS.index(suit)] = 1
        out["lane_depth"][k] = depth / piles
        if k == 0:
            out["stake"][int(depth) - 1] = 1
    played = {p: state.CARD_NAMES[s.played[p]] for p in range(n) if s.played[p] >= 0}
    for p, name in played.items():
        suit, rank = name.split("-")
        out["trick_suit"][clockwise.index(p), state.SUITS.index(suit)] = 1
        out["trick_rank"][clockwise.index(p)] = int(rank) / 11
    out["trick_start"][clockwise.index(int(s.start))] = 1
    earnings, score = [int(x) for x in s.earnings[:n]], [int(x) for x in s.score[:n]]
    kept = [earned if earned < max(earnings) and not table.over else 0 for earned in earnings]
    sums = [score[p] + kept[p] for p in range(n)]
    for k, p in enumerate(clockwise):
        out["earnings"][k] = earnings[p] / 55
        out["score"][k] = score[p] / 135
        if k:
            out["lead"][k - 1, min(max(earnings[seat] - earnings[p], -12), 12) + 12] = 1
            out["standing"][k - 1, min(max(sums[seat] - sums[p], -20), 20) + 20] = 1
    voids = {p: shown_voids(table)[p] for p in range(n)}
    for k, p in enumerate(clockwise[1:]):
        for suit in voids[p]:
            out["void"][k, state.SUITS.index(suit)] = 1
    if tops:
        suit = tops[0].split("-")[0]
        entrants = {p: int(name.split("-")[1]) for p, name in played.items() if name.startswith(suit)}
        if entrants:
            out["trick_winner"][clockwise.index(max(entrants, key=lambda p: entrants[p]))] = 1
    expect_suits(table, seat, hands, tops, voids, out)
    if table.phase == "overwrite-pile":
        out["chosen_suit"][s.chosen // 11] = 1
    if not table.over and table.player == seat:
        expect_options(table, seat, hands, voids, out)
    return out


def lets_stand(holders: int, unseen: int, higher: int) -> float:
    """The chance that one of `holders` players, among whom the unseen cards lie anyhow, does not beat a card.

    Who has some of the suit's `unseen` cards plays any of them, `higher` of which beat it.
    """
    has_some = 1 - (1 - 1 / holders) ** unseen
    return 1 - has_some * higher / unseen if unseen else 1.0


def counts_of(suit: str, seat: int, hands: dict[int, list[str]]) -> tuple[list[int], list[int]]:
    """The ranks that the seat holds of a suit, and those that are unseen."""
    held = [int(name.split("-")[1]) for name in hands[seat] if name.startswith(suit)]
    unseen = [int(name.split("-")[1]) for p in hands if p != seat for name in hands[p] if name.startswith(suit)]
    return held, unseen


def expect_suits(table: RecordedGame, seat: int, hands: Any, tops: list[str], voids: Any, out: Any) -> None:
    later = {suit: 0 for suit in state.SUITS}
    for k, top in enumerate(tops[1:], 1):
        later[top.split("-")[0]] += int(table.state.pile_size[table.state.pile_now + k])
    for i, suit in enumerate(state.SUITS):
        held, unseen = counts_of(suit, seat, hands)
        out["suit_held"][i] = len(held) / 11
        out["suit_unseen"][i] = len(unseen) / 11
        out["suit_ahead"][i] = later[suit] / 22
        if held and (later[suit] or table.phase != "play"):
            others = [p for p in hands if p != seat and suit not in voids[p]]
            wins = [
                math.prod(lets_stand(len(others), len(unseen), sum(o > rank for o in unseen)) for _ in others)
                for rank in held
            ]
            out["suit_chance"][i] = sum(wins) / len(wins)


def expect_options(table: RecordedGame, seat: int, hands: Any, voids: Any, out: Any) -> None:
    s, n = table.state, int(table.state.num_players)
    follow = int(s.pile_top[s.pile_now]) // 11
    entrants = [int(card) for card in s.played[:n] if card >= 0 and card // 11 == follow]
    to_play = [p for p in range(n) if p != seat and s.played[p] < 0 and state.SUITS[follow] not in voids[p]]
    about = {name: [float(x) for x in out[f"suit_{name}"]] for name in ("held", "ahead", "chance")}
    for action in np.flatnonzero(table.action_mask()):
        if action < 55:
            suit = int(action) // 11
            unseen = counts_of(state.SUITS[suit], seat, hands)[1]
            higher = sum(rank > action % 11 + 1 for rank in unseen)
            wins = 0.0
            if table.phase == "play" and suit == follow and all(action > other for other in entrants):
                others = [p for p in range(n) if p != seat and state.SUITS[suit] not in voids[p]]
                wins = math.prod(lets_stand(len(others), len(unseen), higher) for _ in to_play)
            row = [(action % 11 + 1) / 11, about["held"][suit], about["ahead"][suit], about["chance"][suit]]
            out["card_options"][action] = [1, *row, higher / 10, wins]
        else:
            k = int(action) - 55 + 1  # tricks until that pile is played for
            top, chosen = int(s.pile_top[s.pile_now + k]) // 11, int(s.chosen) // 11
            row = [int(s.pile_size[s.pile_now + k]) / 11, k / 10]
            row += [about["held"][top], about["chance"][top], about["held"][chosen], about["chance"][chosen]]
            out["pile_options"][k - 1] = [1, *row]


def shown_voids(table: RecordedGame) -> list[set[str]]:
    """Who did not follow which suit in this round, from the history alone."""
    n = table.game.num_players
    decks = [i for i, (who, kind, *_) in enumerate(table.events) if (who, kind) == ("chance", "deck")]
    deck, size = table.events[decks[-1]][2], int(table.state.num_piles)
    lane = list(deck[n * size : (n + 1) * size])
    shown: list[set[str]] = [set() for _ in range(n)]
    trick: list[tuple[int, str]] = []
    chosen = ""
    for who, name in table.events[decks[-1] + 1 :]:
        suit = lane[0].split("-")[0]
        if name.startswith("lane"):
            lane.pop(0)
            lane[int(name[5:]) - 1] = chosen
            trick = []
        elif len(trick) == n:
            chosen = name
        else:
            trick.append((int(who[-1]), name))
            if name.split("-")[0] != suit:
                shown[int(who[-1])].add(suit)
            if len(trick) == n and suit not in suits_of([card for _, card in trick]):
                lane.pop(0)
                trick = []
            elif len(trick) == n and len(lane) == 1:
                break  # the last trick has no overwrite
    return shown


@pytest.mark.parametrize(
    ("n", "options"),
    [(3, {}), (4, {}), (5, {}), (3, {"suits": 2, "ranks": 4, "rounds": 1}), (4, {"suits": 3, "ranks": 9, "rounds": 2})],
)
def test_every_segment_says_what_its_meaning_promises(n, options):
    for table in random_tables(n, 150 if COMPILED else 4, seed=2, **options):
        for seat in range(n):
            seen, expected = view(table, seat), expected_view(table, seat)
            for name, values in expected.items():
                # chances of suits are counted in 1/1024
                off = 1e-6 + (1 / 2048 if name in ("suit_chance", "card_options", "pile_options") else 0)
                np.testing.assert_allclose(seen[name], values, rtol=0, atol=off, err_msg=f"{name} of seat {seat}")
                if name == "card_options":
                    np.testing.assert_allclose(np.delete(seen[name], 4, 1), np.delete(values, 4, 1), rtol=0, atol=1e-6)
                if name == "pile_options":
                    exact = [0, 1, 2, 3, 5]
                    np.testing.assert_allclose(seen[name][:, exact], values[:, exact], rtol=0, atol=1e-6)


def test_the_chance_of_a_card_is_reckoned_from_what_others_may_hold():
    hands = ["craps-9 craps-3 craps-11", "craps-10 poker-2 poker-3", "slots-1 slots-2 slots-3"]
    rest = ["craps-5", "roulette-1", "roulette-2"]

    def wins(table: RecordedGame) -> dict[str, float]:
        rows = view(table, 0)["card_options"]
        assert (rows[:, 0] == table.action_mask()[:55]).all()
        return {state.CARD_NAMES[card]: float(rows[card, 6]) for card in np.flatnonzero(rows[:, 0])}

    def void(table: RecordedGame, seat: int) -> RecordedGame:
        table.state.void[seat, state.SUITS.index("craps")] = 1
        return table

    table = late(3, hands, rest, start=1)
    play(table, "craps-10 slots-1")
    assert wins(table) == {"craps-3": 0, "craps-9": 0, "craps-11": 1}  # craps-10 lies there
    table = late(3, hands, rest)  # either of two others has the unseen craps-10
    assert wins(table) == {"craps-3": 0.25, "craps-9": 0.25, "craps-11": 1}
    assert wins(void(table, 2)) == {"craps-3": 0, "craps-9": 0, "craps-11": 1}  # it can only be with player_1
    table = late(3, hands, rest, start=2)
    play(table, "slots-1")  # which shows that player_2 has none
    assert wins(table) == {"craps-3": 0, "craps-9": 0, "craps-11": 1}
    play(table, "craps-3")
    assert not view(table, 0)["card_options"].any()  # has played


def test_the_chance_of_a_suit_is_told_only_where_it_is_asked_for():
    hands = ["craps-9 poker-9 slots-9", "craps-10 poker-10 blackjack-1", "craps-11 blackjack-2 slots-10"]
    table = late(3, hands, ["craps-5", "craps-6", "poker-5"])
    one_above = 0.5**2  # a single higher card, with either of two others
    # of craps two are unseen, both higher: each of the others has some of them with chance 3/4
    expected = {"craps": 0.25**2, "poker": one_above, "slots": 0.0, "roulette": 0.0, "blackjack": 0.0}
    seen = dict(zip(state.SUITS, view(table, 0)["suit_chance"].tolist(), strict=True))
    assert seen == pytest.approx(expected, abs=1 / 2048)  # no pile of slots is left
    play(table, "craps-9 craps-10 craps-11")
    seen = dict(zip(state.SUITS, view(table, 0)["suit_chance"].tolist(), strict=True))
    assert seen == pytest.approx({**expected, "craps": 0.0, "slots": one_above}, abs=1 / 2048)  # not a player's turn


def test_options_are_shown_to_nobody_but_the_seat_that_has_them():
    shown = {phase: 0 for phase in state.PHASES}
    for n in COUNTS:
        for table in random_tables(n, 12 if COMPILED else 3, seed=9):
            for seat in range(n):
                seen = view(table, seat)
                rows = np.concatenate([seen["card_options"][:, 0], seen["pile_options"][:, 0]])
                if table.over or table.player != seat:
                    assert not seen["card_options"].any()
                    assert not seen["pile_options"].any()
                else:
                    shown[table.phase] += 1
                    assert rows.tolist() == table.action_mask().tolist()
    assert all(shown.values()) or not COMPILED


def test_lead_and_standing_are_exact_to_the_card_and_cut_at_their_bounds():
    table = late(
        4, ["craps-1", "craps-2", "craps-3", "craps-4"], ["slots-1"], earnings=[3, 20, 7, 0], score=[9, 0, 30, 9]
    )
    seen = view(table, 0)
    assert [int(i) - 12 for i in seen["lead"].argmax(axis=1)] == [-12, -4, 3]
    assert [int(i) - 20 for i in seen["standing"].argmax(axis=1)] == [12, -20, 3]  # player_1's 20 would be lost (R2)
    assert (seen["lead"].sum(axis=1) == 1).all()
    assert (seen["standing"].sum(axis=1) == 1).all()


@pytest.mark.parametrize("n", COUNTS)
def test_seats_see_different_observations(n):
    for table in random_tables(n, 20, seed=3):
        assert len({table.observe(seat).tobytes() for seat in range(n)}) == n


# --- other deals -----------------------------------------------------------------------------------------------------

SAME, OBSERVATION, MASK, HAND_SIZE, SHOWN_VOID, OPEN_CARD, FIELD = range(7)


@njit
def leak(s, other, seat, rng, at, seen, seen_other, mask, mask_other):
    """What changed for `seat` when its deal was redrawn in the copy `other`; and how many cards changed hands."""
    n = s.num_players
    observation.observe(s, seat, at[0], seen)
    resample.resample(other, seat, rng)
    observation.observe(other, seat, at[0], seen_other)
    for i in range(seen.shape[0]):
        if seen[i] != seen_other[i]:
            return OBSERVATION, 0
    if s.end == 0 and s.player == seat:
        if rules.legal_actions(s, mask) != rules.legal_actions(other, mask_other):
            return MASK, 0
        for i in range(mask.shape[0]):
            if mask[i] != mask_other[i]:
                return MASK, 0
    moved = 0
    size = np.zeros(5, np.int64)
    for card in range(55):
        before, after = s.where[card], other.where[card]
        if before < n:
            size[before] += 1
        if after < n:
            size[after] -= 1
            if s.void[after, card // 11]:
                return SHOWN_VOID, 0
        if before != after:
            moved += 1
            if before >= n or after >= n or before == seat or after == seat:
                return OPEN_CARD, 0
        other.where[card] = before
    for p in range(n):
        if size[p] != 0:
            return HAND_SIZE, 0
    other.rng[0], other.rng[1] = s.rng[0], s.rng[1]
    return SAME, moved


@njit
def leaks(wanted, states, other, initial, rng, mask, mask_other, value, at, seen, seen_other):
    """Looks at every seat at `wanted` decisions of random games: the first leak, and how many cards changed hands."""
    found, moved = 0, 0
    states[0] = initial[0]
    s = states[0]
    s.rng[0], s.rng[1] = rng[0], rng[1]
    while found < wanted:
        if s.chance != 0:
            length = rules.draw_chance(s, value)
            rules.apply_chance(s, value[:length])
            continue
        if s.end != 0 or below(rng, 3) == 0:
            found += 1
            for seat in range(s.num_players):
                other[0] = s
                what, cards = leak(s, other[0], seat, rng, at, seen, seen_other, mask, mask_other)
                if what != SAME:
                    return what, found
                moved += cards
        if s.end != 0:
            states[0] = initial[0]
            s.rng[0], s.rng[1] = rng[0], rng[1]
            continue
        rules.apply_action(s, random_legal(rng, mask, rules.legal_actions(s, mask)))
    return SAME, moved


@pytest.mark.parametrize("n", COUNTS)
def test_nothing_leaks(n):
    """Redrawing what a seat can't know changes nothing that it sees or may do, on turn or not."""
    wanted = 12_000 if COMPILED else 40
    game = IcarusClub(n)
    mask, value, at = buffers(game)
    seen = np.zeros((2, game.layout.size), np.float32)
    states, other = game.initial.copy(), game.initial.copy()
    rng = seed_words(n, 1)[0]
    with np.errstate(over="ignore"):
        what, moved = leaks(wanted, states, other, game.initial, rng, mask, mask.copy(), value, at, seen[0], seen[1])
    assert what == SAME
    assert moved > wanted * n  # it does redraw


@pytest.mark.parametrize("n", COUNTS)
def test_text_for_a_seat_does_not_leak(n):
    rng = seed_words(7, 1)[0]
    for table in random_tables(n, 30 if COMPILED else 3, seed=4):
        for seat in range(n):
            before = table.render(seat)
            copy = table.states.copy()
            table.kernels.resample(table.states, 0, seat, rng)
            assert table.render(seat) == before
            table.states[:] = copy


@pytest.mark.parametrize("n", COUNTS)
def test_resample_changes_only_hidden_cards_and_future_chance(n):
    rng = seed_words(8, 1)[0]
    for table in random_tables(n, 30 if COMPILED else 3, seed=5):
        before = table.states.copy()
        table.kernels.resample(table.states, 0, 0, rng)
        assert not np.array_equal(table.state.rng, before[0].rng)
        for name in before.dtype.names:
            if name not in ("rng", "where"):
                assert np.array_equal(table.states[name], before[name]), name


@pytest.mark.parametrize("n", COUNTS)
def test_resample_does_not_depend_on_the_true_deal(n):
    game = IcarusClub(n)
    for i, table in enumerate(random_tables(n, 60 if COMPILED else 4, seed=6)):
        for seat in range(n):
            first, second = table.states.copy(), table.states.copy()
            table.kernels.resample(second, 0, seat, seed_words(1000 + i, 1)[0])
            for states in (first, second):
                table.kernels.resample(states, 0, seat, seed_words(i, 1)[0])
            assert first.tobytes() == second.tobytes()
    assert game == table.game


def deals(table: RecordedGame, seat: int, most: int) -> list[bytes] | None:
    """All deals that `seat` can't tell apart, each as the hidden cards' holders; None if there are more than `most`."""
    s, n = table.state, int(table.state.num_players)
    hidden = [card for card in range(55) if s.where[card] < n and s.where[card] != seat]
    room = [sum(int(s.where[card]) == p for card in hidden) for p in range(n)]
    found: list[bytes] = []

    def place(done: list[int]) -> None:
        if len(found) > most:
            return
        if len(done) == len(hidden):
            found.append(bytes(done))
            return
        suit = hidden[len(done)] // 11
        for p in range(n):
            if room[p] and not s.void[p, suit]:
                room[p] -= 1
                place([*done, p])
                room[p] += 1

    place([])
    return found if len(found) <= most else None


@njit
def redraw(states, other, seat, rng, hidden, out):
    for i in range(out.shape[0]):
        other[0] = states[0]
        resample.resample(other[0], seat, rng)
        for k in range(hidden.shape[0]):
            out[i, k] = other[0].where[hidden[k]]


def assert_uniform(table: RecordedGame, seat: int, possible: list[bytes], seed: int) -> None:
    s, n = table.state, int(table.state.num_players)
    hidden = np.array([card for card in range(55) if s.where[card] < n and s.where[card] != seat], np.int64)
    each = 200 if COMPILED else 8
    out = np.zeros((each * len(possible), len(hidden)), np.uint8)
    with np.errstate(over="ignore"):
        redraw(table.states, table.states.copy(), seat, seed_words(seed, 1)[0], hidden, out)
    counts = dict.fromkeys(possible, 0)
    for drawn in out:
        counts[drawn.tobytes()] += 1  # a KeyError here is an impossible deal
    if COMPILED:
        assert not too_far(np.array(list(counts.values())), each), counts


@pytest.mark.parametrize("n", COUNTS)
def test_resample_is_uniform_late_in_a_round(n):
    rng = random.Random(20 + n)
    positions = 0
    table = RecordedGame(IcarusClub(n), seed=n)
    while positions < (25 if COMPILED else 2):
        if table.over:
            table = RecordedGame(IcarusClub(n), seed=rng.randrange(10**9))
        s = table.state
        late_enough = s.num_piles - s.pile_now <= 4 and table.phase == "play" and s.void[:n].sum() >= 3
        if late_enough and rng.random() < 0.3:
            seat = rng.randrange(n)
            possible = deals(table, seat, 150)
            if possible and len(possible) > 1:
                positions += 1
                assert_uniform(table, seat, possible, seed=positions)
        table.play(rng.choice(table.legal_actions()))


def with_voids(table: RecordedGame, voids: dict[int, str]) -> RecordedGame:
    for seat, suits in voids.items():
        for suit in suits.split():
            table.state.void[seat, state.SUITS.index(suit)] = 1
    return table


# Each of player_1 … player_4 may hold only some suits. Placing a card anywhere it fits runs into dead ends in most.
TIGHT = {
    # each suit fits two seats in a ring, so that the only other deal moves every card
    "ring": (
        ["roulette-1", "craps-1", "poker-1", "blackjack-1", "slots-1"],
        {1: "blackjack slots", 2: "craps slots", 3: "craps poker", 4: "poker blackjack"},
        2,
    ),
    # player_1 must have craps, so player_2 poker, so player_3 blackjack, so player_4 slots
    "chain": (
        ["roulette-1", "craps-1", "poker-1", "blackjack-1", "slots-1"],
        {1: "poker blackjack slots", 2: "blackjack slots", 3: "slots"},
        1,
    ),
    # a ring of two cards a seat, suits of different length
    "double ring": (
        ["roulette-1 roulette-2", "craps-1 craps-2", "poker-1 poker-2", "blackjack-1 blackjack-2", "slots-1 slots-2"],
        {1: "blackjack slots", 2: "craps slots", 3: "craps poker", 4: "poker blackjack"},
        18,
    ),
    "one suit fits everywhere": (
        ["roulette-1 roulette-2", "craps-1 craps-2", "craps-3 poker-1", "craps-4 slots-1", "craps-5 blackjack-1"],
        {1: "poker slots blackjack", 2: "slots blackjack", 3: "blackjack", 4: ""},
        180,
    ),
}


@pytest.mark.parametrize("name", TIGHT)
def test_resample_finds_and_draws_evenly_the_few_deals_of_tight_positions(name):
    hands, voids, count = TIGHT[name]
    lane = ["roulette-5", "roulette-6"][: len(hands[0].split())]
    table = with_voids(late(5, hands, lane), voids)
    possible = deals(table, 0, 500)
    assert possible is not None
    assert len(possible) == count
    assert_uniform(table, 0, possible, seed=5)


def test_resample_is_uniform_under_any_voids():
    """Positions with as many voids as hands allow, whether play reaches them or not."""
    rng = random.Random(1)
    done = 0
    while done < (120 if COMPILED else 3):
        size = rng.randrange(1, 4)
        cards = rng.sample(state.CARD_NAMES, 5 * size)
        hands = [" ".join(cards[p * size : (p + 1) * size]) for p in range(5)]
        lane = [name for name in state.CARD_NAMES if name not in cards][:size]
        table = late(5, hands, lane)
        for p in range(1, 5):
            for suit in set(state.SUITS) - set(suits_of(hands[p].split())):
                table.state.void[p, state.SUITS.index(suit)] = rng.random() < 0.9
        possible = deals(table, 0, 100)
        if possible and len(possible) > 1:
            done += 1
            assert_uniform(table, 0, possible, seed=done)
