"""The Icarus Club as PettingZoo's users expect it: `icarus_club_v0.env(num_players=4, render_mode=None)`."""

from card_envs.envs.versions import version_module

env, raw_env, __getattr__ = version_module("icarus_club_v0")
