"""The decks of Micons: the supplied one, users' own, and what is said about broken ones (D1-D4)."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter

import pytest

from card_envs.arena.records import replay, to_record
from card_envs.errors import CardEnvsError, RecordError
from card_envs.games.micons import Micons, state
from card_envs.games.micons.deck import SUPPLIED, read_deck
from card_envs.games.recorded_game import RecordedGame
from tests.games.micons_positions import DECK, NAMES

CARDS = read_deck(None, 4)
OBJECTS = [card for card in CARDS if not card.luck]


def test_D1_traits():
    listed = "yellow brown blue red green gray pink orange round triangular square"
    listed += " smells-good smells-bad cold hot bright loud sharp salty sweet"
    assert " ".join(state.TRAITS) == listed


# --- the supplied deck ------------------------------------------------------------------------------------------------


def test_D2_supplied_deck_has_46_objects_and_4_luck_cards():
    assert len(CARDS) == 50
    assert len(OBJECTS) == 46
    luck = [card for card in CARDS if card.luck]
    assert [card.name for card in luck] == [f"four-leaf-clover-{k}" for k in range(1, 5)]
    assert all(card.traits == card.arguable == () for card in luck)


def test_D2_every_trait_is_on_2_or_3_backs():
    backs = Counter(card.back for card in CARDS)
    assert set(backs) == set(state.TRAITS)
    assert set(backs.values()) == {2, 3}


def test_D2_every_trait_is_plainly_held_by_6_objects_or_more():
    held = Counter(trait for card in OBJECTS for trait in card.traits)
    assert min(held[trait] for trait in state.TRAITS) >= 6
    # ... and none by so many that its matches come by themselves
    assert max(held.values()) <= 12


def test_D2_every_object_has_2_to_5_plain_traits():
    assert all(2 <= len(card.traits) <= 5 for card in OBJECTS)
    assert all(not set(card.traits) & set(card.arguable) for card in CARDS)


def test_D2_objects_of_the_rulebook():
    by_name = {card.name: card for card in CARDS}
    assert "blue" in by_name["sock"].traits
    assert "blue" in by_name["yogurt"].traits
    assert "triangular" in by_name["lemon"].traits
    assert "smells-good" in by_name["onion"].arguable


def test_D2_no_object_shows_its_own_trait_on_the_back():
    assert all(card.back not in card.traits + card.arguable for card in CARDS)


# --- users' own decks -------------------------------------------------------------------------------------------------


def written(tmp_path, content):
    path = tmp_path / "my deck.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path


def many(count):
    """Plain cards that every deck accepts."""
    return [
        {
            "name": f"thing-{k}",
            "traits": [state.TRAITS[k % 20]],
            "arguable": [],
            "luck": False,
            "back": state.TRAITS[k % 7],
        }
        for k in range(count)
    ]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_D3_any_size_from_5n_plus_2_cards(tmp_path, n):
    needed = 5 * n + 2
    for cards in (many(needed), many(needed + 1)):
        game = Micons(n, deck=written(tmp_path, cards))
        assert game.num_actions == len(cards) + 4
        assert game.action_names[0] == "thing-0"
        assert game.initial[0].traits.shape == (len(cards),)
    with pytest.raises(CardEnvsError, match=f"ends with {needed - 1} cards; {n} players need {needed}"):
        Micons(n, deck=written(tmp_path, many(needed - 1)))


def test_D3_file_with_one_card_a_line_and_with_one_value_a_line(tmp_path):
    lines = "[\n" + ",\n".join(json.dumps(card) for card in DECK) + "\n]\n"
    assert Micons(2, deck=str(written(tmp_path, lines))).cards == Micons(2, deck=DECK).cards
    assert Micons(2, deck=written(tmp_path, DECK)).cards == Micons(2, deck=DECK).cards
    assert Micons(2, deck=written(tmp_path, "\ufeff" + lines)).cards == Micons(2, deck=DECK).cards
    assert Micons(2, deck=SUPPLIED).cards == Micons(2).cards


@pytest.mark.parametrize("options", [{}, {"judging": "vote", "max_turns": 50}])
@pytest.mark.parametrize("deck", [None, "file", DECK])
def test_D3_a_record_holds_the_deck(tmp_path, deck, options):
    deck = written(tmp_path, DECK) if deck == "file" else deck
    game = Micons(2, deck=deck, **options)
    record = json.loads(json.dumps(game.options_to_json()))
    assert list(record) == ["num_players", *options, "deck"]
    assert all(list(card) == ["name", "traits", "arguable", "luck", "back"] for card in record["deck"])
    again = Micons(**record)
    assert again.initial.tobytes() == game.initial.tobytes()
    assert again.action_names == game.action_names
    assert again.options_to_json() == game.options_to_json()
    for copied in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
        assert copied.initial.tobytes() == game.initial.tobytes()
        assert copied.options_to_json() == game.options_to_json()


def test_D3_the_deck_of_a_game_can_not_be_changed_through_its_record():
    game = Micons(2)
    game.options_to_json()["deck"][0]["traits"].append("hot")
    assert Micons(2).cards == game.cards
    assert game.options_to_json() == Micons(2).options_to_json()


def test_D3_games_with_own_decks_play_to_the_end():
    """Decks of many sizes, in the interpreter, which needs no compilation for each."""
    script = """
