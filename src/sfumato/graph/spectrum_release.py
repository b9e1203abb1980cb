"""The release of the largest eigenvalues of a graph, with their eigenvectors where there are any.

Everything here is a function of what the primitives said: clusters, a low-rank graph and the
distance to other subspaces cost nothing further.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.graph_public import GraphPublic
from sfumato.graph.eigen import captured_share, strongest_pairs
from sfumato.graph.spectral_mechanism import SpectralParts
from sfumato.privacy.file_comparison import Differences, compare
from sfumato.privacy.release import Release
from sfumato.sections import Section

__all__ = ["SpectrumRelease"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

VALUES, VECTORS = "eigenvalues.csv", "eigenvectors.csv"

INK, FILL, FAINT = "#1d3557", "#4c72b0", "#b8c4d6"
#: How nearly the last vectors must be orthonormal eigenvectors where solvers may choose them.
TOLERANCE = 1e-6
#: How many decimals of the entries of eigenvectors are published.
PLACES = 8
#: Eigenvalues closer than this, relative to the largest, may swap or mix their vectors.
ALIKE = 1e-5
#: How far an entry of a vector may be from the space it is said to lie in: three units of its last
#: decimal for each vector that spans the space.
MIXED = 3e-8


class SpectrumRelease(Release):
    """The largest eigenvalues of a graph, and its eigenvectors.

    Parameters
    ----------
    public
        The public nodes.
    parts
        What the mechanism found.
    how
        How it was found, in a few words.
    edges
        A noisy number of edges that was paid for, if any.
    """

    kind = "graph spectrum"

    def __init__(
        self, public: GraphPublic, parts: SpectralParts, *, how: str, edges: int | None = None
    ) -> None:
        for array in (parts.eigenvalues, parts.eigenvectors, parts.detectable, parts.observed):
            if array is not None:
                array.flags.writeable = False
        self.public = public
        self.parts = parts
        self.how = how
        self._edges = edges

    @property
    def k(self) -> int:
        """How many eigenvalues there are."""
        return len(self.parts.eigenvalues)

    @property
    def eigenvalues(self) -> Floats:
        """The eigenvalues from the largest, with the bias of the noise taken off."""
        return self.parts.eigenvalues

    @property
    def eigenvectors(self) -> Floats:
        """The eigenvectors as orthonormal columns, a row for each node.

        Raises
        ------
        ValueError
            If only eigenvalues were released.
        """
        if self.parts.eigenvectors is None:
            raise ValueError(
                "only eigenvalues were released; mechanism='response' releases eigenvectors too"
            )
        return self.parts.eigenvectors

    @property
    def detectable(self) -> NDArray[np.bool_] | None:
        """Which eigenvalues stand out from the noise; `None` where that cannot be told."""
        return self.parts.detectable

    @property
    def observed(self) -> Floats | None:
        """The eigenvalues of the noisy matrix itself, if it is one; they are too large."""
        return self.parts.observed

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.parts.notes

    @property
    def edges(self) -> float | None:
        """About how many edges the graph has; `None` where nothing tells."""
        found = self.parts.edges if self._edges is None else float(self._edges)
        return None if found is None else float(np.clip(found, 0, self.public.most_edges))

    @property
    def subspace(self) -> Floats:
        """The eigenvectors that stand out from the noise, or all where that cannot be told."""
        chosen = self.detectable
        return self.eigenvectors if chosen is None else self.eigenvectors[:, chosen]

    def captured(self, vectors: Floats) -> float:
        """Return which part of a subspace the eigenvectors hold, from 0 to 1.

        Parameters
        ----------
        vectors
            Orthonormal columns, a row for each node.
        """
        return captured_share(np.asarray(vectors, dtype=np.float64), self.eigenvectors)

    def clusters(self, c: int) -> NDArray[np.int64]:
        """Return a group from 0 to c − 1 for each node: spectral clustering.

        Parameters
        ----------
        c
            How many groups. Nodes are grouped by the direction of their rows in the first c
            eigenvectors that stand out.
        """
        if c < 1:
            raise ValueError(f"the number of clusters must be at least 1; got {c}")
        # Positive eigenvalues stand for groups that keep to themselves.
        told = self.eigenvalues > 0
        if self.detectable is not None and (told & self.detectable).any():
            told = told & self.detectable
        used = np.flatnonzero(told)[:c]
        return group_rows(self.eigenvectors[:, used] * np.sqrt(self.eigenvalues[used]), c)

    def reconstruction(self, edges: int | None = None) -> NDArray[np.int64]:
        """Return the pairs of nodes that the low-rank approximation joins most strongly.

        Parameters
        ----------
        edges
            How many; by default about as many as the graph has, as far as the release tells.

        Returns
        -------
        pairs
            An array of shape (edges, 2), the smaller node first, in order.
        """
        many = edges
        if many is None:
            if self.edges is None:
                raise ValueError(
                    "the release has no number of edges; pass edges=…, or release the spectrum "
                    "with edge_share=…"
                )
            many = round(self.edges)
        if not 0 <= many <= self.public.most_edges:
            raise ValueError(
                f"edges must be between 0 and {self.public.most_edges:,}, the number of pairs of "
                f"nodes; got {many}"
            )
        return strongest_pairs(self.eigenvectors, self.eigenvalues, many)

    def files(self) -> dict[str, bytes]:
        """Return the eigenvalues, and the eigenvectors with a row for each node, as tables."""
        made = {VALUES: _table(self._value_rows())}
        if self.parts.eigenvectors is not None:
            made[VECTORS] = _table(self._vector_rows(self.parts.eigenvectors))
        return made

    def _value_rows(self) -> list[list[str]]:
        rows = [["number", "eigenvalue", "observed", "detectable"]]
        observed, detectable = self.parts.observed, self.parts.detectable
        for place, value in enumerate(self.eigenvalues):
            rows.append(
                [
                    str(place + 1),
                    f"{value:.9g}",
                    "" if observed is None else f"{observed[place]:.9g}",
                    "" if detectable is None else ("yes" if detectable[place] else "no"),
                ]
            )
        return rows

    def _vector_rows(self, vectors: Floats) -> list[list[str]]:
        rows = [["node", *(f"v{place + 1}" for place in range(self.k))]]
        for node, entries in enumerate(vectors.tolist()):
            rows.append([self.public.label(node), *map(_entry, entries)])
        return rows

    def differences(self, files: dict[str, bytes]) -> Differences:
        """Return how published files differ; other eigenvectors of the same matrix may be there."""
        found, expected = super().differences(files), self.files()
        if not found.wrong or set(files) != set(expected) or VECTORS not in expected:
            return found
        values = compare({VALUES: expected[VALUES]}, {VALUES: files[VALUES]})
        try:
            told = _rows(files[VECTORS])
            # One form, so that there is no digit to spare.
            known = _table(told) == files[VECTORS] and _plain(told)
            if known and not values.wrong and self._close(told):
                return values + Differences(others=("eigenvectors that span the same spaces",))
        except (ValueError, IndexError):
            pass
        return found

    def _close(self, vectors: list[list[str]]) -> bool:
        """Compare the cells of published eigenvectors with this spectrum."""
        names = [self.public.label(node) for node in range(self.public.nodes)]
        header = ["node", *(f"v{place + 1}" for place in range(self.k))]
        if vectors[0] != header or [row[0] for row in vectors[1:]] != names:
            return False
        told = np.array([row[1:] for row in vectors[1:]], dtype=np.float64)
        return told.shape == self.eigenvectors.shape and self._same_spaces(told)

    def _same_spaces(self, told: Floats) -> bool:
        """Tell whether columns span the same spaces, eigenvalues that are alike taken together."""
        order = self.parts.observed
        if order is None:
            # Vectors that were said one by one do not mix, even if their eigenvalues are the same.
            far = np.ones(max(self.k - 1, 0), dtype=bool)
        else:
            far = np.abs(np.diff(order)) > ALIKE * max(float(np.abs(order).max(initial=0)), 1e-9)
        for columns in np.split(np.arange(self.k), np.flatnonzero(far) + 1):
            own, other = self.eigenvectors[:, columns], told[:, columns]
            apart = own - other @ (other.T @ own)
            # What is no number is not close.
            close = float(np.abs(apart).max(initial=0.0)) <= MIXED * len(columns)
            if not close and not (self.k - 1 in columns and self._is_solved_by(told, columns)):
                return False
        return True

    def _is_solved_by(self, told: Floats, columns: Integers) -> bool:
        """Tell whether the last columns are eigenvectors of the noisy matrix just as well.

        Where the last eigenvalue is one of several that are alike, solvers differ in which of its
        vectors they find.
        """
        observed = self.parts.observed
        if self.parts.matrix is None or observed is None:
            return False
        if not float(np.abs(told.T @ told - np.eye(self.k)).max(initial=0.0)) <= TOLERANCE:
            return False
        apply, size = self.parts.matrix().apply, max(float(np.abs(observed).max(initial=0.0)), 1.0)
        pairs = [(np.ascontiguousarray(told[:, place]), observed[place]) for place in columns]
        return all(
            float(np.linalg.norm(apply(vector) - value * vector)) <= TOLERANCE * size
            for vector, value in pairs
        )

    def words(self) -> str:
        """Return the spectrum in a few sentences."""
        if self.k == 0:
            return "The graph has no nodes, and so no eigenvalues."
        sentences = [self._values_in_words()]
        if self.parts.eigenvectors is not None:
            sentences.append("Every node has its coordinates in the eigenvectors.")
        if self.edges is not None:
            sentences.append(f"There are about {self.edges:,.0f} edges.")
        return " ".join([*sentences, *self.notes])

    def _values_in_words(self) -> str:
        """Return the eigenvalues that stand out, in a sentence."""
        told = self.eigenvalues if self.detectable is None else self.eigenvalues[self.detectable]
        size = "1 node" if self.public.nodes == 1 else f"{self.public.nodes:,} nodes"
        what = "largest eigenvalue" if self.k == 1 else f"{self.k} largest eigenvalues"
        where = f"the {what} of the graph of {size}"
        if len(told) == 0:
            return f"Of {where} none stands out from the noise ({self.how})."
        shown = ", ".join(f"{value:,.4g}" for value in told[:8])
        more = f", and {len(told) - 8:,} more" if len(told) > 8 else ""
        if len(told) < self.k:
            return (
                f"Of {where} {len(told)} stand out from the noise: about {shown}{more} "
                f"({self.how})."
            )
        verb = "is" if self.k == 1 else "are"
        return f"{where[0].upper()}{where[1:]} {verb} about {shown}{more} ({self.how})."

    def summary(self) -> dict[str, Any]:
        """Return the eigenvalues, and which of them stand out from noise, for programs."""
        return {
            "eigenvalues": self.eigenvalues.tolist(),
            "detectable": None if self.detectable is None else self.detectable.tolist(),
            "eigenvectors": self.parts.eigenvectors is not None,
            "edges": self.edges,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.graph.pages import spectrum_sections

        return spectrum_sections(self)

    def plot(self) -> Any:
        """Return a figure: the eigenvalues, and the nodes in the first two eigenvectors."""
        from matplotlib.figure import Figure

        if self.parts.eigenvectors is None or self.k < 2:
            figure = Figure(figsize=(4.6, 3.4), layout="constrained")
            self._draw_values(figure.subplots())
            return figure
        figure = Figure(figsize=(8.4, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        self._draw_values(left)
        self._draw_nodes(right)
        return figure

    def _draw_values(self, axis: Any) -> None:
        places = np.arange(1, self.k + 1)
        sure = np.ones(self.k, dtype=bool) if self.detectable is None else self.detectable
        colours = [FILL if certain else FAINT for certain in sure]
        axis.bar(places, self.eigenvalues, color=colours)
        if self.observed is not None:
            axis.plot(
                places, self.observed, "_", color=INK, markersize=10, label="before unbiasing"
            )
            axis.legend(frameon=False, fontsize=8)
        if self.k <= 20:
            axis.set_xticks(places)
        axis.set_xlabel("eigenvalue, from the largest (pale: lost in noise)")
        axis.set_ylabel("value")
        axis.spines[["top", "right"]].set_visible(False)

    def _draw_nodes(self, axis: Any) -> None:
        first, second = self.eigenvectors[:, :2].T
        many = self.public.nodes
        axis.scatter(first, second, s=max(2, min(18, 4000 / max(many, 1))), color=INK, alpha=0.5)
        axis.set_xlabel("first eigenvector")
        axis.set_ylabel("second eigenvector")
        axis.spines[["top", "right"]].set_visible(False)


def _entry(value: float) -> str:
    """Return an entry of a unit vector with a fixed number of decimals, and no negative zero."""
    return f"{round(value, PLACES) + 0.0:.{PLACES}f}"


def _plain(vectors: list[list[str]]) -> bool:
    """Tell whether the entries of vectors are written as `_entry` writes them."""
    return all(_entry(float(cell)) == cell for row in vectors[1:] for cell in row[1:])


def _table(rows: list[list[str]]) -> bytes:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _rows(content: bytes) -> list[list[str]]:
    """Return the cells of CSV."""
    return list(csv.reader(io.StringIO(content.decode())))


# Groups of nodes from their coordinates: k-means on directions, the same for the same input.
#
# Public: the coordinates are those of released eigenvectors.


#: Starts that are tried, and the most rounds of each.
STARTS, ROUNDS = 10, 100


def group_rows(rows: Floats, groups: int) -> NDArray[np.int64]:
    """Return a group for each row, by the direction of the row; groups are numbered by size.

    Parameters
    ----------
    rows
        A row of coordinates for each node. Rows of zeros have no direction and stay zeros.
    groups
        How many groups; some stay empty where there are fewer different rows.

    Notes
    -----
    Rows are scaled to length 1, so that nodes of many and of few edges in one group come together
    (Ng, Jordan and Weiss, 2001).
    """
    if rows.size == 0:
        # Without coordinates all nodes are alike.
        return np.zeros(len(rows), dtype=np.int64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    labels = k_means(rows / np.where(lengths > 0, lengths, 1.0), groups)
    # The largest group first; of groups of one size the one of the first node.
    present, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    rank = np.zeros(groups, dtype=np.int64)
    rank[present[np.lexsort((first, -sizes))]] = np.arange(len(present))
    return rank[labels]


def k_means(points: Floats, groups: int) -> NDArray[np.int64]:
    """Return the grouping of least squared distances to the means, of several tries."""
    generator = noise.generator(0)
    best: tuple[float, NDArray[np.int64]] | None = None
    for _ in range(STARTS):
        cost, labels = _settle(points, _spread(points, groups, generator))
        if best is None or cost < best[0] * (1 - 1e-12):
            best = (cost, labels)
    assert best is not None
    return best[1]


def _spread(points: Floats, groups: int, generator: np.random.Generator) -> Floats:
    """Return first means: points, each drawn by its squared distance to those before it."""
    means = [points[int(generator.integers(len(points)))]]
    nearest = ((points - means[0]) ** 2).sum(axis=1)
    for _ in range(1, groups):
        ends = np.cumsum(nearest)
        if ends[-1] <= 0:
            break
        drawn = generator.random() * ends[-1]
        means.append(points[min(int(np.searchsorted(ends, drawn, side="right")), len(points) - 1)])
        nearest = np.minimum(nearest, ((points - means[-1]) ** 2).sum(axis=1))
    return np.array(means)


def _settle(points: Floats, means: Floats) -> tuple[float, NDArray[np.int64]]:
    """Move points to the nearest mean and means to the middle of their points, until none moves."""
    labels = np.full(len(points), -1, dtype=np.int64)
    for _ in range(ROUNDS):
        distances = _squared_distances(points, means)
        fresh = distances.argmin(axis=1).astype(np.int64)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
        sizes = np.bincount(labels, minlength=len(means))
        sums = np.stack(
            [np.bincount(labels, column, minlength=len(means)) for column in points.T], axis=1
        )
        # A group that lost all its points keeps its mean.
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], means)
    distances = _squared_distances(points, means)
    return float(distances.min(axis=1).sum()), labels


def _squared_distances(points: Floats, means: Floats) -> Floats:
    squares = (points**2).sum(axis=1)[:, None] + (means**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * points @ means.T, 0.0), dtype=np.float64)
