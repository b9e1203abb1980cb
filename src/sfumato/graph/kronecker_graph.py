"""Synthetic graphs from a stochastic Kronecker model that was fitted to private counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import Graph, GraphPublic
from sfumato.graph.summary import GraphSummary, SummaryRelease
from sfumato.graph.synthetic import MOST_EDGES, SyntheticGraph, drawn_sizes
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import SHARE, OneOf, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import FINISH, Program

__all__ = ["KroneckerGraph", "summary_features"]


@dataclass(frozen=True, kw_only=True)
class KroneckerGraph(Method[Graph, SyntheticGraph]):
    """Release a stochastic Kronecker model of a graph and a graph drawn from it.

    Parameters
    ----------
    epsilon
        Privacy loss for one edge. A twentieth of it is for the number of edges.
    triangle_share
        Share of the rest for the triangle count. The remainder is for the degrees, from which the
        numbers of 2-paths and 3-stars are computed.
    size
        `"declared"`: drawn graphs have as many nodes as the private graph, sampled from the nodes
        of the model. `"power"`: drawn graphs have all nodes of the model, a power of two, as
        published.

    Notes
    -----
    Privacy: the edges, the sorted degrees and the triangles are measured as `GraphSummary` does;
    fitting and drawing use only the noisy values (docs/proofs/kronecker.md).
    """

    kind: ClassVar[str] = "graph"
    proof: ClassVar[str] = "kronecker.md"

    triangle_share: Fraction = parameter(SHARE, Fraction(1, 2))
    size: str = parameter(OneOf(("declared", "power")), "declared")

    @property
    def _summary(self) -> GraphSummary:
        """What is measured, for the whole of ε."""
        epsilon = PureDP(self.epsilon).epsilon
        return GraphSummary(epsilon=epsilon, triangle_share=self.triangle_share)

    def check(self, public: GraphPublic) -> None:
        """Raise unless the data are a graph."""
        super().check(public)
        self._summary.check(public)

    def plan(self, public: GraphPublic) -> Plan:
        """Return the plan: the edges, the degrees and the triangles."""
        self.check(public)
        steps = self._summary.plan(public).steps
        sizes = drawn_sizes(public, steps)
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=steps, sizes=sizes)

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for the summary, and fit a model to it."""
        features = summary_features((yield from self._summary.program(public, budget)))
        yield FINISH
        nodes = public.nodes if self.size == "declared" else 1 << power_of(public.nodes)
        fitted = _hold_drawable(fit_initiator(features, nodes), public)
        return SyntheticGraph(public, KroneckerModel(nodes, fitted), notes=_notes(features))


def summary_features(summary: SummaryRelease) -> Features:
    """Return the counts that a summary of a graph tells; those it cannot tell are not positive.

    Paths and stars are read off the repaired degrees. They need not be whole numbers, and of a
    degree below 1 there is no path, below 2 no star.
    """
    degrees = summary.degrees
    paths = np.where(degrees > 1, degrees * (degrees - 1) / 2, 0.0)
    stars = np.where(degrees > 2, paths * (degrees - 2) / 3, 0.0)
    return Features(
        float(summary.edges.possible),
        float(paths.sum()),
        float(stars.sum()),
        float(summary.triangles.possible),
    )


def _hold_drawable(initiator: Initiator, public: GraphPublic) -> Initiator:
    """Return an initiator whose graphs can be drawn, however much noise there was.

    The whole graph has no more edges on average than 2^24, or four times the declared guess.
    """
    most = max(MOST_EDGES, 4 * (public.rows_about or 0))
    edges = expected_features(initiator).edges
    if edges <= most:
        return initiator
    smaller = initiator.scaled(most / edges)
    a, b, c = (round(entry, DECIMALS) for entry in (smaller.a, smaller.b, smaller.c))
    return Initiator(a, b, c, initiator.power)


