"""A plan states how much room a large release takes, whatever the method."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.audit.subjects import subject_of
from sfumato.catalogue import METHODS
from sfumato.data.graph_public import GraphPublic
from sfumato.data.points_public import PointsPublic
from sfumato.data.schema import Schema
from sfumato.data.sequences_public import SequencesPublic
from sfumato.data.table import Table
from sfumato.local.graph_collection import GraphCollection
from sfumato.local.unary import UnaryEncoding
from sfumato.privacy import door
from sfumato.privacy.plan import RATES, Size
from sfumato.regression.design import MOST_SUMS


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_what_it_is_made_of_or_why_it_is_small(name):
    subject = subject_of(name, epsilon="1")
    sizes = subject.method.plan(subject.public).sizes
    assert bool(sizes) != bool(subject.method.small)
    assert all(type(size.number) is int and size.what in RATES for size in sizes)
    assert not subject.method.plan(subject.public).size_note


def plane(rows_about=None):
    bounds = ((0.0, 1.0), (0.0, 1.0))
    return PointsPublic(
        names=("x", "y"),
        bounds=bounds,
        unit="point",
        relation="add_remove",
        rows_about=rows_about,
    )


def columns(*sizes, rows_about=None):
    kinds = {
        f"c{n}": {"kind": "integer", "low": 0, "high": size - 1} for n, size in enumerate(sizes)
    }
    return Table(
        pl.DataFrame({name: [] for name in kinds}), Schema.from_dict(kinds, rows_about=rows_about)
    ).public


def symbols(number):
    return SequencesPublic(alphabet=tuple(range(number)), unit="sequence", relation="add_remove")


def categories(number):
    values = [str(value) for value in range(number)]
    kinds = {
        "a": {"kind": "category", "values": values},
        "b": {"kind": "category", "values": ["n", "p"]},
        "y": {"kind": "number", "low": 0, "high": 1, "bins": 2},
    }
    return Table(pl.DataFrame({name: [] for name in kinds}), Schema.from_dict(kinds)).public


LARGE = [
    (sf.UniformGrid(epsilon=1, cells=2000), plane(), "4,000,000 grid cells take about 240 MB"),
    (sf.UniformGrid(epsilon=100, cells=None), plane(10**7), "grid cells"),
    (sf.Privelet(epsilon=1, cells=2048), plane(), "4,194,304 grid cells take about 252 MB"),
    (sf.DAWA(epsilon=1, cells=2048), plane(), "4,194,304 grid cells take about 252 MB"),
    (sf.HierarchicalGrid(epsilon=1, fan_out=45, levels=2), plane(), "4,102,650 grid cells"),
    (sf.AdaptiveGrid(epsilon=10), plane(10**7), "4,194,304 grid cells"),
    (sf.PrivTree(epsilon=100), plane(10**6), "4,194,304 grid cells"),
    (sf.SimpleTree(epsilon=1, levels=11, threshold=-10), plane(), "1,398,101 grid cells take"),
    (sf.SuffixTree(epsilon=1), symbols(2000), "4,006,002 pairs of symbols take about 40 MB"),
    (sf.NGram(epsilon=1), symbols(2000), "4,006,002 pairs of symbols take about 40 MB"),
    (sf.Contingency(epsilon=1), columns(2000, 2000), "4,000,000 model cells take about 8 MB"),
    (sf.MWEM(epsilon=1), columns(2000, 2000), "4,000,000 model cells take about 8 MB"),
    (
        sf.Independent(epsilon=1, binner="declared"),
        columns(10**6, 10**6),
        "2,000,000 declared values take",
    ),
    (sf.MST(epsilon=1), columns(*[2] * 30, rows_about=10**6), "30,000,000 synthetic values take"),
    (
        sf.PrivBayes(epsilon=1),
        columns(*[2] * 30, rows_about=10**6),
        "30,000,000 synthetic values take about 240 MB of files and 1.5 GB of memory",
    ),
    (sf.DegreeSequence(epsilon=1), GraphPublic(nodes=2**24), "16,777,216 nodes take about 50 MB"),
    (sf.DKGraph(epsilon=1, order=1), GraphPublic(nodes=2**24), "16,777,216 nodes take"),
    (sf.DKGraph(epsilon="1e-6"), GraphPublic(nodes=10**4), "16,777,216 edges take about 235 MB"),
    (sf.ClusteredGraph(epsilon=1), GraphPublic(nodes=2**23), "8,388,608 nodes take"),
    (sf.KroneckerGraph(epsilon=1), GraphPublic(nodes=2**23), "8,388,608 nodes take"),
    (sf.GraphSummary(epsilon=1), GraphPublic(nodes=2**23), "8,388,608 nodes take"),
    (sf.Spectrum(epsilon=1), GraphPublic(nodes=20_000), "199,990,000 pairs of nodes take"),
    (
        sf.Spectrum(epsilon=1, mechanism="laplace"),
        GraphPublic(nodes=4000),
        "7,998,000 noisy pairs take about 8 MB of files and 681 MB of memory",
    ),
    (GraphCollection(epsilon=1), GraphPublic(nodes=10_000), "49,995,000 collected pairs take"),
    (
        sf.FunctionalRegression(epsilon=1, target="y"),
        categories(2000),
        "sums take about 16 MB of files and 8",
    ),
    (sf.AdaSSP(epsilon=1, delta="1e-6", target="y"), categories(2000), "sums take about 16 MB"),
    (
        sf.PrivGene(epsilon=1, target="b", positive=["p"], population=10_000),
        categories(2000),
        "candidate weights take about 0 MB",
    ),
    (sf.Marginals(epsilon=1), columns(2000, 1000), "2,000,000 cells take about 160 MB"),
]


@pytest.mark.parametrize(("method", "public", "words"), LARGE, ids=lambda item: type(item).__name__)
def test_a_large_release_states_its_size_before_it_is_tried_out(method, public, words):
    plan = method.plan(public)
    assert words in plan.size_note and plan.notes[-1] == plan.size_note
    assert "of memory while they are released" in plan.size_note


def test_a_local_design_states_its_size():
    design = UnaryEncoding(epsilon=1, answers=2**23)
    assert "8,388,608 answers take" in design.plan(design.public).size_note


def test_what_hardly_counts_is_not_named(monkeypatch):
    plan = sf.DegreeSequence(epsilon=1).plan(GraphPublic(nodes=3))
    large = type(plan)(
        method=plan.method,
        guarantee=plan.guarantee,
        steps=plan.steps,
        sizes=(Size(10, "nodes"), Size(10**7, "cells"), Size(10**7, "edges")),
    )
    assert large.size_note.startswith("10,000,000 cells and 10,000,000 edges take about 940 MB")
    assert large.size_note.endswith(RATES["cells"].remedy)


@pytest.mark.parametrize(
    "method",
    [
        sf.FunctionalRegression(epsilon=1, target="y"),
        sf.LinearRegression(epsilon=1, target="y"),
        sf.ManyResponses(epsilon=1, targets=["y"]),
    ],
    ids=lambda method: type(method).__name__,
)
def test_too_many_features_are_refused_before_anything_is_booked(method):
    with pytest.raises(ValueError, match=f"products of two; at most {MOST_SUMS:,} are allowed"):
        door.prepare(method, categories(10_000))
