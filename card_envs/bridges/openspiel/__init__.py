"""OpenSpiel's view of the games, and OpenSpiel's bots in our arena.

Importing this module registers every game with OpenSpiel::

    import pyspiel
    from card_envs.bridges import openspiel

    game = pyspiel.load_game("card_envs_icarus_club(players=4)")

Parameters are the game's options and these:

- `players`: as OpenSpiel's own games call the number of players.
- `skip_forced`: decisions with one legal action are taken without a node of the tree, as in our training views.
- `opening`: the first outcomes of chance, separated by spaces, with which every game then begins: a smaller game. With
  "player_0 craps-1 poker-2", The Icarus Club begins with player_0 and these two cards at the right end of the lane.

**Chance** is explicit in every game, with the probabilities of our generator. A shuffle would be one event with up to
52! outcomes and more, so it is dealt: one chance node for each card, from the bottom of the deck up, which in The
Icarus Club brings what lies open first. Where the order within a run of cards makes no difference (a hand; see
`Game.deck_runs`) the run is dealt in ascending order, every card with the probability that it is the lowest of those
still to come, so that each deal has one history. A card that is certain takes no node. No seat sees a card before all
are dealt and handed to the rules together. Sampled chance (`SAMPLED_STOCHASTIC`) would be faster, but it shuts out
whatever walks a tree, such as best responses and CFR, and a state could not be had again from its history.

**Observations.** Both tensors are our observation, with its segments as pieces: what the seat may know, public memory
included, but not its whole past. `observation_string` is the table as that seat sees it, with a digest of the tensor.
`information_state_string` has perfect recall: all actions as the seat saw them (those of `Game.hidden_phases` only its
own), with a digest of every observation that it had after them.

**Other worlds.** `resample_from_infostate` redraws what a seat can't know (`Rules.resample`), with the same information
state for that seat. The drawn world has no past of its own: `history()` stays that of the real one, and the information
states of the other seats begin with what they see now. OpenSpiel calls this method from its bots in Python, such as
`open_spiel.python.algorithms.ismcts`; from C++ it can't, and `pyspiel.ISMCTSBot` crashes on any game in Python.
"""

from __future__ import annotations

from card_envs.errors import CardEnvsError

try:
    import pyspiel  # noqa: F401
except ImportError as error:
    raise CardEnvsError(
        f"OpenSpiel needs the extra 'openspiel': pip install 'card-envs[openspiel]' ({error})"
    ) from error

from card_envs.bridges.openspiel.bots import OpenSpielBotPolicy, RolloutEvaluator
from card_envs.bridges.openspiel.game import CardGame, CardObserver, CardState, register, spiel_game, spiel_name

__all__ = [
    "CardGame",
    "CardObserver",
    "CardState",
    "OpenSpielBotPolicy",
    "RolloutEvaluator",
    "register",
    "spiel_game",
    "spiel_name",
]
