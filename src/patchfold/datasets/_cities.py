"""The 49 cities of the Cauchy paper, and distances on the globe."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_KM = 6371.0


@dataclass(frozen=True, eq=False, repr=False)
class Cities:
    """Places with their great-circle distances.

    Parameters
    ----------
    names, states : tuple of str
        City and state, one per place, ordered by state.
    latitude, longitude : ndarray of shape (n,)
        Degrees, north and east positive.
    distances : ndarray of shape (n, n)
        Great-circle distances in kilometres.
    """

    names: tuple[str, ...]
    states: tuple[str, ...]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    distances: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Cities({len(self.names)} places)"


def us_capitals() -> Cities:
    """Capitals of the 48 contiguous states of the USA, and Washington, D.C.

    The coordinates are those of the capitol buildings, to four decimals (about 10 m).
    The paper does not print the ones it used.

    Returns
    -------
    Cities

    Examples
    --------
    >>> from patchfold.datasets import us_capitals
    >>> cities = us_capitals()
    >>> olympia, augusta = map(cities.names.index, ("Olympia", "Augusta"))
    >>> print(round(cities.distances[olympia, augusta]), "km")
    4059 km
    """
    table = resources.files(__package__).joinpath("cities.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    latitude = np.array([float(row["latitude"]) for row in rows])
    longitude = np.array([float(row["longitude"]) for row in rows])
    return Cities(
        names=tuple(row["city"] for row in rows),
        states=tuple(row["state"] for row in rows),
        latitude=latitude,
        longitude=longitude,
        distances=great_circle_distances(latitude, longitude),
    )


def great_circle_distances(
    latitude: ArrayLike, longitude: ArrayLike, *, radius: float = EARTH_RADIUS_KM
) -> NDArray[np.float64]:
    """Distances between all pairs of places on a sphere, by the haversine formula.

    Parameters
    ----------
    latitude, longitude : array-like of shape (n,)
        Degrees.
    radius : float, default=6371.0
        Radius of the sphere; the distances have its unit.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> from patchfold.datasets import great_circle_distances
    >>> great_circle_distances([0, 0], [0, 90], radius=1).round(4).tolist()
    [[0.0, 1.5708], [1.5708, 0.0]]
    """
    phi = np.radians(np.asarray(latitude, dtype=float))
    lam = np.radians(np.asarray(longitude, dtype=float))
    if phi.ndim != 1 or phi.shape != lam.shape:
        raise ValueError(
            "latitude and longitude must be 1-D and of one length. "
            f"Got shapes {phi.shape} and {lam.shape} instead."
        )
    haversine = (
        np.sin((phi[:, None] - phi) / 2.0) ** 2
        + np.cos(phi)[:, None] * np.cos(phi) * np.sin((lam[:, None] - lam) / 2.0) ** 2
    )
    return 2.0 * radius * np.arcsin(np.sqrt(np.clip(haversine, 0.0, 1.0)))
