"""What `compare` returns: it shows itself, and writes its report."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.files import write_text
from .figure import draw_embeddings
from .page import build_page
from .record import Findings
from .verdict import Verdict, judge

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

SCORES = (
    "title",
    "kind",
    "n_neighbors",
    "held_out",
    "held_out_error",
    "balanced",
    "macro_f1",
    "silhouette",
    "trustworthiness",
    "continuity",
    "triplets",
    "seconds",
    "compile_seconds",
    "remark",
    "failure",
)
"""Columns of the table of scores."""


class Comparison(Findings):
    """Every method's scores and pictures of one table; `Findings` has the attributes.

    In a notebook it shows itself: linked pictures and a table that can be sorted.
    `figure` returns the pictures alone, as a Plotly figure.
    """

    def __repr__(self) -> str:
        return (
            f"Comparison({self.name!r}, {len(self.ids)} samples, "
            f"{len(self.embeddings)} embeddings)"
        )

    def __str__(self) -> str:
        """Return the verdict in words."""
        return " ".join(self.verdict.sentences)

    @property
    def verdict(self) -> Verdict:
        """Which method shows the table best, and how sure that is."""
        return judge(self)

    @property
    def scores(self) -> pd.DataFrame:
        """The table of scores: the methods, the best first, then the references."""
        import pandas as pd

        ranked = self.ranked()
        ranked += [r for r in self.results if r.kind in ("reference", "control")]
        rows = [[getattr(r, name) for name in SCORES] for r in ranked]
        index = pd.Index([r.name for r in ranked], name="method")
        table = pd.DataFrame(rows, index=index, columns=list(SCORES))
        verdict = self.verdict
        table.insert(2, "best", [r.name in verdict.best for r in ranked])
        table.insert(3, "p_value", [verdict.p_values.get(r.name) for r in ranked])
        return table.astype({"p_value": float})

    @property
    def recalls(self) -> pd.DataFrame:
        """Recall of each class, a row per class and a column per method."""
        import pandas as pd

        columns = {r.name: r.recalls for r in self.ranked() if r.recalls}
        index = pd.Index(self.class_names, name="class")
        return pd.DataFrame(columns, index=index)

    def figure(self) -> go.Figure:
        """Return the pictures alone, as one Plotly figure.

        Returns
        -------
        plotly.graph_objects.Figure
            A subplot for each method, and in it a trace for each class, which the
            legend hides everywhere. `customdata` is the position of the sample in
            `ids`. Open symbols at the edge are samples far outside.

        Examples
        --------
        >>> import patchfold as pf
        >>> found = pf.compare("iris", methods=["elap", "pca"], sweep=False)
        >>> figure = found.figure()
        >>> len(figure.data)
        6
        >>> [title.text for title in figure.layout.annotations]
        ['ELAP', 'PCA']
        """
        return draw_embeddings(self)

    def to_html(self) -> str:
        """Return the report: one page that needs nothing else."""
        return build_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report, completely or not at all."""
        write_text(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        """Show the report in a frame of its own, as high as the report."""
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe data-patchfold srcdoc="{page}" '
            'style="width:100%;height:60rem;border:0" '
            'title="patchfold: methods compared"></iframe>'
        )
