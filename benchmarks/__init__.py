"""Benchmarks: time as a ratio of two sides measured in the same run, with the size and the seed printed."""
