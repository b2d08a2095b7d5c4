"""Policies against each other, and speed."""
