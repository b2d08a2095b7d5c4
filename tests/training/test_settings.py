"""The training configuration: every key known, every value checked, plain data only."""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("yaml", reason="training needs the extra 'train'")

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
    config = dataclasses.replace(
        Config(), learning_rate="lin_3e-4", target_kl=0.02, gamma=1e-05, policy_kwargs={"net_arch": [8]}
    )
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert [line.split(":")[0] for line in dump_config(config).splitlines() if line[0].isalpha()] == [
        field.name for field in dataclasses.fields(Config)
    ]


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
    "max_snapshots": (["-1", "x"], "a whole number"),
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
    message = refused(path, f"{key}: {value}")
    assert key in message
    assert "; allowed is " in message
    assert WRONG[key][1] in message.partition("allowed is ")[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy_kwargs: {net_arc: [8]}", "unknown key 'net_arc'; did you mean 'net_arch'?"),
        ("policy_kwargs: {net_arch: 8}", "allowed is a list of whole numbers"),
        ("policy_kwargs: {net_arch: [8, 0]}", "allowed is a list of whole numbers"),
        ("policy_kwargs: {net_arch: [8.5]}", "allowed is a list of whole numbers"),
        ("policy_kwargs: {net_arch: {policy: [8]}}", "a mapping of pi and vf"),
        ("policy_kwargs: {activation_fn: sigmoid}", "tanh or relu"),
        ("policy_kwargs: {activation_fn: [tanh]}", "tanh or relu"),
        ("policy_kwargs: {ortho_init: 1}", "true or false"),
        ("env_kwargs: {skip_forced: 'no'}", "true or false"),
        ("{n_envs: 3, n_steps: 5, batch_size: 4}", "allowed is a divisor of n_steps * n_envs = 15"),
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


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: \x00", b"a: 2001-99-99", b"[" * 5000])
def test_files_that_hold_something_else_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(CardEnvsError, match=r"x\.yaml: "):
        load_config(path)


def test_missing_file_is_named(path):
    with pytest.raises(CardEnvsError, match=r"x\.yaml can't be read: No such file"):
        load_config(path)


def test_origin_is_named_in_messages():
    with pytest.raises(CardEnvsError, match=r"^here: unknown key 'x'"):
        parse_config({"x": 1}, "here")