def _notes(features: Features) -> tuple[str, ...]:
    """Return what a reader should know about the fit."""
    words = {
        "edges": "edges",
        "hairpins": "paths of two edges",
        "tripins": "stars of three edges",
        "triangles": "triangles",
    }
    missing = [words[name] for name, count in features._asdict().items() if count < 0.5]
    if not missing:
        return ()
    return (
        f"The noisy number of {' and that of '.join(missing)} was not positive and was left out "
        "of the fit.",
    )


# Stochastic Kronecker graphs as a model that synthetic graphs are drawn from. Everything here is
# public.


@dataclass(frozen=True)
class KroneckerModel:
    """Stochastic Kronecker graphs on public nodes, as a model that synthetic graphs are drawn from.

    Parameters
    ----------
    nodes
        The number of public nodes, at most those of the initiator.
    initiator
        The initiator.
    """

    nodes: int
    initiator: Initiator

    kind: ClassVar[str] = "stochastic Kronecker"
    named: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= self.initiator.nodes:
            raise ValueError(
                f"an initiator of power {self.initiator.power} has {self.initiator.nodes} nodes; "
                f"got {self.nodes}"
            )

    @property
    def expected(self) -> Features:
        """The expected counts of a graph that is drawn."""
        return expected_features(self.initiator, self.nodes)

    def draw(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the edges of one graph."""
        return kronecker_pairs(self.initiator, generator, self.nodes)

    def document(self) -> dict[str, Any]:
        """Return a plain document."""
        made = self.initiator
        return {
            "nodes": self.nodes,
            "power": made.power,
            "initiator": [made.a, made.b, made.c],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> KroneckerModel:
        """Return the model that a document tells."""
        a, b, c = document["initiator"]
        return cls(document["nodes"], Initiator(a, b, c, document["power"]))

    def words(self) -> str:
        """Return the model in a few sentences."""
        made, expected = self.initiator, self.expected
        return (
            "Graphs are drawn from a stochastic Kronecker model: every pair of nodes is joined on "
            f"its own, with a product of {made.power} factors taken from the matrix "
            f"({made.a:.3f}, {made.b:.3f}; {made.b:.3f}, {made.c:.3f}). Such graphs have "
            f"about {expected.edges:,.0f} edges and {expected.triangles:,.0f} triangles on average."
        )


# Drawing stochastic Kronecker graphs exactly, in time proportional to their edges.
#
# Everything here is public; the generator is the caller's.


Integers = NDArray[np.int64]


def kronecker_pairs(
    initiator: Initiator, generator: np.random.Generator, nodes: int | None = None
) -> Integers:
    """Return the edges of one graph: low < high, sorted, in time proportional to their number.

    Parameters
    ----------
    initiator
        The initiator.
    generator
        Draws the graph.
    nodes
        How many of the nodes the graph takes, at random and numbered at random; by default all,
        numbered by their digits.

    Notes
    -----
    Exactly the model: pairs that are joined with the same probability form a class, of which there
    are few; how many of a class are joined is binomial, and which ones is a uniform choice.
    (Ramani, Eikmeier & Gleich, "Coin-flipping, ball-dropping, and grass-hopping", 2019.)
    """
    from sfumato.graph.kronecker_kernels import unrank_pairs

    digits, orders = _classes(initiator.power)
    # Of two nodes the one with 0 in the first digit that differs is the lower.
    sizes = orders << (digits[:, 1] - 1)
    entries = np.array([initiator.a, initiator.b, initiator.c])
    chances = np.prod(entries[None, :] ** digits, axis=1)
    joined = generator.binomial(sizes, np.minimum(chances, 1.0)).astype(np.int64)
    pairs: Integers = unrank_pairs(digits, orders, *_distinct(joined, sizes, generator))
    if nodes is not None:
        pairs = generator.permutation(initiator.nodes)[pairs]
        pairs = pairs[(pairs < nodes).all(axis=1)]
    width = initiator.nodes
    keys = np.sort(pairs.min(axis=1) * width + pairs.max(axis=1))
    return np.stack([keys // width, keys % width], axis=1)


def _classes(power: int) -> tuple[Integers, Integers]:
    """Return the classes of pairs of nodes: in how many digits both are 0, differ, both are 1.

    With it the number of orders in which these can come.
    """
    counts = [
        (zeros, apart, power - zeros - apart)
        for apart in range(1, power + 1)
        for zeros in range(power - apart + 1)
    ]
    orders = [comb(power, apart) * comb(power - apart, zeros) for zeros, apart, _ in counts]
    return np.array(counts, dtype=np.int64).reshape(-1, 3), np.array(orders, dtype=np.int64)


def _distinct(
    many: Integers, sizes: Integers, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Return `many` different numbers below `sizes` for each class, and the class of each."""
    # Of a class that is more than half full, those that are left out are drawn.
    drawn = np.minimum(many, sizes - many)
    offsets = np.cumsum(sizes) - sizes
    keys = np.zeros(0, dtype=np.int64)
    missing = drawn
    while missing.any():
        # Never more than are missing, so that every set of the right size is as likely.
        which = np.repeat(np.arange(len(sizes)), missing)
        fresh = offsets[which] + generator.integers(0, sizes[which])
        # Sorted and compared by hand, which is many times faster than hashing them.
        keys = np.sort(np.concatenate([keys, fresh]))
        keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        missing = drawn - np.bincount(
            np.searchsorted(offsets, keys, side="right") - 1, minlength=len(sizes)
        )
    which = np.searchsorted(offsets, keys, side="right") - 1
    full = many > drawn
    parts = [keys[~full[which]]]
    for number in np.flatnonzero(full):
        left_out = np.ones(sizes[number], dtype=np.bool_)
        left_out[keys[which == number] - offsets[number]] = False
        parts.append(offsets[number] + np.flatnonzero(left_out))
    keys = np.concatenate(parts)
    which = np.searchsorted(offsets, keys, side="right") - 1
    return which.astype(np.int64), keys - offsets[which]


# The stochastic Kronecker graph whose expected counts are closest to given ones.
#
# Everything here is public: it sees counts that somebody paid for, and never a graph.


#: Entries are told to so many decimals; the last digits of a fit are the platform's.
DECIMALS = 6
#: The steps of the grid on which a fit looks for its starts, and how many it starts from.
STEPS, STARTS = 25, 8
#: The most steps of a fit, and a step that is no longer worth taking.
ROUNDS, SETTLED = 200, 1e-9
#: How weakly a fit prefers three equal entries, which tell apart no nodes: it decides only where
#: the counts leave a choice.
PREFERENCE = 1e-3
#: Steps are held back by at least this part, far above rounding, so that they can be solved for.
LEAST_DAMPING = 1e-12

Floats = NDArray[np.float64]


def fit_initiator(observed: Features, nodes: int) -> Initiator:
    """Return the initiator whose expected counts are closest to given ones, each relatively.

    Parameters
    ----------
    observed
        The counts; those that are not positive once they are rounded are left out.
    nodes
        The number of nodes of the graph.

    Notes
    -----
    The least Σ (F − E[F])² / F² over 1 ≥ a ≥ c ≥ 0 and 0 ≤ b ≤ 1, by least squares from the best
    points of a grid. Counts that leave a choice, as one alone does, are met by the initiator whose
    entries are the most alike.
    """
    power = power_of(nodes)
    kept = kept_share(nodes, 2**power)
    target = np.asarray(observed, dtype=np.float64)
    used = np.flatnonzero((target >= 0.5) & (kept > 0))
    if len(used) == 0:
        return Initiator(0.0, 0.0, 0.0, power)
    wanted = target[used] / kept[used]

    def residuals(points: Any) -> Any:
        expected = whole_features(points, power)[used] / wanted[:, None] - 1
        alike = PREFERENCE * (points[:2] - points[1:])
        return np.concatenate([expected, alike])

    points, costs = _descend(_starts(wanted, used, power), residuals)
    a, b, c = (round(float(entry), DECIMALS) for entry in points[:, np.argmin(costs)])
    # Exchanging the two digits is the same model.
    return Initiator(max(a, c), b, min(a, c), power)


def _starts(wanted: Floats, used: NDArray[np.intp], power: int) -> Floats:
    """Return points (a, b, c) of a grid whose counts are closest by their ratio, in columns."""
    line = (np.arange(STEPS) + 0.5) / STEPS
    points = np.stack(np.meshgrid(line, line, line, indexing="ij")).reshape(3, -1)
    points = points[:, points[0] >= points[2]]
    counts = np.maximum(whole_features(points, power)[used], 1e-300)
    apart = (np.log(counts / wanted[:, None]) ** 2).sum(axis=0)
    order = np.argsort(apart, kind="stable")
    # The closest ones lie side by side: one of every few reaches other valleys too.
    return points[:, order[: STARTS**2 : STARTS]]


def _descend(points: Floats, residuals: Callable[[Any], Any]) -> tuple[Floats, Floats]:
    """Return where least squares lead from each of several points of the unit cube, and the cost.

    Levenberg and Marquardt's steps, cut at the faces; a coordinate that would leave through the
    face it is on stays there.
    """
    here = residuals(points)
    costs = (here**2).sum(axis=0)
    damping = np.full(points.shape[1], 1e-3)
    for _ in range(ROUNDS):
        slopes = _slopes(points, residuals)
        gradient = np.einsum("fis,fs->is", slopes, here)
        free = ~(((points <= 0) & (gradient > 0)) | ((points >= 1) & (gradient < 0)))
        slopes = slopes * free
        curved = np.einsum("fis,fjs->sij", slopes, slopes)
        scale = np.einsum("sii->is", curved)
        curved[:, range(3), range(3)] += (damping * scale + np.where(scale > 0, 0.0, 1.0)).T
        step = np.linalg.solve(curved, (-gradient * free).T[:, :, None])[:, :, 0].T
        tried = np.clip(points + step, 0.0, 1.0)
        there = residuals(tried)
        better = (there**2).sum(axis=0) < costs
        settled = bool((np.abs(tried - points) < SETTLED).all())
        points = np.where(better, tried, points)
        here = np.where(better, there, here)
        costs = (here**2).sum(axis=0)
        damping = np.clip(np.where(better, damping / 8, damping * 4), LEAST_DAMPING, 1e15)
        if settled:
            break
    return points, costs


def _slopes(points: Floats, residuals: Callable[[Any], Any]) -> Floats:
    """Return the derivatives of the residuals by each coordinate, exact to the last digits.

    Polynomials are followed along a tiny imaginary step, in which nothing cancels.
    """
    tiny = 1e-30
    columns = []
    for axis in range(3):
        shifted = points.astype(np.complex128)
        shifted[axis] += tiny * 1j
        columns.append(residuals(shifted).imag / tiny)
    return np.stack(columns, axis=1)


# Stochastic Kronecker graphs: the matrix they grow from, and the counts they expect.
#
# Nodes are words of `power` binary digits. Two nodes are joined with the product, over the digits,
# of the entry of a symmetric 2 × 2 matrix that their two digits choose; every pair on its own. A
# graph on fewer nodes than there are words takes that many of them at random.
#
# Everything here is public.


class Features(NamedTuple):
    """Counts of small subgraphs, each chosen by its nodes and edges (not induced).

    Parameters
    ----------
    edges, hairpins, tripins, triangles
        Edges, paths of two edges, stars of three edges, and triangles.
    """

    edges: float
    hairpins: float
    tripins: float
    triangles: float


#: What is counted, and the number of nodes of each.
FEATURES = {"edges": 2, "hairpins": 3, "tripins": 4, "triangles": 3}


@dataclass(frozen=True)
class Initiator:
    """The matrix [[a, b], [b, c]] and its Kronecker power.

    Parameters
    ----------
    a, b, c
        Its entries, from 0 to 1, a ≥ c.
    power
        How many binary digits a node has (r in the literature): there are 2^power nodes.
    """

    a: float
    b: float
    c: float
    power: int

    def __post_init__(self) -> None:
        if not (0 <= self.c <= self.a <= 1 and 0 <= self.b <= 1):
            raise ValueError(
                "the entries of an initiator must lie between 0 and 1, with a at least c; got a = "
                f"{self.a}, b = {self.b}, c = {self.c}"
            )
        if type(self.power) is not int or not 0 <= self.power <= 24:
            raise ValueError(
                "the power of an initiator must be a whole number of at most 24; got "
                f"{self.power!r}"
            )

    @property
    def nodes(self) -> int:
        """The number of nodes of the whole graph."""
        return 1 << self.power

    def scaled(self, factor: float) -> Initiator:
        """Return the initiator whose pairs are joined with `factor` ≤ 1 times the probability."""
        each = factor ** (1 / self.power) if self.power else 1.0
        return Initiator(self.a * each, self.b * each, self.c * each, self.power)


def power_of(nodes: int) -> int:
    """Return the smallest power whose graph has at least so many nodes."""
    return max(nodes - 1, 0).bit_length()


def expected_features(initiator: Initiator, nodes: int | None = None) -> Features:
    """Return the expected counts of a graph.

    Parameters
    ----------
    initiator
        The initiator.
    nodes
        How many of the nodes the graph takes, at random; by default all.
    """
    a, b, c, power = initiator.a, initiator.b, initiator.c, initiator.power
    whole = whole_features(np.array([[a], [b], [c]]), power)[:, 0]
    kept = kept_share(initiator.nodes if nodes is None else nodes, initiator.nodes)
    # What is impossible comes out as the rounding of a difference.
    return Features(*(max(float(x), 0.0) for x in whole * kept))


def whole_features(entries: Any, r: int) -> Any:
    """Return the four expected counts of all 2^r nodes, one row each, for columns (a, b, c).

    Gleich & Owen, "Moment-based estimation of stochastic Kronecker graph parameters" (2012): sums
    over all tuples of nodes are powers of sums over tuples of digits, and tuples in which nodes
    are equal are taken out by inclusion and exclusion.
    """
    a, b, c = entries
    p, q = a + b, b + c
    a2, b2, c2 = a * a, b * b, c * c
    a3, b3, c3 = a2 * a, b2 * b, c2 * c
    edges = ((p + q) ** r - (a + c) ** r) / 2
    hairpins = (
        (p**2 + q**2) ** r - 2 * (a * p + c * q) ** r - (a2 + 2 * b2 + c2) ** r + 2 * (a2 + c2) ** r
    ) / 2
    tripins = (
        (p**3 + q**3) ** r
        - 3 * (a * p**2 + c * q**2) ** r
        - 3 * (a3 + c3 + b * (a2 + c2) + b2 * (a + c) + 2 * b3) ** r
        + 2 * (a3 + 2 * b3 + c3) ** r
        + 3 * (a3 + c3 + b2 * (a + c)) ** r
        + 6 * (a3 + c3 + b * (a2 + c2)) ** r
        - 6 * (a3 + c3) ** r
    ) / 6
    triangles = (
        (a3 + 3 * b2 * (a + c) + c3) ** r
        - 3 * (a * (a2 + b2) + c * (b2 + c2)) ** r
        + 2 * (a3 + c3) ** r
    ) / 6
    return np.stack([edges, hairpins, tripins, triangles])


def kept_share(nodes: int, whole: int) -> Floats:
    """Return which share of subgraphs has all of its nodes among `nodes` random ones."""
    return np.array([comb(nodes, size) / max(comb(whole, size), 1) for size in FEATURES.values()])
