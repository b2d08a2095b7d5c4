"""The training configuration: every key known, every value checked, plain data only."""

from __future__ import annotations

import tracemalloc

import pytest

pytest.importorskip("pydantic", reason="training needs the extra 'train'")

from card_envs.errors import CardEnvsError
from card_envs.games import list_games, make_game
from card_envs.training.settings import CONFIGS, Config, dump_config, load_config, network_of, parse_config, schedule


def refused(path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(CardEnvsError) as caught:
        load_config(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.yaml"


@pytest.mark.parametrize("name", [name.rpartition("_v")[0] for name in list_games()])
def test_every_game_has_a_configuration(name):
    config = load_config(CONFIGS / f"{name}.yaml")
    assert config.eval_opponents
    assert network_of(config, make_game(name))


def test_empty_mapping_is_all_defaults_and_a_dump_is_read_back(path):
    path.write_text("{}")
    assert load_config(path) == Config()
    config = Config().but(
        learning_rate="lin_3e-4",
        target_kl=0.02,
        gamma=1e-05,
        policy_kwargs={"net_arch": [8]},
        late_start={"share": 0.5, "from": 0.9},
        pretrain={"positions": 7},
    )
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert [line.split(":")[0] for line in dump_config(config).splitlines() if line[0].isalpha()] == list(
        Config.model_fields
    )


def test_numbers_are_read_as_people_write_them(path):
    path.write_text(
        "n_timesteps: 1e6\nn_envs: 2_56\nlearning_rate: 3e-4\nsnapshot_freq: 2.0\ngamma: 1\n"
        "batch_size: !!float 1e3\nn_steps: 125\n"
    )
    config = load_config(path)
    assert (config.n_timesteps, config.n_envs, config.snapshot_freq, config.batch_size) == (1_000_000, 256, 2, 1000)
    assert all(type(value) is int for value in (config.n_timesteps, config.snapshot_freq, config.batch_size))
    assert config.learning_rate == 3e-4
    assert type(config.gamma) is float


@pytest.mark.parametrize(
    ("key", "near"), [("learning_rte", "learning_rate"), ("n_step", "n_steps"), ("eval_frequency", "eval_freq")]
)
def test_unknown_key_names_the_nearest(key, near, path):
    message = refused(path, f"{key}: 1")
    assert message.startswith(f"unknown key {key!r}; did you mean {near!r}? (known: batch_size, clip_range, ")


@pytest.mark.parametrize("key", ["7", "null", "[a, b]", "true", "2001-01-01"])
def test_key_that_is_no_word_is_unknown(key, path):
    assert refused(path, f"? {key}\n: 1")


WRONG = {
    "n_timesteps": (
        ["1.5", "0", "-1", "true", "'100'", "[1]", "null", ".inf", ".nan", "1e400", "{}"],
        "a whole number",
    ),
    "n_envs": (["0", "2.5", "many"], "a whole number"),
    "batch_size": (["1", "0", "null"], "a whole number"),
    "n_epochs": (["0", "1.1"], "a whole number"),
    "max_snapshots": (["-1", "x", "101"], "a whole number from 0 to 100"),
    "eval_games": (["0"], "a whole number"),
    "learning_rate": (["fast", "lin_", "lin_x", "lin_-1", "lin_nan", "lin_inf", "0", "-1", "true", "null"], "a number"),
    "clip_range": (["lin_two", "0", "[0.2]"], "a number"),
    "gamma": (["1.1", "-0.1", "lin_1", "'0.9'", ".nan"], "a number"),
    "gae_lambda": (["2", "true"], "a number"),
    "ent_coef": (["-0.1", "auto"], "a number"),
    "vf_coef": (["-1"], "a number"),
    "max_grad_norm": (["0"], "a number"),
    "target_kl": (["0", "x", "false"], "a number"),
    "late_start": (["1.5"], "a number from 0 to 1"),
    "normalize_advantage": (["1", "'yes'", "null"], "true or false"),
    "policy": (["CnnPolicy", "1", "[MlpPolicy]"], ""),
    "late_policy": (["best", "self"], "random or heuristic"),
    "late_start.from": (["-0.1", "x", ".nan"], "a number from 0 to 1"),
    "late_start.policy": (["best", "1"], "random or heuristic"),
    "pretrain.positions": (["-1", "1.5", "true"], "a whole number from 0"),
    "pretrain.playouts": (["0", "null"], "a whole number from 1"),
    "pretrain.learning_rate": (["0", "lin_1"], "a number above 0"),
    "pretrain": (["7", "[1]", "null"], "a mapping"),
    "policy_kwargs": (["64", "[64, 64]", "null"], "a mapping"),
    "env_kwargs": (["4", "null"], "a mapping"),
    "opponents": (
        [
            "random",
            "{}",
            "{self: -1}",
            "{self: 0}",
            "{self: x}",
            "{self: true}",
            "{self: .nan}",
            "{self: .inf}",
            "{1: 1}",
        ],
        "",
    ),
    "eval_opponents": (["random", "[]", "[1]", "null", "[[random]]"], ""),
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (values, _) in WRONG.items() for value in values])
def test_value_that_is_not_allowed_is_named_with_what_is(key, value, path):
    outer, _, inner = key.partition(".")
    message = refused(path, f"{outer}: {{{inner}: {value}}}" if inner else f"{key}: {value}")
    new = {"late_start": "late_start.share", "late_policy": "late_start.policy"}.get(key, key)
    assert message.startswith((f"{new} is ", f"{key}."))
    assert "; allowed: " in message
    assert WRONG[key][1] in message.partition("allowed: ")[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy_kwargs: {net_arc: [8]}", "unknown key 'net_arc'; did you mean 'net_arch'?"),
        ("policy_kwargs: {net_arch: 8}", "allowed: a list of whole numbers"),
        ("policy_kwargs: {net_arch: [8, 0]}", "allowed: a list of whole numbers"),
        ("policy_kwargs: {net_arch: [8.5]}", "allowed: a list of whole numbers"),
        ("policy_kwargs: {net_arch: {policy: [8]}}", "a mapping of pi and vf"),
        ("policy_kwargs: {activation_fn: sigmoid}", "tanh or relu"),
        ("policy_kwargs: {activation_fn: [tanh]}", "tanh or relu"),
        ("policy_kwargs: {ortho_init: 1}", "true or false"),
        ("env_kwargs: {skip_forced: 'no'}", "true or false"),
        ("{n_envs: 3, n_steps: 5, batch_size: 4}", "allowed: a divisor of n_steps * n_envs = 15"),
        ("{opponents: {snapshots: 1}, max_snapshots: 0}", "max_snapshots is 0"),
    ],
)
def test_value_inside_a_mapping_is_checked(text, expected, path):
    assert expected in refused(path, text)


