"""Compiled building blocks shared by every game: compilation, random numbers, loops over many states."""
