"""Decisions a second, side by side with peers in one run: `python -m benchmarks.throughput`.

Random legal play; mask and observation at every decision; every contender is warmed up, then all take turns for several
rounds, so that noise of the machine meets all alike. The table shows medians, the spread over rounds, and ratios within
this run. Peers need the extra `bench`, training the extra `train`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from card_envs.arena.schedule import Player
from card_envs.arena.tournament import ResultFile, make_plan
from card_envs.cli.common import run, whole
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write
from card_envs.games import list_games, make_game, player_counts
from card_envs.games.game import Game
from card_envs.kernels import batch, search
from card_envs.kernels.jit import borrow, jit
from card_envs.kernels.rng import random_legal, seed_words
from card_envs.kernels.state import RUNNING
from card_envs.machine import machine
from card_envs.policies.game_batch import CALLER, TO_THE_END, GameBatch
from card_envs.policies.search import EXPLORATION

PACKAGES = (
    "numpy",
    "numba",
    "gymnasium",
    "pettingzoo",
    "open-spiel",
    "rlcard",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
)
SIMULATIONS = 200  # of a decision
STEPS = ("kernels", "aec", "arena", "search", "training", "threads", "start")


@dataclass
class Contender:
    """Something to be measured: `play(seconds)` returns decisions and the seconds that they took."""

    name: str
    play: Callable[[float], tuple[int, float]]
    rates: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.rates)


def measure(contenders: Sequence[Contender], rounds: int, seconds: float) -> None:
    """Warms every contender up, then lets all take turns."""
    for contender in contenders:
        contender.play(seconds / 4)
    for number in range(rounds):
        for contender in contenders:
            decisions, taken = contender.play(seconds)
            contender.rates.append(decisions / taken)
        print(f"  round {number + 1} of {rounds}", file=sys.stderr)


def show(title: str, contenders: Sequence[Contender], references: Sequence[str]) -> list[dict[str, Any]]:
    """Prints a table with the ratios to the reference contenders; returns its rows."""
    by_name = {contender.name: contender for contender in contenders}
    print(f"\n{title}")
    print(f"  {'':<42}{'median/s':>12}{'lowest':>12}{'highest':>12}" + "".join(f"{f'÷ {r}':>26}" for r in references))
    rows = []
    for c in contenders:
        ratios = {r: c.median / by_name[r].median for r in references}
        row = f"  {c.name:<42}{c.median:>12,.0f}{min(c.rates):>12,.0f}{max(c.rates):>12,.0f}"
        print(row + "".join(f"{ratio:>26.2f}" for ratio in ratios.values()))
        rows.append({"table": title, "name": c.name, "median": c.median, "rates": c.rates, "ratios": ratios})
    return rows


# --- ours -------------------------------------------------------------------------------------------------------------


@functools.cache
def random_play(game: Game) -> Callable[..., Any]:
    """The kernel that is measured: random play with mask and observation at every decision, and nothing else."""
    start, move = batch.for_game(game).start, batch.for_game(game).move
    legal_actions, observe = game.rules.legal_actions, game.rules.observe

    @functools.partial(jit, game=game.name, rules=game.rules.apply_action)
    def play(states, initial, rngs, steps, at, obs, mask, outcome):
        """`steps` random decisions at each table; games that end start over. `obs` (float32, (O,)) is overwritten."""
        states, initial, rngs, at, obs, mask, outcome = borrow(states, initial, rngs, at, obs, mask, outcome)
        for row in range(states.shape[0]):
            s, rows = states[row], np.full(1, row)
            for _ in range(steps):
                if s.end != RUNNING:
                    start(states, rows, initial, outcome)
                options = legal_actions(s, mask)
                observe(s, s.player, at[0], obs)
                move(s, random_legal(rngs[row], mask, options), outcome)

    return play


def kernel_contender(name: str, num_players: int) -> Contender:
    """The batched kernels of a game on one core."""
    game = make_game(name, num_players)
    kernel = random_play(game)
    states = np.repeat(game.initial, 256)
    states["rng"] = seed_words(0, 256)
    rngs, value = seed_words(1, 256), np.zeros(game.max_chance_values, np.int16)
    batch.for_game(game).start(states, np.arange(256), game.initial, value)
    observation, mask = np.zeros(game.layout.size, np.float32), np.zeros(game.num_actions, np.int8)

    def play(seconds: float) -> tuple[int, float]:
        decisions, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            kernel(states, game.initial, rngs, 200, game.layout.at, observation, mask, value)
            decisions += 256 * 200
        return decisions, time.perf_counter() - start

    return Contender(f"{name} · {num_players} players", play)


def aec_contender(name: str, make: Callable[[], Any]) -> Contender:
    """A PettingZoo AEC loop as its documentation shows it."""
    env = make()
    env.reset(seed=0)

    def play(seconds: float) -> tuple[int, float]:
        decisions, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            env.reset()
            for agent in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                else:
                    env.step(env.action_space(agent).sample(observation["action_mask"]))
                    decisions += 1
        return decisions, time.perf_counter() - start

    return Contender(name, play)


# --- peers ------------------------------------------------------------------------------------------------------------


def open_spiel_contender(name: str) -> Contender:
    """OpenSpiel's C++ game from Python, with its observer writing into one NumPy array."""
    try:
        import pyspiel
        from open_spiel.python.observation import make_observation
    except ImportError as error:
        raise CardEnvsError(f"OpenSpiel needs the extra 'bench': pip install 'card-envs[bench]' ({error})") from error
    game = pyspiel.load_game(name)
    observer = make_observation(game)

    def play(seconds: float) -> tuple[int, float]:
        decisions, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(random.choices(outcomes, weights)[0])
                    continue
                player = state.current_player()
                observer.set_from(state, player)
                state.legal_actions_mask(player)
                state.apply_action(random.choice(state.legal_actions()))
                decisions += 1
        return decisions, time.perf_counter() - start

    return Contender(f"OpenSpiel {name}", play)