def test_network_settings_become_those_of_torch(path):
    torch = pytest.importorskip("torch")
    path.write_text("policy_kwargs: {net_arch: {pi: [8], vf: [4, 4]}, activation_fn: relu, ortho_init: false}")
    policy, kwargs = network_of(load_config(path), make_game("icarus_club"))
    assert policy == "MlpPolicy"
    assert kwargs == {"net_arch": {"pi": [8], "vf": [4, 4]}, "activation_fn": torch.nn.ReLU, "ortho_init": False}


def test_options_policy_gets_the_games_layout(path):
    pytest.importorskip("sb3_contrib")
    path.write_text("policy: OptionsPolicy")
    game = make_game("icarus_club")
    policy, kwargs = network_of(load_config(path), game)
    assert policy.__name__ == "OptionsPolicy"
    assert kwargs["layout"] is game.layout


def test_linear_schedule_falls_to_nothing():
    pytest.importorskip("stable_baselines3")
    fall = schedule("lin_0.5")
    assert [fall(progress) for progress in (1.0, 0.5, 0.0)] == pytest.approx([0.5, 0.25, 0.0])
    assert schedule(0.5) == 0.5


@pytest.mark.parametrize(
    ("asked", "done", "last"), [(1, 0, 64), (64, 0, 64), (65, 0, 128), (200, 64, 256), (64, 64, 64)]
)
def test_run_ends_with_a_whole_rollout(asked, done, last):
    assert Config(n_timesteps=asked, n_envs=8, n_steps=8, batch_size=64).last_step(done) == last


