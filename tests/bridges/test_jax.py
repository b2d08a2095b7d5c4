"""What JAX and PyTorch hold of a batch is the batch's own memory, and stays as it was."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from card_envs.envs.vector import CardVectorEnv
from tests.variants import each_game


@each_game
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_arrays_that_were_handed_over_are_not_written_to_again(game, mode):
    envs = CardVectorEnv(game.name, 8, game.num_players, autoreset_mode=mode, **game.options)
    observations, infos = envs.reset(seed=0)
    held, copies = [], []
    for _ in range(60):
        given = (observations, infos["action_mask"], envs.action_masks())
        for array in given:
            in_jax, in_torch = jnp.from_dlpack(array, copy=False), torch.from_dlpack(array)
            assert in_jax.unsafe_buffer_pointer() == in_torch.data_ptr() == array.ctypes.data
            held.append((in_jax, in_torch))
            copies.append(array.copy())
        observations, _, _, _, infos = envs.step(np.from_dlpack(jnp.argmax(jnp.from_dlpack(given[1]), axis=1)))
    assert envs.num_illegal_actions == 0
    for (in_jax, in_torch), copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(np.asarray(in_jax), copy)
        np.testing.assert_array_equal(in_torch.numpy(), copy)