def texas_holdem() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pettingzoo.classic import texas_holdem_v4

            return texas_holdem_v4.env()
    except ImportError as error:
        raise CardEnvsError(
            f"texas_holdem_v4 needs the extra 'bench': pip install 'card-envs[bench]' ({error})"
        ) from error


# --- arena and search -------------------------------------------------------------------------------------------------


def arena_contenders(name: str) -> list[Contender]:
    """Games a second between random and heuristic seats: the bare kernel loop, and a tournament saved as it goes."""
    game = make_game(name)
    n, rows = game.num_players, np.arange(1024)
    tables = GameBatch(game, len(rows))
    seats = np.resize([batch.HEURISTIC] + [batch.RANDOM] * (n - 1), n).astype(np.int8)
    seeds = itertools.count()

    def loop(seconds: float) -> tuple[int, float]:
        games, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            tables.states["rng"], tables.rngs[:] = seed_words(next(seeds), 1024), seed_words(next(seeds), 1024)
            tables.start(rows)
            tables.drivers[:, :n] = seats
            tables.advance(rows)
            games += 1024
        return games, time.perf_counter() - start

    def arena(seconds: float) -> tuple[int, float]:
        games, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            with tempfile.TemporaryDirectory() as folder:
                plan = make_plan(game, ["heuristic", "random"], 4096, seed=next(seeds))
                # one seat of the heuristic, as in the loop
                parts = [part for part in plan.parts(0) if plan.lineups[part.lineup] == (0, 1)]
                player = Player(plan)
                with ResultFile(plan, folder, resume=False) as results:
                    for part in parts:
                        results.add(player.play(part))
                games += sum(len(line["winners"]) for line in results.lines.values())
        return games, time.perf_counter() - start

    return [Contender(f"{name} · kernel loop", loop), Contender(f"{name} · arena", arena)]


def search_contender(name: str) -> Contender:
    """Simulations of our search, from the first decision of a game, on one core: each a random game to its end."""
    game = make_game(name)
    kernel, shape = search.for_game(game), (1, game.num_actions)
    visits, values = np.empty(shape, np.int64), np.empty(shape)
    mask, value = np.zeros(game.num_actions, np.int8), np.zeros(game.max_chance_values, np.int16)
    tables, rows = GameBatch(game, 1), np.zeros(1, np.int64)
    tables.states["rng"], tables.rngs[:] = seed_words(0, 1), seed_words(1, 1)
    tables.start(rows)
    tables.drivers[:] = CALLER
    while tables.decisions(rows).action_mask.sum() == 1:  # nothing is searched where there is no choice
        tables.act(rows, tables.decisions(rows).action_mask.argmax(axis=1), "forced")

    def play(seconds: float) -> tuple[int, float]:
        searched, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            kernel(
                tables.states,
                rows,
                SIMULATIONS,
                EXPLORATION,
                TO_THE_END,
                batch.RANDOM,
                batch.RANDOM,
                tables.rngs,
                mask,
                value,
                visits,
                values,
                None,
            )
            searched += SIMULATIONS
        return searched, time.perf_counter() - start

    return Contender(f"{name} · {game.num_players} players", play)


