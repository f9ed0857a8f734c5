"""Benchmarks: what tasks, waits, inventories and roles cost, with goals and recorded limits."""
