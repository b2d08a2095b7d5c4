"""Games, states and observers as OpenSpiel wants them, and their registration."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from card_envs.bridges.openspiel.tree import CHANCE, TERMINAL, Moment, Outcomes, Play
from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games import game_class, list_games, short_name
from card_envs.games.game import Game
from card_envs.kernels.rng import seed_words

_OWN_PARAMETERS: dict[str, Any] = {"skip_forced": False, "opening": ""}
_LONGEST = 2**31 - 1  # OpenSpiel's lengths are 32-bit numbers


def spiel_name(name: str) -> str:
    """OpenSpiel's short name of a game by our id: "card_envs_icarus_club" for "icarus_club_v0".

    Not "python_...", as OpenSpiel names its own games in Python, some of which are ours, too.
    """
    return f"card_envs_{short_name(name)}"


def spiel_game(game: Game, *, skip_forced: bool = False) -> CardGame:
    """One of our games, with its options chosen, as OpenSpiel's.

    Raises:
        CardEnvsError: an option can't be written as a parameter: a deck of one's own is loaded by its path with
            `pyspiel.load_game`.
    """
    parameters: dict[str, Any] = {"players": game.num_players, "skip_forced": skip_forced}
    for name, value in game.options.items():
        if value == type(game)(game.num_players).options[name]:
            continue
        if not isinstance(value, (str, int, type(None))):
            raise CardEnvsError(f"{game.name}: OpenSpiel has no parameter for this {name!r}; load it by its path")
        parameters[name] = game.option_table[name].stand_ins.get(value, value)
    register(game.name)
    loaded: CardGame = pyspiel.load_game(spiel_name(game.name), parameters)
    return loaded


class CardState(pyspiel.State):
    """A state of one of our games; made by `CardGame.new_initial_state`."""

    def __init__(self, game: CardGame) -> None:
        super().__init__(game)
        self._moment = game.first

    def current_player(self) -> int:
        return self._moment.player

    def is_terminal(self) -> bool:
        return self._moment.player == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self._moment.legal

    def chance_outcomes(self) -> Outcomes:
        return self._moment.outcomes

    def _apply_action(self, action: int) -> None:
        self._moment = self._moment.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        moment = self._moment
        if player != CHANCE:
            return moment.play.game.action_names[action]
        return f"{moment.play.game.chance_kinds[moment.states['chance'][0]]} {moment.outcome_name(action)}"

    def returns(self) -> list[float]:
        return list(map(float, self._moment.play.paid(self._moment.states)))

    def resample_from_infostate(self, player_id: int, probability_sampler: Callable[[], float]) -> CardState:
        """Another state that `player_id` can't tell from this one; its chance is drawn with the sampler.

        Raises:
            CardEnvsError: nobody is asked for a decision here.
        """
        if self._moment.player < 0:
            raise CardEnvsError(f"{self._moment.play.game.name}: a state is redrawn at decisions only")
        state: CardState = self.clone()
        state._moment = self._moment.redrawn(player_id, seed_words(int(probability_sampler() * 2**53), 1)[0])
        return state

    def __str__(self) -> str:
        """The whole table as text, with what is dealt so far."""
        moment = self._moment
        return " ".join([moment.play.game.render_text(moment.states[0]), *map(moment.outcome_name, moment.dealt)])


class CardObserver:
    """An observation of a `CardState` by one seat, as `open_spiel.python.observation` wants it.

    Attributes:
        tensor: our observation, float32, (O,).
        dict: views of it by segment, in their own shapes.
    """

    def __init__(self, game: Game, perfect_recall: bool) -> None:
        self._game = game
        self._perfect_recall = perfect_recall
        self.tensor = np.zeros(game.layout.size, np.float32)
        self.dict = game.layout.split(self.tensor)

    def set_from(self, state: CardState, player: int) -> None:
        state._moment.play.observe(state._moment.states, player, self.tensor)

    def string_from(self, state: CardState, player: int) -> str:
        moment = state._moment
        if self._perfect_recall:
            text, digest = moment.view(player)
            return f"player_{player}{text} {digest.hex()}"
        seen = np.zeros_like(self.tensor)
        moment.play.observe(moment.states, player, seen)
        digest = hashlib.blake2b(seen.tobytes(), digest_size=12).digest()
        return f"player_{player}\n{self._game.render_text(moment.states[0], player)}\n{digest.hex()}"


class CardGame(pyspiel.Game):
    """One of our games; made by `pyspiel.load_game` or `spiel_game`.

    Attributes:
        name: our id of it.
        card_game: the game with its options chosen.
        first: where every state begins.
    """

    name: str

    def __init__(self, parameters: dict[str, Any]) -> None:
        options = {key: value for key, value in parameters.items() if key not in ("players", *_OWN_PARAMETERS)}
        cls = game_class(self.name)
        for name, option in cls.option_table.items():
            values = {stand_in: value for value, stand_in in option.stand_ins.items()}
            if name in options:
                options[name] = values.get(options[name], options[name])
        self.card_game = game = cls(parameters.get("players"), **options)
        n = game.num_players
        info = pyspiel.GameInfo(
            num_distinct_actions=game.num_actions,
            max_chance_outcomes=max(game.max_chance_values, n),
            num_players=n,
            min_utility=game.min_return,
            max_utility=game.max_return,
            utility_sum=0.0 if game.zero_sum else None,
            max_game_length=min(game.max_decisions, _LONGEST),
        )
        super().__init__(_game_type(self.name), info, parameters)
        own = {**_OWN_PARAMETERS, **parameters}
        states = game.initial.copy()
        states["rng"] = seed_words(0, 1)  # never drawn from but to see what a chance event shuffles
        self.first = Moment(Play(game, own["skip_forced"]), states)
        for word in own["opening"].split():
            outcomes = {self.first.outcome_name(outcome): outcome for outcome, _ in self.first.outcomes}
            if word not in outcomes:
                raise CardEnvsError(f"{self.name}: opening: {unknown_name('outcome', word, outcomes)}")
            self.first = self.first.after(outcomes[word])

    def new_initial_state(self) -> CardState:
        return CardState(self)

    def max_chance_nodes_in_history(self) -> int:
        return min(self.card_game.max_chance_events * self.card_game.max_chance_values, _LONGEST)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CardObserver:
        """The observer of one seat.

        Raises:
            CardEnvsError: other parts of the information than a seat's are asked for.
        """
        if params:
            raise CardEnvsError(f"{self.card_game.name}: an observer has no parameters, given are {params}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise CardEnvsError(
                f"{self.card_game.name}: an observer shows one seat's private and all public information"
            )
        return CardObserver(self.card_game, kind.perfect_recall)

    def state_of(self, states: npt.NDArray[Any]) -> CardState:
        """A state with the position of `states` (1,) in which a decision is due, and no past."""
        state = self.new_initial_state()
        state._moment = Moment(self.first.play, self.first.play.copy(states))
        return state


def _parameters(cls: type[Game]) -> dict[str, Any]:
    table = cls.option_table.items()
    options = {name: option.stand_ins.get(option.default, option.default) for name, option in table}
    return {"players": cls.default_players, **_OWN_PARAMETERS, **options}


@functools.cache
def _game_type(name: str) -> Any:
    cls, utility = game_class(name), pyspiel.GameType.Utility
    return pyspiel.GameType(
        short_name=spiel_name(name),
        long_name=cls.title,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=utility.ZERO_SUM if cls.zero_sum else utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=cls.max_players,
        min_num_players=cls.min_players,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_parameters(cls),
    )


# Classes, not functions: OpenSpiel lets go of what it was given when Python is already gone, and can't free it then.
_CLASSES: dict[str, type[CardGame]] = {}


def register(name: str) -> None:
    """Registers a game with OpenSpiel by our id; those known when this module is imported are already."""
    if name not in _CLASSES:
        _CLASSES[name] = type("CardGame", (CardGame,), {"name": name})
        pyspiel.register_game(_game_type(name), _CLASSES[name])


for _name in list_games():
    register(_name)