def length_of(name: str) -> float:
    """Decisions in a random game."""
    game, rows = make_game(name), np.arange(1000)
    tables = GameBatch(game, len(rows))
    tables.states["rng"], tables.rngs[:] = seed_words(0, len(rows)), seed_words(1, len(rows))
    tables.start(rows)
    tables.advance(rows)
    return float(tables.counts.mean())


def hearts_length() -> float:
    """Decisions in a random game of OpenSpiel's hearts."""
    import pyspiel

    game, rng, decisions = pyspiel.load_game("hearts"), random.Random(0), 0
    for _ in range(100):
        state = game.new_initial_state()
        while not state.is_terminal():
            decisions += not state.is_chance_node()
            state.apply_action(rng.choice(state.legal_actions()))
    return decisions / 100


def open_spiel_searchers() -> list[Contender]:
    """OpenSpiel's searching bots with one random rollout a simulation, in Python and in C++."""
    try:
        import pyspiel
        from open_spiel.python.algorithms import ismcts, mcts
    except ImportError as error:
        raise CardEnvsError(f"OpenSpiel needs the extra 'bench': pip install 'card-envs[bench]' ({error})") from error
    game, rng = pyspiel.load_game("hearts"), np.random.RandomState(0)
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(outcomes, p=weights)))
    rollout, rollout_cpp = mcts.RandomRolloutEvaluator(1, rng), pyspiel.RandomRolloutEvaluator(1, 0)
    most_visits = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    bots = {
        "MCTSBot (Python)": mcts.MCTSBot(game, 1.4, SIMULATIONS, rollout, random_state=rng),
        "ISMCTSBot (Python)": ismcts.ISMCTSBot(
            game=game, evaluator=rollout, uct_c=1.4, max_simulations=SIMULATIONS, random_state=rng
        ),
        "MCTSBot (C++)": pyspiel.MCTSBot(game, rollout_cpp, 1.4, SIMULATIONS, 100, False, 0, False),
        "ISMCTSBot (C++)": pyspiel.ISMCTSBot(0, rollout_cpp, 1.4, SIMULATIONS, -1, most_visits, False, False),
    }
    contenders = []
    for name, bot in bots.items():

        def play(seconds: float, bot: Any = bot) -> tuple[int, float]:
            searched, start = 0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                bot.step(state)
                searched += SIMULATIONS
            return searched, time.perf_counter() - start

        contenders.append(Contender(f"hearts {name}", play))
    return contenders


# --- training ---------------------------------------------------------------------------------------------------------


def training_contenders(name: str) -> list[Contender]:
    """`MaskablePPO` with 256 games on ours with each built-in opponent, and on arrays that are ready beforehand."""
    from sb3_contrib import MaskablePPO

    from benchmarks.ready import ReadyVecEnv
    from card_envs.envs.sb3 import CardVecEnv
    from card_envs.training.settings import CONFIGS, load_config, network_of

    game = make_game(name)
    config = load_config(CONFIGS / f"{name.rpartition('_v')[0]}.yaml")
    policy, policy_kwargs = network_of(config, game)
    envs: dict[str, Any] = {
        "ready arrays": ReadyVecEnv(game, 256),
        f"{name} · random opponents": CardVecEnv(game, 256, "random", seed=0),
        f"{name} · heuristic opponents": CardVecEnv(game, 256, "heuristic", seed=0),
    }
    contenders = []
    for label, env in envs.items():
        model = MaskablePPO(
            policy,
            env,
            n_steps=config.n_steps,
            batch_size=max(config.batch_size, 2048),
            n_epochs=config.n_epochs,
            policy_kwargs=policy_kwargs,
            seed=0,
            device="cpu",
        )

        def play(seconds: float, model: Any = model) -> tuple[int, float]:
            decisions, start = 0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                model.learn(config.n_steps * 256, reset_num_timesteps=False)
                decisions += config.n_steps * 256
            return decisions, time.perf_counter() - start

        contenders.append(Contender(label, play))
    return contenders


# --- threads ----------------------------------------------------------------------------------------------------------


def thread_contender(name: str, num_envs: int, num_threads: int) -> Contender:
    """Steps of the Gymnasium vector environment with heuristic opponents; choosing the actions doesn't count."""
    from card_envs.envs.vector import CardVectorEnv

    envs, rng = CardVectorEnv(name, num_envs, opponents="heuristic", num_threads=num_threads), np.random.default_rng(0)
    masks = envs.reset(seed=0)[1]["action_mask"]

    def play(seconds: float) -> tuple[int, float]:
        nonlocal masks
        steps, spent = 0, 0.0
        while spent < seconds:
            actions = (rng.random(masks.shape) * masks).argmax(axis=1)
            start = time.perf_counter()
            masks = envs.step(actions)[-1]["action_mask"]
            spent += time.perf_counter() - start
            steps += num_envs
        return steps, spent

    return Contender(_threads_label(num_envs, num_threads), play)


