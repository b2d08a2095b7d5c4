"""Games between policies: playing them, recording them, and telling who is better."""
