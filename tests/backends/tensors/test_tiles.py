"""The search by tiles, its kernels played by torch on the processor: all pairs."""

import numpy as np
import pytest

EXTRA = 'needs the torch extra: pip install "patchfold[torch]"'
torch = pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("array_api_compat", reason=EXTRA)

from patchfold.backends.tensors import tiles  # noqa: E402
from patchfold.backends.tensors.kernels import GROUPS, TILE  # noqa: E402
from patchfold.backends.tensors.search import search_all  # noqa: E402

LAST = 2**63 - 1


def near_in_tiles(
    queries, points, centers, bounds, starts, visits, n_points, room, first_tile
):
    """As the kernel of this name, one tile after another."""
    n_tiles = starts.shape[0] - 1
    counts = torch.zeros(n_tiles * TILE, dtype=torch.int32)
    keys = torch.full((n_tiles * TILE, room), LAST)
    for tile in range(n_tiles):
        first = (first_tile + tile) * TILE
        ours = queries[first : first + TILE].double()
        for visit in visits[starts[tile] : starts[tile + 1]].tolist():
            columns = torch.arange(visit * TILE, (visit + 1) * TILE)
            gaps = torch.cdist(ours, points[columns].double()).square()
            gaps[:, columns >= n_points] = torch.inf
            best = gaps.view(TILE, TILE // GROUPS, GROUPS).amin(1).float()
            rows = slice(tile * TILE, (tile + 1) * TILE)
            for row, group in (best <= bounds[rows, None]).nonzero().tolist():
                at = tile * TILE + row
                if counts[at] < room:
                    bits = int(best[row, group].view(torch.int32))
                    keys[at, counts[at]] = bits << 32 | visit * GROUPS + group
                counts[at] += 1
    return counts, keys


def member_distances(queries, points, keys, n_points):
    """As the kernel of this name."""
    group = keys & 0xFFFFFFFF
    step = GROUPS * torch.arange(TILE // GROUPS)
    member = (group // GROUPS * TILE + group % GROUPS)[:, :, None] + step
    there = points[member.clamp(max=points.shape[0] - 1)]
    squared = (there - queries[:, None, None, :]).square().sum(3)
    squared[member >= n_points] = torch.inf
    return squared.flatten(1)


@pytest.fixture(autouse=True)
def by_torch(monkeypatch):
    """Let torch do what the kernels do, for few samples too."""
    monkeypatch.setattr(tiles, "near_in_tiles", near_in_tiles)
    monkeypatch.setattr(tiles, "member_distances", member_distances)
    monkeypatch.setattr(tiles, "THINNING", (16, 4, 1))


def samples(n, m, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, m)))


@pytest.mark.parametrize("m", [2, 17])
def test_neighbours_are_those_of_all_pairs(m):
    X = samples(500, m)
    own = torch.arange(500)
    indices, distances = tiles.search_tiles(X, X, 4, own=own)
    expected, lengths = search_all(X, X, 4, own=own)
    assert torch.equal(indices, expected)
    torch.testing.assert_close(distances, lengths)


def test_queries_that_are_no_samples():
    X, queries = samples(500, 3), samples(150, 3, seed=1)
    found = tiles.nearest_samples(queries, X, 4, "tiles", None, None)
    expected = search_all(queries, X, 4)
    assert torch.equal(found[0], expected[0])
    torch.testing.assert_close(found[1], expected[1])


def test_crowded_queries_are_compared_with_all(monkeypatch):
    """Identical samples fill the room: the ties are those of all pairs."""
    X = samples(500, 3)
    X[100:400] = X[100]
    own = torch.arange(500)
    asked = []
    monkeypatch.setattr(tiles, "ROOM", 1)
    monkeypatch.setattr(
        tiles,
        "search_all",
        lambda queries, *args, **options: (
            asked.append(queries.shape[0]) or search_all(queries, *args, **options)
        ),
    )
    indices, _ = tiles.nearest_others(X, 4, "tiles", None)
    assert sum(asked) >= 300
    assert torch.equal(indices, search_all(X, X, 4, own=own)[0])


def test_near_samples_are_close_in_the_order():
    X = samples(2000, 2)
    order = tiles.order_in_space(X)
    assert torch.equal(order.sort().values, torch.arange(2000))
    ordered = X[order][: 2000 // TILE * TILE].view(-1, TILE, 2)
    spread = ordered.std(1).mean()
    assert spread < 0.6 * X.std()


@pytest.mark.parametrize(
    ("n", "m", "n_neighbors", "suits"),
    [
        (60_000, 3, 15, True),
        (40_000, 3, 15, False),
        (60_000, 129, 15, False),
        (60_000, 3, 2000, False),
    ],
)
def test_many_samples_of_few_features_suit_tiles(monkeypatch, n, m, n_neighbors, suits):
    monkeypatch.undo()
    X = torch.empty((n, m), device="meta")
    assert not tiles.suits_tiles(X, n_neighbors)  # no kernel runs there
    monkeypatch.setattr(tiles, "can_run", lambda tensor: True)
    chosen = "tiles" if suits else None
    assert tiles.choose_search("auto", X, n_neighbors) == chosen
    assert tiles.choose_search("exact", X, n_neighbors) is None
    assert tiles.choose_search("auto", torch.empty(n, m), 5) is NotImplemented
