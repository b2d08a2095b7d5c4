"""Icons: Women Who Play to Win as PettingZoo's users expect it: `icons_v0.env(num_players=None, render_mode=None)`."""

from card_envs.envs.versions import version_module

env, raw_env, __getattr__ = version_module("icons_v0")
