"""The PettingZoo AEC environment of every game.

Timeline of one game, for every seat alike:

- `reset(seed)` deals and selects the seat to act. The same seat may be selected several times in a row.
- Rewards are 0 until the last step, which pays every seat its return at once (see `kernels.state.returns`).
- In that step all seats terminate together (or are truncated together by `max_turns`). Selection then goes clockwise
  from the last mover; every seat takes one `step(None)` and leaves `agents`.

The mask is int8, 1 = legal for the seat that is to act; all zeros for every other seat and after the end.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo.utils.env import AECEnv, AECIterable

from card_envs.errors import CardEnvsError, IllegalActionError, shown
from card_envs.games.game import Game
from card_envs.games.recorded_game import illegal_message
from card_envs.kernels import batch
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import TERMINATED

ILLEGAL_ACTION = ("terminate", "raise")
RENDER_MODES = ("human", "ansi")


def checked_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """`value` if it is one of `allowed`, else an error that names them; 1 is not taken for True."""
    if not any(isinstance(value, type(one)) and value == one for one in allowed):
        raise CardEnvsError(f"{name} is {shown(value)}; allowed: {', '.join(repr(v) for v in allowed)}")
    return value


def checked_game(game: Any) -> Game:
    """`game` if it is a game, and not its name."""
    if not isinstance(game, Game):
        raise CardEnvsError(f"game is {shown(game)}; expected a Game: card_envs.games.make_game(NAME) makes one")
    return game


def checked_options(options: Any) -> Mapping[str, Any]:
    """What a reset was given as its `options`: a mapping, empty for None."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise CardEnvsError(f"reset's options are {shown(options)}; allowed: None or a dict")
    return options


def checked_seed(seed: Any) -> int | None:
    """`seed` if it is None or a non-negative whole number."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise CardEnvsError(f"seed is {shown(seed)}; allowed: None or a whole number from 0")
    return int(seed)


def table_text(game: Game, state: Any, seat: int | None, offender: int) -> str:
    """The table as text.

    Args:
        game: what is played.
        state: a state record.
        seat: whose view is shown; None shows everything.
        offender: the seat that ended the game by an illegal action, -1 for nobody.
    """
    if offender < 0:
        return game.render_text(state, seat)
    state = state.copy()
    state.player = -1
    return f"player_{offender} has ended the game by an illegal action\n{game.render_text(state, seat)}"


def seat_spaces(game: Game) -> tuple[gymnasium.spaces.Box[np.float32], gymnasium.spaces.Discrete]:
    """A seat's observation and action spaces, without the mask."""
    return (
        gymnasium.spaces.Box(0.0, 1.0, (game.layout.size,), np.float32),
        gymnasium.spaces.Discrete(game.num_actions),
    )


class ActionSpace(gymnasium.spaces.Discrete):
    """`Discrete` that samples what Gymnasium's would with the same seed, under a mask in a fifth of the time.

    Gymnasium compares and checks the mask's arrays for longer than a game takes to move, and the loop that PettingZoo's
    documentation shows samples at every decision.
    """

    def sample(self, mask: npt.NDArray[np.int8] | None = None, *args: Any, **kwargs: Any) -> np.int64:
        """A random action; with a `mask`, int8 (A,), one of its 1s, all equally likely."""
        if type(mask) is np.ndarray and mask.dtype == np.int8 and mask.shape == (self.n,) and not args and not kwargs:
            legal = mask.nonzero()[0]
            if len(legal) and mask.tobytes().count(1) == len(legal):
                action: np.int64 = self.start + legal[self.np_random.integers(len(legal))]
                return action
        return super().sample(mask, *args, **kwargs)


