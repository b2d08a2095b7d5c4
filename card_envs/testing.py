"""The conformance suite: what every environment of this package promises, as checks that anybody can run.

For example::

    from card_envs import icarus_club_v0, testing

    testing.check_env(icarus_club_v0.env)               # all promises, one after another
    testing.check_copies(my_env)                        # one of them
    for game in testing.all_games():                    # every registered game at every player count
        testing.check_game(game)                        # the promises of its rules, below any environment

`check_env` takes an environment of this package, or any PettingZoo AEC environment whose observations are dicts with
`"observation"` and `"action_mask"`. What needs a game's state (leaks, records, the exact returns) is checked where the
environment is a `CardGameEnv`, wrapped or not, and left out elsewhere.

A promise that is broken raises an AssertionError which begins with the name of its check. Every check plays whole games
with random legal actions, seeded, so a failure comes again.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import pickle
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo.utils.env import AECEnv

from card_envs.arena.records import replay, to_record
from card_envs.envs.aec import ILLEGAL_ACTION, CardGameEnv
from card_envs.errors import CardEnvsError
from card_envs.games import game_class, list_games, player_counts
from card_envs.games.game import Game
from card_envs.games.recorded_game import RecordedGame
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import RUNNING, TERMINATED
from card_envs.policies.game_batch import GameBatch

__all__ = [
    "ENV_CHECKS",
    "GAME_CHECKS",
    "all_games",
    "check_copies",
    "check_end",
    "check_env",
    "check_fresh_arrays",
    "check_game",
    "check_game_chance",
    "check_game_layout",
    "check_game_leak",
    "check_game_play",
    "check_game_record",
    "check_infos",
    "check_leak",
    "check_legality",
    "check_masks",
    "check_observe",
    "check_record",
    "check_rewards",
    "check_seats",
    "check_seeds",
    "check_spaces",
]

Env = Any  #: a PettingZoo AECEnv, or a wrapper around one
Array = npt.NDArray[Any]

_MAX_STEPS = 100_000  # a game that takes longer does not end
_TOLERANCE = 1e-9
MANY_SEEDS = 24  #: deals of which two must differ, however small the game
_SHORT = 12  # a game of so few decisions is looked at in all of them


def all_games() -> Iterator[Game]:
    """Every registered game at every player count under every choice of options that it declares (`Game.variants`)."""
    for name in list_games():
        for num_players in player_counts(name):
            for options in game_class(name).variants():
                yield game_class(name)(num_players, **options)


def check_env(env: Env | Callable[[], Env], *, num_games: int = 2, seed: int = 0, skip: Collection[str] = ()) -> None:
    """Runs every check of `ENV_CHECKS` that applies.

    Args:
        env: an environment, or a function that makes one.
        num_games: games that each check plays.
        seed: the first of their seeds.
        skip: names of checks to leave out (`"check_seeds"` for a game without chance).

    Raises:
        AssertionError: a promise is broken; the message begins with the check's name.
        CardEnvsError: `skip` names a check that there is not, or `env` is no AEC environment.
    """
    unknown = set(skip) - {check.__name__ for check in ENV_CHECKS}
    if unknown:
        raise CardEnvsError(f"unknown checks {sorted(unknown)} (known: {', '.join(c.__name__ for c in ENV_CHECKS)})")
    made = env if isinstance(env, AECEnv) else env()
    if not isinstance(made, AECEnv):
        raise CardEnvsError(f"check_env takes a PettingZoo AEC environment or a function that makes one, not {made!r}")
    for check in ENV_CHECKS:
        if check.__name__ not in skip:
            check(made, num_games=num_games, seed=seed)


def check_game(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """Runs every check of `GAME_CHECKS`.

    Args:
        game: what is played; it need not be registered.
        num_games: games that each check plays.
        seed: seeds them.

    Raises:
        AssertionError: a promise is broken; the message begins with the check's name.
    """
    for check in GAME_CHECKS:
        check(game, num_games=num_games, seed=seed)


# --- environments: one promise each ---------------------------------------------------------------------------------


def check_seeds(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """The same seed gives the same game, another one another; 0 is a seed, and neighbours share nothing.

    A small game has few deals, so neighbours may be alike there; but not all of a row, and in this package their
    generators are never in the same state.

    Prevents: seeds that are ignored or taken for "none" when they are 0, games that differ although seeded, rows of a
    batch that repeat each other, options that fall back to their defaults on a seeded reset.
    """
    name, raw = "check_seeds", _card_env(env)
    agents = list(env.possible_agents)
    spaces = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    games = []
    for k in range(max(2, num_games)):
        env.reset(seed=seed + k)
        same = list(env.possible_agents) == agents and spaces == [
            (env.observation_space(agent), env.action_space(agent)) for agent in agents
        ]
        _demand(same, name, "a seeded reset changes the agents or their spaces: options must survive it")
        if raw is not None:
            dealt = raw._states.tobytes() == RecordedGame(raw.game, seed=seed + k).states.tobytes()
            _demand(dealt, name, f"reset(seed={seed + k}) does not deal {raw.game!r} as its rules do")
        games.append(_whole_game(env, seed + k, choices=seed))
        where = _difference(games[-1], _whole_game(env, seed + k, choices=seed))
        _demand(not where, name, f"seed {seed + k} gives two different games; they differ in {where}")
    for k, (first, second) in enumerate(itertools.pairwise(games)):
        others = (_whole_game(env, seed + further, choices=seed) for further in range(len(games), MANY_SEEDS))
        differ = bool(_difference(first, second)) or any(_difference(first, other) for other in others)
        _demand(
            differ, name, f"seeds {seed + k} and {seed + k + 1} give the same game, and so do all up to {MANY_SEEDS}"
        )
    if raw is not None:
        words = set()
        for k in range(MANY_SEEDS):
            env.reset(seed=seed + k)
            words.add(raw._states["rng"].tobytes())
        _demand(len(words) == MANY_SEEDS, name, "two seeds leave the generator in the same state")
    env.reset(seed=0)
    zero, differ = _view(env), False
    for _ in range(MANY_SEEDS):
        env.reset()
        differ = differ or bool(_difference(zero, _view(env)))
    _demand(differ, name, "a reset without a seed deals the same game once more")
    env.reset(seed=0)
    _demand(not _difference(zero, _view(env)), name, "seed 0 is not taken for a seed")


def check_spaces(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Spaces are declared once, and everything that comes out lies within them, in their dtype.

    Prevents: spaces that are new objects at each call (their seeds are lost), values out of bounds that no checker
    meets, masks of a type that `Discrete.sample` refuses, names and metadata that tools look for in vain.
    """
    name = "check_spaces"
    missing = {"name", "render_modes", "is_parallelizable"} - set(env.metadata)
    _demand(not missing, name, f"metadata lacks {', '.join(sorted(missing))}")
    for agent in env.possible_agents:
        space, actions = env.observation_space(agent), env.action_space(agent)
        _demand(
            space is env.observation_space(agent) and actions is env.action_space(agent),
            name,
            f"the spaces of {agent} are new objects at each call",
        )
        _demand(isinstance(actions, gymnasium.spaces.Discrete), name, f"{agent}'s actions are {actions}, not Discrete")
        _demand(
            isinstance(space, gymnasium.spaces.Dict) and set(space) == {"observation", "action_mask"},
            name,
            f"{agent}'s observation space is {space}, not a Dict of observation and action_mask",
        )
        mask = space["action_mask"]
        _demand(
            mask.dtype == np.int8 and mask.shape == (actions.n,),
            name,
            f"{agent}'s mask space is {mask}, not int8 of shape ({actions.n},)",
        )
    for k in range(num_games):
        for step in _walk(env, seed + k):
            for agent in env.possible_agents:
                _check_within(env, agent, f"at step {step}")
    for agent in env.possible_agents:
        _check_within(env, agent, "after the end")


