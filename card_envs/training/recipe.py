"""The settings of expert iteration, see `expert_iteration.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game
from card_envs.training.settings import (
    CONFIGS,
    Config,
    FromOne,
    FromTwo,
    Layers,
    Opponents,
    Positive,
    Share,
    StrictSettings,
    Weight,
    parse_settings,
    read_yaml,
)

RECIPES = CONFIGS / "recipes"


class Round(StrictSettings):
    """One round: positions are labelled, a network learns them, and plays for its place.

    Attributes:
        positions: how many are labelled.
        from_: they lie between this part of their game and its end; `from` in a file.
        expert: who labels them: "mc:N" or "search:N", perhaps with ":random", ":heuristic" or, once there is an agent,
            ":agent" for who plays a simulated game on; "agent:N" is `search:N` guided by the agent.
        players: whose games the positions come from, with shares; "agent" is the best agent so far.
        use_rounds: labels of so many rounds are learnt, this one's and those before it.
        epochs: how often each position is learnt.
        learning_rate: Adam's highest; it rises for a tenth of the steps and falls to nothing.
    """

    positions: FromOne
    from_: Share = Field(default=0.0, alias="from")
    expert: Annotated[str, Field(min_length=1, max_length=100)]
    players: Opponents = Field(default_factory=lambda: {"random": 0.2, "heuristic": 0.8})
    use_rounds: FromOne = 1
    epochs: FromOne = 4
    learning_rate: Positive = 2e-3

    def needs_agent(self) -> bool:
        """Whether it can't be the first."""
        return "agent" in self.expert or bool(self.players.get("agent"))


class Recipe(StrictSettings):
    """What expert iteration does.

    Attributes:
        env_kwargs: `num_players` and the game's own options.
        net_arch: widths of the hidden layers of the summary and of the critic.
        width: width of the scorer that all options share.
        batch_size: positions between updates.
        ent_coef: weight of the entropy; less lets the network chase the labels' noise.
        vf_coef: weight of the critic's loss.
        rounds: one after the other.
        eval_games: games an evaluation plays against each of `eval_opponents`.
        eval_opponents: policies by name, for the curve.
    """

    env_kwargs: dict[str, Any] = Field(default_factory=dict)
    net_arch: Layers = Field(default_factory=lambda: [128])
    width: FromOne = 32
    batch_size: FromTwo = 1024
    ent_coef: Weight = 0.002
    vf_coef: Weight = 0.05
    rounds: Annotated[list[Round], Field(min_length=1)]
    eval_games: FromOne = 4000
    eval_opponents: list[str] = Field(default_factory=lambda: ["random", "heuristic"])

    @model_validator(mode="after")
    def _check_together(self) -> Recipe:
        if self.rounds[0].needs_agent():
            raise PydanticCustomError("together", "the first of the rounds asks for an agent, but there is none yet")
        return self


def load_any(path: str | Path) -> Config | Recipe:
    """A recipe, if the file has rounds, else settings of self-play; see `load_settings`."""
    data = read_yaml(path)
    if isinstance(data, Mapping) and "rounds" in data:
        return parse_settings(data, str(path), Recipe)
    return parse_settings(data, str(path), Config)


def find_recipe(name: str, game: type[Game]) -> Path:
    """The file of a recipe: one that ships for this game, or for all, or a path.

    Raises:
        CardEnvsError: there is none of that name.
    """
    stem = game.name.rpartition("_v")[0]
    for path in (RECIPES / f"{stem}-{name}.yaml", RECIPES / f"{name}.yaml", Path(name)):
        if path.is_file():
            return path
    shipped = {path.stem.removeprefix(f"{stem}-") for path in RECIPES.glob("*.yaml")}
    names = sorted(known for known in shipped if "-" not in known)
    raise CardEnvsError(f"{unknown_name('recipe', name, names)}; or the path of a YAML file")
