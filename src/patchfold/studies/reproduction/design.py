"""Sets on which settings of our own methods were chosen; reports show them apart."""

from __future__ import annotations

CAUCHY_MAP = (
    *("digits", "texture", "vehicle", "wine", "glass", "yeast", "spambase"),
    *("att_faces", "breast-tissue", "balance-scale"),
    "prnn_fglass",  # the samples of glass in another order
)
"""The ten sets of `CauchyMap`, and a copy of one of them."""

POSTERIOR = (
    *("acute-inflammations", "analcatdata_boxing1", "analcatdata_dmft", "anneal"),
    *("arsenic-female-bladder", "arsenic-male-lung", "balance-scale", "bolts"),
    *("calendardow", "chscase_geyser1", "corral", "diabetes", "ecoli", "ecoli_v3"),
    *("fl2000", "fl2000_v2", "glass", "haberman", "heart-h", "heart-switzerland"),
    *("kidney", "lupus", "mu284", "mw1", "parity5", "prnn_crabs", "prnn_fglass"),
    *("seismic-bumps", "smartphone-based_recognition_of_human_activities"),
    *("spectf", "thoracic_surgery", "triazines", "vehicle", "vineyard", "wine"),
)
"""The sets of `PatchPosterior`, which a map with labels contains, and their versions.

They are what the rule of `benchmarks/posterior_ablation.py` gave for the sets at hand.
"""

WITH_LABELS = tuple(sorted({*CAUCHY_MAP, *POSTERIOR}))
"""Sets on which anything about a map with labels was chosen."""
