"""The training configuration: YAML in RL Zoo's vocabulary, every key known, every value checked."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict  # what pydantic reads before Python 3.12

from card_envs.errors import CardEnvsError, shown, unknown_name
from card_envs.games.game import Game

_PACKAGE = Path(__file__).resolve().parent.parent
#: the settings that ship: in a wheel inside the package, in a checkout `configs/`
CONFIGS = next(path for path in (_PACKAGE / "configs", _PACKAGE.parent / "configs") if path.is_dir())
POOL = ("self", "snapshots")  # opponents besides policies by name
ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU"}
MAX_BYTES, MAX_VALUES = 100_000, 10_000  # of a file; aliases are counted as what they stand for
MAX_WHOLE = 10**12
MAX_SNAPSHOTS = 100  # each holds a network, and takes one of the 125 places for policies in a batch of games
MAX_WIDTH, MAX_WEIGHTS = 65_536, 20_000_000  # of a layer; between a network's hidden layers

# --- values, each with the words that say what is allowed


def _says(allowed: str) -> WrapValidator:
    """Whatever a value is refused for, this is what the message says."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except (ValidationError, ValueError, OverflowError):
            raise PydanticCustomError("not_allowed", "{allowed}", {"allowed": allowed}) from None

    return WrapValidator(check)


def _whole(value: Any) -> Any:
    """Whole numbers may be written 1e6, as RL Zoo does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole_from(low: int) -> str:
    return f"a whole number from {low} to {MAX_WHOLE:,}"


def _rate(value: Any) -> float | str:
    if isinstance(value, str):
        schedule_start(value)
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError
    return float(value)


def _shares(value: dict[str, float]) -> dict[str, float]:
    if sum(value.values()) <= 0:
        raise ValueError
    return value


def _layers(value: list[int]) -> list[int]:
    if sum(a * b for a, b in itertools.pairwise(value)) > MAX_WEIGHTS:
        raise ValueError
    return value


_Number = Annotated[float, Field(allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1, max_length=1000)]
FromZero = Annotated[int, Field(ge=0, le=MAX_WHOLE), BeforeValidator(_whole), _says(_whole_from(0))]
FromOne = Annotated[int, Field(ge=1, le=MAX_WHOLE), BeforeValidator(_whole), _says(_whole_from(1))]
FromTwo = Annotated[int, Field(ge=2, le=MAX_WHOLE), BeforeValidator(_whole), _says(_whole_from(2))]
Share = Annotated[_Number, Field(ge=0, le=1), _says("a number from 0 to 1")]
Weight = Annotated[_Number, Field(ge=0), _says("a number from 0")]
Positive = Annotated[_Number, Field(gt=0), _says("a number above 0")]
Rate = Annotated[float | str, BeforeValidator(_rate), _says("a number above 0, or lin_NUMBER")]
Flag = Annotated[bool, _says("true or false")]
Opponents = Annotated[
    dict[_Name, Annotated[float, Field(ge=0, le=MAX_WHOLE)]],
    AfterValidator(_shares),
    _says("names with shares from 0, above 0 in all"),
]
Layers = Annotated[list[Annotated[int, Field(ge=1, le=MAX_WIDTH)]], AfterValidator(_layers)]


class _TwoNetworks(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[misc]

    pi: Layers
    vf: Layers


class NetworkKwargs(TypedDict, total=False):
    """`policy_kwargs`; what is not given is SB3's own."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[misc]

    net_arch: Annotated[
        Layers | _TwoNetworks,
        _says(
            f"a list of whole numbers from 1 to {MAX_WIDTH:,} with up to {MAX_WEIGHTS:,} weights between them, "
            "or a mapping of pi and vf to such lists"
        ),
    ]
    activation_fn: Annotated[Literal["tanh", "relu"], _says(" or ".join(ACTIVATIONS))]
    ortho_init: Flag


# --- the models


