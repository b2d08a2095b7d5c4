"""The training configuration: YAML in RL Zoo's vocabulary, every key known, every value checked."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from card_envs.errors import CardEnvsError, unknown_name
from card_envs.games.game import Game
from card_envs.policies import BUILT_IN

_PACKAGE = Path(__file__).resolve().parent.parent
#: the settings that ship: in a wheel inside the package, in a checkout `configs/`
CONFIGS = next(path for path in (_PACKAGE / "configs", _PACKAGE.parent / "configs") if path.is_dir())
POOL = ("self", "snapshots")  # opponents besides policies by name
POLICIES = ("MlpPolicy", "OptionsPolicy")  # the second scores all options alike, see card_envs/policies/scorer.py
ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU"}


@dataclass(frozen=True)
class Config:
    """What a run does. Keys up to `policy_kwargs` are those of `MaskablePPO` and RL Zoo.

    Attributes:
        n_timesteps: learner decisions in all.
        n_envs: games at once.
        n_steps: learner decisions per game between updates.
        learning_rate: a number, or "lin_X" for X falling linearly to 0.
        policy: "MlpPolicy", or "OptionsPolicy" for games whose observation describes options.
        policy_kwargs: `net_arch` as for SB3 (and `activation_fn` by name: tanh, relu).
        env_kwargs: `num_players`, `skip_forced` and the game's own options.
        opponents: shares from which every other seat of every game is drawn: "self" (the network as it is), "snapshots"
            (earlier ones), and policies by name.
        snapshot_freq: learner decisions between snapshots.
        max_snapshots: how many are kept; the newest replaces the oldest.
        late_start: share of the games that begin late, after part of their decisions were played by `late_policy`.
        late_from: late games begin between this part of a typical game and its end.
        warm_positions: before self-play, so many late positions are valued by playouts and learnt (`warm_start.py`).
        warm_playouts: random playouts for every legal action of such a position.
        warm_epochs: how often each position is learnt.
        warm_learning_rate: Adam's, for that.
        eval_freq: learner decisions between evaluations.
        eval_games: games an evaluation plays against each of `eval_opponents`.
        eval_opponents: policies by name; the return against the first one chooses the best model.
    """

    n_timesteps: int = 1_000_000
    n_envs: int = 256
    policy: str = "MlpPolicy"
    n_steps: int = 64
    batch_size: int = 4096
    n_epochs: int = 4
    learning_rate: float | str = 3e-4
    gamma: float = 1.0
    gae_lambda: float = 0.95
    clip_range: float | str = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    normalize_advantage: bool = True
    policy_kwargs: dict[str, Any] = field(default_factory=dict)
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    opponents: dict[str, float] = field(default_factory=lambda: {"self": 1.0})
    snapshot_freq: int = 250_000
    max_snapshots: int = 3
    late_start: float = 0.0
    late_from: float = 0.75
    late_policy: str = "random"
    warm_positions: int = 0
    warm_playouts: int = 4
    warm_epochs: int = 4
    warm_learning_rate: float = 1e-3
    eval_freq: int = 250_000
    eval_games: int = 2000
    eval_opponents: list[str] = field(default_factory=lambda: ["random", "heuristic"])


def load_config(path: str | Path) -> Config:
    """Reads a configuration.

    Raises:
        CardEnvsError: the file can't be read or is no YAML mapping, a key is unknown (the message names the nearest),
            or a value is not allowed.
    """
    try:
        data = yaml.load(Path(path).read_text("utf-8"), _Loader)
    except OSError as error:
        raise CardEnvsError(f"{path} can't be read: {error.strerror or error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise CardEnvsError(f"{path}: {line}{error.problem or error}") from None
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise CardEnvsError(f"{path}: no YAML: {error}") from None
    return parse_config(data, str(path))


class _Loader(yaml.SafeLoader):
    """Plain data only, as `yaml.safe_load`; but 1e6 and 3e-4 are numbers, as everybody writes them, not words."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def parse_config(data: Any, where: str) -> Config:
    """A configuration from a mapping; `where` names its origin in messages."""
    if not isinstance(data, Mapping):
        raise CardEnvsError(f"{where}: a configuration is a mapping of keys to values, not {type(data).__name__}")
    hints = get_type_hints(Config)
    values = {}
    for key, value in data.items():
        if key not in hints:
            raise CardEnvsError(f"{where}: {unknown_name('key', key, hints)}")
        values[key] = _typed(value, hints[key], f"{where}: {key}")
    config = Config(**values)
    _check(config, where)
    return config


def _typed(value: Any, hint: Any, where: str) -> Any:
    """`value` as the type that the key has; whole numbers may be written 1e6, as RL Zoo does."""
    kinds = _KINDS[hint]
    if isinstance(value, bool):
        if bool in kinds:
            return value
    elif isinstance(value, (int, float)):
        if abs(value) < 1e300:  # neither infinite nor "not a number"
            if float in kinds:
                return float(value)
            if int in kinds and value == int(value):
                return int(value)
    elif isinstance(value, str) and float in kinds:
        if str in kinds and value.startswith("lin_"):
            schedule(value, where)
            return value
    elif isinstance(value, kinds):
        return value
    raise CardEnvsError(f"{where} is {value!r}; allowed is {' or '.join(_ALLOWED[kind] for kind in kinds)}")


_KINDS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    float: (float,),
    bool: (bool,),
    str: (str,),
    float | str: (float, str),
    float | None: (float, type(None)),
    dict[str, Any]: (dict,),
    dict[str, float]: (dict,),
    list[str]: (list,),
}
_ALLOWED: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a word",
    type(None): "null",
    dict: "a mapping",
    list: "a list",
}


