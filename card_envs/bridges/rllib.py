"""The games as RLlib multi-agent environments, and RLlib modules as policies of the arena (ray 2.60, new API stack).

RLlib's own `PettingZooEnv` hands masked observations on under keys that RLlib's masking module does not read, drops
infos, and deals in its constructor. `CardMultiAgentEnv` is a `MultiAgentEnv` over the kernels instead:

- A step returns the observation of the seat to act alone; RLlib asks that seat next. The same seat may be asked again.
- The last step returns the final observation, the reward and the end flag of every seat, losers included, and
  `__all__` in `terminateds`, or in `truncateds` where `max_turns` ended the game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from card_envs.envs.aec import ILLEGAL_ACTION, checked_choice, checked_seed, seat_spaces
from card_envs.errors import CardEnvsError, IllegalActionError
from card_envs.games import make_game
from card_envs.games.recorded_game import illegal_message
from card_envs.kernels.rng import seed_words
from card_envs.kernels.state import TERMINATED, TRUNCATED
from card_envs.policies.base import Decisions, choose_actions
from card_envs.policies.game_batch import CALLER, GameBatch

try:
    import torch
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.env_context import EnvContext
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.utils.torch_utils import FLOAT_MIN

    from card_envs.policies.scorer import OptionScorer
except ImportError as error:
    raise CardEnvsError(f"RLlib needs the extra 'rllib': pip install 'card-envs[rllib]' ({error})") from error

Observation = dict[str, npt.NDArray[np.float32]]
_ROW = np.zeros(1, np.int64)


class CardMultiAgentEnv(MultiAgentEnv):
    """One game as an RLlib environment; every seat is an agent, `player_0` ... in seat order.

    Args:
        config: RLlib's `env_config`:

            - `game`: its id, with or without the version.
            - `num_players`: seats at the table; the game's default where absent.
            - `skip_forced`: decisions with one legal option are taken without asking (True by default).
            - `illegal_action`: "terminate" (by default; the offender is paid -1, the others 0, and the game ends) or
              "raise".
            - any other key is an option of the game, such as `max_turns`.

    Attributes:
        game: what is played.
        num_illegal_actions: how many illegal actions were tried since the environment was made.

    Raises:
        CardEnvsError: an unknown game or option, or a value that is not allowed; the message says what is.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        options = dict(config or {})
        if "game" not in options:
            raise CardEnvsError("env_config has no 'game': pass env_config={'game': 'icarus_club', 'num_players': 4}")
        skip_forced = checked_choice("skip_forced", options.pop("skip_forced", True), (True, False))
        self._illegal_action = checked_choice(
            "illegal_action", options.pop("illegal_action", "terminate"), ILLEGAL_ACTION
        )
        self.game = make_game(options.pop("game"), options.pop("num_players", None), **options)
        self.metadata = {"name": self.game.name, "render_modes": []}
        self.possible_agents = self.game.agents
        self.agents = self.game.agents
        box, actions = seat_spaces(self.game)
        mask = gymnasium.spaces.Box(0.0, 1.0, (self.game.num_actions,), np.float32)
        space = gymnasium.spaces.Dict({"action_mask": mask, "observations": box})
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = dict.fromkeys(self.possible_agents, actions)
        self.num_illegal_actions = 0
        # RLlib seeds environment i of runner w with seed + w + i, and its check seeds all of them with 42: without w
        # and i in our own seeds, environments would deal the same games. It tells i to nobody, so it is counted here.
        self._seed_key: tuple[int, ...] = ()
        if isinstance(config, EnvContext):
            self._seed_key = (config.worker_index or 0, config.vector_index)
            config.vector_index += 1
        self._tables = GameBatch(self.game, 1, skip_forced=skip_forced)
        self._tables.drivers[:] = CALLER
        self._mask = np.zeros(self.game.num_actions, np.int8)  # of the seat that is asked; zeros for nobody

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Deals a new game and plays on to its first decision.

        Args:
            seed: a whole number from 0; None goes on with the generator's stream (at first: fresh entropy). In an
                environment that RLlib made, the numbers of its runner and of the environment count as well.
            options: ignored.

        Returns:
            The observation of the seat to act and its info, each in a dict by agent. An observation is a dict of
            `observations`, float32 (O,) in [0, 1], and `action_mask`, float32 (A,), 1 = legal.
        """
        seed = checked_seed(seed)
        if seed is not None or not self._tables.states["rng"].any():  # all zeros: never seeded
            self._tables.states["rng"] = seed_words(np.random.SeedSequence(seed, spawn_key=self._seed_key), 1)
        self._tables.start(_ROW)
        while not self._tables.advance(_ROW)[0]:  # a game without a decision
            self._tables.start(_ROW)
        observations = self._ask()
        return observations, {agent: {} for agent in observations}

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """The seat to act does `action_dict[agent]`, and the game is played on to the next decision or the end.

        Returns:
            Observations, rewards, `terminateds`, `truncateds` and infos by agent. Before the end: the observation of
            the seat to act, and the reward 0 of the seat that acted. At the end: everything for every seat; masks are
            all ones, infos hold `score`, `rank` (0 when truncated or ended by an illegal action) and `illegal_action`.

        Raises:
            CardEnvsError: an action of another seat, or a step before `reset` or after the end.
            IllegalActionError: not legal, where `illegal_action` is "raise"; the game stays as it was.
        """
        if not self._mask.any():
            raise CardEnvsError(f"{self.game.name}: step() before reset() or after the end of the game: call reset()")
        state = self._tables.states[0]
        player = int(state.player)
        actor = self.possible_agents[player]
        if list(action_dict) != [actor]:
            given = ", ".join(map(str, action_dict)) or "nobody"
            raise CardEnvsError(f"{self.game.name}: {actor} is to act, and step() got actions of {given}")
        action = int(action_dict[actor])
        if not 0 <= action < self.game.num_actions or not self._mask[action]:
            self.num_illegal_actions += 1
            if self._illegal_action == "raise":
                raise IllegalActionError(illegal_message(self.game, state, action, self._mask))
            return self._end(offender=player)
        self._tables.act(_ROW, np.array([action]), actor)
        if not self._tables.advance(_ROW)[0]:
            return self._end()
        observations = self._ask()
        return observations, {actor: 0.0}, {"__all__": False}, {"__all__": False}, {agent: {} for agent in observations}

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key != "_tables"}  # compiled, made anew
        return {**state, "_skip_forced": self._tables.skip_forced, "_states": self._tables.states.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self._tables = GameBatch(state["game"], 1, skip_forced=state.pop("_skip_forced"))
        self._tables.drivers[:] = CALLER
        self._tables.states[:] = state.pop("_states")
        self.__dict__.update(state)

    def _ask(self) -> dict[str, Observation]:
        decisions = self._tables.decisions(_ROW)
        self._mask = decisions.action_mask[0]
        agent = self.possible_agents[int(self._tables.states[0].player)]
        mask = self._mask.astype(np.float32)
        return {agent: {"action_mask": mask, "observations": decisions.observation[0]}}

    def _end(self, offender: int | None = None) -> tuple[Any, ...]:
        state, seats = self._tables.states[0], np.arange(self.game.num_players)
        self._mask = np.zeros_like(self._mask)
        views = self._tables.observe(np.zeros_like(seats), seats)
        if offender is None:
            returns = self._tables.returns(_ROW)[0]
        else:
            returns = np.where(seats == offender, self.game.illegal_return, 0.0)
        truncated = bool(state.end == TRUNCATED)
        observations, infos = {}, {}
        for seat, agent in enumerate(self.possible_agents):
            mask = np.ones(self.game.num_actions, np.float32)
            observations[agent] = {"action_mask": mask, "observations": views[seat]}
            infos[agent] = {
                "score": int(state.score[seat]),
                "rank": int(state.rank[seat]) if state.end == TERMINATED else 0,
                "illegal_action": seat == offender,
            }
        rewards = dict(zip(self.possible_agents, returns.tolist(), strict=True))
        ends = [*self.possible_agents, "__all__"]
        return observations, rewards, dict.fromkeys(ends, not truncated), dict.fromkeys(ends, truncated), infos


class OptionsModule(TorchRLModule, ValueFunctionAPI):
    """A masked actor-critic for `CardMultiAgentEnv` that scores options alike, see `OptionScorer`; for PPO.

    `model_config` of its `RLModuleSpec`: `layout`, the game's observation layout; `net_arch`, the widths of the hidden
    layers of summary and critic ([256] where absent); `width`, that of the shared scorer (64).
    """

    def setup(self) -> None:
        """Builds the networks; RLlib calls it."""
        config = dict(self.model_config)
        net_arch, width = config.get("net_arch", [256]), config.get("width", 64)
        self.scorer = OptionScorer(config["layout"], int(self.action_space.n), net_arch, width, torch.nn.ReLU)
        self.value = torch.nn.Linear(self.scorer.latent_dim_vf, 1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        observations = batch[Columns.OBS]
        logits = self.scorer.forward_actor(observations["observations"])
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(observations["action_mask"] == 0, FLOAT_MIN)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        """The expected return of the seat to act, (k,)."""
        return self.value(self.scorer.forward_critic(batch[Columns.OBS]["observations"])).squeeze(-1)


class ModulePolicy:
    """An RLlib module as a policy of the arena: all decisions in one forward pass.

    Args:
        module: an `RLModule` of PyTorch that reads `CardMultiAgentEnv`'s observations and gives logits, for example
            `algorithm.get_module("shared")`.
        name: how tables and messages call it.
        deterministic: the most probable action; else one drawn with the decision's own random number.
    """

    def __init__(self, module: Any, name: str = "rllib", deterministic: bool = True) -> None:
        self.module = module
        self.name = name
        self.deterministic = deterministic

    @torch.no_grad()
    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        observations = {
            "action_mask": torch.as_tensor(decisions.action_mask, dtype=torch.float32),
            "observations": torch.as_tensor(decisions.observation),
        }
        outputs = self.module.forward_inference({Columns.OBS: observations})
        logits = outputs[Columns.ACTION_DIST_INPUTS].numpy()
        return choose_actions(logits, decisions, self.deterministic, self.name)