class StrictSettings(BaseModel):
    """Settings that can't be changed, in which every key is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LateStart(StrictSettings):
    """Games that begin late, after part of their decisions were played by a built-in policy.

    Attributes:
        share: share of the games that begin late.
        from_: they begin between this part of a typical game and its end; `from` in a file.
        policy: who plays until then.
    """

    share: Share = 0.0
    from_: Share = Field(default=0.75, alias="from")
    policy: Annotated[Literal["random", "heuristic"], _says("random or heuristic")] = "random"


class Pretrain(StrictSettings):
    """What comes before self-play, see `pretrain.py`.

    Attributes:
        positions: so many late positions are valued by playouts and learnt.
        playouts: random playouts for every legal action of such a position.
        epochs: how often each position is learnt.
        learning_rate: Adam's.
    """

    positions: FromZero = 0
    playouts: FromOne = 4
    epochs: FromOne = 4
    learning_rate: Positive = 1e-3


class Config(StrictSettings):
    """What a run does. Keys up to `policy_kwargs` are those of `MaskablePPO` and RL Zoo.

    Attributes:
        n_timesteps: learner decisions in all.
        n_envs: games at once.
        n_steps: learner decisions per game between updates.
        learning_rate: a number, or "lin_X" for X falling linearly to 0.
        policy: "MlpPolicy", or "OptionsPolicy" (`policies/scorer.py`) for games whose observation describes options.
        policy_kwargs: `net_arch` as for SB3 (and `activation_fn` by name: tanh, relu).
        env_kwargs: `num_players`, `skip_forced` and the game's own options.
        opponents: shares from which every other seat of every game is drawn: "self" (the network as it is), "snapshots"
            (earlier ones), and policies by name.
        snapshot_freq: learner decisions between snapshots.
        max_snapshots: how many are kept; the newest replaces the oldest.
        late_start: games that begin late.
        pretrain: what comes before self-play.
        eval_freq: learner decisions between evaluations.
        eval_games: games an evaluation plays against each of `eval_opponents`.
        eval_opponents: policies by name; the return against the first one chooses the best model.
    """

    n_timesteps: FromOne = 1_000_000
    n_envs: FromOne = 256
    policy: Annotated[Literal["MlpPolicy", "OptionsPolicy"], _says("MlpPolicy or OptionsPolicy")] = "MlpPolicy"
    n_steps: FromOne = 64
    batch_size: FromTwo = 4096
    n_epochs: FromOne = 4
    learning_rate: Rate = 3e-4
    gamma: Share = 1.0
    gae_lambda: Share = 0.95
    clip_range: Rate = 0.2
    ent_coef: Weight = 0.0
    vf_coef: Weight = 0.5
    max_grad_norm: Positive = 0.5
    target_kl: Annotated[Positive | None, _says("a number above 0, or null")] = None
    normalize_advantage: Flag = True
    policy_kwargs: NetworkKwargs = Field(default_factory=lambda: NetworkKwargs())
    env_kwargs: dict[str, Any] = Field(default_factory=dict)
    opponents: Opponents = Field(default_factory=lambda: {"self": 1.0})
    snapshot_freq: FromOne = 250_000
    max_snapshots: Annotated[
        int, Field(ge=0, le=MAX_SNAPSHOTS), BeforeValidator(_whole), _says(f"a whole number from 0 to {MAX_SNAPSHOTS}")
    ] = 3
    late_start: LateStart = LateStart()
    pretrain: Pretrain = Pretrain()
    eval_freq: FromOne = 250_000
    eval_games: FromOne = 2000
    eval_opponents: Annotated[list[_Name], Field(min_length=1), _says("a list of policies' names")] = Field(
        default_factory=lambda: ["random", "heuristic"]
    )

    @model_validator(mode="before")
    @classmethod
    def _read_old_spellings(cls, data: Any) -> Any:
        """`late_start: 0.5` with `late_from`, and `warm_positions`, were keys of their own once."""
        if not isinstance(data, Mapping):
            return data
        data = dict(data)
        for new, old in _OLD_SPELLINGS.items():
            share = new in old and not isinstance(data.get(new, {}), Mapping)
            given = {key: data.pop(key) for key in old if key in data and (key != new or share)}
            if not given:
                continue
            if new in data:
                key = next(iter(given))
                raise PydanticCustomError("old_spelling", f"{key} is now written {new}: {{{old[key]}: ...}}")
            data[new] = {old[key]: value for key, value in given.items()}
        return data

    @model_validator(mode="after")
    def _check_together(self) -> Config:
        rollout = self.n_steps * self.n_envs
        if rollout % self.batch_size:
            raise PydanticCustomError(
                "together", f"batch_size is {self.batch_size}; allowed: a divisor of n_steps * n_envs = {rollout}"
            )
        if self.opponents.get("snapshots") and not self.max_snapshots:
            raise PydanticCustomError("together", "opponents have a share of snapshots, but max_snapshots is 0")
        if not isinstance(skip := self.env_kwargs.get("skip_forced", True), bool):
            raise PydanticCustomError("together", f"env_kwargs.skip_forced is {shown(skip)}; allowed: true or false")
        layers = self.policy_kwargs.get("net_arch", [64])
        if self.policy == "OptionsPolicy" and not (layers.get("pi") if isinstance(layers, dict) else layers):
            raise PydanticCustomError(
                "together", "policy_kwargs.net_arch has no layer for pi; OptionsPolicy needs one or more"
            )
        return self

    def last_step(self, done: int = 0) -> int:
        """The learner decision at which a run ends that has `done` so many: updates come after whole rollouts."""
        rollout = self.n_envs * self.n_steps
        return done + -(-max(0, self.n_timesteps - done) // rollout) * rollout

    def but(self, **changes: Any) -> Config:
        """This configuration with some values changed, and checked anew."""
        return Config.model_validate(self.model_dump(by_alias=True) | changes)


_OLD_SPELLINGS = {
    "late_start": {"late_start": "share", "late_from": "from", "late_policy": "policy"},
    "pretrain": {
        "warm_positions": "positions",
        "warm_playouts": "playouts",
        "warm_epochs": "epochs",
        "warm_learning_rate": "learning_rate",
    },
}

# --- messages


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """The first of pydantic's complaints as one line; an unknown key goes before a wrong value."""
    found = error.errors(include_url=False)
    first = next((e for e in found if e["type"] in ("extra_forbidden", "invalid_key")), found[0])
    *path, last = first["loc"] or ("",)
    if first["type"] in ("extra_forbidden", "invalid_key"):
        return f"{_prefix(path)}{unknown_name('key', str(last), _keys_at(model, path))}"
    if last == "[key]":
        return f"{_prefix(path[:-1])}unknown key {shown(first['input'])}"
    if first["type"] in ("together", "old_spelling"):
        return f"{_prefix(first['loc'])}{first['msg']}"
    if first["type"] == "missing":
        return f"{_prefix(path)}{last} is missing"
    where = ".".join(map(str, first["loc"]))
    if first["type"] in ("model_type", "dict_type"):
        return f"{where} is {shown(first['input'])}; allowed: a mapping"
    return f"{where} is {shown(first['input'])}; allowed: {first['msg'].removeprefix('Input should be ')}"


