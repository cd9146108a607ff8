"""Reruns of the papers' tables: runs, records, statistics and reports."""
