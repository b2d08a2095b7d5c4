"""What the rules of a game promise, below any environment: layout, play, chance."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np

from card_envs.conformance.comparing import TOLERANCE, Array, demand, place
from card_envs.conformance.playing import MAX_STEPS, choices
from card_envs.games.game import Game
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING, TERMINATED
from card_envs.policies.game_batch import GameBatch


def check_game_layout(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """The layout names every place of an observation once, and its table says so; names of actions are unique.

    Prevents: vectors with places that nobody can explain.
    """
    name = "check_game_layout"
    end = 0
    for segment in game.layout.segments:
        demand(segment.start == end, name, f"segment {segment.name!r} begins at {segment.start}, not {end}")
        demand(segment.size > 0 and bool(segment.meaning), name, f"segment {segment.name!r} is empty or not explained")
        demand(f"| {end} | `{segment.name}` |" in game.layout.table(), name, f"{segment.name!r} is not in the table")
        end += segment.size
    demand(end == game.layout.size, name, f"the segments take {end} places, the observation has {game.layout.size}")
    unique = len(set(game.action_names)) == game.num_actions
    demand(unique and all(game.action_names), name, "two actions have the same name, or one has none")
    demand(len(game.agents) == game.num_players, name, f"{len(game.agents)} agents for {game.num_players} players")
    twin = pickle.loads(pickle.dumps(game))
    demand(twin == game and twin.initial.tobytes() == game.initial.tobytes(), name, "a pickled game is another game")


def check_game_play(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """Every decision has a legal action and a view for every seat in [0, 1]; games end, and pay as they should.

    Returns lie within the range that the game states, are 0 for all when it was truncated, and sum to 0 in a zero-sum
    game. Where they are the default ones, winners are paid (n/|W| - 1)/(n - 1), the others -1/(n - 1), everybody 0 when
    all or nobody won. The hand-written player plays legal actions only. Where a segment describes actions
    (`Segment.first_action`), its rows for legal ones begin with 1 and the others are zeros.

    Prevents: decisions without an answer, observations out of bounds, places left over from the observation before.
    """
    name, n = "check_game_play", game.num_players
    for driver in (batch.RANDOM, batch.HEURISTIC):
        tables = deal(game, num_games, seed)
        for rows in decisions(tables, driver):
            mask = np.full((len(rows), game.num_actions), 7, np.int8)
            obs = np.full((len(rows), game.layout.size), np.nan, np.float32)
            tables.kernels.ask(tables.states, rows, game.layout.at, np.arange(len(rows)), obs, mask)
            demand(
                bool(np.isin(mask, (0, 1)).all()),
                name,
                "legal_actions leaves a place of the mask as it was, or writes other numbers than 0 and 1",
            )
            demand(bool(mask.any(axis=1).all()), name, "a decision has no legal action")
            _check_bounds(name, game, obs)
            _check_options(name, game, obs, mask)
            for seat in range(n):
                obs[:] = np.nan
                tables.kernels.observe_rows(tables.states, rows, np.full(len(rows), seat), game.layout.at, obs)
                _check_bounds(name, game, obs)
        check_results(name, game, tables.states, tables.returns(np.arange(num_games)))


def check_game_chance(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """Chance is what the game says about it, and games stay within the lengths that it names.

    A chance event draws a number below `Game.chance_range`, or shuffles cards that are always the same in one state,
    in the runs of `Game.deck_runs`. No game has more events or decisions than it names.

    Prevents: game trees with other chance than the game's, buffers that are too short for a game.
    """
    name, kernels = "check_game_chance", batch.for_game(game)
    rng, value = choices(seed), np.zeros(game.max_chance_values, np.int16)
    for words in seed_words(seed, num_games):
        table, events, decisions = RecordedGame(game, explicit_chance=True), 0, 0
        while not table.over:
            if not table.chance:
                table.play(int(rng.choice(np.flatnonzero(table.action_mask()))))
                decisions += 1
                demand(decisions <= game.max_decisions, name, too_many(game, "decisions", "max_decisions"))
                continue
            drawn = []
            for _ in range(2):
                table.states["rng"] = words
                copied = table.states.copy()
                drawn.append(value[: kernels.chance(copied, 0, value)].copy())
                words = copied["rng"][0]
            highest = game.chance_range(table.state)
            if highest:
                good = all(len(numbers) == 1 and 0 <= numbers[0] < highest for numbers in drawn)
                demand(good, name, f"{table.chance!r} draws {drawn[0]}, chance_range is {highest}")
            else:
                cards = np.sort(drawn[0])
                demand(np.array_equal(cards, np.sort(drawn[1])), name, f"{table.chance!r} shuffles different cards")
                runs = game.deck_runs(len(cards))
                demand(min(runs) > 0 and sum(runs) == len(cards), name, f"runs {runs} are not {len(cards)} cards")
                alike = max(runs) > 1 and len(np.unique(cards)) < len(cards)
                demand(not alike, name, "a run is longer than 1, but some cards are alike")
            kernels.apply_chance(table.states, 0, drawn[0])
            events += 1
            demand(events <= game.max_chance_events, name, too_many(game, "chance events", "max_chance_events"))


def too_many(game: Game, what: str, limit: str) -> str:
    stated = getattr(game, limit)
    return f"a game has more than {stated} {what}, its {limit}: either that is too low, or the game goes on too long"


def _check_bounds(name: str, game: Game, observations: Array) -> None:
    bad = np.flatnonzero(~((observations >= 0) & (observations <= 1)).all(axis=0))
    if len(bad):
        demand(False, name, f"{place(game, int(bad[0]))} is not written, or lies outside [0, 1]")


def _check_options(name: str, game: Game, observations: Array, masks: Array) -> None:
    """Segments that describe actions, in observations of the seats to act."""
    for segment in game.layout.segments:
        if segment.first_action is None:
            continue
        rows = observations[:, game.layout[segment.name]].reshape(len(masks), segment.shape[0], -1)
        legal = masks[:, segment.first_action : segment.first_action + segment.shape[0]] == 1
        good = np.array_equal(rows[..., 0] == 1, legal) and not rows[~legal].any()
        demand(good, name, f"the rows of segment {segment.name!r} that are not zeros are not those of legal actions")


def check_results(name: str, game: Game, states: Array, paid: Array) -> None:
    """Ends, returns and ranks of finished games: states (k,) and what was paid (k, players)."""
    n = game.num_players
    demand(bool((states["end"] != RUNNING).all()), name, "a game was paid before its end")
    finished = states["end"] == TERMINATED
    won = (states["winner"][:, :n] == 1) & finished[:, None]
    winners = won.sum(axis=1, keepdims=True)
    if game.pays_winners:
        due = np.where(won, (n / np.maximum(winners, 1) - 1) / (n - 1), -1 / (n - 1))
        due[(winners[:, 0] == 0) | (winners[:, 0] == n)] = 0
        wrong = np.flatnonzero((np.abs(paid - due) > TOLERANCE).any(axis=1))
        if len(wrong):
            demand(False, name, f"paid are {paid[wrong[0]].tolist()}, due are {due[wrong[0]].tolist()}")
    low, high = game.min_return - TOLERANCE, game.max_return + TOLERANCE
    outside = np.flatnonzero(((paid < low) | (paid > high)).any(axis=1))
    if len(outside):
        stated = f"{game.min_return} to {game.max_return}"
        demand(False, name, f"paid are {paid[outside[0]].tolist()}; the game states returns from {stated}")
    demand(not paid[~finished].any(), name, "a game that was truncated pays something")
    if game.zero_sum:
        lopsided = np.flatnonzero(np.abs(paid.sum(axis=1)) > n * TOLERANCE)
        if len(lopsided):
            demand(False, name, f"the returns {paid[lopsided[0]].tolist()} do not sum to 0")
    ranks = states["rank"][:, :n]
    good = ((ranks >= 1) & (ranks <= n) & (~won | (ranks == 1)))[finished]
    demand(bool(good.all()), name, f"a winner's rank is not 1, or a rank is not within 1 … {n}")


def deal(game: Game, num_games: int, seed: int) -> GameBatch:
    tables = GameBatch(game, num_games)
    tables.states["rng"] = seed_words(seed, num_games)
    tables.rngs[:] = seed_words(np.random.SeedSequence([seed, 1]), num_games)
    tables.start(np.arange(num_games))
    return tables


def decisions(tables: GameBatch, driver: int) -> Iterator[Array]:
    """Plays all tables to their ends with a built-in player, stopping before each round of decisions at `rows`."""
    mask = np.zeros(tables.game.num_actions, np.int8)
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero(tables.states["end"] == RUNNING)
        if not len(rows):
            return
        yield rows
        actions = np.zeros(len(rows), np.int64)
        tables.kernels.decide(tables.states, rows, driver, tables.rngs, mask, actions, None)
        tables.act(rows, actions, "built-in")
    raise AssertionError(f"check_game_play: a game has not ended within {MAX_STEPS} decisions")