def _threads_label(num_envs: int, num_threads: int) -> str:
    return f"{num_envs} games, {num_threads} thread{'s' * (num_threads > 1)}"


# --- the first step of a process --------------------------------------------------------------------------------------

_FIRST_STEP = """
import time
from card_envs import {name}
start = time.perf_counter()
env = {name}.env()
env.reset(seed=0)
observation = env.last()[0]
env.step(int(observation["action_mask"].argmax()))
print(time.perf_counter() - start)
"""


def first_steps(rounds: int) -> dict[str, list[float]]:
    """Seconds from the import to the first step in a new process, with the compilation cache warm."""
    times: dict[str, list[float]] = {}
    for name in list_games():
        command = [sys.executable, "-c", _FIRST_STEP.format(name=name)]
        subprocess.run(command, check=True, capture_output=True)  # fills the cache
        runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(rounds)]
        times[name] = [float(done.stdout) for done in runs]
    return times


def throughput(args: argparse.Namespace) -> None:
    steps = args.only or STEPS
    print(machine(PACKAGES))
    rows: list[dict[str, Any]] = []
    if "kernels" in steps:
        contenders = [open_spiel_contender("spades"), open_spiel_contender("crazy_eights")]
        peers = [contender.name for contender in contenders]
        for name in list_games():
            contenders += [kernel_contender(name, n) for n in player_counts(name)]
        measure(contenders, args.rounds, args.seconds)
        rows += show("batched kernels on one core, decisions a second", contenders, peers)
    if "aec" in steps:
        from card_envs import make

        contenders = [aec_contender("texas_holdem_v4", texas_holdem)]
        contenders += [aec_contender(name, lambda name=name: make(name)) for name in list_games()]  # type: ignore[misc]
        measure(contenders, args.rounds, args.seconds)
        rows += show("PettingZoo AEC loop, decisions a second", contenders, ["texas_holdem_v4"])
    if "arena" in steps:
        for name in list_games():
            contenders = arena_contenders(name)
            measure(contenders, args.rounds, args.seconds)
            rows += show(f"arena on one core, {name}, games a second", contenders, [contenders[0].name])
    if "search" in steps:
        contenders = open_spiel_searchers()
        peers = [contender.name for contender in contenders]
        contenders += [search_contender(name) for name in list_games()]
        measure(contenders, args.rounds, args.seconds)
        rows += show("search with random playouts on one core, simulations a second", contenders, peers)
        lengths = [hearts_length()] * len(peers) + [length_of(name) for name in list_games()]
        longer = [
            Contender(c.name, c.play, [rate * length for rate in c.rates])
            for c, length in zip(contenders, lengths, strict=True)
        ]
        rows += show("the same as simulated decisions a second (a simulation is a game)", longer, peers)
    if "training" in steps:
        for name in list_games():
            contenders = training_contenders(name)
            measure(contenders, args.rounds, 4 * args.seconds)
            rows += show(f"MaskablePPO on {name}, 256 games, learner steps a second", contenders, ["ready arrays"])
    if "threads" in steps:
        # whoever else uses the machine slows two threads down more than one: many short rounds, of which the best
        # quarter of each contender counts
        for name in list_games():
            for num_envs in (16, 256, 4096):
                contenders = [thread_contender(name, num_envs, number) for number in (1, 2)]
                measure(contenders, 12 * args.rounds, args.seconds / 12)
                best = [Contender(c.name, c.play, sorted(c.rates)[-3 * args.rounds :]) for c in contenders]
                title = f"vector environment among heuristics, {name}, learner steps a second, best quarter of rounds"
                rows += show(title, best, [_threads_label(num_envs, 1)])
    if "start" in steps:
        print("\nfirst step of a new process after the import, warm cache, seconds")
        for name, times in first_steps(args.rounds).items():
            print(f"  {name:<42}{statistics.median(times):>12.2f}{min(times):>12.2f}{max(times):>12.2f}")
            rows.append({"table": "first step", "name": name, "median": statistics.median(times), "rates": times})
    if args.out:
        with atomic_write(args.out) as file:
            json.dump({"machine": machine(PACKAGES), "rows": rows}, file, indent=2)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=STEPS, metavar="PART", help=f"some of {', '.join(STEPS)}")
    parser.add_argument("--rounds", type=whole(1), default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=1.0, help="per contender and round (default: %(default)s)")
    parser.add_argument("--out", metavar="FILE", help="write all figures as JSON")
    return run(throughput, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
