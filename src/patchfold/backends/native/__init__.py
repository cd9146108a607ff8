"""Loops in C, one wrapper per stage, and arrays in their place where C is missing."""
