"""Self-play training of masked PPO on the card games. Importing this needs the extra `train`."""

from importlib.util import find_spec

from card_envs.errors import CardEnvsError

_missing = [name for name in ("pydantic", "sb3_contrib", "tensorboard", "torch", "yaml") if find_spec(name) is None]
if _missing:
    raise CardEnvsError(f"training needs the extra 'train': pip install 'card-envs[train]' (no {', '.join(_missing)})")
