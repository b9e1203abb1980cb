"""PrivTree: points as the cells of a tree that goes deep where points are dense."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.points import PointsPublic
from sfumato.mechanisms.count_noise import CountNoise, count_noise
from sfumato.mechanisms.laplace import LARGEST_COUNT
from sfumato.mechanisms.privtree import Noise, TreeSplits, grow_tree
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Number, PureDP
from sfumato.privacy.parameters import SHARE, OneOf, OrNone, Whole, parameter
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.spatial.cells import TreeCells
from sfumato.spatial.histogram import SpatialHistogram
from sfumato.spatial.queries import CellFrontier, NodeCounts
from sfumato.spatial.spatial_method import SpatialMethod, count_step, points_about
from sfumato.spatial.tree_method import cells_about, check_fan_out, halvings_of
from sfumato.spatial.tree_repair import LEAST, WHOLE, consistent, settle_counts, weights
from sfumato.spatial.tree_shape import TreeShape

__all__ = ["PrivTree"]

#: Labels in transcripts.
SPLITS, COUNTS = "splits", "counts"
#: By default the tree gets this share of ε, and this one on a line: a box cuts two cells of a line
#: and many of a plane, so that on a line larger cells with less noise are better.
TREE_SHARE, LINE_TREE_SHARE = Fraction(3, 10), Fraction(1, 5)
#: By default this many halvings, and at most so many levels, do not count against a cell.
FREE_HALVINGS, FREE_LEVELS = 4, 2
#: Siblings more than these are not settled against each other: too many share what one holds.
MOST_SIBLINGS = 16
#: What readers of a release are told.
DENSE = "Cells are small where points are dense."
SETTLED = (
    "The counts were settled against each other: they add up, none is negative, and cells that "
    "look empty beside full ones hold 0."
)
CONSISTENT = "The counts were settled against each other: they add up."


@dataclass(frozen=True, kw_only=True)
class PrivTree(SpatialMethod):
    """Release noisy counts of the leaves of a tree that splits dense cells.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the points (point or person).
    tree_share
        Share of epsilon for deciding which cells are split; the rest is for the counts. Default:
        1/5 with one axis, where a box cuts two cells only, and 3/10 with more.
    fan_out
        Number of children of a cell, a power of two. Default: 2 to the power of the number of axes,
        at most 256. With 2^j, j axes are halved at each level, in turn.
    threshold
        A cell is split if its number of points, minus a term that grows with its depth, exceeds
        this. The default is negative, which removes that term at the first levels. The published
        algorithm uses 0.
    levels
        Maximum depth of the tree. Default: the depth that the grid of the points allows.
    variant
        `"tight"`, or `"paper"` for the larger noise of the paper.
    counts
        `"tree"`: inner nodes are counted too, and all counts are made consistent. `"leaves"`: only
        the leaves are counted, without a repair, as published.

    Notes
    -----
    Privacy: the privacy loss of the tree is its share of epsilon at any depth; a point is in the
    nodes of one path from the root to a leaf, along which the weights of the counts add up to a
    constant (docs/proofs/spatial-privtree.md). Zhang, Xiao and Xie, *PrivTree*, SIGMOD 2016.
    """

    proof: ClassVar[str] = "spatial-privtree.md"
    example: ClassVar[dict[str, Any]] = {"levels": 2}
    former_names: ClassVar[dict[str, str]] = {"noise": "variant"}

    tree_share: Number | None = parameter(OrNone(SHARE), None)
    fan_out: int | None = parameter(OrNone(Whole(2, 256)), None)
    threshold: int | None = parameter(OrNone(Whole(-LARGEST_COUNT, LARGEST_COUNT)), None)
    levels: int | None = parameter(OrNone(Whole(1)), None)
    variant: Noise = parameter(OneOf(("tight", "paper")), "tight")
    counts: str = parameter(OneOf(("tree", "leaves")), "tree")

    def check(self, public: PointsPublic) -> None:
        """Raise where the fan-out does not fit the axes."""
        super().check(public)
        check_fan_out(self.fan_out, public)

    def shares(self, public: PointsPublic) -> tuple[Fraction, Fraction]:
        """Return the shares of the tree and of the counts."""
        tree = TREE_SHARE if public.dimensions > 1 else LINE_TREE_SHARE
        if self.tree_share is not None:
            tree = Fraction(self.tree_share)
        return tree, 1 - tree

    def splits(self, public: PointsPublic) -> TreeSplits:
        """Return the primitive that decides which cells are split."""
        limit, relation = self.record_budget(public)
        assert isinstance(limit, PureDP)
        halvings = halvings_of(self.fan_out, public)
        most = len(public.axes) // halvings
        plain = TreeSplits(
            epsilon=limit.share(self.shares(public)[0]).epsilon,
            fan_out=1 << halvings,
            levels=most if self.levels is None else min(self.levels, most),
            threshold=0 if self.threshold is None else self.threshold,
            relation=relation,
            noise=self.variant,
        )
        if self.threshold is not None:
            return plain
        free = min(Fraction(FREE_LEVELS), Fraction(FREE_HALVINGS, halvings))
        start = -min(round(free * plain.decay), LARGEST_COUNT)
        return replace(plain, threshold=start)

    def count_noise(self, public: PointsPublic, nodes: int) -> CountNoise:
        """Return the noise on weighted counts of so many nodes."""
        limit, relation = self.record_budget(public)
        share, whole = self.shares(public)[1], self._whole
        return count_noise((nodes,), limit.share(share), relation, moves=whole, largest=whole)

    @property
    def _whole(self) -> int:
        """What the weights along a path add up to; of a tree of one node it is the only weight."""
        return WHOLE if self.counts == "tree" else 1

    def _weights(self, shape: TreeShape) -> NDArray[np.int64]:
        """Return the weight of every node's count; 0 where it is not counted."""
        return weights(shape) if self.counts == "tree" else (~shape.split).astype(np.int64)

    def plan(self, public: PointsPublic) -> Plan:
        """Return what the tree and its counts will cost and how good they will be."""
        self.check(public)
        splits, loss, (tree_share, count_share) = (
            self.splits(public),
            self.loss(),
            self.shares(public),
        )
        off = float(splits.scale) * log(20)
        tree = PlanStep(
            what="which cells are split",
            loss=loss.share(tree_share),
            noise=f"scale {float(splits.scale):,.4g}, and {float(splits.decay):,.4g} less a level",
            error=f"decided as by a count that is off by up to {off:,.4g}, 19 times in 20",
            figures={"scale": float(splits.scale), "margin": off},
        )
        unit = self.count_noise(public, 1)
        # A leaf has at least this part of the weight, whichever limbs are above it.
        least = Fraction(LEAST, WHOLE) if self.counts == "tree" else Fraction(1)
        limit, relation = self.record_budget(public)
        counts = count_step(
            "the count of every cell",
            loss.share(count_share),
            count_noise(unit.shape, limit.share(count_share * least), relation),
            public,
        )
        needed = [float(splits.threshold + level * splits.decay) for level in range(splits.levels)]
        cells = cells_about(splits.fan_out, needed, points_about(public) or 0)
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(tree, counts),
            notes=(
                "The number of cells depends on the points and is not known in advance. Within a "
                "cell, points are assumed to be uniformly distributed.",
                *self.size_notes(public),
            ),
            sizes=self.sizes(public, cells),
        )

    def program(self, public: PointsPublic, budget: Budget) -> Program[SpatialHistogram]:
        """Ask level by level which cells are split, then for the counts of nodes of the tree."""
        tree, counting = budget.split(["tree", "counts"], self.shares(public))
        halvings = halvings_of(self.fan_out, public)
        levels = yield from grow_tree(tree, CellFrontier(halvings), self.splits(public), SPLITS)
        shape = TreeShape(levels, halvings, public.axes)
        weights = self._weights(shape)
        counted = np.flatnonzero(weights)
        given = weights[counted]
        noise = self.count_noise(public, counted.size)
        noisy = yield Ask(counting, noise, NodeCounts(shape, counted, given), COUNTS)
        yield FINISH
        measured, variances = np.zeros(shape.nodes), np.full(shape.nodes, np.inf)
        measured[counted] = noisy / given
        variances[counted] = (self._whole / given) ** 2
        deviation = noise.standard_deviation / self._whole
        spread = deviation * float(np.sqrt(np.median(variances[shape.leaves])))
        leaves, notes = measured[shape.leaves], [DENSE]
        if self.counts == "tree":
            leaves = self._settled(public, shape, measured, variances, deviation)
            notes.append(SETTLED if shape.fan_out <= MOST_SIBLINGS else CONSISTENT)
        cells = TreeCells(public, shape, leaves)
        return SpatialHistogram(public, cells, deviation=spread, notes=notes)

    def _settled(
        self,
        public: PointsPublic,
        shape: TreeShape,
        measured: NDArray[np.float64],
        variances: NDArray[np.float64],
        deviation: float,
    ) -> NDArray[np.float64]:
        """Return the counts of the leaves, settled against all others."""
        if public.rows is not None:
            measured[0], variances[0] = public.rows, 0.0
        nodes, spreads = consistent(shape, measured, variances)
        if shape.fan_out <= MOST_SIBLINGS:
            nodes = settle_counts(shape, nodes, spreads, deviation)
        return nodes[shape.leaves]
