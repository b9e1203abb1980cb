"""A method that releases a synthetic table of the simplest kind: one noisy table of everything."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.data.table import Table
from sfumato.data.table_queries import Marginal
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.loss import PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import Ask
from sfumato.tabular.model import Network, Part
from sfumato.tabular.synthetic import NoisyTable, SyntheticTable


class FixedModel:
    """A joint distribution, with whatever network it is said to have."""

    def __init__(self, joint, network=None):
        self.joint = np.asarray(joint, dtype=np.float64) / np.sum(joint)
        columns = tuple(range(self.joint.ndim))
        self.network = network or Network(False, (Part(columns, (0,) * len(columns)),))

    @property
    def sizes(self):
        return self.joint.shape

    def marginal(self, columns):
        gone = tuple(axis for axis in range(self.joint.ndim) if axis not in columns)
        kept = sorted(columns)
        table = self.joint.sum(axis=gone)
        return np.transpose(table, [kept.index(column) for column in columns])

    def draw(self, rows, generator):
        cells = np.cumsum(self.joint.ravel())
        drawn = np.searchsorted(cells, generator.random(rows) * cells[-1], side="right")
        return np.column_stack(np.unravel_index(drawn, self.joint.shape)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class FixedSynthesis(Method[Table, SyntheticTable]):
    """Release rows drawn from one noisy table over all columns."""

    kind: ClassVar[str] = "table"
    proof: ClassVar[str] = "marginals.md"

    def noise(self, public):
        limit, _ = self.record_budget(public)
        assert isinstance(limit, PureDP)
        return GeometricNoise(shape=public.sizes, sensitivity=1, epsilon=limit.epsilon)

    def plan(self, public):
        return Plan(method=self.name, guarantee=self.guarantee(public), steps=(), notes=())

    def program(self, public, budget):
        query = Marginal(tuple(range(len(public.sizes))))
        told = yield Ask(budget, self.noise(public), query, "everything")
        noisy = told.astype(np.float64)
        total = max(float(noisy.sum()), 1.0)
        columns = tuple(range(noisy.ndim))
        deviation = self.noise(public).standard_deviation
        measured = NoisyTable("everything", columns, (0,) * noisy.ndim, noisy.size, deviation)
        model = FixedModel(np.maximum(noisy, 0.0) + 1e-9)
        return SyntheticTable(public, model, total, [measured])