@pytest.mark.parametrize("text", ["", "[1, 2]", "7", "just words", "null"])
def test_file_that_is_no_mapping_is_refused(text, path):
    assert "a configuration is a mapping of keys to values, not " in refused(path, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("n_envs: 8\ngamma: [1, 2", 2),
        ("n_envs: 8\n\tgamma: 1", 2),
        ("n_envs: 8\nn_steps: 4\n  gamma: 1", 3),
        ("n_envs: 8\ngamma: 'x", 2),
        ("a: &x 1\nb: *y", 2),
    ],
)
def test_broken_yaml_names_the_line(text, line, path):
    assert refused(path, text).startswith(f"line {line}: ")


@pytest.mark.parametrize(
    "value",
    ["!!python/object/apply:os.system ['touch OWNED']", "!!python/name:os.system", "!!python/tuple [1]", "!thing 1"],
)
def test_tag_that_would_run_code_is_refused(value, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    message = refused(path, f"n_envs: 8\npolicy: {value}")
    assert message.startswith("line 2: ")
    assert "constructor for the tag" in message
    assert not (path.parent / "OWNED").exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("n_envs: 8\ngamma: 1\nn_envs: 16", 3),
        ("n_envs: 8\nopponents: {self: 1, random: 1, 'self': 2}", 2),
        ("late_start:\n  share: 0.5\n  share: 0.6", 3),
        ("env_kwargs: {options: [{a: 1}, {b: 1, b: 1}]}", 1),
    ],
)
def test_key_that_stands_twice_is_refused(text, line, path):
    message = refused(path, text)
    assert message.startswith(f"line {line}: the key ")
    assert message.endswith(" stands twice")


def bomb(levels: int, key: str) -> str:
    lines = ["  - &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"  - &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, levels)]
    return f"{key}:\n" + "\n".join(lines)


@pytest.mark.parametrize("key", ["opponents", "policy", "env_kwargs", "eval_opponents", "n_timesteps", "nonsense"])
def test_aliases_that_explode_are_refused_before_they_do(key, path):
    tracemalloc.start()
    try:
        message = refused(path, bomb(40, key))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert "more than 10,000 values: that is no configuration" in message
    assert len(message) < 300


def test_value_that_contains_itself_is_refused(path):
    assert refused(path, "policy_kwargs: &a {net_arch: [*a]}").endswith("a value that contains itself")


def test_aliases_that_stand_for_little_are_read(path):
    path.write_text("policy_kwargs: {net_arch: {pi: &net [8, 8], vf: *net}}")
    assert load_config(path).policy_kwargs == {"net_arch": {"pi": [8, 8], "vf": [8, 8]}}


@pytest.mark.parametrize("key", ["n_timesteps", "learning_rate", "opponents", "policy", "env_kwargs", "x"])
@pytest.mark.parametrize(
    "number",
    ["9" * 5000, "9" * 400, "0x" + "f" * 9000, "0b" + "1" * 9000, "1" + ":59" * 20_000, "1" + "0" * 4000 + ".0"],
    ids=lambda text: f"{text[:6]}({len(text)})",
)
def test_numbers_of_thousands_of_digits_are_refused_in_a_short_line(key, number, path):
    for value in (number, f"[{number}]", f"{{num_players: {number}}}"):
        if (key, value) == ("env_kwargs", f"{{num_players: {number}}}") and number.endswith(".0"):
            continue  # a float, which the game refuses
        assert len(refused(path, f"{key}: {value}")) < 400


@pytest.mark.parametrize(
    "value",
    [10**5000, [10**5000] * 100, {"a" * 10**6: 1}, "x" * 10**6, b"x" * 10**6],
    ids=lambda value: type(value).__name__,
)
def test_values_from_elsewhere_are_shown_short(value):
    for key in ("n_timesteps", "gamma", "learning_rate", "policy", "opponents", "late_start", "pretrain"):
        with pytest.raises(CardEnvsError) as caught:
            parse_config({key: value}, "here")
        assert len(str(caught.value)) < 400
    with pytest.raises(CardEnvsError) as caught:
        parse_config({"a" * 10**6: value}, "here")
    assert len(str(caught.value)) < 700


