"""What a game is: the one contract that every game fills in, and that everything else is built on.

A game is a fixed-size **state record** and a handful of compiled functions over it (`Rules`). Whatever plays, trains,
searches, replays or measures calls those and nothing else. Around them, `Game` carries the names that people read and
the options that were chosen.

A game runs like this::

    states[i] = game.initial[0]                 # a fresh table, before its first chance event
    while s.chance: apply_chance(s, value)      # value from draw_chance(s, value), or handed in from outside
    count = legal_actions(s, mask)              # the seat s.player is asked, in the phase s.phase
    apply_action(s, action)                     # ... and so on, until s.end is not RUNNING

**State.** A NumPy record whose first fields are those of `kernels.state.header`, the same in every game. The state is
the whole game: options that change the rules, and data such as a deck, are fields of it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from card_envs.errors import CardEnvsError, shown, unknown_name
from card_envs.games.chance import Chance
from card_envs.kernels.rng import any_legal, no_opinions
from card_envs.kernels.state import RUNNING, header, record_dtype, returns


class Rules(NamedTuple):
    """The compiled functions of a game. `s` is one state record, changed in place where the name is a verb of change.

    Attributes:
        draw_chance: `(s, value) -> int`. Draws the value of the due chance event with the generator in `s` into `value`
            (int16, at least `Game.max_chance_values` long) and returns its length. Nothing else in `s` changes.
        apply_chance: `(s, value)`. Carries out the due chance event with this value, and all that happens by itself up
            to the next decision, chance event or end.
        legal_actions: `(s, mask) -> int`. Fills `mask` (int8, (A,)) with 1 for what `s.player` may do, else 0; returns
            how many there are (at least 1 while the game runs and no chance is due).
        apply_action: `(s, action)`. Carries out a legal action of `s.player`, and all that happens by itself after it
            up to the next decision, chance event or end. The caller vouches for legality.
        observe: `(s, seat, at, out)`. Writes what `seat` may know into `out` (float32, (O,), all of it), with the
            segment starts of the layout in `at` (`at.hand`, ...). Valid for every seat at every decision and after the
            end.
        resample: `(s, seat, rng)`. Replaces everything that `seat` can't know, future chance included, by a draw from
            `rng` among what is possible; `observe` and `legal_actions` of that seat stay the same to the bit. What it
            draws depends on nothing that `seat` can't know: the same `rng` gives the same state from any two states
            that the seat can't tell apart.
        heuristic: `(s, mask, rng) -> int`. The hand-written player's choice among the 1s of `mask` for the seat
            `s.player`; it uses only what that seat may know. By default all legal actions alike.
        opinions: `(s, mask, rng, out) -> int`. The same choice, and into `out` (float32, (A, `Game.num_opinions`),
            zeros before) the numbers behind it for each legal action, about 0 to 1: for networks that learn when to
            deviate from it. By default there are none.
        returns: `(s, out)`. Writes what an ended game pays every seat into `out` (float64, (max players,)), 0 for all
            while it runs, within `Game.min_return` and `Game.max_return`. By default winners share what the others
            lose, see `kernels.state.returns`.
        evaluate: `(s, out)`. Writes the return that every seat may expect (float64, (max players,)) into `out`, for
            searches that don't play on to the end. A rough guess serves; by default it is 0 for all before the end.
    """

    draw_chance: Callable[..., Any]
    apply_chance: Callable[..., Any]
    legal_actions: Callable[..., Any]
    apply_action: Callable[..., Any]
    observe: Callable[..., Any]
    resample: Callable[..., Any]
    heuristic: Callable[..., Any] = any_legal
    opinions: Callable[..., Any] = no_opinions
    returns: Callable[..., Any] = returns
    evaluate: Callable[..., Any] = returns


class Segment(NamedTuple):
    """One named part of an observation; all its values lie in [0, 1].

    Attributes:
        name: for `at.NAME` in kernels and `layout["NAME"]`.
        shape: how users may reshape it.
        meaning: in words, with its scale.
        first_action: where the rows describe what actions would do, the action of row 0; the others follow. Row i is
            all zeros unless that action is legal, and then begins with 1.
        start: where it begins in the flat observation; filled in by `Layout`.
    """

    name: str
    shape: tuple[int, ...]
    meaning: str
    first_action: int | None = None
    start: int = -1

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Layout:
    """Where each part of an observation lies: declared once per game, read by kernels, spaces, docs and users.

    Attributes:
        segments: the parts in order, with their starts filled in.
        size: the observation's length.
        at: a record array of length 1 with one int32 start per segment, `at[0].NAME`, for kernels.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        names = [segment.name for segment in segments]
        if len(set(names)) != len(names):
            raise CardEnvsError(f"an observation layout names a segment twice: {names}")
        placed, start = [], 0
        for segment in segments:
            placed.append(segment._replace(start=start))
            start += segment.size
        self.segments: tuple[Segment, ...] = tuple(placed)
        self.size: int = start
        self.at: npt.NDArray[Any] = np.zeros(1, record_dtype([(name, np.int32) for name in names]))
        for segment in placed:
            self.at[0][segment.name] = segment.start

    def __getitem__(self, name: str) -> slice:
        """The slice of a flat observation that holds the segment `name`."""
        for segment in self.segments:
            if segment.name == name:
                return slice(segment.start, segment.start + segment.size)
        raise KeyError(unknown_name("observation segment", name, (s.name for s in self.segments)))

    def split(self, observation: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """Views of a flat observation, (..., O), by name and in their own shapes (..., *shape)."""
        lead = observation.shape[:-1]
        return {s.name: observation[..., self[s.name]].reshape(lead + s.shape) for s in self.segments}

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = ["| start | segment | shape | meaning |", "|---|---|---|---|"]
        rows += [f"| {s.start} | `{s.name}` | {s.shape} | {s.meaning} |" for s in self.segments]
        return "\n".join(rows)


@dataclass(frozen=True)
class Option:
    """An option of a game.

    Attributes:
        default: its value where nothing is said.
        check: returns the accepted value or raises ValueError.
        allowed: what is allowed, in words.
        stand_ins: what to write for values of another type where all must have one, as OpenSpiel's parameters:
            `{None: 0}`.
    """

    default: Any
    check: Callable[[Any], Any]
    allowed: str
    stand_ins: Mapping[Any, Any] = field(default_factory=dict)


def whole_number(low: int, high: int | None = None) -> Callable[[Any], int]:
    """A check for `Option`: a whole number from `low` up (to `high`)."""

    def check(value: Any) -> int:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise ValueError
        if value < low or (high is not None and value > high):
            raise ValueError
        return int(value)

    return check


def one_of(*allowed: str) -> Callable[[Any], str]:
    """A check for `Option`: one of these words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError
        return value

    return check


class Game:
    """A game at one player count with its options chosen; immutable, and cheap to share.

    A game's class sets the class attributes that have no default and fills in `_build`.

    Args:
        num_players: seats at the table; None takes `default_players`.
        options: the game's own options by name.

    Raises:
        CardEnvsError: the player count or an option is not allowed; the message says what is.
    """

    name: ClassVar[str]  #: the id with its version, "icarus_club_v0"
    title: ClassVar[str]  #: as printed on the box
    min_players: ClassVar[int]
    max_players: ClassVar[int]
    default_players: ClassVar[int]
    phases: ClassVar[tuple[str, ...]] = ("act",)  #: what a player can be asked, by `s.phase`
    hidden_phases: ClassVar[tuple[str, ...]] = ()  #: phases whose actions are seen by the acting seat alone
    option_table: ClassVar[Mapping[str, Option]] = {}
    rules: ClassVar[Rules]
    zero_sum: ClassVar[bool] = True  #: whether the returns of all seats sum to 0
    num_opinions: ClassVar[int] = 0  #: how many numbers `Rules.opinions` gives for each action
    playout_policy: ClassVar[str] = "random"  #: who plays on in a search: "random" or "heuristic"
    playout_length: ClassVar[int] = 1_000_000  #: decisions after which a search judges the state; by default at the end

    # filled in by _build
    state_dtype: np.dtype[Any]
    initial: npt.NDArray[Any]  #: (1,) state: the table before the first chance event
    layout: Layout
    action_names: tuple[str, ...]
    chances: tuple[Chance, ...]  #: the chance events; event k is due where `s.chance` is k + 1
    max_chance_values: int  #: the longest value of a chance event
    max_chance_events: int  #: no game has more chance events
    max_decisions: int  #: no game asks for more decisions
    min_return: float  #: the least that a game can pay a seat; by default that of a game with winners and losers
    max_return: float  #: the most

    def __init__(self, num_players: int | None = None, **options: Any) -> None:
        missing = [
            name for name, kind in Game.__annotations__.items() if "ClassVar" in kind and not hasattr(self, name)
        ]
        if missing:
            raise CardEnvsError(f"{type(self).__name__} sets no class attribute {missing[0]!r}")
        if num_players is None:
            num_players = self.default_players
        try:
            self.num_players = whole_number(self.min_players, self.max_players)(num_players)
        except ValueError:
            allowed = f"a whole number from {self.min_players} to {self.max_players}"
            raise CardEnvsError(f"{self.name}: num_players is {shown(num_players)}; allowed: {allowed}") from None
        self.options: dict[str, Any] = {}
        for name in options:
            if name not in self.option_table:
                raise CardEnvsError(f"{self.name}: {unknown_name('option', name, ['num_players', *self.option_table])}")
        for name, option in self.option_table.items():
            value = options.get(name, option.default)
            try:
                self.options[name] = option.check(value)
            except CardEnvsError:
                raise
            except ValueError:
                raise CardEnvsError(f"{self.name}: {name} is {shown(value)}; allowed: {option.allowed}") from None
        self.min_return, self.max_return = -1.0 / max(1, self.num_players - 1), 1.0
        self._build()
        self._check_built()
        self.initial["num_players"] = self.num_players
        self.action_ids: dict[str, int] = {name: i for i, name in enumerate(self.action_names)}

    @classmethod
    def from_record(cls, options: Mapping[str, Any]) -> Game:
        """The game of a record, from the options as they stand there; these name nothing outside the record.

        Raises:
            CardEnvsError: as at creation.
        """
        return cls(**options)

    @classmethod
    def variants(cls) -> Iterator[dict[str, Any]]:
        """The choices of options under which the conformance suite plays this game; a game with options adds to it."""
        yield {}

    def _build(self) -> None:
        """Sets the attributes below `# filled in by _build` from `num_players` and `options`."""
        raise NotImplementedError

    def _check_built(self) -> None:
        """What every game's states begin with is where all code looks for it.

        Raises:
            CardEnvsError: `_build` has left something out, or the states do not begin with the header.
        """
        missing = [name for name in Game.__annotations__ if not hasattr(self, name)]
        if missing:
            raise CardEnvsError(f"{self.name}: _build sets no {missing[0]!r}")
        due, found = np.dtype(header(self.max_players)), self.state_dtype
        for name in due.names or ():
            kept = name in (found.names or ()) and found[name].base == due[name].base
            if not kept or found[name].shape < due[name].shape:
                raise CardEnvsError(f"{self.name}: a state begins with *header({self.max_players}); wrong is {name!r}")

    @property
    def chance_kinds(self) -> tuple[str, ...]:
        """The names of the chance events by `s.chance`; the first is "" for none."""
        return ("", *(chance.name for chance in self.chances))

    def chance_to_json(self, kind: int, value: npt.NDArray[np.int16]) -> Any:
        """A value of the chance event `kind` (`s.chance`) as it is written in a record."""
        return self.chances[kind - 1].to_json(value)

    def chance_from_json(self, state: Any, value: Any) -> npt.NDArray[np.int16]:
        """The value of the chance event that is due in `state`, read from a record and checked against the rules.

        Raises:
            CardEnvsError: the value can't be drawn here; the message says what was expected.
        """
        due, drawing = np.zeros(self.max_chance_values, np.int16), state.copy()
        drawing.rng = 1  # whatever is drawn will do; a generator of zeros would never draw anything
        count = self.rules.draw_chance(drawing, due)
        return self.chances[int(state.chance) - 1].from_json(value, due[:count], self.num_players)

    def chance_range(self, state: Any) -> int:
        """For the chance event due in `state`: k if it draws a number 0 … k - 1, all alike; 0 if it shuffles cards."""
        return self.chances[int(state.chance) - 1].outcomes(self.num_players)

    def deck_runs(self, num_cards: int) -> list[int]:
        """The lengths of the runs of a deck of `num_cards` within which the order of cards makes no difference.

        They say which shuffles are the same deal, so that each can be counted once. The cards of a run longer than 1
        are all different.
        """
        return [1] * num_cards

    def render_text(self, state: Any, seat: int | None = None) -> str:
        """The table as text that a person likes to read; by default every seat's view, part by part.

        Args:
            state: a state record.
            seat: show only what this seat may know; None shows everything.

        Where `state.player` is -1 nobody is asked: a player has ended the game by an illegal action.
        """
        if state.chance:
            return f"{self.title}: {self.chance_kinds[state.chance]} is due"
        if state.end == RUNNING:
            head = f"{self.title}: {to_act(state, self.phases[state.phase])}"
        else:
            head = f"{self.title}: the game has ended"
        lines, observation = [head], np.empty(self.layout.size, np.float32)
        for viewer in range(self.num_players) if seat is None else (seat,):
            self.rules.observe(state, viewer, self.layout.at[0], observation)
            parts = self.layout.split(observation)
            lines.append(f"player_{viewer} sees " + ", ".join(f"{k} {_listed(v)}" for k, v in parts.items()))
        return "\n".join(lines)

    def event_log(self, state: Any) -> list[str]:
        """What has happened so far, one line an event, in games whose chance events and actions alone don't tell it.

        Records hold it for whoever displays them; empty for the other games.
        """
        return []

    def options_to_json(self) -> dict[str, Any]:
        """`num_players` and every option that differs from its default, as a record holds them."""
        changed = {k: v for k, v in self.options.items() if v != self.option_table[k].default}
        return {"num_players": self.num_players, **changed}

    @property
    def pays_winners(self) -> bool:
        """Whether who has won tells all that a game pays: the default of `Rules.returns`."""
        return self.rules.returns is returns

    @property
    def illegal_return(self) -> float:
        """What an illegal action costs in training: at least 1, and never less than the worst end of a game."""
        return min(-1.0, self.min_return)

    @property
    def num_actions(self) -> int:
        return len(self.action_names)

    @property
    def agents(self) -> list[str]:
        """`player_0` ... in seat order."""
        return [f"player_{seat}" for seat in range(self.num_players)]

    def __repr__(self) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.options_to_json().items() if k != "num_players")
        return f"{self.name}(num_players={self.num_players}{options})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (self.name, self.num_players, repr(self.options))

    def __copy__(self) -> Game:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self  # immutable

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self), self.num_players, self.options))


def to_act(state: Any, question: str) -> str:
    """For the head of a table's text: who is asked what, "player_2 to lead", or that nobody is."""
    return f"player_{state.player} to {question}" if state.player >= 0 else "nobody to act"


def _listed(part: npt.NDArray[np.float32]) -> str:
    return " ".join(f"{value:g}" for value in part.ravel())


def _rebuild(cls: type[Game], num_players: int, options: dict[str, Any]) -> Game:
    return cls(num_players, **options)