import random
from card_envs.games.micons import Micons, state
from card_envs.games.recorded_game import RecordedGame
from tests.games.test_micons_deck import many
for size, n, judging in ((12, 2, "vote"), (13, 2, "table"), (22, 4, "strict"), (61, 3, "vote"), (300, 2, "table")):
    choice = random.Random(size).choice
    for seed in range(3):
        table = RecordedGame(Micons(n, judging=judging, deck=many(size), max_turns=80), seed=seed)
        s = table.state
        while not table.over:
            table.play(choice(table.legal_actions()))
            assert s.hand_size.sum() + 1 + s.num_beneath + s.deck_size == size or table.chance
            assert 0 <= table.observe(seed % n).min() <= table.observe(0).max() <= 1
        assert abs(table.returns().sum()) < 1e-12
        assert table.render()
    print(size)
"""
    run = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.stderr == ""
    assert run.stdout.split() == ["12", "13", "22", "61", "300"]


# --- broken decks -----------------------------------------------------------------------------------------------------

LAST = '{"name": "last", "traits": [], "arguable": [], "luck": true, "back": "hot"}'
LINES = ["[", *(json.dumps(card) + "," for card in many(12)), LAST, "]"]


def with_line(number, text):
    """A good deck, one card a line from line 2 on, with one line replaced."""
    return "\n".join([*LINES[: number - 1], text, *LINES[number:]])


CARD = '{"name": "sock", "traits": ["blue"], "arguable": ["hot"], "luck": false, "back": "red"},'


def but(old, new):
    assert old in CARD
    return CARD.replace(old, new, 1)


BROKEN = {
    "unknown trait": (but('"blue"', '"bleu"'), "unknown trait 'bleu'; did you mean 'blue'? (known: blue, bright,"),
    "unknown arguable trait": (but('"hot"', '"hott"'), "unknown trait 'hott'; did you mean 'hot'?"),
    "unknown back": (but('"back": "red"', '"back": "Red"'), "unknown trait 'Red'; did you mean 'red'?"),
    "duplicate name": (but("sock", "thing-0"), "the name 'thing-0' is taken at line 2; names are unique"),
    "plain and arguable": (but('["hot"]', '["blue"]'), "'sock' has 'blue' both plainly and arguably"),
    "trait twice": (but('["blue"]', '["blue", "blue"]'), "'blue' stands twice in 'traits'"),
    "name of an action": (but("sock", "keep"), "a card can't be called draw, keep, accept, reject"),
    "no name": (but("sock", ""), "the name '' is blank"),
    "blank at the end": (but("sock", "sock "), "'name' is a plain word"),
    "name of a wrong type": (but('"sock"', "5"), "'name' is a text, not 5"),
    "traits of a wrong type": (but('["blue"]', '"blue"'), "'traits' is a list of traits, not \"blue\""),
    "trait of a wrong type": (but('"blue"', "7"), "'traits' is a list of traits, not 7"),
    "arguable of a wrong type": (but('["hot"]', "{}"), "'arguable' is a list of traits, not an object"),
    "number of thousands of digits": (but('"blue"', "7" * 5000), "'traits' is a list of traits, not 7777"),
    "luck of a wrong type": (but("false", "0"), "'luck' is true or false, not 0"),
    "back of a wrong type": (but('"back": "red"', '"back": ["red"]'), "'back' is one trait, not a list"),
    "back missing": (
        but(', "back": "red"', ""),
        "the key 'back' is missing; a card is an object with the keys 'name',",
    ),
    "arguable missing": (but('"arguable": ["hot"], ', ""), "the key 'arguable' is missing"),
    "unknown key": (but('"luck"', '"lucky"'), "unknown key 'lucky'; did you mean 'luck'?"),
    "key twice": (but('"luck": false', '"luck": false, "luck": true'), "the key 'luck' stands twice"),
    "luck card with traits": (but("false", "true"), "the luck card 'sock' has traits; allowed: none"),
    "no card": (
        '"sock",',
        "a card is an object with the keys 'name', 'traits', 'arguable', 'luck', 'back', not \"sock\"",
    ),
    "null": ("null,", "a card is an object"),
    "missing comma": (CARD[:-1], "broken JSON: Expecting ',' delimiter"),
    "missing quote": (but('"blue"', "blue"), "broken JSON: Expecting value"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_D3_broken_file_is_refused_with_line_and_reason(tmp_path, fault):
    text, message = BROKEN[fault]
    line = 6 if fault == "missing comma" else 5  # it is missed where the next card begins
    path = written(tmp_path, with_line(5, text))
    with pytest.raises(CardEnvsError, match=re.escape(message)) as caught:
        Micons(2, deck=path)
    assert str(caught.value).startswith(f"micons_v0: deck file {path}, line {line}: ")


NOT_READ = ("missing comma", "missing quote", "number of thousands of digits")  # by Python's own reader


@pytest.mark.parametrize("fault", [fault for fault in BROKEN if fault not in NOT_READ])
def test_D3_broken_list_is_refused_with_card_and_reason(fault):
    text, message = BROKEN[fault]
    cards = json.loads(with_line(5, text))
    if fault in ("key twice", "luck card with traits"):
        message = "the luck card 'sock' has traits"  # a dict can't hold a key twice; the second one counts
    with pytest.raises(CardEnvsError, match=re.escape(message.replace("line 2", "card 1"))) as caught:
        Micons(2, deck=cards)
    assert str(caught.value).startswith("micons_v0: deck, card 4: ")


def test_D3_the_line_is_that_of_the_value(tmp_path):
    cards = many(12)
    cards[2]["traits"] = ["hot", "cold", "wet"]
    text = json.dumps(cards, indent=2)
    line = text.split("\n").index('      "wet"') + 1
    with pytest.raises(CardEnvsError, match=f"line {line}: unknown trait 'wet'"):
        Micons(2, deck=written(tmp_path, text))
    del cards[2]["back"]
    line = [i for i, shown in enumerate(text.split("\n"), 1) if shown == "  {"][2]
    with pytest.raises(CardEnvsError, match=f"line {line}: the key 'back' is missing"):
        Micons(2, deck=written(tmp_path, json.dumps(cards, indent=2)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: broken JSON: Expecting value"),
        ("{}", "line 1: a deck is a list of cards, not an object"),
        ("\n\n7", "line 3: a deck is a list of cards, not 7"),
        ("[]", "line 1: the deck ends with 0 cards; 2 players need 12"),
        ("\n".join([*LINES[:5], LINES[13], "]"]), "line 6: the deck ends with 5 cards; 2 players need 12"),
        (with_line(14, '{"name": "last"} {}'), "line 14: broken JSON"),
        ("[" * 100_000, "line 1: lists within lists"),
    ],
)
def test_D3_broken_files(tmp_path, content, message):
    with pytest.raises(CardEnvsError, match=re.escape(message)):
        Micons(2, deck=written(tmp_path, content))


def test_D3_files_that_can_not_be_read(tmp_path):
    with pytest.raises(CardEnvsError, match=r"deck file .*nowhere\.json can't be read: No such file"):
        Micons(2, deck=tmp_path / "nowhere.json")
    with pytest.raises(CardEnvsError, match="can't be read"):
        Micons(2, deck=str(tmp_path))
    path = tmp_path / "latin.json"
    path.write_bytes('[\n"café"]'.encode("latin-1"))
    with pytest.raises(CardEnvsError, match="line 2: this is not UTF-8 text"):
        Micons(2, deck=path)


@pytest.mark.parametrize("wrong", [5, True, {"name": "sock"}, b"deck.json", 1.5])
def test_D3_deck_of_a_wrong_type(wrong):
    with pytest.raises(CardEnvsError, match="allowed: the path of a JSON file or a list of cards"):
        Micons(2, deck=wrong)


def test_D3_number_of_thousands_of_digits_in_a_list():
    cards = many(12)
    cards[3]["name"] = 10**5000
    with pytest.raises(CardEnvsError, match="deck, card 4: 'name' is a text, not a number of thousands of digits"):
        Micons(2, deck=cards)
    with pytest.raises(CardEnvsError, match="deck is a number of thousands of digits; allowed: "):
        Micons(2, deck=10**5000)


def test_D3_record_that_names_a_file_is_refused(tmp_path):
    path = written(tmp_path, DECK)
    table = RecordedGame(Micons(2, deck=path, max_turns=3), seed=1)
    while not table.over:
        table.play(table.legal_actions()[0])
    record = to_record(table)
    assert replay(record).over
    for wrong in (str(path), str(tmp_path / "none.json"), None, {}):
        record["options"]["deck"] = wrong
        with pytest.raises(RecordError, match=r"line 5: micons_v0: deck is .*; a record's deck is a list of cards"):
            replay(record, line=5)


def test_a_game_is_shown_without_its_cards():
    assert repr(Micons(2)) == "micons_v0(num_players=2, deck='supplied')"
    assert repr(Micons(3, judging="vote", deck=DECK)) == "micons_v0(num_players=3, judging='vote', deck='22 cards')"


def test_D3_too_few_cards_in_a_list():
    with pytest.raises(CardEnvsError, match="deck, card 11: the deck ends with 11 cards; 2 players need 12"):
        Micons(2, deck=many(11))
    with pytest.raises(CardEnvsError, match="deck, the list of cards: the deck ends with 0 cards"):
        Micons(2, deck=[])


def test_D4_both_sides_of_every_card_are_in_the_state():
    s = Micons(2, deck=DECK).initial[0]
    blue, red = state.TRAITS.index("blue"), state.TRAITS.index("red")
    card = NAMES.index("blue-red")
    assert (s.traits[card], s.arguable[card], s.luck[card], s.back[card]) == (1 << blue, 0, 0, red)
    card = NAMES.index("maybe-blue-red")
    for judging, traits, arguable in (("table", 1 << blue, 0), ("strict", 0, 0), ("vote", 0, 1 << blue)):
        s = Micons(2, judging=judging, deck=DECK).initial[0]
        assert (s.traits[card], s.arguable[card], s.luck[card], s.back[card]) == (traits, arguable, 0, red)
    card = NAMES.index("luck-red")
    assert (s.traits[card], s.arguable[card], s.luck[card], s.back[card]) == (0, 0, 1, red)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "x" * 5000 + " "),
        ("name", "x" * 5000),  # twice
        ("traits", ["x" * 5000]),
        ("traits", ["\0" * 5000]),
        ("back", "x" * 5000),
        ("x" * 5000, 1),
    ],
    ids=lambda value: str(value)[:8].replace("\0", "0"),
)
def test_D3_endless_words_are_shown_short(key, value, tmp_path):
    cards = many(12)
    cards[2][key] = cards[3][key] = value
    with pytest.raises(CardEnvsError, match="line ") as refused:
        Micons(2, deck=written(tmp_path, json.dumps(cards, indent=1)))
    assert len(str(refused.value)) < 1000