# What values are allowed: (keys, test, in words).
_RANGES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (
        (
            "n_timesteps",
            "n_envs",
            "n_steps",
            "n_epochs",
            "snapshot_freq",
            "eval_freq",
            "eval_games",
            "warm_playouts",
            "warm_epochs",
        ),
        lambda value: value >= 1,
        "a whole number from 1",
    ),
    (("batch_size",), lambda value: value >= 2, "a whole number from 2"),
    (("max_snapshots", "warm_positions"), lambda value: value >= 0, "a whole number from 0"),
    (("gamma", "gae_lambda", "late_start", "late_from"), lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    (("ent_coef", "vf_coef"), lambda value: value >= 0, "a number from 0"),
    (("max_grad_norm", "warm_learning_rate"), lambda value: value > 0, "a number above 0"),
    (
        ("learning_rate", "clip_range"),
        lambda value: isinstance(value, str) or value > 0,
        "a number above 0, or lin_NUMBER",
    ),
    (("target_kl",), lambda value: value is None or value > 0, "a number above 0, or null"),
    (("policy",), lambda value: value in POLICIES, "MlpPolicy or OptionsPolicy"),
    (("late_policy",), lambda value: value in BUILT_IN, " or ".join(BUILT_IN)),
    (
        ("eval_opponents",),
        lambda value: bool(value) and all(isinstance(name, str) for name in value),
        "a list of policies' names",
    ),
    (("opponents",), lambda value: _are_shares(value), "names with shares from 0, above 0 in all"),
)


def _are_shares(value: dict[Any, Any]) -> bool:
    numbers = [share for share in value.values() if isinstance(share, (int, float)) and not isinstance(share, bool)]
    return (
        len(numbers) == len(value)
        and all(isinstance(name, str) for name in value)
        and all(0 <= share < math.inf for share in numbers)
        and sum(numbers) > 0
    )


def _check(config: Config, where: str) -> None:
    for keys, test, allowed in _RANGES:
        for key in keys:
            if not test(getattr(config, key)):
                raise CardEnvsError(f"{where}: {key} is {getattr(config, key)!r}; allowed is {allowed}")
    rollout = config.n_steps * config.n_envs
    if rollout % config.batch_size:
        raise CardEnvsError(
            f"{where}: batch_size is {config.batch_size}; allowed is a divisor of n_steps * n_envs = {rollout}"
        )
    if config.opponents.get("snapshots") and not config.max_snapshots:
        raise CardEnvsError(f"{where}: opponents have a share of snapshots, but max_snapshots is 0")
    if not isinstance(config.env_kwargs.get("skip_forced", True), bool):
        raise CardEnvsError(
            f"{where}: env_kwargs: skip_forced is {config.env_kwargs['skip_forced']!r}; allowed is true or false"
        )
    _check_network(config.policy_kwargs, f"{where}: policy_kwargs")


def _check_network(kwargs: dict[str, Any], where: str) -> None:
    for key in kwargs:
        if key not in ("net_arch", "activation_fn", "ortho_init"):
            raise CardEnvsError(f"{where}: {unknown_name('key', key, ('net_arch', 'activation_fn', 'ortho_init'))}")
    layers = kwargs.get("net_arch", [])
    parts = [layers] if not isinstance(layers, dict) else [layers.get(key, []) for key in ("pi", "vf")]
    if (isinstance(layers, dict) and not layers.keys() <= {"pi", "vf"}) or not all(_are_sizes(part) for part in parts):
        allowed = "a list of whole numbers from 1, or a mapping of pi and vf to such lists"
        raise CardEnvsError(f"{where}: net_arch is {layers!r}; allowed is {allowed}")
    name = kwargs.get("activation_fn", "tanh")
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise CardEnvsError(f"{where}: activation_fn is {name!r}; allowed is {' or '.join(ACTIVATIONS)}")
    if not isinstance(kwargs.get("ortho_init", True), bool):
        raise CardEnvsError(f"{where}: ortho_init is {kwargs['ortho_init']!r}; allowed is true or false")


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 1 for size in value)


def schedule(value: float | str, where: str = "schedule") -> Any:
    """A number as it is; "lin_X" as a function of the remaining progress, X at the beginning of a run and 0 at its end.

    Raises:
        CardEnvsError: X is no number above 0.
    """
    if not isinstance(value, str):
        return value
    try:
        start = float(value.removeprefix("lin_"))
    except ValueError:
        start = math.nan
    if not 0 < start < math.inf:
        raise CardEnvsError(f"{where} is {value!r}; allowed is a number above 0, or lin_NUMBER")
    from stable_baselines3.common.utils import (
        LinearSchedule,
    )  # its own class: a model can be loaded without this package

    return LinearSchedule(start, 0.0, 1.0)


def network_of(config: Config, game: Game) -> tuple[Any, dict[str, Any]]:
    """The policy and its keywords as `MaskablePPO` wants them."""
    import torch

    kwargs = dict(config.policy_kwargs)
    if "activation_fn" in kwargs:
        kwargs["activation_fn"] = getattr(torch.nn, ACTIVATIONS[kwargs["activation_fn"]])
    if config.policy != "OptionsPolicy":
        return config.policy, kwargs
    from card_envs.policies.networks import OptionsPolicy

    return OptionsPolicy, kwargs | {"layout": game.layout}


def dump_config(config: Config) -> str:
    """The configuration as YAML, every key written out."""
    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False)
