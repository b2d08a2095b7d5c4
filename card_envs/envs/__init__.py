"""Adapters: PettingZoo (`aec`), Gymnasium (`single_agent`), Gymnasium and Stable-Baselines3 in batches (`vector`)."""
