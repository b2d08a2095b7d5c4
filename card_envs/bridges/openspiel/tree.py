"""The game tree: positions, chance dealt card by card, and what every seat has seen."""

from __future__ import annotations

import collections
import functools
import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from card_envs.games.game import Game
from card_envs.kernels import batch
from card_envs.kernels.state import RUNNING

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
SPECTATOR = -1  # sees what everybody sees of actions, and nothing else

Outcomes = list[tuple[int, float]]
View = tuple[str, bytes]  # the actions as a seat saw them, and a digest of all that it observed


class Play:
    """What all states of one game share: the rules, and room to work in."""

    def __init__(self, game: Game, skip_forced: bool) -> None:
        self.game = game
        self.skip_forced = skip_forced
        self.kernels = batch.for_game(game)
        self.hidden = frozenset(game.phases.index(phase) for phase in game.hidden_phases)
        self.mask = np.zeros(game.num_actions, np.int8)
        self.outcome = np.zeros(game.max_chance_values, np.int16)

    def copy(self, states: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same as `states.copy()`, which goes field by field, 30 times faster."""
        return np.frombuffer(bytearray(states.view(np.uint8)), self.game.state_dtype)

    def legal(self, states: npt.NDArray[Any]) -> list[int]:
        self.kernels.legal(states, 0, self.mask)
        return self.mask.nonzero()[0].tolist()

    def observe(self, states: npt.NDArray[Any], seat: int, out: npt.NDArray[np.float32]) -> None:
        """Before a deal there is nothing to see: zeros."""
        if states["chance"][0]:
            out[:] = 0.0
        else:
            self.kernels.observe(states, 0, seat, self.game.layout.at, out)

    def play_out(self, states: npt.NDArray[Any], driver: int, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
        """Plays a copy of `states` to its end with a built-in policy in all seats; returns what it paid, (players,).

        `words`, (2, 2), are the generators of chance and of the policy's choices.
        """
        rows, counts, log = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 0), np.int16)
        drivers, who = np.full((1, self.game.max_players), driver, np.int8), np.zeros(1, np.int8)
        states = self.copy(states)
        states["rng"] = words[:1]
        self.kernels.advance(states, rows, drivers, False, words[1:], self.mask, self.outcome, counts, log, who, None)
        return self.paid(states)

    def paid(self, states: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        out = np.zeros((1, self.game.num_players))
        self.kernels.returns(states, np.zeros(1, np.int64), out)
        return out.ravel()

    def deck(self, states: npt.NDArray[Any]) -> list[int]:
        """The cards that the due chance event shuffles, in ascending order; none if it draws a number."""
        if self.game.chance_range(states[0]):
            return []
        count = self.kernels.chance(self.copy(states), 0, self.outcome)
        return sorted(self.outcome[:count].tolist())

    def run_at(self, position: int, num_cards: int) -> tuple[int, int]:
        """Where the run of a deck begins and ends that holds this position, both counted from the bottom."""
        end = 0
        for length in reversed(self.game.deck_runs(num_cards)):
            begin, end = end, end + length
            if position < end:
                break
        return begin, end

    def next_cards(self, dealt: tuple[int, ...], deck: list[int]) -> Outcomes:
        """The next card from the bottom, with `dealt` on the table and `deck`, in ascending order, still to come."""
        begin, end = self.run_at(len(dealt), len(dealt) + len(deck))
        if end - begin == 1:
            return [(card, count / len(deck)) for card, count in collections.Counter(deck).items()]
        if len(dealt) > begin:
            deck = [card for card in deck if card > dealt[-1]]
        more, cards = end - len(dealt), len(deck)
        deals = math.comb(cards, more)
        return [(deck[i], math.comb(cards - 1 - i, more - 1) / deals) for i in range(cards - more + 1)]


class Moment:
    """A position and how it came about. It never changes, so copies of a state share it.

    Attributes:
        states: the state record, (1,).
        before: the position before the last action, None where the known past begins.
        actor, action: that action.
        dealt: the cards on the table of a deck that is being dealt.
        player: the seat to act, or `CHANCE` or `TERMINAL`.
    """

    def __init__(
        self,
        play: Play,
        states: npt.NDArray[Any],
        before: Moment | None = None,
        actor: int = -1,
        action: int = -1,
        dealt: tuple[int, ...] = (),
    ) -> None:
        self.play, self.states, self.before, self.actor, self.action, self.dealt = (
            play,
            states,
            before,
            actor,
            action,
            dealt,
        )
        self.views: dict[int, View] = {}
        if states["end"][0] != RUNNING:
            self.player = TERMINAL
        else:
            self.player = CHANCE if states["chance"][0] else int(states["player"][0])

    @functools.cached_property
    def legal(self) -> list[int]:
        return self.play.legal(self.states) if self.player >= 0 else []

    @functools.cached_property
    def deck(self) -> list[int]:
        """What is left of the deck that is being dealt, in ascending order."""
        deck = self.play.deck(self.states)
        for card in self.dealt:
            deck.remove(card)
        return deck

    @functools.cached_property
    def outcomes(self) -> Outcomes:
        if self.player != CHANCE:
            return []
        if self.deck:
            return self.play.next_cards(self.dealt, self.deck)
        numbers = self.play.game.chance_range(self.states[0])
        return [(number, 1.0 / numbers) for number in range(numbers)]

    def after(self, action: int) -> Moment:
        """The next position in which somebody, or chance, has a choice."""
        moment = self._after_outcome(action) if self.player == CHANCE else self._after_action(action)
        while True:
            if len(moment.outcomes) == 1:
                moment = moment._after_outcome(moment.outcomes[0][0])
            elif self.play.skip_forced and len(moment.legal) == 1:
                moment = moment._after_action(moment.legal[0])
            else:
                return moment

    def _after_action(self, action: int) -> Moment:
        states = self.play.copy(self.states)
        self.play.kernels.apply(states, 0, action)
        return Moment(self.play, states, self, self.player, action)

    def _after_outcome(self, outcome: int) -> Moment:
        dealt = (*self.dealt, outcome)
        if len(self.deck) > 1:
            moment = Moment(self.play, self.states, self.before, self.actor, self.action, dealt)
            moment.deck = [*self.deck]
            moment.deck.remove(outcome)
            return moment
        states = self.play.copy(self.states)
        self.play.kernels.apply_chance(states, 0, np.array(dealt[::-1], np.int16))
        return Moment(self.play, states, self.before, self.actor, self.action)

    def outcome_name(self, outcome: int) -> str:
        """The name of a seat, a card or a suit."""
        value = self.play.game.chance_to_json(int(self.states["chance"][0]), np.array([outcome], np.int16))
        if isinstance(value, int):
            return f"player_{value}"
        return str(value[0] if isinstance(value, list) else value)

    def view(self, seat: int) -> View:
        """What a seat has seen so far."""
        unseen, moment = [], self
        while seat not in moment.views:
            unseen.append(moment)
            if moment.before is None:
                break
            moment = moment.before
        observation = np.empty(self.play.game.layout.size, np.float32)
        for moment in reversed(unseen):
            text, digest = moment.before.views[seat] if moment.before else ("", b"")
            if moment.before:
                hidden = moment.actor != seat and int(moment.before.states["phase"][0]) in self.play.hidden
                text += f" {moment.actor}:{'?' if hidden else self.play.game.action_names[moment.action]}"
            if moment.player != CHANCE and seat != SPECTATOR:
                self.play.observe(moment.states, seat, observation)
                digest = hashlib.blake2b(digest + observation.tobytes(), digest_size=12).digest()
            moment.views[seat] = (text, digest)
        return self.views[seat]

    def redrawn(self, seat: int, words: npt.NDArray[np.uint64]) -> Moment:
        """A position that the seat can't tell from this one, drawn with the generator `words`."""
        states = self.play.copy(self.states)
        self.play.kernels.resample(states, 0, seat, words)
        moment, text = Moment(self.play, states), self.view(SPECTATOR)[0]
        for other in range(self.play.game.num_players):
            moment.views[other] = self.view(seat) if other == seat else (text, moment.view(other)[1])
        moment.views[SPECTATOR] = (text, b"")
        return moment

    def __deepcopy__(self, memo: dict[int, Any]) -> Moment:
        return self

    def __reduce__(self) -> Any:
        """The chain of moments as lists, for a long one is too deep for pickle."""
        chain = [self]
        while chain[-1].before is not None:
            chain.append(chain[-1].before)
        chain.reverse()
        past = [(moment.actor, moment.action) for moment in chain]
        states = np.concatenate([moment.states for moment in chain])
        return restored, (self.play.game, self.play.skip_forced, states, past, self.dealt, chain[0].views)


def restored(
    game: Game,
    skip_forced: bool,
    states: npt.NDArray[Any],
    past: list[tuple[int, int]],
    dealt: tuple[int, ...],
    views: dict[int, View],
) -> Moment:
    play, moment = Play(game, skip_forced), None
    for i, (actor, action) in enumerate(past):
        moment = Moment(play, states[i : i + 1], moment, actor, action, dealt if i == len(past) - 1 else ())
        if i == 0:
            moment.views = dict(views)
    assert moment is not None
    return moment