def test_file_that_is_too_long_is_not_read_to_its_end(path):
    path.write_text("# " + "x" * 200_000)
    with pytest.raises(CardEnvsError, match=r"x\.yaml is longer than 100,000 bytes"):
        load_config(path)
    with pytest.raises(CardEnvsError, match=r"/dev/zero is longer than 100,000 bytes"):
        load_config("/dev/zero")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "{late_start: 0.7, late_from: 0.5, late_policy: heuristic}",
            "{late_start: {share: 0.7, from: 0.5, policy: heuristic}}",
        ),
        ("late_start: 1", "late_start: {share: 1}"),
        ("late_from: 0.25", "late_start: {from: 0.25}"),
        (
            "{warm_positions: 1e3, warm_playouts: 2, warm_epochs: 3, warm_learning_rate: 1e-2}",
            "pretrain: {positions: 1000, playouts: 2, epochs: 3, learning_rate: 0.01}",
        ),
        ("warm_positions: 9", "pretrain: {positions: 9}"),
    ],
)
def test_old_spellings_are_read_and_written_new(old, new, path):
    path.write_text(old)
    config = load_config(path)
    assert not any(word in dump_config(config) for word in ("late_from", "late_policy", "warm_"))
    path.write_text(new)
    assert load_config(path) == config != Config()
    path.write_text(dump_config(config))
    assert load_config(path) == config


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{late_start: {share: 1}, late_from: 0.5}", "late_from is now written late_start: {from: ...}"),
        ("{pretrain: {epochs: 2}, warm_positions: 5}", "warm_positions is now written pretrain: {positions: ...}"),
    ],
)
def test_old_and_new_spellings_side_by_side_are_refused(text, expected, path):
    assert refused(path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "late_start: {form: 0.5}",
            "late_start: unknown key 'form'; did you mean 'from'? (known: from, policy, share)",
        ),
        ("late_start: {from_: 0.5}", "late_start: unknown key 'from_'; did you mean 'from'?"),
        ("pretrain: {position: 5}", "pretrain: unknown key 'position'; did you mean 'positions'?"),
        ("policy_kwargs: {net_arch: {pj: [8]}}", "policy_kwargs.net_arch is {'pj': [8]}; allowed: a list of whole"),
        ("policy_kwargs: {net_arch: [70_000]}", "policy_kwargs.net_arch is [70000]; allowed: a list of whole numbers"),
        ("policy_kwargs: {net_arch: [60_000, 60_000]}", "with up to 20,000,000 weights between them"),
        ("{policy: OptionsPolicy, policy_kwargs: {net_arch: []}}", "has no layer for pi; OptionsPolicy"),
        (
            "{policy: OptionsPolicy, policy_kwargs: {net_arch: {vf: [8]}}}",
            "has no layer for pi; OptionsPolicy",
        ),
        ("n_envs: 1e13", "n_envs is 10000000000000.0; allowed: a whole number from 1 to 1,000,000,000,000"),
    ],
)
def test_message_names_the_place_the_value_and_what_is_allowed(text, expected, path):
    assert expected in refused(path, text)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"a: \x00",
        b"a: 2001-99-99",
        b"[" * 5000,
        b"gamma: !!timestamp x",
        b"gamma: !!bool x",
        b"gamma: !!int ''",
        b"gamma: !!float ''",
        b"gamma: !!binary \xc3\xa9",
    ],
)
def test_files_that_hold_something_else_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(CardEnvsError, match=r"x\.yaml: ") as caught:
        load_config(path)
    assert "\n" not in str(caught.value)


def test_missing_file_is_named(path):
    with pytest.raises(CardEnvsError, match=r"x\.yaml can't be read: No such file"):
        load_config(path)


def test_origin_is_named_in_messages():
    with pytest.raises(CardEnvsError, match=r"^here: unknown key 'x'"):
        parse_config({"x": 1}, "here")