class CardGameEnv(AECEnv[str, dict[str, npt.NDArray[Any]], int]):
    """One game as a PettingZoo AEC environment. Order and bounds are checked here, so it needs no wrappers.

    Args:
        game: what is played.
        render_mode: None, "ansi" (`render` returns the table as text) or "human" (`reset` and `step` print it).
        illegal_action: "terminate" (the offender is paid -1, the others 0, and the game ends) or "raise" (an
            `IllegalActionError`, and the game stays as it was).

    Attributes:
        game: what is played; `game.action_names`, `game.layout`.
        observation_layout: the parts of an observation by name; `observation_layout.split(obs)` gives them as arrays.
        num_illegal_actions: how many illegal actions were tried since the environment was made.
    """

    def __init__(self, game: Game, render_mode: str | None = None, illegal_action: str = "terminate") -> None:
        super().__init__()
        self.game = checked_game(game)
        self.render_mode = checked_choice("render_mode", render_mode, (None, *RENDER_MODES))
        self.illegal_action = checked_choice("illegal_action", illegal_action, ILLEGAL_ACTION)
        self.metadata = {
            "name": game.name,
            "render_modes": list(RENDER_MODES),
            "render_fps": 1,
            "is_parallelizable": False,
        }
        self.possible_agents = game.agents
        self.observation_layout = game.layout
        self.action_names = game.action_names
        self.num_illegal_actions = 0
        box, _ = seat_spaces(game)
        self._action_space = ActionSpace(game.num_actions)
        mask_box = gymnasium.spaces.Box(0, 1, (game.num_actions,), np.int8)
        self._observation_space = gymnasium.spaces.Dict({"observation": box, "action_mask": mask_box})
        self.state_space = gymnasium.spaces.Box(0.0, 1.0, (game.num_players * game.layout.size,), np.float32)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._kernels = batch.for_game(game)
        self._num_actions = game.num_actions
        self._at = game.layout.at
        self._size = game.layout.size
        self._states = game.initial.copy()
        self._mask = np.zeros(game.num_actions, np.int8)
        self._outcome = np.zeros(game.max_chance_values, np.int16)
        self._started = False
        self._player = -1  # the seat that is asked, -1 for nobody
        self._offender = -1  # the seat that ended the game by an illegal action
        self._shown_scores: list[int] = []  # the scores that stand in `infos`
        self._look_into_state()
        self.agents: list[str] = []
        self.rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self._cumulative_rewards: dict[str, float] = {}

    # --- spaces and names ---

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """Dict(observation: Box float32 (O,) in [0, 1], action_mask: Box int8 (A,)); one object for all seats."""
        self._seat(agent)
        return self._observation_space

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """Discrete(A), one object for all seats; `action_names` tells what each number does."""
        self._seat(agent)
        return self._action_space

    @property
    def phase(self) -> str:
        """What the seat to act is asked."""
        self._require_start()
        return self.game.phases[int(self._states[0].phase)]

    # --- playing ---

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deals a new game.

        Args:
            seed: a whole number from 0; None goes on with the generator's stream. The first reset without one draws
                fresh entropy, so copies of an environment that was never reset play games of their own.
            options: `{"chance": [[KIND, VALUE], ...]}` hands in the first chance events, as they stand in a record
                (`["first-player", 2]`, `["deck", [...]]`); later ones are drawn. Other keys are ignored, since
                PettingZoo's checkers pass some.

        Raises:
            CardEnvsError: the seed or a chance event is not possible; the game before stays as it was.
        """
        seed = checked_seed(seed)
        handed_in = checked_options(options).get("chance", ())
        if not isinstance(handed_in, (list, tuple)):
            raise CardEnvsError(f"options['chance'] is a list of [KIND, VALUE], not {shown(handed_in)}")
        goes_on = seed is None and self._states["rng"].any()  # all zeros: never seeded
        rng = self._states["rng"].copy() if goes_on else seed_words(seed, 1)
        states = self.game.initial.copy()
        states["rng"], chance = rng, states["chance"]
        for event in handed_in:
            if not isinstance(event, (list, tuple)) or len(event) != 2:
                raise CardEnvsError(f"a chance event is [KIND, VALUE], not {shown(event)}")
            due = self.game.chance_kinds[chance[0]]
            if not due or event[0] != due:
                raise CardEnvsError(f"chance event {shown(event[0])} is not due, expected {due or 'a decision'!r}")
            self._kernels.apply_chance(states, 0, self.game.chance_from_json(states[0], event[1]))
        while chance[0]:
            self._kernels.chance(states, 0, self._outcome)
        self._states[:] = states
        self._started = True
        self._kernels.legal(states, 0, self._mask)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._offender = -1
        self._fill_infos()
        self._player = int(states["player"][0])
        self.agent_selection = self.possible_agents[self._player]
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """The selected seat does `action`; after the end only `step(None)`, once for every seat."""
        if self._player < 0:
            self._leave(action)
            return
        if type(action) is not int:
            action = self._whole_number(action)
        if not 0 <= action < self._num_actions or not self._mask[action]:
            self._refuse(action)
            return
        player = self._kernels.step(self._states, 0, action, self._mask, self._outcome)
        self.rewards = dict.fromkeys(self.possible_agents, 0.0)
        if player < 0:
            self._finish()
        else:
            self._player = player
            self.agent_selection = self.possible_agents[player]
            if self._scores.tolist() != self._shown_scores:
                self._update_infos()
            if self.render_mode == "human":
                self.render()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, dict[str, npt.NDArray[Any]], int]:
        """The seat to act, again and again until all have left; `step` in between."""
        self._require_start()
        if not isinstance(max_iter, numbers.Real) or isinstance(max_iter, bool):
            raise CardEnvsError(f"max_iter is {shown(max_iter)}; allowed: a number")
        return super().agent_iter(max_iter)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Of the selected seat: observation, reward since its last action, termination, truncation and info."""
        agent = self.agent_selection
        if not self.agents:
            raise CardEnvsError(f"{self.game.name}: last() {self._outside_a_game()}")
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        """What this seat may know, at any time after `reset`: fresh arrays, nothing changes."""
        seat = self._seat(agent)
        self._require_start()
        observation = np.empty(self._size, np.float32)
        self._kernels.observe(self._states, 0, seat, self._at, observation)
        mask = self._mask.copy() if seat == self._player else np.zeros(self._num_actions, np.int8)
        return {"observation": observation, "action_mask": mask}

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The mask of the selected seat, a fresh int8 (A,); the name that sb3-contrib looks for."""
        self._require_start()
        return self._mask.copy()

    def state(self) -> npt.NDArray[np.float32]:
        """For centralised critics: the observations of all seats in table order, float32 (players * O,).

        That is everything that somebody at the table knows; what nobody knows (a pile's order) is not in it.
        """
        self._require_start()
        size = self.game.layout.size
        out = np.empty((self.game.num_players, size), np.float32)
        for seat in range(self.game.num_players):
            self._kernels.observe(self._states, 0, seat, self.game.layout.at, out[seat])
        return out.reshape(-1)

    def render(self) -> str | None:
        """The whole table as text: returned in mode "ansi", printed in mode "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: pass render_mode='ansi' to env()")
            return None
        self._require_start()
        text = table_text(self.game, self._states[0], None, self._offender)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def render_seat(self, agent: str) -> str:
        """The table as text with what this seat may know and nothing else, whatever the render mode."""
        seat = self._seat(agent)
        self._require_start()
        return table_text(self.game, self._states[0], seat, self._offender)

    def event_log(self) -> list[str]:
        """What has happened in this game, one line an event, for displays; see `Game.event_log`."""
        self._require_start()
        return self.game.event_log(self._states[0])

    def close(self) -> None:
        """Nothing is held that needs closing."""

    # --- copies ---

    def save(self) -> dict[str, Any]:
        """A snapshot of the running game, its generator included, for `restore`."""
        mutable = {key: _copy(value) for key, value in self.__dict__.items() if key in _MUTABLE}
        return {"game": self.game, **mutable}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Puts a snapshot of `save` back, of this environment or of another of the same game and options.

        The game goes on from there identically. `num_illegal_actions` goes on counting.
        """
        if not isinstance(snapshot, dict) or snapshot.get("game") != self.game or "_states" not in snapshot:
            raise CardEnvsError(f"this is no snapshot of {self.game!r}")
        self.__dict__.update({key: _copy(value) for key, value in snapshot.items() if key in _MUTABLE})
        self._look_into_state()

    def __getstate__(self) -> dict[str, Any]:
        # compiled code and views are made anew
        return {key: value for key, value in self.__dict__.items() if key not in ("_kernels", "_scores")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._kernels = batch.for_game(self.game)
        self._look_into_state()

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there: `agent_selection` before the first `reset`."""
        if name == "agent_selection":
            raise AttributeError("agent_selection: there is none before reset(); call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- inside ---

    def _look_into_state(self) -> None:
        """Views of what every step looks at: NumPy takes longer to find a field of a record than a game to move.

        They hold as long as `_states` is the same array, so games are dealt and copied into it.
        """
        self._scores: npt.NDArray[np.int16] = self._states["score"][0, : self.game.num_players]

    def _seat(self, agent: str) -> int:
        try:
            return self._seats[agent]
        except (KeyError, TypeError):
            raise CardEnvsError(f"unknown agent {shown(agent)}; agents are {', '.join(self.possible_agents)}") from None

    def _require_start(self) -> None:
        if not self._started:
            raise CardEnvsError(f"{self.game.name}: call reset() first")

    def _outside_a_game(self) -> str:
        return "comes after the end of the game: call reset()" if self._started else "comes before reset()"

    def _whole_number(self, action: Any) -> int:
        """An action as a Python int: whatever is a whole number, or an array that holds one; nothing is rounded."""
        if isinstance(action, np.integer):
            return int(action)
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.reshape(())[()]
        if not isinstance(action, (bool, np.bool_)):
            try:
                return operator.index(action)
            except TypeError:
                pass
        raise IllegalActionError(
            f"{self.game.name}: an action is a whole number from 0 to {self.game.num_actions - 1}, "
            f"not {shown(action)} of type {type(action).__name__}"
        )

    def _refuse(self, action: int) -> None:
        self.num_illegal_actions += 1
        if self.illegal_action == "raise":
            raise IllegalActionError(illegal_message(self.game, self._states[0], action, self._mask))
        self._offender = self._player
        self._mask[:] = 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[self.agent_selection] = self.game.illegal_return
        self._end(truncated=False)

    def _finish(self) -> None:
        out = np.zeros((1, self.game.num_players))
        self._kernels.returns(self._states, _ROW, out)
        self.rewards = dict(zip(self.agents, out[0].tolist(), strict=True))
        self._end(truncated=bool(self._states["end"][0] != TERMINATED))

    def _end(self, truncated: bool) -> None:
        self._cumulative_rewards = self.rewards.copy()
        self.terminations = dict.fromkeys(self.agents, not truncated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self._fill_infos()
        self.agent_selection = self._next_clockwise(self.agent_selection)
        self._player = -1
        if self.render_mode == "human":
            self.render()

    def _leave(self, action: Any) -> None:
        if not self.agents:
            raise IllegalActionError(f"{self.game.name}: step({shown(action)}) {self._outside_a_game()}")
        agent = self.agent_selection
        if action is not None:
            raise IllegalActionError(f"{self.game.name}: the game has ended, so {agent} can only step(None)")
        for by_agent in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards, self.infos):
            del by_agent[agent]
        successor = self._next_clockwise(agent)
        self.agents.remove(agent)
        self.agent_selection = successor
        self.rewards = dict.fromkeys(self.agents, 0.0)

    def _next_clockwise(self, agent: str) -> str:
        """The next seat after `agent` that is still in `agents`; `agent` itself if there is no other."""
        start = self._seats[agent]
        for k in range(1, self.game.num_players):
            other = self.possible_agents[(start + k) % self.game.num_players]
            if other in self.agents:
                return other
        return agent

    def _fill_infos(self) -> None:
        n, ended = self.game.num_players, int(self._states["end"][0]) == TERMINATED
        ranks = self._states["rank"][0, :n].tolist() if ended else [0] * n
        self._shown_scores = self._scores.tolist()
        self.infos = {
            agent: {"score": score, "rank": rank, "illegal_action": seat == self._offender}
            for seat, (agent, score, rank) in enumerate(
                zip(self.possible_agents, self._shown_scores, ranks, strict=True)
            )
        }

    def _update_infos(self) -> None:
        """The running game's scores; what was given out before stays as it was."""
        shown, self._shown_scores = self._shown_scores, self._scores.tolist()
        self.infos = self.infos.copy()
        for seat, score in enumerate(self._shown_scores):
            if score != shown[seat]:
                self.infos[self.possible_agents[seat]] = {"score": score, "rank": 0, "illegal_action": False}


_ROW = np.zeros(1, np.int64)
_MUTABLE = {
    "_states",
    "_mask",
    "_player",
    "_offender",
    "_started",
    "_shown_scores",
    "agents",
    "agent_selection",
    "rewards",
    "terminations",
    "truncations",
    "infos",
    "_cumulative_rewards",
}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value.copy() if isinstance(value, (np.ndarray, list)) else value
