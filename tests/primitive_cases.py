"""One case for every primitive: two neighbouring inputs, and what is said that tells them apart.

A case is exact: the loss comes from the primitive's own law, at outputs that an auditor would
force. The loss must stay within the price, and it must exceed half of it. So the mutant that keeps
the law and asks half the price, which is the primitive with half of its noise, is caught on the
same case. A primitive that promises nothing (a published variant) must exceed its own claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.graph.noisy_ls import NoisyLocalSensitivity, NoisyLSInput
from sfumato.mechanisms.bingham import BinghamDirection
from sfumato.mechanisms.bingham_chain import BinghamChain
from sfumato.mechanisms.bit_response import RandomizedBits
from sfumato.mechanisms.choose import Choose, ChooseSeveral
from sfumato.mechanisms.deep_point import DeepPoint
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.knorm import KNormNoise
from sfumato.mechanisms.ladder import LadderInput, LadderNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.local_hadamard import HadamardResponseLaw
from sfumato.mechanisms.local_hash import HashResponse
from sfumato.mechanisms.local_matrix import MatrixResponseLaw
from sfumato.mechanisms.local_number import BitOfNumber, PlaceOfNumber
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.mechanisms.normal import NormalNoise
from sfumato.mechanisms.normal_steps import NormalSteps
from sfumato.mechanisms.objective import Examples, ObjectivePerturbation
from sfumato.mechanisms.one_question import OneQuestion
from sfumato.mechanisms.pair_response import RandomizedPairs
from sfumato.mechanisms.partition import DyadicPartition
from sfumato.mechanisms.partition_selection import FrequentValues, ValueCounts
from sfumato.mechanisms.privtree import Frontier, TreeSplits
from sfumato.mechanisms.quantile import IntervalQuantile
from sfumato.mechanisms.randomized import Randomized
from sfumato.mechanisms.residual import Answered, ResidualPerturbation
from sfumato.mechanisms.signed_vector import SignedVector
from sfumato.mechanisms.smooth import SmoothCauchy, SmoothInput, SmoothLaplace
from sfumato.mechanisms.sparse_vector import AboveThreshold
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, PureDP, Unpriced
from sfumato.privacy.primitive import Primitive, StatefulPrimitive
from sfumato.published.degree_correlation import OccupiedBins
from sfumato.published.gwas_selection import DisclosedSites
from sfumato.published.privbayes import DisclosedCount
from sfumato.published.queries import GapVector, OccupiedInput, PublishedInput
from sfumato.published.randomized_response import PrintedCollection
from sfumato.published.robust_regression import PublishedStatistics
from sfumato.published.spectral_analysis import GapNoise, LowRankChain

ONE = Fraction(1)
NONE = np.zeros((0, 1), dtype=np.int64)


def whole(*entries: Any) -> Any:
    return np.array(entries, dtype=np.int64)


@dataclass(frozen=True)
class Case:
    """A primitive on two neighbouring inputs.

    Parameters
    ----------
    primitive
        The primitive.
    here, there
        Two inputs that its declaration allows; lists of inputs for a stateful one.
    said
        Outputs to force besides its own extremes; lists of outputs for a stateful one.
    """

    primitive: Primitive | StatefulPrimitive
    here: Any
    there: Any
    said: Sequence[Any] = ()

    def price(self) -> float:
        """Return what the primitive asks, as ε, or as ρ where its noise is Gaussian."""
        if isinstance(self.primitive, GaussianNoise):
            return float(self.primitive.cost(ZCDP).rho)
        if isinstance(self.primitive, NormalNoise | NormalSteps):
            return float(self.primitive.cost(GDP).mu_squared / 2)
        try:
            return float(self.primitive.cost(PureDP).epsilon)
        except Unpriced:
            return float(self.primitive.cost(ApproxDP).epsilon)

    def loss(self) -> float:
        """Return the largest exact loss, either way, over all forced outputs."""
        own = self.primitive
        if isinstance(own, GaussianNoise | NormalNoise | NormalSteps):
            return own.concentrated_loss(self.here, self.there)
        forced = list(self.said)
        if isinstance(own, Primitive):
            forced += [*own.extremes(self.here, self.there), *own.extremes(self.there, self.here)]
        laws = [[own.log_probability(side, output) for side in self.sides] for output in forced]
        possible = [(here, there) for here, there in laws if max(here, there) > -np.inf]
        return max(abs(here - there) for here, there in possible)

    @property
    def sides(self) -> tuple[Any, Any]:
        return self.here, self.there


def _splits(*scores: int) -> list[Frontier]:
    """Return a chain of nodes, each the first child of the one before."""
    return [
        Frontier(
            parents=np.zeros(1 if level == 0 else 2, dtype=np.int64),
            scores=whole(score) if level == 0 else whole(score, 0),
        )
        for level, score in enumerate(scores)
    ]


def _grid(half: int) -> list[Any]:
    return [whole(x, y) for x in range(-half, half + 1) for y in range(-half, half + 1)]


CASES = [
    Case(
        GeometricNoise(shape=(2,), sensitivity=ONE, epsilon=ONE),
        whole(3, 0),
        whole(4, 0),
    ),
    Case(
        GaussianNoise(shape=(1,), squared_sensitivity=ONE, rho=ONE),
        whole(3),
        whole(4),
    ),
    Case(
        NormalNoise(shape=(1,), squared_sensitivity=ONE, mu_squared=ONE),
        whole(3),
        whole(4),
    ),
    Case(
        NormalSteps(lengths=(1, 1), squared_sensitivity=ONE, mu_squared=ONE),
        [whole(3), whole(0)],
        [whole(4), whole(0)],
    ),
    Case(
        KNormNoise(dimension=2, sensitivity=ONE, epsilon=ONE),
        np.array([0.0, 0.0]),
        np.array([1.0, 0.0]),
    ),
    Case(
        Choose(candidates=2, sensitivity=ONE, epsilon=ONE, monotone=True),
        whole(0, 0),
        whole(-1, 0),
    ),
    Case(
        ChooseSeveral(candidates=8, count=2, sensitivity=ONE, epsilon=ONE, monotone=True),
        whole(-1, -1, -1, -20, -1, -1, -1, -20),
        whole(0, 0, 0, -20, 0, 0, 0, -20),
    ),
    Case(
        IntervalQuantile(
            low=0, high=9, quantile=Fraction(1, 2), epsilon=ONE, relation=Relation.ADD_REMOVE
        ),
        whole(*[0] * 20),
        whole(*[0] * 20, 9),
        said=range(10),
    ),
    Case(
        DyadicPartition(cells=16, sensitivity=ONE, epsilon=Fraction(1, 4)),
        whole(1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1),
        whole(1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1),
    ),
    Case(
        FrequentValues(epsilon=ONE, reach=10, longest=9, relation=Relation.ADD_REMOVE),
        ValueCounts(["a", "b"], whole(30, 3)),
        ValueCounts(["b", "a"], whole(3, 31)),
    ),
    Case(
        DeepPoint(points=40, dimension=1, bound=64, moved=1, epsilon=ONE, delta=Fraction(0)),
        np.zeros((40, 1), dtype=np.int64),
        np.concatenate([np.zeros((39, 1), dtype=np.int64), [[64]]]),
    ),
    Case(
        LadderNoise(epsilon=ONE, cap=5),
        LadderInput(0, (1, 2, 3)),
        LadderInput(1, (2, 3, 4)),
        said=range(-30, 31),
    ),
    Case(
        SmoothCauchy(epsilon=ONE, grid_exponent=0),
        SmoothInput(0, Fraction(20)),
        SmoothInput(20, Fraction(32)),
        said=range(-200, 201),
    ),
    Case(
        SmoothLaplace(epsilon=ONE, delta=Fraction(1, 100), dimension=1, grid_exponent=0),
        SmoothInput((0,), Fraction(100)),
        SmoothInput((100,), Fraction(110)),
        said=[np.array([at], dtype=object) for at in range(-600, 601, 50)],
    ),
    Case(
        SignedVector(dimension=2, radius=5, sensitivity=3, epsilon=ONE),
        whole(3, 2),
        whole(-2, -4),
        said=_grid(40),
    ),
    Case(
        AboveThreshold(threshold=0, sensitivity=1, positives=1, epsilon=ONE),
        [0] * 40 + [1],
        [1] * 40 + [0],
        said=[[False] * 40 + [True]],
    ),
    Case(
        TreeSplits(epsilon=ONE, fan_out=2, levels=12),
        _splits(*[0] * 12),
        _splits(*[1] * 12),
        said=[
            [np.array([True] if level == 0 else [True, False]) for level in range(12)],
        ],
    ),
    Case(
        ObjectivePerturbation(
            dimension=1,
            strength=Fraction(759111794967, 10**11),
            width=Fraction(1, 2),
            noise=Fraction(693, 800),
            settling=Fraction(1, 100),
            relation=Relation.ADD_REMOVE,
        ),
        Examples(places=np.array([[0]]), values=np.array([[65536]]), weights=whole(1), dimension=1),
        Examples(places=NONE, values=NONE, weights=whole(), dimension=1),
    ),
    Case(
        ResidualPerturbation(
            dimension=1,
            strength=Fraction(759111794967, 10**11),
            width=Fraction(1, 2),
            noise=Fraction(693, 800),
            settling=Fraction(1, 100),
            relation=Relation.ADD_REMOVE,
        ),
        Answered.of(np.array([[65536]]), np.array([65536])),
        Answered.of(NONE, whole()),
    ),
    Case(
        BinghamDirection(dimension=3, sensitivity=ONE, epsilon=Fraction(9, 20), adjacency=True),
        np.zeros((3, 3), dtype=np.int64),
        np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
    ),
    Case(
        NoisyLocalSensitivity(epsilon=ONE, delta=Fraction(1, 20), nodes=60, shape="star", size=2),
        NoisyLSInput(400, 40, 30),
        NoisyLSInput(361, 39, 29),
        said=[whole(*at) for at in ((40, 460), (41, 420), (30, 460), (60, 300))],
    ),
    Case(Randomized(answers=3, epsilon=ONE), 0, 1),
    Case(RandomizedBits(bits=3, epsilon=ONE), whole(0, 1, 0) > 0, whole(0, 1, 1) > 0),
    Case(RandomizedPairs(nodes=5, epsilon=ONE), whole(), whole(0)),
    Case(
        OneQuestion(
            answers=(2, 3),
            responses=("randomised response", "randomised response"),
            set_sizes=(0, 0),
            epsilon=ONE,
        ),
        (0, 0),
        (1, 2),
    ),
    Case(UnaryResponse(answers=3, epsilon=ONE), 0, 1),
    Case(HashResponse(answers=3, epsilon=ONE), 0, 1),
    Case(SubsetResponse(answers=3, epsilon=ONE, size=1), 0, 1),
    Case(HadamardResponseLaw(answers=3, epsilon=ONE), 0, 1),
    Case(
        MatrixResponseLaw(answers=2, epsilon=ONE, weights=((2**63, 2**63), (2**62, 3 * 2**62))),
        0,
        1,
    ),
    Case(BitOfNumber(answers=8, epsilon=ONE), 0, 8),
    Case(PlaceOfNumber(answers=8, epsilon=ONE, window=4), 0, 8),
]

#: Kept to be compared with and refuted: what each claims is exceeded on its case.
UNPROVED = [
    Case(
        OccupiedBins(nodes=2, degrees=1, epsilon=ONE, delta=Fraction(0)),
        OccupiedInput(((1,),), (3,), Fraction(2)),
        OccupiedInput((), (), Fraction(2)),
        said=[(np.array([[1]]), np.array([3], dtype=object))],
    ),
    Case(
        GapNoise(dimension=2, radius=100, epsilon=ONE),
        GapVector(whole(100, 0), Fraction(30)),
        GapVector(whole(100, 0), Fraction(60)),
    ),
    Case(PrintedCollection(nodes=4, epsilon=ONE), whole(), whole(0)),
    Case(
        LowRankChain(nodes=3, count=1, epsilon=Fraction(5), sweeps=1),
        np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]),
        np.zeros((3, 3), dtype=np.int64),
    ),
    Case(
        PublishedStatistics(dimension=0, epsilon=ONE),
        PublishedInput((0.0,), (1.0,), (0.5, 0.0, 1.0)),
        PublishedInput((0.0,), (1.0,), (0.25, 0.0, 1.0)),
        said=[(np.array([0.0]), np.array([0.5, 0.0, 1.0]))],
    ),
    Case(DisclosedCount(), whole(3), whole(4), said=[whole(3)]),
    Case(DisclosedSites(candidates=2, count=1), whole(3, 4), whole(4, 3), said=[whole(1)]),
]

#: Its law keeps the price; what is not proved is that a chain that is stopped has this law.
STOPPED_CHAIN = BinghamChain
