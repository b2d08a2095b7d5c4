"""Self-play training of masked PPO on the card games."""