def check_masks(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A mask is int8, (A,), 1 = legal for the seat that is to act; zeros for all others and after the end.

    Prevents: rows without a legal action (a masked policy then draws among all), one seat acting on another's mask,
    masks computed before the last chance event.
    """
    name = "check_masks"
    for k in range(num_games):
        for step in _walk(env, seed + k):
            for agent in env.possible_agents:
                mask = _observe(env, agent)["action_mask"]
                shape = (env.action_space(agent).n,)
                good = isinstance(mask, np.ndarray) and mask.dtype == np.int8 and mask.shape == shape
                _demand(good, name, f"step {step}: the mask of {agent} is not an int8 array of shape {shape}")
                _demand(
                    bool(((mask == 0) | (mask == 1)).all()), name, f"step {step}: {agent}'s mask holds not only 0 and 1"
                )
                if agent != env.agent_selection:
                    _demand(not mask.any(), name, f"step {step}: {agent} is not to act, but its mask has ones")
                else:
                    _demand(bool(mask.any()), name, f"step {step}: {agent} is to act, but its mask is empty")
                    env.action_space(agent).sample(mask)
        _leave_all(
            env,
            lambda: _demand(
                not any(_observe(env, agent)["action_mask"].any() for agent in env.possible_agents),
                name,
                "the game has ended, but a mask has ones",
            ),
        )


def check_legality(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """`step` accepts exactly what the mask offers.

    A refused action either raises and leaves the game as it was, or ends it for everybody. Environments of this package
    are checked in both modes, the second one to the reward: -1 for the offender, 0 for the others.

    Prevents: rare illegal actions in spite of masks, and actions that are replaced without a word.
    """
    name, raw = "check_legality", _card_env(env)
    modes: Sequence[str | None] = ILLEGAL_ACTION if raw is env else (None,)  # a wrapper has its own mind
    mode_before = raw.illegal_action if raw is not None else None
    rng = np.random.default_rng(seed)
    try:
        for k in range(num_games):
            actions = _actions_of(env, seed + k)
            for position in _spread(len(actions), 3):
                _go_to(env, seed + k, actions, position)
                here = _Bookmark(env, seed + k, actions, position)
                mask = _observe(env, env.agent_selection)["action_mask"]
                if raw is not None:
                    legal = np.zeros_like(mask)
                    raw._kernels.legal(raw._states, 0, legal)
                    _demand(np.array_equal(mask, legal), name, f"after {position} actions the mask is not the rules'")
                for action in _some(np.flatnonzero(mask), 4, rng):
                    here.restore()
                    _check_accepted(env, action, position)
                for action in [*_some(np.flatnonzero(mask == 0), 2, rng), -1, len(mask)]:
                    for mode in modes:
                        here.restore()
                        if raw is not None and mode is not None:
                            raw.illegal_action = mode
                        _check_refused(env, action, mode, position)
    finally:
        if raw is not None and mode_before is not None:
            raw.illegal_action = mode_before


def check_seats(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Any two seats see something different at some time of a game.

    Prevents: an observation that ignores whom it is for.
    """
    alike = {(a, b) for i, a in enumerate(env.possible_agents) for b in env.possible_agents[i + 1 :]}
    for k in range(num_games):
        for _ in _walk(env, seed + k):
            seen = {agent: _observe(env, agent)["observation"] for agent in env.possible_agents}
            alike = {(a, b) for a, b in alike if np.array_equal(seen[a], seen[b])}
            if not alike:
                return
    pairs = ", ".join(f"{a} and {b}" for a, b in sorted(alike))
    _demand(False, "check_seats", f"{pairs} see the same all through {num_games} games")


def check_observe(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """`observe` answers for any seat at any time, after the end too, and changes nothing.

    Prevents: tools that look at all seats in each step and so change the game, or fail for the seats that are not to
    act.
    """
    name = "check_observe"
    for k in range(num_games):
        plain = _whole_game(env, seed + k)
        env.reset(seed=seed + k)
        watched = _transcript(env, _choices(seed + k), look=lambda: _check_pure(env))
        _check_pure(env)
        where = _difference(plain, watched)
        _demand(not where, name, f"seed {seed + k}: a game takes another course when all seats are observed: {where}")


def check_fresh_arrays(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """What was given out never changes afterwards, and may be written on.

    Prevents: learning on observations of a later moment, because a buffer was handed out.
    """
    name = "check_fresh_arrays"
    for k in range(num_games):
        held: list[tuple[str, Any, Any]] = []
        env.reset(seed=seed + k)
        rng = _choices(seed + k)
        while env.agents:
            for agent in env.possible_agents:
                observation, again = _observe(env, agent), _observe(env, agent)
                for key in observation:
                    if np.shares_memory(observation[key], again[key]):
                        _demand(False, name, f"observe({agent!r}) gives the same {key} array twice")
                held.append((f"the observation of {agent}", observation, _frozen(observation)))
            _, _, termination, truncation, info = env.last()
            held.append((f"the info of {env.agent_selection}", info, _frozen(info)))
            observation = _observe(env, env.agent_selection)
            action = None if termination or truncation else _choose(observation, rng)
            for array in observation.values():
                array[...] = 1 - array
            env.step(action)
        for what, given, kept in held:
            where = _difference(given, kept)
            _demand(not where, name, f"{what} was changed by later steps in {where}")
        plain = _difference(_whole_game(env, seed + k), _whole_game(env, seed + k, write=True))
        _demand(not plain, name, f"writing on observations changes the game: {plain}")


def check_copies(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A copy made in mid-game goes on as the original does, its next unseeded game included, and apart from it.

    `copy.deepcopy`, `pickle`, and `save` with `restore` where the environment has them.

    Prevents: copies that begin a new game, copies that draw other cards, copies that share arrays with their original.
    """
    name = "check_copies"
    for k in range(num_games):
        actions = _actions_of(env, seed + k)
        for position in _spread(len(actions), 3)[k::num_games]:
            _go_to(env, seed + k, actions, position)
            twins = {"deepcopy": copy.deepcopy(env), "pickle": pickle.loads(pickle.dumps(env))}
            here = _view(env)
            for how, twin in twins.items():
                where = _difference_of_copy(here, twin)
                _demand(not where, name, f"after {position} actions a copy by {how} differs in {where}")
            raw = env.unwrapped
            restorable = hasattr(raw, "save") and hasattr(raw, "restore")
            snapshot = raw.save() if restorable else None
            expected = _rest(env)
            for how, twin in twins.items():
                where = _difference(here, _view(twin))
                _demand(not where, name, f"a copy by {how} is changed when its original is played: {where}")
                where = _difference(expected, _rest(twin))
                _demand(not where, name, f"a copy by {how} goes on otherwise than its original: {where}")
            for _ in range(2 if restorable else 0):
                raw.restore(snapshot)
                where = _difference(here, _view(env)) or _difference(expected, _rest(env))
                _demand(not where, name, f"a game that was saved and restored differs in {where}")


def check_end(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """All seats end in the same step and in the same way, and then leave one by one.

    Flags are Python's bools, the same for all seats, and never both. After the last action every agent is still there;
    each is selected once, in table order (in this package: clockwise from the last mover), takes `step(None)`, any
    other action is refused, and is gone from all dicts; at last `agents` is empty.

    Prevents: episodes that never end because one seat's flag differs, selection by accident after the end, `None` steps
    that confuse.
    """
    name = "check_end"
    for k in range(num_games):
        mover = ""
        env.reset(seed=seed + k)
        rng = _choices(seed + k)
        _demand(list(env.agents) == list(env.possible_agents), name, "after reset not all agents are there")
        for step in _until_end(env):
            mover = env.agent_selection
            env.step(_choose(_observe(env, mover), rng))
            flags = set()
            for agent in env.possible_agents:
                _demand(agent in env.agents, name, f"step {step}: {agent} has left before the end was told")
                pair = (env.terminations[agent], env.truncations[agent])
                _demand(all(type(f) is bool for f in pair), name, f"step {step}: {agent}'s flags {pair} are not bools")
                flags.add(pair)
            _demand(len(flags) == 1, name, f"step {step}: the seats end differently: {sorted(flags)}")
            _demand((True, True) not in flags, name, f"step {step}: a game is both terminated and truncated")
        _check_departure(env, mover)


def check_rewards(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Every seat is paid what is due to it, the losers too.

    `last` gives what a seat was paid since its last action. In this package rewards are 0 until the last step, which
    pays every seat the return that the rules state; they sum to 0.

    Prevents: the mover alone being paid, so that a learner never meets its losses; rewards told twice or not at all.
    """
    name = "check_rewards"
    raw = _card_env(env)
    for k in range(num_games):
        env.reset(seed=seed + k)
        rng = _choices(seed + k)
        owed = dict.fromkeys(env.possible_agents, 0.0)
        for step in _until_end(env):
            mover = env.agent_selection
            _check_last(env, owed, f"step {step}")
            owed[mover] = 0.0
            env.step(_choose(_observe(env, mover), rng))
            for agent in env.possible_agents:
                reward = env.rewards.get(agent)
                _demand(
                    isinstance(reward, (int, float)) and bool(np.isfinite(reward)),
                    name,
                    f"step {step}: the reward of {agent} is {reward!r}, not a number",
                )
                owed[agent] += reward
            if raw is not None and not _ended(env):
                _demand(not any(env.rewards.values()), name, f"step {step}: a reward before the end: {env.rewards}")
        if raw is not None:
            _check_returns(env, raw)
        _leave_all(env, functools.partial(_check_last, env, owed, "after the end"))


def check_infos(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """Infos have the same keys for every seat at every time, and values that become arrays.

    Prevents: frameworks that stack infos and meet a key that was not there before.
    """
    name = "check_infos"
    keys: set[str] | None = None
    for k in range(num_games):
        env.reset(seed=seed + k)
        rng = _choices(seed + k)
        while True:
            for agent in env.agents:
                info = env.infos.get(agent)
                _demand(isinstance(info, dict), name, f"there is no info for {agent}")
                keys = set(info) if keys is None else keys
                _demand(set(info) == keys, name, f"{agent}'s info has the keys {sorted(info)}, not {sorted(keys)}")
                for key, value in info.items():
                    kind = np.asarray(value).dtype.kind
                    _demand(kind in "biuf", name, f"{agent}'s info {key!r} is {value!r}, which is no number or array")
            if _ended(env):
                break
            env.step(_choose(_observe(env, env.agent_selection), rng))


def check_leak(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A seat's observation, mask and info, and the picture drawn for it, hold nothing that it can't know.

    All that a seat can't know is drawn anew (`Rules.resample`); whatever it is shown must stay the same to the bit.
    Only for environments of this package, and those built on them.

    Prevents: opponents' cards in an observation, and agents that win by looking.
    """
    raw = _card_env(env)
    if raw is None:
        return
    name, kernels = "check_leak", raw._kernels
    words, changed = seed_words(seed, 1)[0], False
    for k in range(num_games):
        actions = _actions_of(env, seed + k)
        looked_at = range(len(actions)) if len(actions) <= _SHORT else _spread(len(actions), 6)
        for position in [*looked_at, len(actions)]:
            _go_to(env, seed + k, actions, position)
            states, mask = raw._states, raw._mask
            for seat, agent in enumerate(env.possible_agents):
                text = raw.game.render_text(states[0], seat) if k == 0 else ""
                before = (_observe(env, agent), env.infos[agent], text)
                raw._states = states.copy()
                kernels.resample(raw._states, 0, seat, words)
                changed |= raw._states.tobytes() != states.tobytes()
                raw._mask = mask.copy()
                if raw._player == seat:
                    kernels.legal(raw._states, 0, raw._mask)
                raw._fill_infos()
                text = raw.game.render_text(raw._states[0], seat) if k == 0 else ""
                after = (_observe(env, agent), env.infos[agent], text)
                raw._states, raw._mask = states, mask
                raw._fill_infos()
                where = _difference(before, after, ("observe", "info", "render_text"))
                _demand(not where, name, f"after {position} actions {agent} sees what it can't know, in {where}")
    _demand(changed, name, "resample changed nothing at all, so nothing was tested")


def check_record(env: Env, *, num_games: int = 2, seed: int = 0) -> None:
    """A game is the same as its record: played in the environment, written, read as JSON and replayed.

    Only for environments of this package.

    Prevents: records that can't be played again, and an environment that plays by other rules than the referee.
    """
    raw = _card_env(env)
    if raw is None:
        return
    name = "check_record"
    for k in range(num_games):
        env.reset(seed=seed + k)
        table, rng = RecordedGame(raw.game, seed=seed + k), _choices(seed + k)
        for _ in _until_end(env):
            action = _choose(_observe(env, env.agent_selection), rng)
            try:
                table.play(action)
            except CardEnvsError as error:
                raise AssertionError(f"{name}: by the rules, {error}") from error
            env.step(action)
        _demand(table.over, name, "the environment's game has ended, by its rules it has not")
        _check_round_trip(name, table)
        for seat, agent in enumerate(env.possible_agents):
            paid, due = env.rewards[agent], table.returns()[seat]
            _demand(abs(paid - due) < _TOLERANCE, name, f"{agent} was paid {paid}, its record says {due}")


#: In the order in which `check_env` runs them: later ones rely on seeds.
ENV_CHECKS: tuple[Callable[..., None], ...] = (
    check_seeds,
    check_spaces,
    check_masks,
    check_observe,
    check_fresh_arrays,
    check_copies,
    check_legality,
    check_seats,
    check_end,
    check_rewards,
    check_infos,
    check_leak,
    check_record,
)


# --- games: what their rules promise, below any environment ---------------------------------------------------------


def check_game_layout(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """The layout names every place of an observation once, and its table says so; names of actions are unique.

    Prevents: vectors with places that nobody can explain.
    """
    name = "check_game_layout"
    end = 0
    for segment in game.layout.segments:
        _demand(segment.start == end, name, f"segment {segment.name!r} begins at {segment.start}, not {end}")
        _demand(segment.size > 0 and bool(segment.meaning), name, f"segment {segment.name!r} is empty or not explained")
        _demand(f"| {end} | `{segment.name}` |" in game.layout.table(), name, f"{segment.name!r} is not in the table")
        end += segment.size
    _demand(end == game.layout.size, name, f"the segments take {end} places, the observation has {game.layout.size}")
    unique = len(set(game.action_names)) == game.num_actions
    _demand(unique and all(game.action_names), name, "two actions have the same name, or one has none")
    _demand(len(game.agents) == game.num_players, name, f"{len(game.agents)} agents for {game.num_players} players")
    twin = pickle.loads(pickle.dumps(game))
    _demand(twin == game and twin.initial.tobytes() == game.initial.tobytes(), name, "a pickled game is another game")


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
        tables = _deal(game, num_games, seed)
        for rows in _decisions(tables, driver):
            mask = np.full((len(rows), game.num_actions), 7, np.int8)
            obs = np.full((len(rows), game.layout.size), np.nan, np.float32)
            tables.kernels.ask(tables.states, rows, game.layout.at, obs, mask)
            _demand(bool(np.isin(mask, (0, 1)).all()), name, "a mask holds not only 0 and 1")
            _demand(bool(mask.any(axis=1).all()), name, "a decision has no legal action")
            _check_bounds(name, game, obs)
            _check_options(name, game, obs, mask)
            for seat in range(n):
                obs[:] = np.nan
                tables.kernels.observe_rows(tables.states, rows, np.full(len(rows), seat), game.layout.at, obs)
                _check_bounds(name, game, obs)
        _check_results(name, game, tables.states, tables.returns(np.arange(num_games)))


def check_game_leak(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """`resample` changes nothing that a seat may know, and gives a state that can be played to its end.

    At every decision and for every seat: observation, mask, the hand-written player's choice, and the public header
    fields are the same to the bit before and after. What it draws depends on nothing that the seat can't know: drawn
    once more with the same random numbers from what was drawn, the state is the same.

    Prevents: observations that leak, a hand-written player that looks at others' cards, searches that start from
    impossible deals.
    """
    name, kernels, at = "check_game_leak", batch.for_game(game), game.layout.at
    tables, words, changed = _deal(game, num_games, seed), seed_words(seed + 1, 1)[0], False
    for round_number, rows in enumerate(_decisions(tables, batch.RANDOM)):
        real, obs = tables.states, np.zeros((2, len(rows), game.layout.size), np.float32)
        for seat in range(game.num_players):
            drawn, used = real.copy(), words.copy()
            for row in rows:
                kernels.resample(drawn, row, seat, words)
            again = drawn.copy()
            for row in rows:
                kernels.resample(again, row, seat, used)
            same = again.tobytes() == drawn.tobytes()
            _demand(same, name, f"what resample draws for seat {seat} depends on what that seat can't know")
            changed |= drawn.tobytes() != real.tobytes()
            for field in ("num_players", "player", "phase", "chance", "end", "winner", "rank"):
                same = drawn[field].tobytes() == real[field].tobytes()
                _demand(same, name, f"resample changes the public field {field!r}")
            for which, states in enumerate((real, drawn)):
                kernels.observe_rows(states, rows, np.full(len(rows), seat), at, obs[which])
            differing = np.flatnonzero((obs[0] != obs[1]).any(axis=0))
            if len(differing):
                _demand(False, name, f"seat {seat} sees what it can't know, in {_place(game, int(differing[0]))}")
            _check_same_answers(name, tables, drawn, rows[real["player"][rows] == seat])
        if round_number % 16 == 0:
            others = GameBatch(game, num_games)
            others.states[:], others.rngs[:] = drawn, tables.rngs
            others.advance(rows)
            _check_results(name, game, others.states[rows], others.returns(rows))
    _demand(changed, name, "resample changed nothing at all, so nothing was tested")


def check_game_record(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """A game's record, written and read as JSON, plays to the same end; so does one made from a copied state.

    Prevents: records that only this program can read, and states that are not the whole game.
    """
    name = "check_game_record"
    for k in range(min(num_games, 2)):
        table, rng = RecordedGame(game, seed=seed + k), np.random.default_rng(seed + k)
        twin = copy.deepcopy(table)
        while not table.over:
            action = int(rng.choice(np.flatnonzero(table.action_mask())))
            table.play(action)
            twin.states = twin.states.copy()
            twin.play(action)
        _demand(table.states.tobytes() == twin.states.tobytes(), name, "a copied state goes on otherwise")
        _check_round_trip(name, table)


def check_game_chance(game: Game, *, num_games: int = 20, seed: int = 0) -> None:
    """Chance is what the game says about it, and games stay within the lengths that it names.

    A chance event draws a number below `Game.chance_range`, or shuffles cards that are always the same in one state,
    in the runs of `Game.deck_runs`. No game has more events or decisions than it names.

    Prevents: game trees with other chance than the game's, buffers that are too short for a game.
    """
    name, kernels = "check_game_chance", batch.for_game(game)
    rng, value = _choices(seed), np.zeros(game.max_chance_values, np.int16)
    for words in seed_words(seed, num_games):
        table, events, decisions = RecordedGame(game, explicit_chance=True), 0, 0
        while not table.over:
            if not table.chance:
                table.play(int(rng.choice(np.flatnonzero(table.action_mask()))))
                decisions += 1
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
                _demand(good, name, f"{table.chance!r} draws {drawn[0]}, chance_range is {highest}")
            else:
                cards = np.sort(drawn[0])
                _demand(np.array_equal(cards, np.sort(drawn[1])), name, f"{table.chance!r} shuffles different cards")
                runs = game.deck_runs(len(cards))
                _demand(min(runs) > 0 and sum(runs) == len(cards), name, f"runs {runs} are not {len(cards)} cards")
                alike = max(runs) > 1 and len(np.unique(cards)) < len(cards)
                _demand(not alike, name, "a run is longer than 1, but some cards are alike")
            kernels.apply_chance(table.states, 0, drawn[0])
            events += 1
        _demand(events <= game.max_chance_events, name, f"a game has {events} chance events")
        _demand(decisions <= game.max_decisions, name, f"a game asks for {decisions} decisions")


GAME_CHECKS: tuple[Callable[..., None], ...] = (
    check_game_layout,
    check_game_chance,
    check_game_play,
    check_game_leak,
    check_game_record,
)


# --- inside: playing ------------------------------------------------------------------------------------------------


def _card_env(env: Env) -> CardGameEnv | None:
    """The environment of this package that `env` is or wraps, if any."""
    raw = env.unwrapped
    return raw if isinstance(raw, CardGameEnv) else None


def _choices(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 1])


def _observe(env: Env, agent: str) -> dict[str, Array]:
    """What `agent` sees; every seat may look at any time, so an error is a broken promise."""
    try:
        return env.observe(agent)
    except Exception as error:
        raise AssertionError(f"check_observe: observe({agent!r}) raises {error!r}") from error


def _choose(observation: Any, rng: np.random.Generator) -> int:
    legal = np.flatnonzero(observation["action_mask"])
    if not len(legal):
        raise AssertionError("check_masks: the seat to act has an empty mask, so the game can't go on")
    return int(legal[rng.integers(len(legal))])


def _ended(env: Env) -> bool:
    return not env.agents or env.terminations[env.agent_selection] or env.truncations[env.agent_selection]


def _until_end(env: Env) -> Iterator[int]:
    """Counts steps until the seat selected has ended; the loop's body makes them."""
    for step in range(_MAX_STEPS):
        if _ended(env):
            return
        yield step
    raise AssertionError(f"check_end: a game has not ended within {_MAX_STEPS} steps")


def _walk(env: Env, seed: int) -> Iterator[int]:
    """Plays one game with random legal actions, stopping before each for the loop's body to look."""
    env.reset(seed=seed)
    rng = _choices(seed)
    for step in _until_end(env):
        yield step
        env.step(_choose(_observe(env, env.agent_selection), rng))


def _leave_all(env: Env, look: Callable[[], None]) -> None:
    """`step(None)` for every seat after the end, with a look before each and after all."""
    for _ in range(len(env.possible_agents)):
        if env.agents:
            look()
            env.step(None)


def _transcript(env: Env, rng: np.random.Generator, look: Callable[[], None] = lambda: None) -> list[Any]:
    """All that a game tells from here to its end, `None` steps included."""
    told: list[Any] = []
    for _ in range(_MAX_STEPS):
        if not env.agents:
            return told
        look()
        observation, reward, termination, truncation, info = env.last()
        action = None if termination or truncation else _choose(observation, rng)
        told.append(_frozen((env.agent_selection, observation, reward, termination, truncation, info, action)))
        env.step(action)
    raise AssertionError(f"check_end: a game has not ended within {_MAX_STEPS} steps")


def _whole_game(env: Env, seed: int, choices: int | None = None, write: bool = False) -> list[Any]:
    """The transcript of a seeded game; with `write`, observations are written on as it goes."""

    def scribble() -> None:
        for agent in env.possible_agents:
            for array in _observe(env, agent).values():
                array[...] = 1

    env.reset(seed=seed)
    return _transcript(env, _choices(seed if choices is None else choices), scribble if write else lambda: None)


def _rest(env: Env) -> list[Any]:
    """The rest of this game, and the deal of the next one without a seed."""
    rest = _transcript(env, _choices(0))
    env.reset()
    return [rest, _view(env)]


def _actions_of(env: Env, seed: int) -> list[int]:
    """The actions of a random legal game under this seed."""
    return [move[-1] for move in _whole_game(env, seed) if move[-1] is not None]


def _go_to(env: Env, seed: int, actions: Sequence[int], position: int) -> None:
    env.reset(seed=seed)
    for action in actions[:position]:
        env.step(action)


class _Bookmark:
    """A place in a game to which an environment can be brought back, again and again."""

    def __init__(self, env: Env, seed: int, actions: Sequence[int], position: int) -> None:
        self._env, self._place = env, (seed, actions, position)
        raw = _card_env(env)
        self._raw = raw if raw is env else None  # a wrapper may hold something itself
        self._snapshot = raw.save() if raw is env and raw is not None else None

    def restore(self) -> None:
        if self._raw is not None and self._snapshot is not None:
            self._raw.restore(self._snapshot)
        else:
            _go_to(self._env, *self._place)


def _spread(length: int, count: int) -> list[int]:
    """Up to `count` positions from the first to the last of `length`."""
    return sorted({int(position) for position in np.linspace(0, max(0, length - 1), count)})


def _some(actions: Array, count: int, rng: np.random.Generator) -> list[int]:
    return [int(action) for action in rng.permutation(actions)[:count]]


# --- inside: comparing ----------------------------------------------------------------------------------------------


def _demand(kept: bool, name: str, message: str) -> None:
    if not kept:
        raise AssertionError(f"{name}: {message}")


def _view(env: Env) -> dict[str, Any]:
    """All that an environment tells at this moment, as copies."""
    raw = _card_env(env)
    told = {
        "agents": list(env.agents),
        "agent_selection": env.agent_selection,
        "rewards": dict(env.rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": _frozen(env.infos),
        "observations": {agent: _frozen(_observe(env, agent)) for agent in env.possible_agents},
        "last": _frozen(env.last(observe=False)) if env.agents else None,
    }
    if raw is not None:
        told |= {"state": raw._states.tobytes(), "global state": raw.state()}
    return told


def _difference_of_copy(here: dict[str, Any], twin: Env) -> str:
    """Where a copy differs from its original's view; one made anew from the constructor's arguments has no game."""
    try:
        return _difference(here, _view(twin))
    except Exception as error:
        return f"that it has lost its game: {error!r}"


def _frozen(value: Any) -> Any:
    """A copy of a nest of dicts, lists and arrays."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_frozen(item) for item in value]
    return value


def _difference(a: Any, b: Any, names: Sequence[str] = ()) -> str:
    """Where two values differ, "" if they don't; numbers must agree in value, arrays also in dtype."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
        if a.tobytes() == b.tobytes():
            return ""
        places = np.argwhere(a != b)
        return f"place {', '.join(map(str, places[0]))}" if len(places) else ""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"keys {sorted(map(str, a))} and {sorted(map(str, b))}"
        pairs = [(str(key), a[key], b[key]) for key in a]
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"lengths {len(a)} and {len(b)}"
        pairs = [(names[i] if names else str(i), *pair) for i, pair in enumerate(zip(a, b, strict=True))]
    elif isinstance(a, bytes):
        return "" if a == b else "bytes"
    else:
        return "" if bool(a == b) else f"{_short(a)} and {_short(b)}"
    for key, left, right in pairs:
        where = _difference(left, right)
        if where:
            return f"{key}: {where}"
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _place(game: Game, index: int) -> str:
    """The name of a place of an observation."""
    for segment in game.layout.segments:
        if segment.start <= index < segment.start + segment.size:
            return f"place {index}, {segment.name}[{index - segment.start}]"
    return f"place {index}"


# --- inside: parts of checks ----------------------------------------------------------------------------------------


def _check_within(env: Env, agent: str, when: str) -> None:
    name, space, seen = "check_spaces", env.observation_space(agent), _observe(env, agent)
    _demand(isinstance(seen, dict) and set(seen) == set(space), name, f"{when} {agent} is not shown a dict as declared")
    for key, part in space.items():
        value = seen[key]
        good = isinstance(value, np.ndarray) and value.dtype == part.dtype and value.shape == part.shape
        _demand(good, name, f"{when} the {key} of {agent} is not {part.dtype} of shape {part.shape}")
        _demand(part.contains(value), name, f"{when} the {key} of {agent} is out of the bounds of its space")


def _check_accepted(env: Env, action: int, position: int) -> None:
    agent = env.agent_selection
    try:
        env.step(action)
    except Exception as error:
        message = f"after {position} actions the mask offers {agent} action {action}, but step raises {error!r}"
        raise AssertionError(f"check_legality: {message}") from error
    raw = _card_env(env)
    if raw is not None:
        message = f"after {position} actions the mask offers {agent} action {action}, but step takes it for illegal"
        _demand(raw._offender < 0, "check_legality", message)


def _check_refused(env: Env, action: int, mode: str | None, position: int) -> None:
    name, offender, before = "check_legality", env.agent_selection, _view(env)
    what = f"after {position} actions: illegal action {action} of {offender}"
    try:
        env.step(action)
    except Exception as error:
        _demand(mode != "terminate", name, f"{what} raises {error!r} in the mode 'terminate'")
        where = _difference(before, _view(env))
        _demand(not where, name, f"{what} raises, but changes the game in {where}")
        return
    _demand(mode != "raise", name, f"{what} is accepted")
    over = all(env.terminations.get(agent, True) for agent in env.possible_agents)
    _demand(over, name, f"{what} is accepted: it neither raises nor ends the game for all")
    if mode == "terminate":
        price = env.unwrapped.game.illegal_return
        expected = {agent: price if agent == offender else 0.0 for agent in env.possible_agents}
        _demand(env.rewards == expected, name, f"{what} pays {env.rewards}, not {expected}")


def _check_pure(env: Env) -> None:
    before = _view(env)
    for agent in env.possible_agents:
        where = _difference(_observe(env, agent), _observe(env, agent))
        _demand(not where, "check_observe", f"two looks of {agent} at the same moment differ in {where}")
    where = _difference(before, _view(env))
    _demand(not where, "check_observe", f"observe changes {where}")


def _check_departure(env: Env, mover: str) -> None:
    name, agents = "check_end", list(env.possible_agents)
    first = agents.index(env.agent_selection)
    if _card_env(env) is not None:
        first = (agents.index(mover) + 1) % len(agents)
    for k in range(len(agents)):
        expected = agents[(first + k) % len(agents)]
        left = set(agents[(first + i) % len(agents)] for i in range(k, len(agents)))
        _demand(
            env.agent_selection == expected,
            name,
            f"after the end, {env.agent_selection} is selected where table order from the last mover says {expected}",
        )
        for what in ("agents", "rewards", "terminations", "truncations", "infos"):
            keys = set(getattr(env, what))
            _demand(keys == left, name, f"after the end, {what} are {sorted(keys)}, not {sorted(left)}")
        try:
            env.step(0)
        except Exception:
            pass
        else:
            _demand(False, name, f"step(0) of {expected} after the end is accepted")
        env.step(None)
    _demand(not env.agents, name, f"all have taken step(None), but agents are {env.agents}")


def _check_last(env: Env, owed: dict[str, float], when: str) -> None:
    agent, paid = env.agent_selection, env.last()[1]
    good = abs(paid - owed[agent]) < _TOLERANCE
    _demand(good, "check_rewards", f"{when}: last() pays {agent} {paid}, due since its last action are {owed[agent]}")


def _check_returns(env: Env, raw: CardGameEnv) -> None:
    name = "check_rewards"
    due = np.zeros((1, raw.game.num_players))
    raw._kernels.returns(raw._states, np.zeros(1, np.int64), due)
    paid = [env.rewards[agent] for agent in env.possible_agents]
    _demand(
        bool(np.allclose(paid, due[0], rtol=0, atol=_TOLERANCE)), name, f"paid are {paid}, due are {due[0].tolist()}"
    )
    _check_results(name, raw.game, raw._states, due)


def _check_round_trip(name: str, table: RecordedGame) -> None:
    record = to_record(table)
    read = json.loads(json.dumps(record, allow_nan=False))
    where = _difference(record, read)
    _demand(not where, name, f"a record changes on its way through JSON: {where}")
    if table.game.name not in list_games() or type(table.game) is not game_class(table.game.name):
        return  # a replay looks the game up by its name
    again = replay(read)
    ours, theirs = table.states.copy(), again.states.copy()
    ours["rng"] = theirs["rng"] = 0  # a replay draws nothing
    _demand(ours.tobytes() == theirs.tobytes(), name, "the replayed record ends in another state")
    where = _difference(to_record(again), record)
    _demand(not where, name, f"the record of the replay differs in {where}")


def _deal(game: Game, num_games: int, seed: int) -> GameBatch:
    tables = GameBatch(game, num_games)
    tables.states["rng"] = seed_words(seed, num_games)
    tables.rngs[:] = seed_words(np.random.SeedSequence([seed, 1]), num_games)
    tables.start(np.arange(num_games))
    return tables


def _decisions(tables: GameBatch, driver: int) -> Iterator[Array]:
    """Plays all tables to their ends with a built-in player, stopping before each round of decisions at `rows`."""
    mask = np.zeros(tables.game.num_actions, np.int8)
    for _ in range(_MAX_STEPS):
        rows = np.flatnonzero(tables.states["end"] == RUNNING)
        if not len(rows):
            return
        yield rows
        actions = np.zeros(len(rows), np.int64)
        tables.kernels.decide(tables.states, rows, driver, tables.rngs, mask, actions)
        tables.act(rows, actions, "built-in")
    raise AssertionError(f"check_game_play: a game has not ended within {_MAX_STEPS} decisions")


def _check_same_answers(name: str, tables: GameBatch, drawn: Array, rows: Array) -> None:
    """Masks and the hand-written player's choices at `rows` must be the same in the states `drawn` for the mover."""
    answers, scratch = [], np.zeros(tables.game.num_actions, np.int8)
    for states in (tables.states, drawn):
        masks, chosen = np.zeros((len(rows), tables.game.num_actions), np.int8), np.zeros(len(rows), np.int64)
        for i, row in enumerate(rows):
            tables.kernels.legal(states, row, masks[i])
        tables.kernels.decide(states, rows, batch.HEURISTIC, tables.rngs.copy(), scratch, chosen)
        answers.append((masks, chosen))
    _demand(np.array_equal(answers[0][0], answers[1][0]), name, "a mask tells what its seat can't know")
    _demand(np.array_equal(answers[0][1], answers[1][1]), name, "the hand-written player uses what it can't know")


def _check_bounds(name: str, game: Game, observations: Array) -> None:
    bad = np.flatnonzero(~((observations >= 0) & (observations <= 1)).all(axis=0))
    if len(bad):
        _demand(False, name, f"{_place(game, int(bad[0]))} is not written, or lies outside [0, 1]")


def _check_options(name: str, game: Game, observations: Array, masks: Array) -> None:
    """Segments that describe actions, in observations of the seats to act."""
    for segment in game.layout.segments:
        if segment.first_action is None:
            continue
        rows = observations[:, game.layout[segment.name]].reshape(len(masks), segment.shape[0], -1)
        legal = masks[:, segment.first_action : segment.first_action + segment.shape[0]] == 1
        good = np.array_equal(rows[..., 0] == 1, legal) and not rows[~legal].any()
        _demand(good, name, f"the rows of segment {segment.name!r} that are not zeros are not those of legal actions")


def _check_results(name: str, game: Game, states: Array, paid: Array) -> None:
    """Ends, returns and ranks of finished games: states (k,) and what was paid (k, players)."""
    n = game.num_players
    _demand(bool((states["end"] != RUNNING).all()), name, "a game was paid before its end")
    finished = states["end"] == TERMINATED
    won = (states["winner"][:, :n] == 1) & finished[:, None]
    winners = won.sum(axis=1, keepdims=True)
    if game.pays_winners:
        due = np.where(won, (n / np.maximum(winners, 1) - 1) / (n - 1), -1 / (n - 1))
        due[(winners[:, 0] == 0) | (winners[:, 0] == n)] = 0
        wrong = np.flatnonzero((np.abs(paid - due) > _TOLERANCE).any(axis=1))
        if len(wrong):
            _demand(False, name, f"paid are {paid[wrong[0]].tolist()}, due are {due[wrong[0]].tolist()}")
    low, high = game.min_return - _TOLERANCE, game.max_return + _TOLERANCE
    outside = np.flatnonzero(((paid < low) | (paid > high)).any(axis=1))
    if len(outside):
        stated = f"{game.min_return} to {game.max_return}"
        _demand(False, name, f"paid are {paid[outside[0]].tolist()}; the game states returns from {stated}")
    _demand(not paid[~finished].any(), name, "a game that was truncated pays something")
    if game.zero_sum:
        lopsided = np.flatnonzero(np.abs(paid.sum(axis=1)) > n * _TOLERANCE)
        if len(lopsided):
            _demand(False, name, f"the returns {paid[lopsided[0]].tolist()} do not sum to 0")
    ranks = states["rank"][:, :n]
    good = ((ranks >= 1) & (ranks <= n) & (~won | (ranks == 1)))[finished]
    _demand(bool(good.all()), name, f"a winner's rank is not 1, or a rank is not within 1 … {n}")
