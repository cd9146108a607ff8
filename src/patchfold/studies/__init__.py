"""Reruns of the papers, benchmarks and the demo; the library works without them.

Only the commands `patchfold reproduce` and `patchfold bench` import from here.
"""
