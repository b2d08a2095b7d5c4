"""The training configuration: YAML in RL Zoo's vocabulary, every key known, every value checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from card_envs.errors import CardEnvsError, unknown_name

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
POOL = ("self", "snapshots")  # besides policies by name


@dataclass(frozen=True)
class Config:
    """What a run does. Keys up to `policy_kwargs` are those of `MaskablePPO` and RL Zoo.

    Attributes:
        n_timesteps: learner decisions in all.
        n_envs: games at once.
        n_steps: learner decisions per game between updates.
        learning_rate: a number, or "lin_X" for X falling linearly to 0.
        policy_kwargs: `net_arch` as for SB3 (and `activation_fn` by name: tanh, relu).
        env_kwargs: `num_players`, `skip_forced` and the game's own options.
        opponents: shares from which every other seat of every game is drawn: "self" (the network as it is), "snapshots"
            (earlier ones), and policies by name.
        snapshot_freq: learner decisions between snapshots.
        max_snapshots: how many are kept; the newest replaces a random one.
        late_start: share of the games that begin late, after part of their decisions were played by `late_policy`.
        eval_freq: learner decisions between evaluations.
        eval_games: games an evaluation plays against each of `eval_opponents`; the first of these chooses the best model.
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
    late_policy: str = "random"
    eval_freq: int = 250_000
    eval_games: int = 2000
    eval_opponents: list[str] = field(default_factory=lambda: ["random", "heuristic"])


def load_config(path: str | Path) -> Config:
    """Reads a configuration.

    Raises:
        CardEnvsError: the file can't be read or is no YAML mapping, a key is unknown (the message names the nearest), or a
            value is not allowed.
    """
    try:
        data = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CardEnvsError(f"{path}: {' '.join(str(error).split())}") from None
    return parse_config(data, str(path))


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
    name = str(hint)
    if hint is bool or hint is str:
        if isinstance(value, hint):
            return value
    elif hint is int:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value):
            return int(value)
    elif "dict" in name or "list" in name:
        kind = dict if "dict" in name else list
        if isinstance(value, kind):
            return value
    else:  # numbers, perhaps None, perhaps a schedule
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if "str" in name and isinstance(value, str) and value.startswith("lin_"):
            schedule(value, where)
            return value
        if value is None and "None" in name:
            return None
    wanted = {"int": "a whole number", "str": "a word", "bool": "true or false"}.get(
        getattr(hint, "__name__", ""), name.replace("typing.", "")
    )
    raise CardEnvsError(f"{where} is {value!r}; allowed is {wanted}")


def _check(config: Config, where: str) -> None:
    positive = ("n_timesteps", "n_envs", "n_steps", "batch_size", "n_epochs", "snapshot_freq", "eval_freq", "eval_games")
    for key in positive:
        if getattr(config, key) < 1:
            raise CardEnvsError(f"{where}: {key} is {getattr(config, key)}; allowed is a whole number from 1")
    for key in ("gamma", "gae_lambda", "late_start"):
        if not 0.0 <= getattr(config, key) <= 1.0:
            raise CardEnvsError(f"{where}: {key} is {getattr(config, key)}; allowed is a number from 0 to 1")
    if config.max_snapshots < 0:
        raise CardEnvsError(f"{where}: max_snapshots is {config.max_snapshots}; allowed is a whole number from 0")
    shares = config.opponents.values()
    if not shares or not all(isinstance(s, (int, float)) and s >= 0 for s in shares) or sum(shares) <= 0:
        raise CardEnvsError(f"{where}: opponents are {config.opponents}; allowed are names with shares from 0, above 0 in all")
    if config.opponents.get("snapshots") and not config.max_snapshots:
        raise CardEnvsError(f"{where}: opponents have a share of snapshots, but max_snapshots is 0")
    if not config.eval_opponents:
        raise CardEnvsError(f"{where}: eval_opponents is empty; the first one chooses the best model")
    if config.late_policy not in ("random", "heuristic"):
        raise CardEnvsError(f"{where}: late_policy is {config.late_policy!r}; allowed are 'random', 'heuristic'")
    activation(config, where)


def schedule(value: float | str, where: str = "schedule") -> Any:
    """A number as it is, "lin_X" as a function of the remaining progress."""
    if not isinstance(value, str):
        return value
    try:
        start = float(value.removeprefix("lin_"))
    except ValueError:
        raise CardEnvsError(f"{where} is {value!r}; allowed is a number or lin_NUMBER") from None
    return LinearSchedule(start)


class LinearSchedule:
    """`start` at the beginning of a run, 0 at its end."""

    def __init__(self, start: float) -> None:
        self.start = start

    def __call__(self, progress_remaining: float) -> float:
        return self.start * progress_remaining


def activation(config: Config, where: str = "config") -> dict[str, Any]:
    """`policy_kwargs` with the activation function's name replaced by the function."""
    import torch

    functions = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}
    kwargs = dict(config.policy_kwargs)
    for key in kwargs:
        if key not in ("net_arch", "activation_fn", "ortho_init"):
            allowed = ("net_arch", "activation_fn", "ortho_init")
            raise CardEnvsError(f"{where}: policy_kwargs: {unknown_name('key', key, allowed)}")
    if "activation_fn" in kwargs:
        if kwargs["activation_fn"] not in functions:
            raise CardEnvsError(f"{where}: {unknown_name('activation_fn', kwargs['activation_fn'], functions)}")
        kwargs["activation_fn"] = functions[kwargs["activation_fn"]]
    return kwargs


def dump_config(config: Config) -> str:
    """The configuration as YAML, every key written out."""
    return yaml.safe_dump(dataclasses.asdict(config), sort_keys=False)