def _prefix(path: Any) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""


def _keys_at(model: Any, path: list[int | str]) -> list[str]:
    """The keys that a mapping inside a model may have."""
    for part in path:
        model = (
            get_args(model)[0] if isinstance(part, int) else model.model_fields[part].annotation
        )  # of a list: an entry
    if not hasattr(model, "model_fields"):  # a TypedDict
        return list(model.__annotations__)
    return [field.alias or name for name, field in model.model_fields.items()]


Settings = TypeVar("Settings", bound=BaseModel)

# --- files


def load_config(path: str | Path) -> Config:
    """Reads a configuration; see `load_settings`."""
    return load_settings(path, Config)


def load_settings(path: str | Path, model: type[Settings]) -> Settings:
    """Reads settings of one kind.

    Raises:
        CardEnvsError: the file can't be read or is no YAML mapping, a key is unknown (the message names the nearest) or
            stands twice, or a value is not allowed.
    """
    return parse_settings(read_yaml(path), str(path), model)


def read_yaml(path: str | Path) -> Any:
    """What is in a YAML file, in bounded memory; see `load_settings`."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise CardEnvsError(f"{path} is longer than {MAX_BYTES:,} bytes: that is no configuration")
        return yaml.load(content.decode(), _Loader)
    except OSError as error:
        raise CardEnvsError(f"{path} can't be read: {error.strerror or error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise CardEnvsError(f"{path}: {line}{error.problem or error}") from None
    except CardEnvsError:
        raise
    except Exception as error:  # PyYAML raises whatever it meets on the way, such as a KeyError for `!!bool x`
        raise CardEnvsError(f"{path}: no YAML: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from None


class _Loader(yaml.SafeLoader):
    """Plain data only, as `yaml.safe_load`; but 1e6 and 3e-4 are numbers, as everybody writes them, not words.

    Keys that stand twice are refused, and what would grow beyond `MAX_VALUES` before it grows.
    """

    def get_single_node(self) -> Any:
        node = super().get_single_node()
        if node is not None:
            self._count(node, {})
        return node

    def _count(self, node: yaml.Node, known: dict[int, int]) -> int:
        """How many values a node stands for, aliases counted in full."""
        if id(node) in known:
            if not known[id(node)]:
                raise yaml.constructor.ConstructorError(None, None, "a value that contains itself", node.start_mark)
            return known[id(node)]
        known[id(node)] = 0
        total = 1
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if (key.tag, key.value) in keys:
                        problem = f"the key {shown(key.value)} stands twice"
                        raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                    keys.add((key.tag, key.value))
                total += self._count(key, known) + self._count(value, known)
        elif isinstance(node, yaml.SequenceNode):
            total += sum(self._count(value, known) for value in node.value)
        if total > MAX_VALUES:
            problem = f"more than {MAX_VALUES:,} values: that is no configuration"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        known[id(node)] = total
        return total

    def construct_yaml_int(self, node: Any) -> int:
        value: int = super().construct_yaml_int(node)
        if value.bit_length() > 64:
            problem = f"a number of {len(node.value):,} characters; allowed: up to 64 bits"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def parse_config(data: Any, where: str) -> Config:
    """A configuration from a mapping; see `parse_settings`."""
    return parse_settings(data, where, Config)


def parse_settings(data: Any, where: str, model: type[Settings]) -> Settings:
    """Settings of one kind from a mapping; `where` names its origin in messages."""
    if not isinstance(data, Mapping):
        raise CardEnvsError(f"{where}: a configuration is a mapping of keys to values, not {type(data).__name__}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise CardEnvsError(f"{where}: {explain(error, model)}") from None


def dump_config(config: BaseModel) -> str:
    """The configuration as YAML, every key written out."""
    return yaml.safe_dump(config.model_dump(by_alias=True), sort_keys=False)


# --- what Stable-Baselines3 wants


def schedule_start(value: str) -> float:
    """The X of "lin_X".

    Raises:
        ValueError: it is no such word, or X is no number above 0.
    """
    prefix, _, number = value.partition("lin_")
    start = float(number)
    if prefix or not 0 < start < math.inf:
        raise ValueError(f"{value!r} is not lin_NUMBER")
    return start


def schedule(value: float | str) -> Any:
    """A number as it is; "lin_X" as a function of the remaining progress: X at first, 0 at a run's end."""
    if not isinstance(value, str):
        return value
    # Stable-Baselines3's own class: a model can be loaded without this package
    from stable_baselines3.common.utils import LinearSchedule

    return LinearSchedule(schedule_start(value), 0.0, 1.0)


def network_of(config: Config, game: Game) -> tuple[Any, dict[str, Any]]:
    """The policy and its keywords as `MaskablePPO` wants them."""
    import torch

    kwargs: dict[str, Any] = {**config.policy_kwargs}
    if "activation_fn" in kwargs:
        kwargs["activation_fn"] = getattr(torch.nn, ACTIVATIONS[kwargs["activation_fn"]])
    if config.policy != "OptionsPolicy":
        return config.policy, kwargs
    from card_envs.policies.networks import OptionsPolicy

    return OptionsPolicy, kwargs | {"layout": game.layout}
