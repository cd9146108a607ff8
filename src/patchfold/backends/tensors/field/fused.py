"""The steps of CauchyMap in kernels, on a CUDA device; a graph replays them."""

from __future__ import annotations

from typing import Any

from ...backend import Array
from ...nodes import LEAST_Z
from . import kernels as k
from .grid import Nodes
from .steps import Steps

LARGEST = 2**20
"""Nodes of all grids that masses are spread to, at most, unless one has more."""

MOST_GRIDS = 256
"""Grids at most: programs that write to different ones do not wait for each other."""


class FusedSteps(Steps):
    """As `Steps`, in kernels; far samples are left to it."""

    def __init__(self, attraction: Any, start: Array, recipe: Any) -> None:
        import torch

        super().__init__(attraction, start, recipe)
        n, device = start.shape[0], start.device
        self._moved = torch.empty_like(start)
        self._control = torch.zeros(4, dtype=torch.int32, device=device)
        self._change = torch.zeros(3, dtype=torch.float32, device=device)
        double = {"dtype": torch.float64, "device": device}
        self._phi = torch.zeros(k.blocks(n, k.BLOCK), **double)
        self._sums = torch.zeros(7 * k.blocks(n, k.ROWS), **double)
        self._Z_there = torch.ones(1, **double)
        steps = [recipe.factors(done, n) for done in range(recipe.max_iter + 1)]
        self._factors = torch.tensor(steps, dtype=torch.float32).to(device)
        self._graph: Any = None

    def _make_field(self, nodes: Nodes) -> None:
        import torch

        super()._make_field(nodes)
        device, size = self.Y.device, nodes.rows * nodes.columns
        self._n_grids = max(1, min(MOST_GRIDS, LARGEST // size))
        self._whole = torch.zeros(
            self._n_grids * size, dtype=torch.int64, device=device
        )
        self._mass = torch.zeros(nodes.shape, dtype=torch.float32, device=device)
        self._graph = None

    def push(self) -> float:
        """Compute the repulsion where samples are, and return Z."""
        if self._inside is not None:
            return super().push()
        self._begin(0)
        self._launch_push()
        self._Z = float(self._Z_there)
        return self._Z

    def advance(self, done: int, most: int) -> int:
        """Take at most `most` steps; return how many are done then."""
        if self._inside is not None:
            return super().advance(done, most)
        self._begin(done)
        for _ in range(most):
            self._step()
        return int(self._control[k.DONE])

    def _begin(self, done: int) -> None:
        import torch

        self._control.copy_(torch.tensor([1, 0, done, 0], dtype=torch.int32))

    def _step(self) -> None:
        """Take one step; from the third on a grid, by a graph of the second."""
        import torch

        if self._graph is None or self.Y.device.type != "cuda":
            self._launch()  # makes ready what may not be made while it is recorded
            self._graph = ()
        elif self._graph == ():
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.Y.device)
            stream.wait_stream(torch.cuda.current_stream(self.Y.device))
            with torch.cuda.stream(stream):
                graph.capture_begin(capture_error_mode="thread_local")
                self._launch()
                graph.capture_end()
            torch.cuda.current_stream(self.Y.device).wait_stream(stream)
            self._graph = graph
            graph.replay()
        else:
            self._graph.replay()

    def _launch(self) -> None:
        self._launch_push()
        self._launch_move()

    def _launch_push(self) -> None:
        assert self._field is not None
        n, nodes, control = self.Y.shape[0], self._field.nodes, self._control
        grid, size = (nodes.rows, nodes.columns), nodes.rows * nodes.columns
        programs = k.blocks(n, k.BLOCK)
        k.spread[(programs,)](
            self.Y,
            self._box,
            control,
            self._whole,
            n,
            *grid,
            nodes.spacing,
            self._n_grids,
            B=k.BLOCK,
        )
        k.collect[(k.blocks(size, k.BLOCK),)](
            self._whole, self._mass, size, self._n_grids, B=k.BLOCK
        )
        field = self._field.convolve(self._mass)
        k.read[(programs,)](
            self.Y,
            self._box,
            control,
            field,
            self._r,
            self._phi,
            n,
            *grid,
            field.shape[1],
            nodes.spacing,
            B=k.BLOCK,
        )
        k.sum_field[(1,)](
            self._phi, control, self._Z_there, n, programs, LEAST_Z, B=k.MANY
        )

    def _launch_move(self) -> None:
        assert self._field is not None
        n, nodes, control = self.Y.shape[0], self._field.nodes, self._control
        programs = k.blocks(n, k.ROWS)
        k.move[(programs,)](
            self._pointer,
            self._column,
            self._near,
            self._middle,
            self.Y,
            self._r,
            self._velocity,
            self._gain,
            self._moved,
            self._Z_there,
            self._factors,
            control,
            self._sums,
            n,
            self._recipe.middle_share,
            1 / self._recipe.alpha,
            flat=self._recipe.flat,
            R=k.ROWS,
            E=k.EDGES,
        )
        k.look[(1,)](
            self._sums,
            control,
            self._box,
            self._change,
            n,
            programs,
            nodes.spacing * (nodes.rows - 4),
            nodes.spacing * (nodes.columns - 4),
            self._recipe.least_size,
            flat=self._recipe.flat,
            B=k.MANY,
        )
        k.settle[(k.blocks(n, k.BLOCK),)](
            self._moved,
            self.Y,
            self._velocity,
            self._gain,
            control,
            self._change,
            n,
            B=k.BLOCK,
        )
