"""The points of the spatial benchmarks: two made-up sets, and public ones that SFUMATO_DATA names.

road         1.6 million points on the unit square, made up to be as skewed as the road junctions of
             two states. Two regions of half-width 0.15 around (0.25, 0.85) and (0.75, 0.15) hold
             60 % and 40 % of them. In each, 60 uniform cluster centres with weights
             Pareto(1.2) + 0.1 and deviations uniform in [0.002, 0.02] take 60 %, 200 segments
             between random centres with jitter N(0, 0.0005) take 30 %, uniform points take 10 %;
             all are clipped to the square.
checkin      107,091 points drawn from the DPBench array GOWALLA, with jitter within a cell.
GeoNames     144,563 towns of the world by longitude and latitude.
California   20,640 blocks of houses by longitude and latitude.
trips        98,013 trips in four dimensions (start and end): starts drawn from the DPBench array
             SF-CABS-S with jitter, ends from SF-CABS-E: of 16 candidates one is taken with
             probability ∝ exp(−distance / 0.1), so that most trips are short. Places are clipped to
             the part of the square in which the cabs drive.
the others   the seven DPBench arrays of 256 × 256 counts, each count turned into as many points,
             uniform within its cell.

Bounds are written down here and never read off the points. Where they lie is public.
"""

from __future__ import annotations

import functools
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf

__all__ = ["DATASETS", "DPBENCH", "bounds", "folder", "load", "road", "values"]

Values = NDArray[np.float64]
Bounds = list[tuple[float, float]]

DPBENCH = ("SF-CABS-E", "SF-CABS-S", "GOWALLA", "ADULT-2D", "MD-SAL-2D", "LC-2D", "TWITTER")
UNIT: Bounds = [(0.0, 1.0), (0.0, 1.0)]
TOWN: Bounds = [(0.6, 1.0), (0.2, 0.5)]
#: (centre, share of the points) of the two regions of the road-like set.
REGIONS = (((0.25, 0.85), 0.6), ((0.75, 0.15), 0.4))
HALF = 0.15
SEED = 20260101


def folder() -> Path | None:
    """Return the folder of the data sets, or `None` where there is none."""
    named = os.environ.get("SFUMATO_DATA")
    path = Path(named) if named else None
    return path if path is not None and (path / "spatial").is_dir() else None


def _place() -> Path:
    place = folder()
    if place is None:
        raise FileNotFoundError("set SFUMATO_DATA to the folder that holds spatial/*")
    return place


def road(points: int = 1_600_000, seed: int = SEED) -> Values:
    """Return road-like points on the unit square, in random order."""
    generator = np.random.default_rng(seed)
    parts = [_region(centre, int(points * share), generator) for centre, share in REGIONS]
    missing = points - sum(len(part) for part in parts)
    parts.append(_region(REGIONS[0][0], missing, generator))
    together = np.clip(np.concatenate(parts), 0.0, 1.0)
    return generator.permutation(together)


def _region(centre: tuple[float, float], points: int, generator: np.random.Generator) -> Values:
    """Return the points of one region."""

    def uniform(count: int) -> Values:
        return np.asarray(centre) + generator.uniform(-HALF, HALF, (count, 2))

    clustered, along = int(0.6 * points), int(0.3 * points)
    centres = uniform(60)
    weights = generator.pareto(1.2, 60) + 0.1
    deviations = generator.uniform(0.002, 0.02, 60)
    chosen = generator.choice(60, clustered, p=weights / weights.sum())
    clusters = centres[chosen] + generator.normal(size=(clustered, 2)) * deviations[chosen, None]
    ends = centres[generator.integers(0, 60, (200, 2))]
    segment = ends[generator.integers(0, 200, along)]
    share = generator.random((along, 1))
    roads = segment[:, 0] * (1 - share) + segment[:, 1] * share
    roads += generator.normal(0.0, 0.0005, (along, 2))
    return np.concatenate([clusters, roads, uniform(points - clustered - along)])


@functools.cache
def _array(name: str) -> NDArray[np.int64]:
    with np.load(_place() / "spatial" / "dpbench_2d.npz") as arrays:
        found: NDArray[np.int64] = arrays[name]
    return found


def _jittered(cells: NDArray[np.int64], generator: np.random.Generator) -> Values:
    """Return points within the cells of a 256 × 256 array, given as flat places."""
    corners = np.stack(np.divmod(cells, 256), axis=1)
    return (corners + generator.random((len(cells), 2))) / 256.0


def _dpbench(name: str) -> Values:
    """Return as many points as an array counts, each uniform within its cell."""
    cells = np.repeat(np.arange(256 * 256), _array(name).reshape(-1))
    return _jittered(cells, np.random.default_rng(SEED))


def _drawn(name: str, points: int, generator: np.random.Generator) -> Values:
    """Return points drawn from an array of counts, with jitter within a cell."""
    weights = _array(name).reshape(-1)
    cells = generator.choice(256 * 256, points, p=weights / weights.sum())
    return _jittered(cells, generator)


def _trips(points: int = 98_013) -> Values:
    """Return made-up trips: (start x, start y, end x, end y)."""
    generator = np.random.default_rng(SEED)
    starts = _drawn("SF-CABS-S", points, generator)
    candidates = _drawn("SF-CABS-E", 16 * points, generator).reshape(points, 16, 2)
    distances = np.linalg.norm(candidates - starts[:, None], axis=2)
    # The largest of logarithm plus Gumbel noise is a draw in proportion to the weights.
    chosen = np.argmax(-distances / 0.1 + generator.gumbel(size=(points, 16)), axis=1)
    together = np.concatenate([starts, candidates[np.arange(points), chosen]], axis=1)
    return np.clip(together, *np.array(TOWN * 2).T)


def _columns(file: str, longitude: str, latitude: str) -> Values:
    with lzma.open(_place() / file) as packed:
        frame = pl.read_csv(packed.read())
    return frame.select(longitude, latitude).to_numpy().astype(np.float64)


#: Name → how its points are made, and their bounds.
DATASETS: dict[str, tuple[Callable[[], Values], Bounds]] = {
    "road": (road, UNIT),
    "checkin": (lambda: _drawn("GOWALLA", 107_091, np.random.default_rng(SEED)), UNIT),
    "GeoNames": (
        lambda: _columns("spatial/geonames_cities1000.csv.xz", "lon", "lat"),
        [(-180.0, 180.0), (-90.0, 90.0)],
    ),
    "California": (
        lambda: _columns("regression/california_housing.csv.xz", "Longitude", "Latitude"),
        [(-125.0, -114.0), (32.0, 42.5)],
    ),
    **{name: (functools.partial(_dpbench, name), UNIT) for name in DPBENCH},
    "trips": (_trips, TOWN * 2),
}


@functools.lru_cache(maxsize=1)
def values(name: str) -> Values:
    """Return the points of a set, shape (points, axes)."""
    return DATASETS[name][0]()


def bounds(name: str) -> Bounds:
    """Return the bounds of a set."""
    return DATASETS[name][1]


@functools.lru_cache(maxsize=1)
def load(name: str, relation: str = "add_remove") -> sf.Points:
    """Return the private points of a set in either relation."""
    earth = name in ("GeoNames", "California")
    return sf.Points(
        values(name),
        bounds(name),
        relation=relation,
        rows_about=len(values(name)),
        geographic=earth,
    )
