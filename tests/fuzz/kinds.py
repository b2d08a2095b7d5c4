"""What is damaged, and the command that then reads it: settings, records, decks, run folders, tournament folders."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol
from unittest import mock

import numpy as np

from card_envs import cli
from card_envs.games import list_games
from card_envs.games.micons import Micons, deck
from card_envs.kernels import batch
from tests.fuzz import mutations

GAMES = [name.rpartition("_v")[0] for name in list_games()]
SETTINGS = """\
n_timesteps: 128
n_envs: 8
n_steps: 8
batch_size: 32
n_epochs: 2
learning_rate: lin_1e-2
policy_kwargs: {net_arch: [8]}
env_kwargs: {num_players: 3}
opponents: {self: 0.4, snapshots: 0.4, random: 0.2}
snapshot_freq: 64
max_snapshots: 2
late_start: {share: 0.5, from: 0.75}
pretrain: {positions: 16, playouts: 1, epochs: 1}
eval_freq: 64
eval_games: 6
eval_opponents: [random]
"""


class Kind(Protocol):
    """Files that a user may have, and the command that reads them.

    Attributes:
        name: as it is given to `--kind`.
    """

    name: str

    def prepare(self, folder: Path) -> None:
        """Makes samples as the commands do, in a folder each that is named for a game."""

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        """Damages a copy of the sample for `game`; returns the words of the command, which is run inside the folder."""


class CutShort(BaseException):
    """The input was accepted, and what comes now takes long."""


@contextmanager
def cut_short() -> Iterator[None]:
    """Raises `CutShort` where learning would begin, or where kernels would be compiled for a deck of another size.

    Tournaments draw no picture.
    """
    known, kernels_for = len(deck.read_deck(None, 2)), batch.for_game

    def for_known_decks(game: Any) -> batch.Kernels:
        if isinstance(game, Micons) and len(game.cards) != known:
            raise CutShort
        return kernels_for(game)

    with ExitStack() as stack:
        stack.enter_context(mock.patch("card_envs.kernels.batch.for_game", for_known_decks))
        stack.enter_context(mock.patch("card_envs.training.run.learn", side_effect=CutShort))
        stack.enter_context(mock.patch("card_envs.cli.tournament.write_picture"))
        yield


def command(*words: str | Path) -> None:
    """Runs a command that must succeed."""
    code = cli.main(list(map(str, words)))
    if code:
        raise RuntimeError(f"{words} ended with {code}")


class Settings:
    """YAML files for `card-envs train --config`."""

    name = "settings"

    def prepare(self, folder: Path) -> None:
        from card_envs.training.settings import CONFIGS

        for game, text in (
            ("icarus_club", SETTINGS),
            *((game, (CONFIGS / f"{game}.yaml").read_text()) for game in ("icons", "micons", "ice_points")),
        ):
            (folder / game).mkdir()
            (folder / game / "x.yaml").write_text(text)

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        path = folder / "x.yaml"
        damage_settings(path, rng)
        return ["train", game, "--config", path.name, "--out", "out"]


def damage_settings(path: Path, rng: Random) -> None:
    from card_envs.training.settings import Config, load_config

    text = path.read_bytes()
    if rng.random() < 0.02:
        path.write_bytes(text + mutations.bomb(rng))
        return
    given = load_config(path).model_dump(by_alias=True)
    if rng.random() < 0.5:
        defaults = Config().model_dump(by_alias=True)
        given = {key: value for key, value in given.items() if value != defaults[key]}
    path.write_bytes(mutations.damaged_yaml(given, text, rng))


class Records:
    """Files for `card-envs replay`."""

    name = "records"

    def prepare(self, folder: Path) -> None:
        for game in GAMES:
            out = folder / game / "x.jsonl"
            command("record", game, "--games", "2", "--policies", "heuristic", "random", "--seed", "1", "--out", out)

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        path = folder / "x.jsonl"
        path.write_bytes(mutations.damaged_json_lines(path.read_bytes(), rng))
        return ["replay", path.name, "--line", rng.choice("112")]


class Decks:
    """Deck files of Micons."""

    name = "decks"

    def prepare(self, folder: Path) -> None:
        (folder / "micons").mkdir()
        (folder / "micons" / "deck.json").write_bytes(deck.SUPPLIED.read_bytes())

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        path = folder / "deck.json"
        path.write_bytes(mutations.damaged_json(path.read_bytes(), rng))
        return ["record", game, "--option", f"deck={path.name}", "--games", "1", "--out", "out.jsonl"]


class Runs:
    """Run folders for `card-envs train --resume`."""

    name = "runs"

    def prepare(self, folder: Path) -> None:
        settings = folder / "x.yaml"
        settings.write_text(SETTINGS)
        command("train", "icarus_club", "--config", settings, "--out", folder / "icarus_club" / "run", "--seed", "7")
        settings.unlink()

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        run = folder / "run"
        path = run / rng.choice(("config.yaml", "run.json", *["checkpoint.zip"] * 5, "best_model.zip"))
        content = path.read_bytes()
        way = rng.random()
        if way < 0.02:
            path.unlink()
        elif way < 0.03:
            path.unlink()
            path.mkdir()
        elif way < 0.05:
            path.write_bytes(rng.choice(sorted(p for p in run.iterdir() if p.is_file())).read_bytes())
        elif path.name == "config.yaml":
            damage_settings(path, rng)
        elif path.name == "run.json":
            path.write_bytes(mutations.damaged_json(content, rng))
        elif path.name == "checkpoint.zip":
            path.write_bytes(_damaged_checkpoint(content, rng))
        else:
            path.write_bytes(_damaged_zip(content, rng))
            if rng.random() < 0.8:  # which `--resume` looks at where there is no checkpoint
                (run / "checkpoint.zip").unlink()
                (run / "final_model.zip").unlink()
        steps = ["--total-timesteps", "256"] if rng.random() < 0.7 else []
        return ["train", game, "--resume", "run", *steps]


def _unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def _damaged_zip(content: bytes, rng: Random) -> bytes:
    """A zip with a byte or a member changed."""
    if rng.random() < 0.3:
        return mutations.damaged_bytes(content, rng)
    members = _unpacked(content)
    name = rng.choice(sorted(members))
    way = rng.random()
    if way < 0.1:
        del members[name]
    elif way < 0.2:
        members[name] = members[rng.choice(sorted(members))]
    elif name in ("data", "values.json"):
        members[name] = mutations.damaged_json(members[name], rng)
    elif name == "arrays.npz":
        members[name] = _damaged_arrays(members[name], rng)
    elif name == "model.zip":
        members[name] = _damaged_zip(members[name], rng)
    else:
        members[name] = mutations.damaged_bytes(members[name], rng)
    return _packed(members)


def _damaged_checkpoint(content: bytes, rng: Random) -> bytes:
    """A damaged zip, half of them without the sums that would tell at once, as an older version wrote it."""
    if rng.random() < 0.5:
        return _damaged_zip(content, rng)
    members = _unpacked(content)
    values = json.loads(members["values.json"])
    del values["sha256"]
    return _damaged_zip(_packed(members | {"values.json": json.dumps(values).encode()}), rng)


def _damaged_arrays(content: bytes, rng: Random) -> bytes:
    """An .npz with a byte or an array changed."""
    if rng.random() < 0.2:
        return mutations.damaged_bytes(content, rng)
    with np.load(io.BytesIO(content)) as file:
        arrays: dict[str, Any] = dict(file)
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    way = rng.randrange(7)
    if way == 0:
        del arrays[name]
    elif way == 1:
        arrays[name] = arrays[rng.choice(sorted(arrays))]
    elif way == 2:
        arrays[name] = array.astype(rng.choice(("i1", "f8", "c16", "U3", "S2", "?", "M8[s]")), casting="unsafe")
    elif way == 3:
        arrays[name] = rng.choice((array[None], array[..., :0] if array.ndim else array[None], array.ravel()[:1]))
    elif way == 4:
        with np.errstate(invalid="ignore"):
            arrays[name] = np.full(array.shape, rng.choice((0, 1, -1, 99, 2**40, np.nan, np.inf))).astype(array.dtype)
    elif way == 5:
        changed = mutations.flipped(array.tobytes(), rng)
        arrays[name] = np.frombuffer(changed, array.dtype).reshape(array.shape)
    else:
        arrays[name] = array.astype(array.dtype.newbyteorder())
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


class Tournaments:
    """Folders for `card-envs tournament --resume`."""

    name = "tournaments"
    further: ClassVar = {
        "micons": [],
        "ice_points": ["--until-ci", "2.0"],
        "icarus_club": ["--on-fault", "loss"],
    }

    def prepare(self, folder: Path) -> None:
        for game in self.further:
            command(*self.words(game), "--out", folder / game / "out")

    def words(self, game: str) -> list[str]:
        words = ["tournament", game, "random", "heuristic", "--games", "12", "--records", "1", "--workers", "1"]
        return words + self.further[game]

    def damage(self, game: str, folder: Path, rng: Random) -> list[str]:
        path = folder / "out" / "results.jsonl"
        content = path.read_bytes()
        if rng.random() < 0.5:  # killed on the way
            lines = content.splitlines(keepends=True)
            content = b"".join(lines[: rng.randrange(1, len(lines) + 1)])
        way = rng.random()
        if way < 0.01:
            path.unlink()
        elif way < 0.02:
            path.unlink()
            path.mkdir()
        elif way < 0.04:
            other = rng.choice(("games.jsonl", "results.json", "table.txt"))
            path.write_bytes((folder / "out" / other).read_bytes())
        else:
            path.write_bytes(mutations.damaged_json_lines(content, rng))
        return [*self.words(game), "--out", "out", "--resume"]


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Settings(), Records(), Decks(), Runs(), Tournaments())}
