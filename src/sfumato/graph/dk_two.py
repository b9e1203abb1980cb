"""dK-2 with a pure loss: edges between groups of nodes that have about as many edges.

Degrees are measured node by node; what is said about them makes the groups, and once the groups
are public an edge lies in one block only. Proof: docs/proofs/dk-graphs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.data.graph import GraphPublic
from sfumato.graph.degree_repair import closest, shares
from sfumato.graph.dk_parts import combine_estimates, noise_of
from sfumato.graph.models import BlockModel
from sfumato.graph.number import EDGES, ask_edges, edge_noise, edge_step
from sfumato.graph.queries import BlockCounts, NodeDegrees
from sfumato.graph.synthetic import SyntheticGraph
from sfumato.mechanisms.count_noise import margin
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.budget import Budget
from sfumato.privacy.loss import Loss
from sfumato.privacy.plan import PlanStep
from sfumato.privacy.program import FINISH, Ask, Program
from sfumato.privacy.rounding import exp_up

__all__ = ["MOST_GROUPS", "GroupedDegrees"]

Integers = NDArray[np.int64]

#: The labels in transcripts, and of the slices.
DEGREES = "degrees"
BLOCKS = "blocks"
#: No more groups than this are made; on large graphs more of them gain nothing.
MOST_GROUPS = 24
#: The noise of all blocks together may be about this part of the edges.
NOISE = Fraction(1, 16)
#: Of what is not for the degrees, the share for the number of edges, which no block tells as well.
EDGE_SHARE = Fraction(1, 5)


@dataclass(frozen=True)
class GroupedDegrees:
    """Degrees node by node, and the edges between groups that are made of them.

    Parameters
    ----------
    loss
        What may be spent, for one edge.
    share
        The share of it that is for the degrees; the rest counts edges between groups, a fifth of
        it all edges.
    groups
        The most groups.
    """

    loss: Loss
    share: Fraction
    groups: int = MOST_GROUPS

    @property
    def _losses(self) -> tuple[Loss, Loss, Loss]:
        """What the degrees, the blocks and the number of edges may spend."""
        rest = 1 - self.share
        parts = self.share, rest * (1 - EDGE_SHARE), rest * EDGE_SHARE
        degrees, blocks, edges = (self.loss.share(part) for part in parts)
        return degrees, blocks, edges

    def check(self, public: GraphPublic) -> None:
        """Accept every graph."""

    def _degree_noise(self, public: GraphPublic) -> GeometricNoise:
        # One edge moves the degrees of its two ends by 1 each.
        return noise_of(self._losses[0], (public.nodes,), 2)

    def _block_noise(self, many: int) -> GeometricNoise:
        # One edge lies in one block.
        return noise_of(self._losses[1], (comb(many + 1, 2),), 1)

    def steps(self, public: GraphPublic) -> tuple[PlanStep, ...]:
        """Return the lines of the plan; how many groups there are follows from what is said."""
        degrees, blocks, edges = self._losses
        noise, block_noise = self._degree_noise(public), self._block_noise(1)
        return (
            PlanStep(
                what=f"the degree of each of {public.nodes:,} nodes",
                loss=degrees,
                noise=f"± {noise.standard_deviation:.4g} (1 s.d.) on each",
                error=f"± {margin(noise):,.4g} at most, 19 times in 20; less after a comparison",
                figures={"margin": margin(noise)},
            ),
            PlanStep(
                what=f"the edges between at most {self.groups} groups of nodes",
                loss=blocks,
                noise=f"± {block_noise.standard_deviation:.4g} (1 s.d.) on each pair of groups",
                error=f"± {margin(block_noise):,.4g}",
                figures={"margin": margin(block_noise)},
            ),
            edge_step(edges),
        )

    def program(self, public: GraphPublic, budget: Budget) -> Program[SyntheticGraph]:
        """Ask for the degrees, make groups of what was said, and ask for their edges.

        Graphs have about these degrees, and about so many edges between the groups.
        """
        losses = self._losses
        slice_of_degrees = budget.take(losses[0], DEGREES)
        noisy = yield Ask(slice_of_degrees, self._degree_noise(public), NodeDegrees(), DEGREES)
        expected, groups = self._grouping(public, noisy)
        many = int(groups.max(initial=0)) + 1
        slice_of_blocks = budget.take(losses[1], BLOCKS)
        query = BlockCounts(groups, many)
        said = yield Ask(slice_of_blocks, self._block_noise(many), query, BLOCKS)
        counted = yield ask_edges(budget.take(losses[2], EDGES))
        yield FINISH
        edges = self._edges(public, noisy, said, int(counted[0]))
        counts = closest(said, _block_pairs(groups), edges)
        blocks = np.zeros((many, many), dtype=np.int64)
        blocks[np.triu_indices(many)] = counts
        ends = blocks.sum(axis=0) + blocks.sum(axis=1)
        model = BlockModel(_deal_degrees(expected, groups, ends, public), groups, blocks)
        return SyntheticGraph(public, model, moved=float(np.abs(counts - said).sum()))

    def _grouping(self, public: GraphPublic, noisy: Integers) -> tuple[Integers, Integers]:
        """Return the expected degrees, and the group of every node, from what was said."""
        expected = expected_degrees(noisy, float(self._degree_noise(public).scale))
        about = max(int(noisy.sum(dtype=np.float64)), 0) // 2
        cells = int(NOISE * about * self._losses[1].epsilon)  # type: ignore[union-attr]
        # As many groups as have so many blocks.
        many = (math.isqrt(1 + 8 * cells) - 1) // 2
        return expected, _equal_groups(expected, min(max(many, 1), self.groups))

    def _edges(self, public: GraphPublic, noisy: Integers, said: Integers, counted: int) -> int:
        """Return the number of edges, which degrees and blocks tell too, each by its noise."""
        degrees, blocks = self._degree_noise(public), noise_of(self._losses[1], said.shape, 1)
        return combine_estimates(
            [
                (float(counted), edge_noise(self._losses[2]).standard_deviation),
                (
                    float(said.sum(dtype=np.float64)),
                    blocks.standard_deviation * math.sqrt(len(said)),
                ),
                (
                    float(noisy.sum(dtype=np.float64)) / 2,
                    degrees.standard_deviation * math.sqrt(max(public.nodes, 1)) / 2,
                ),
            ],
            public,
        )


def _block_pairs(groups: Integers) -> Integers:
    """Return how many pairs of nodes there are inside and between groups."""
    size = np.bincount(groups, minlength=1)
    pairs = np.outer(size, size)
    np.fill_diagonal(pairs, size * (size - 1) // 2)
    return pairs[np.triu_indices(len(size))]


def _equal_groups(expected: Integers, many: int) -> Integers:
    """Return groups of nodes, by rising degree, with about equally many ends of edges each.

    Nodes of the same expected degree are in the same group, and no group is empty.
    """
    values, kind, nodes = np.unique(expected, return_inverse=True, return_counts=True)
    # The 1 keeps nodes without edges apart from nothing at all.
    ends = (values + 1) * nodes
    middle = 2 * np.cumsum(ends) - ends
    group = middle * many // max(2 * int(ends.sum()), 1)
    return np.asarray(np.unique(group, return_inverse=True)[1][kind], dtype=np.int64)


def _deal_degrees(
    expected: Integers, groups: Integers, ends: Integers, public: GraphPublic
) -> Integers:
    """Return degrees that add up to the ends of each group, in proportion to those expected."""
    degrees = np.zeros(len(expected), dtype=np.int64)
    most = max(public.nodes - 1, 0)
    for group, total in enumerate(ends.tolist()):
        members = np.flatnonzero(groups == group)
        members = members[np.argsort(expected[members], kind="stable")]
        parts = shares(expected[members] + 1, total)
        degrees[members] = closest(parts, most, total)
    return degrees


# The degrees that noisy ones most likely stand for.
#
# Post-processing: nothing here may see a private value. Of many nodes the noise is known and the
# distribution of the degrees can be told from the noisy ones; then each node's degree can be
# guessed much better than its noisy one tells.


#: Expected degrees are told in parts of this many to the whole.
UNIT = 256
#: Rounds of expectation and maximisation; further ones fit the noise.
ROUNDS = 60


def expected_degrees(noisy: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Return the expected degree of every node given its noisy one, in 256ths.

    Parameters
    ----------
    noisy
        Degrees plus two-sided geometric noise; all degrees lie between 0 and n − 1.
    scale
        The scale of the noise: P(x) ∝ exp(−|x|/scale).

    Notes
    -----
    The distribution of the degrees is the one under which the noisy ones are most likely, found by
    expectation and maximisation from the uniform one. A noisy degree outside 0 … n − 1 says as
    much as the nearest end does. A larger noisy degree never has a smaller expectation.
    """
    from sfumato.graph.denoising_kernels import expectations

    if len(noisy) == 0:
        return np.zeros(0, dtype=np.int64)
    within = np.clip(noisy, 0, len(noisy) - 1)
    # The last digit of a library's exponential is the machine's; groups are made of what follows,
    # and whoever verifies a release must find the same ones. All else is + − × ÷, in fixed order.
    ratio = float(exp_up(Fraction(-1 / scale)))
    expected = expectations(np.bincount(within), ratio, ROUNDS)
    parts: NDArray[np.int64] = np.rint(expected * UNIT).astype(np.int64)
    return parts[within]
