"""What the TorchRL page promises beyond its program. Run in an environment with the extra `torchrl`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymWrapper, MarlGroupMapType, PettingZooWrapper, check_env_specs
from torchrl.modules import MaskedCategorical

import card_envs
from card_envs.envs.vector import CardVectorEnv
from card_envs.games import player_counts

EVERY_COUNT = [(game, players) for game in card_envs.list_games() for players in player_counts(game)]
each_count = pytest.mark.parametrize(("game", "players"), EVERY_COUNT)

pytestmark = pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested")


def all_seats(game, players, **options):
    table = card_envs.make(game, players, **options)
    env = PettingZooWrapper(table, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)
    env.set_seed(0)
    return env, table


def learner(game, players, num_envs=16, **options):
    env = GymWrapper(CardVectorEnv(game, num_envs, players, **options), categorical_action_encoding=True)
    env.set_seed(0)
    return env


def chosen_in(mask, action):
    return mask.gather(-1, action.unsqueeze(-1)).squeeze(-1).bool()


# --- all seats of one game ------------------------------------------------------------------------------------------


@each_count
def test_check_env_specs_passes_with_one_group_and_with_one_a_seat(game, players):
    check_env_specs(all_seats(game, players)[0])
    check_env_specs(PettingZooWrapper(card_envs.make(game, players), use_mask=True))


@each_count
def test_one_seat_acts_at_a_time_within_its_mask_and_all_seats_are_paid_at_the_end(game, players):
    env, table = all_seats(game, players)
    played = env.rollout(10_000)
    acting, reward = played["agents", "mask"], played["next", "agents", "reward"].squeeze(-1)
    assert (acting.sum(-1) == 1).all()
    assert chosen_in(played["agents", "action_mask"], played["agents", "action"])[acting].all()
    assert played["agents", "action_mask"][~acting].all(), "all ones for seats that do not act, as the page says"
    assert table.num_illegal_actions == 0
    assert not reward[:-1].any()
    assert reward[-1].sum().item() == pytest.approx(0, abs=1e-5)
    assert reward[-1].tolist() == pytest.approx(list(table.rewards.values()))
    assert played["next", "agents", "terminated"][-1].all()
    assert not played["next", "agents", "action_mask"][-1].all(-1).all(), "the page says: zeros after the end"


def random_legal(mask):
    return torch.multinomial(mask.flatten(0, -2).float(), 1).view(mask.shape[:-1])


def collect(env, policy):
    collector = Collector(env, policy, frames_per_batch=400, total_frames=400, auto_register_policy_transforms=False)
    data = next(iter(collector))
    collector.shutdown()
    return data


def test_a_collector_goes_on_into_further_games():
    env, table = all_seats("micons", 4)
    data = collect(env, TensorDictModule(random_legal, [("agents", "action_mask")], [("agents", "action")]))
    done = data["next", "done"].squeeze(-1)
    assert done.sum() >= 2
    paid = data["next", "agents", "reward"].squeeze(-1)
    assert paid[done].sum(-1).abs().max() < 1e-5
    assert not paid[~done].any()
    assert table.num_illegal_actions == 0


def test_a_collector_without_a_policy_knows_no_masks_as_the_page_says():
    env, table = all_seats("micons", 4)
    collect(env, None)
    assert table.num_illegal_actions > 0


def test_max_turns_truncates_all_seats():
    env, _ = all_seats("icons", 3, max_turns=2)
    last = env.rollout(10_000)[-1]["next"]
    assert last["truncated"].item()
    assert not last["terminated"].item()
    assert last["agents", "truncated"].all()


def test_the_state_and_the_infos_are_there():
    env = PettingZooWrapper(card_envs.make("icarus_club", 3), use_mask=True, return_state=True)
    check_env_specs(env)
    played = env.rollout(5)
    assert played["state"].shape == (5, *card_envs.make("icarus_club", 3).state_space.shape)
    assert set(played["player_0", "info"].keys()) == {"score", "rank", "illegal_action"}


# --- one learner in many games --------------------------------------------------------------------------------------


@each_count
def test_a_batch_of_games_gives_what_our_vector_environment_gives(game, players):
    check_env_specs(learner(game, players))
    env = learner(game, players).append_transform(ActionMask())
    torch.manual_seed(0)
    env.set_seed(3)
    played = env.rollout(120, break_when_any_done=False)
    assert chosen_in(played["action_mask"], played["action"]).all()
    twin = CardVectorEnv(game, 16, players)
    # TorchRL's set_seed resets with the seed, and its rollout resets again without one
    twin.reset(seed=3)
    observation, infos = twin.reset()
    for step in range(120):
        now = played[:, step]
        np.testing.assert_array_equal(now["observation"], observation)
        np.testing.assert_array_equal(now["action_mask"], infos["action_mask"])
        observation, reward, terminated, truncated, infos = twin.step(now["action"].numpy())
        np.testing.assert_array_equal(now["next", "reward"].squeeze(-1), reward.astype(np.float32))
        np.testing.assert_array_equal(now["next", "terminated"].squeeze(-1), terminated)
        np.testing.assert_array_equal(now["next", "truncated"].squeeze(-1), truncated)
        for row in np.flatnonzero(terminated | truncated):
            np.testing.assert_array_equal(now["next", "observation"][row], infos["final_obs"][row])
            assert not now["next", "action_mask"][row].any(), "the page says: zeros after the end"
    assert played["next", "done"].any()


def test_reset_after_a_step_that_ended_some_games_deals_nothing_new_as_the_page_says():
    env = learner("icons", 3)
    first, seen = env.reset()["observation"], env.reset()
    assert (first != seen["observation"]).any(), "each reset deals afresh"
    action = seen["action_mask"].argmax(-1)
    action[0] = seen["action_mask"][0].argmin()  # illegal, so that this game ends
    done = env.step(seen.set("action", action))["next", "done"].squeeze(-1)
    assert done.tolist() == [True] + [False] * 15
    assert (env.reset()["observation"] == env.reset()["observation"]).all()


def test_autoreset_mode_next_step_is_refused_by_torchrl():
    with pytest.raises(RuntimeError, match="SAME_STEP or DISABLED"):
        learner("micons", 2, autoreset_mode="NextStep")


def test_masked_categorical_refuses_our_int8_masks_and_takes_them_as_bool():
    mask = learner("micons", 2).reset()["action_mask"]
    with pytest.raises(RuntimeError, match="only supports boolean masks"):
        MaskedCategorical(logits=torch.zeros(mask.shape), mask=mask)
    assert chosen_in(mask, MaskedCategorical(logits=torch.zeros(mask.shape), mask=mask.bool()).sample()).all()
