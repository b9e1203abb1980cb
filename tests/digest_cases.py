"""What the table of digests holds: every method, each way it works, on small fixed data.

A key reads `Method/way/relation/loss/unit`. Keys stay when parameters are renamed: only the options
below follow. A case that a method refuses is written down as refused, so that nothing is left out
by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from sfumato.catalogue import METHODS
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.privacy.parameters import OneOf
from sfumato.privacy.registry import resolve
from tests.genomics import made as studies
from tests.graph import graphs
from tests.local.test_survey_answers import AGE, SMOKING, STRESS, answers_to
from tests.regression import made as linear
from tests.sequence import made as strings
from tests.spatial import grid_suite
from tests.tabular import tables

EPSILON = "3"
DELTA = "1/1000"


@dataclass(frozen=True)
class Way:
    """One way in which a method works: its options, and the data it is tried on."""

    options: dict[str, Any]
    #: The name of the data; by default that of the method's kind.
    data: str | None = None
    #: To how many digits floats are the same on all processors.
    digits: int = 9


def way(data: str | None = None, /, **options: Any) -> Way:
    return Way(options, data)


#: The relations, and how many records of one person count: where a person is replaced, one.
RELATIONS = {"add-remove": ("add_remove", 3), "replace-one": ("replace_one", 1)}
#: The records of one person, who has more of them than are let in.
CROWD = 5


def _declared(unit: str, relation: str, most: str, who: Any) -> dict[str, Any]:
    """Return the options with which data of each kind are declared."""
    written, records = RELATIONS[relation]
    persons = {"unit": "person", "person": who, most: records} if unit == "person" else {}
    return {"relation": written, **persons}


def _table(unit: str, relation: str) -> Any:
    rows = [*tables.made(60), *[(99, "blue", 40, True)] * CROWD]
    return tables.table(rows, **_declared(unit, relation, "max_rows", "who"))


def _linear(unit: str, relation: str) -> Any:
    rows = [*linear.made(300), *[linear.HIGH] * CROWD]
    frame = linear.frame(rows).with_columns(
        pl.Series("who", [*np.arange(300) // 2, *[999] * CROWD])
    )
    return Table(frame, linear.schema(**_declared(unit, relation, "max_rows", "who")))


def _numbers(unit: str, relation: str) -> Any:
    """Return a table of numbers with many values, for bins that are chosen in private."""
    incomes = np.minimum(np.random.default_rng(0).geometric(0.2, 60) - 1, 39)
    frame = pl.DataFrame(
        {
            "who": [*np.arange(60) // 2, *[99] * CROWD],
            "income": [
                *(None if n % 10 == 9 else int(i) for n, i in enumerate(incomes)),
                *[39] * 5,
            ],
            "left": [*(bool(income > 3) for income in incomes), *[False] * CROWD],
        }
    )
    columns = {
        "income": {"kind": "integer", "low": 0, "high": 39, "missing": "code"},
        "left": [False, True],
    }
    return Table(frame, Schema.from_dict(columns, **_declared(unit, relation, "max_rows", "who")))


def _points(unit: str, relation: str) -> Any:
    values = np.concatenate([grid_suite.made(60), [[0.9, 5.0]] * CROWD])
    who = np.array([*np.arange(60) // 2, *[99] * CROWD])
    return grid_suite.points(values, **_declared(unit, relation, "max_points", who))


def _sequences(unit: str, relation: str) -> Any:
    texts = [*strings.made(60), *["bba"] * CROWD]
    owners = [f"p{row // 2}" for row in range(60)] + ["new"] * CROWD
    return strings.sequences(texts, **_declared(unit, relation, "max_sequences", owners))


def _small_graph(unit: str, relation: str) -> Any:
    """Return a graph without symmetry, whose eigenvectors libraries do not mix."""
    return graphs.graph(6, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (4, 5)])


def _graph(unit: str, relation: str) -> Any:
    """Return the graph that is hard for ladders, with five nodes that are all joined."""
    nodes, edges, _ = graphs.crossed(4)
    return graphs.graph(nodes + 4, edges | set(combinations(range(nodes - 1, nodes + 4), 2)))


def _genotypes(unit: str, relation: str) -> Any:
    return studies.study() if relation == "add-remove" else studies.replaced_study()


def _numbers_study(unit: str, relation: str) -> Any:
    return studies.study(numbers=True, relation=RELATIONS[relation][0])


#: The data of each kind, and the units it is declared with; the first is that of a record.
DATA: dict[str, tuple[Callable[[str, str], Any], tuple[str, ...], tuple[str, ...]]] = {
    "table": (_table, tuple(RELATIONS), ("row", "person")),
    "linear": (_linear, tuple(RELATIONS), ("row", "person")),
    "numbers": (_numbers, tuple(RELATIONS), ("row", "person")),
    "points": (_points, tuple(RELATIONS), ("point", "person")),
    "sequences": (_sequences, tuple(RELATIONS), ("sequence", "person")),
    "graph": (_graph, ("add-remove",), ("edge",)),
    "genotypes": (_genotypes, tuple(RELATIONS), ("participant",)),
    "numbers study": (_numbers_study, tuple(RELATIONS), ("participant",)),
    "small graph": (_small_graph, ("add-remove",), ("edge",)),
}

ANSWERS = ["yes", "no", "unsure"]
MANY = np.arange(24) % 3
ITEMS = {"smokes": ["yes", "no"], "age": ["young", "middle", "old"]}
#: What clients say: one alone, and many at once where a method takes them together.
CLIENTS: dict[str, dict[str, Any]] = {
    "report": {"client": "no", "clients": MANY},
    "number": {"client": 0.3, "clients": np.arange(24) / 23},
    "record": {
        "client": {"smokes": "no", "age": "middle"},
        "clients": np.stack([MANY % 2, MANY], axis=1),
    },
    "respondent": {"client": {"smoking": "daily", "stress": "yes", "age": 41}},
    "neighbours": {"client": (2, [0, 1, 5])},
}
QUESTIONS = [{}, {"colour": "blue"}, {"left": "true", "colour": ["red", "blue"]}]

SURVEY = answers_to(
    SMOKING, STRESS, {**AGE, "design": "MeanResponse"}, epsilon=EPSILON
).parameters()
MATRIX = [["0.4", "0.1", "0.2"], ["0.3", "0.6", "0.2"], ["0.3", "0.3", "0.6"]]
CLASSES = {"target": "left", "positive": ["true"]}
COST = {"target": "cost"}
BOUNDED = {**COST, "response": "declared", "features": "declared", "bound": 3}
#: The shapes that are counted, and the mechanisms that not all of them have.
SHAPES: dict[tuple[str, int | None], tuple[str, ...]] = {
    ("triangle", None): ("smooth", "recursive"),
    ("star", 2): ("smooth", "recursive"),
    ("star", 3): ("smooth",),
    ("clique", 4): ("recursive",),
    ("k-triangle", 2): (),
    ("k-triangle", 3): (),
}
PUBLISHED = {"variant": "published", "accept_unproven": True}


def _linear_ways(**more: Way) -> dict[str, Way]:
    """Return the ways that all linear regressions have, and their own."""
    return {
        "default": way("linear", **COST),
        "declared": way("linear", **BOUNDED, rows="clip"),
        "places": way("linear", **BOUNDED, categories="places", intercept=False),
        "paid": way("linear", **COST, response="paid", features="paid"),
        **more,
    }


def _binned(**options: Any) -> dict[str, Way]:
    """Return the ways in which numbers are put into bins."""
    return {
        "bins-declared": way("numbers", binner="declared", **options),
        **{
            f"bins-{binner}": way("numbers", binner=binner, bins=8, bins_share="1/3", **options)
            for binner in ("auto", "uniform", "quantile", "privtree")
        },
    }


#: Methods by their names in the catalogue, and the ways in which they work. A method that is not
#: listed is tried with its example, and with each choice that a parameter of it offers.
WAYS: dict[str, dict[str, Way]] = {
    "genotypes.Association": {
        "default": way(),
        "trend": way(test="trend"),
        "statistic": way(measure="statistic", test="trend"),
        "numbers": way("numbers study"),
    },
    "genotypes.TopSNPs": {
        "default": way(count=2),
        "distance": way(count=2, score="distance"),
        "chi_squared": way(count=2, score="chi_squared"),
        "difference": way(count=2, score="difference"),
        "published": way(count=2, **PUBLISHED),
    },
    "graph.ClusteredGraph": {"default": way(), "few": way(triangle_share="1/10")},
    "graph.DKGraph": {
        "1-sorted": way(order=1, mechanism="sorted"),
        "1-histogram": way(order=1, mechanism="histogram", cap=8),
        "1-published": way(order=1, **PUBLISHED),
        "2-grouped": way(mechanism="grouped", groups=3, degree_share="1/2"),
        "2-smooth": way(mechanism="smooth"),
        "2-published": way(order=2, **PUBLISHED),
        "3-smooth": way(order=3),
        "default": way(),
    },
    "graph.DegreeSequence": {"default": way()},
    "graph.GraphCollection": {
        "default": way(),
        "laplace": way(mechanism="laplace"),
        "published": way(**PUBLISHED),
    },
    "graph.GraphStatistic": {
        "clustering-of-a-node": way(
            expression="share(triangles(v), choose2(degree(v)))",
            node=0,
            split="optimal",
            guess={"triangles(0)": 4, "degree(0)": 6},
        ),
        "degree-over-edges": way(expression="degree(v) / edges", node=0),
        "modularity": way(expression="modularity", groups=[0] * 8 + [1] * 8, between=(-0.5, 1)),
        "square": way(expression="edges ** 2"),
        "transitivity": way(expression="transitivity"),
        "transitivity-smooth": way(expression="transitivity", mechanism="smooth"),
        "triangles": way(expression="triangles", standard_error=True),
    },
    "graph.GraphSummary": {"default": way(), "few": way(triangle_share="1/10")},
    "graph.KroneckerGraph": {"default": way(), "power": way(triangle_share="1/10", size="power")},
    "graph.Spectrum": {
        "default": way(),
        "edges": way(k=3, edge_share="1/5"),
        "eigenvalues": way(mechanism="eigenvalues"),
        "laplace": way(mechanism="laplace"),
        "lnpp": way(mechanism="lnpp", k=2),
        "lnpp-global": way(mechanism="lnpp", k=2, variant="global"),
        "lnpp-ptr": way(mechanism="lnpp", k=2, variant="ptr"),
        "lnpp-published": way(mechanism="lnpp", k=2, **PUBLISHED),
        "response": way(mechanism="response", k=3),
        "sbmf": way("small graph", mechanism="sbmf", k=2),
        "sbmf-gibbs": way(
            "small graph", mechanism="sbmf", k=2, variant="gibbs", accept_unproven=True, epsilon=50
        ),
        "sbmf-published": way("small graph", mechanism="sbmf", k=2, epsilon=50, **PUBLISHED),
    },
    "graph.SubgraphCount": {
        **{
            f"{shape}{k or ''}-{mechanism}": way(shape=shape, k=k, mechanism=mechanism)
            for (shape, k), own in SHAPES.items()
            for mechanism in ("auto", "ladder", "laplace", "noisy-ls", *own)
        },
        "clique4-paper": way(shape="clique", k=4, rungs="paper"),
        "k-triangle3-published": way(shape="k-triangle", k=3, **PUBLISHED),
        "triangle-smooth-published": way(mechanism="smooth", variant="published"),
        "star2-noisy-ls-published": way(shape="star", k=2, mechanism="noisy-ls", **PUBLISHED),
    },
    "neighbours.EdgeResponse": {"default": way(nodes=6)},
    "number.MeanResponse": {"default": way(low=0, high=1), "coarse": way(low=0, high=1, steps=8)},
    "number.PiecewiseMean": {"default": way(low=0, high=1), "coarse": way(low=0, high=1, steps=8)},
    "points.AdaptiveGrid": {"default": way(), "declared": way(cells=[2, 1], coarse_share="1/3")},
    "points.DAWA": {"default": way(), "declared": way(cells=4, partition_share="1/2")},
    "points.HierarchicalGrid": {
        "deep": way(fan_out=3, levels=3),
        "declared": way(fan_out=2, levels=2),
    },
    "points.PrivTree": {
        "default": way(),
        "binary": way(fan_out=2, levels=6, threshold=2),
        "published": way(tree_share="1/2", threshold=0, variant="paper", counts="leaves"),
    },
    "points.Privelet": {"declared": way(cells=[4, 2]), "square": way(cells=16)},
    "points.SimpleTree": {
        "default": way(),
        "binary": way(levels=4, fan_out=2),
        "whole": way(levels=3, threshold=-(2**40)),
    },
    "points.UniformGrid": {"default": way(), "declared": way(cells=[3, 4])},
    "record.MultiResponse": {
        "default": way(questions=ITEMS),
        "joint": way(questions=ITEMS, how="joint", design="RandomizedResponse"),
        "sample": way(questions=ITEMS, how="sample", design="UnaryEncoding"),
        "split": way(questions=ITEMS, how="split", design="SubsetSelection"),
        "split-hash": way(questions=ITEMS, how="split", design="LocalHash"),
        "tables": way(questions=ITEMS, tables=True),
    },
    "report.HadamardResponse": {"default": way(answers=ANSWERS)},
    "report.LaplaceResponse": {"default": way(answers=ANSWERS)},
    "report.LocalHash": {"default": way(answers=ANSWERS)},
    "report.MatrixResponse": {"default": way(answers=ANSWERS, matrix_rows=MATRIX)},
    "report.RandomizedResponse": {"default": way(answers=ANSWERS)},
    "report.SubsetSelection": {
        "default": way(answers=ANSWERS),
        "two": way(answers=ANSWERS, size=2),
    },
    "report.UnaryEncoding": {
        "default": way(answers=ANSWERS),
        "symmetric": way(answers=ANSWERS, symmetric=True),
    },
    "respondent.SurveyAnswers": {"default": way(**SURVEY)},
    "sequences.NGram": {"default": way(largest_limit=16), "declared": way(longest=4, grams=3)},
    "sequences.SuffixTree": {
        "default": way(largest_limit=16),
        "declared": way(longest=4, levels=2, threshold=2),
        "published": way(longest=4, variant="paper", repair="clip", tree_share="1/2"),
    },
    "sequences.TopStrings": {
        "default": way(largest_limit=8, strings=5),
        "declared": way(longest=4, strings=3),
    },
    "table.AIM": {"default": way(rounds=4), "pairs": way(ways=2, rounds=2)},
    "table.AdaSSP": _linear_ways(paper=way("linear", **BOUNDED, variant="paper")),
    "table.BoostedAdaSSP": _linear_ways(few=way("linear", **BOUNDED, rounds=2)),
    "table.Contingency": {
        "default": way(),
        "marginal": way(repair="marginal"),
        "table": way(repair="table"),
    },
    "table.Fourier": {
        "default": way(),
        "clip": way(ways=1, repair="clip"),
        "consistent": way(ways=3, repair="consistent"),
    },
    "table.FunctionalRegression": {
        "default": way(**CLASSES),
        "linear": way("linear", target="age", categories="places", intercept=False),
        "plain": way(**CLASSES, add_ridge=False),
        "sensitive": way(**CLASSES, sensitive=["size"], ratio="1/2"),
    },
    "table.Histogram": {
        "default": way(),
        "some": way(columns=["left", "colour"], repair="clip"),
    },
    "table.Independent": {
        "default": way(),
        "equal": way(split="equal", repair="clip"),
        **_binned(),
    },
    "table.KNormRegression": _linear_ways(
        matrix=way("linear", **BOUNDED, moments="matrix"),
        trace=way("linear", **BOUNDED, moments="trace"),
    ),
    "table.LinearRegression": {
        "default": way("linear", **COST),
        "declared": way("linear", **BOUNDED, rows="clip", categories="places"),
        "order": way("linear", **COST, goal="order", response="paid", features="paid"),
        "weigh": way("linear", **BOUNDED, rows="weigh"),
    },
    "table.MST": {"default": way()},
    "table.MWEM": {
        "default": way(rounds=3),
        "average": way(rounds=2, selection_share="1/5", answer="average", ways=1),
    },
    "table.Majority": {"default": way(**CLASSES)},
    "table.ManyResponses": {
        "default": way("linear", targets=["age", "cost"]),
        "paid": way("linear", targets=["age", "cost"], features="paid", categories="places"),
    },
    "table.Marginals": {
        "default": way(),
        "clip": way(ways=1, repair="clip"),
        "some": way(tables=[("colour", "left"), ("size",)]),
    },
    "table.ObjectiveRegression": _linear_ways(curved=way("linear", **BOUNDED, curvature="1/4")),
    "table.PrivBayes": {
        "default": way(),
        "theta": way(theta=2),
        "score-I": way(score="I", cells=8, network_share="1/5"),
        "score-F": way(score="F", encoding="binary", degree=1),
        "score-R": way(score="R", cells=24),
        "gray": way(encoding="gray", degree=1, repair="clip"),
        "vanilla": way(encoding="vanilla", cells=8, repair="consistent"),
        "project": way(cells=8, repair="project"),
        "graphical": way(cells=8, repair="graphical"),
        "published": way(variant="published", encoding="binary", degree=1),
        "published-unproven": way(**PUBLISHED),
        **_binned(cells=64),
    },
    "table.PrivGene": {"default": way(**CLASSES, rounds=3, population=12, parents=2)},
    "table.PrivateERM": {
        "default": way(**CLASSES),
        "larger": way(**CLASSES, variant="larger"),
        "paper": way(**CLASSES, variant="paper"),
        "tuned": way(**CLASSES, tune=[1, "1/100"]),
    },
    "table.Questions": {"default": way(questions=3)},
    "table.RobustLinearRegression": _linear_ways(
        fixed=way("linear", **BOUNDED, clip=1, moment_shares=["0.3", "0.6", "0.1"], engine="fixed"),
        # Between processors the floats of this chain differ from the tenth digit on.
        gibbs=Way({**BOUNDED, "engine": "gibbs", "rows": "unit"}, "linear", digits=5),
        published=way("linear", **BOUNDED, **PUBLISHED),
        seed=way("linear", **BOUNDED, calibration="seed", rows="weigh"),
    ),
    "table.Synthesizer": {
        "default": way(),
        "few": way(rounds=2),
        "gaussian": way(rounds=2, noise="gaussian"),
        "focus": way(focus=[("colour", "size")], target="size"),
        **_binned(rounds=1),
    },
    "table.TableStatistic": {
        "group": way(expression="total(size, colour, 'blue') / count(colour, 'blue')"),
        "mean": way(expression="total(size) / rows"),
        "power": way(expression="rows ** 2 / 100"),
        "share": way(expression="share(count(colour, 'red'), rows)"),
        "squares": way(expression="sum(counts('colour') ** 2)"),
    },
    "table.TukeyEM": {
        label: Way({**found.options, "epsilon": 60}, found.data)
        for label, found in _linear_ways(few=way("linear", **BOUNDED, batches=20)).items()
    },
}


def choices(item: Any) -> tuple[Any, ...]:
    """Return the options that the constraint of a parameter names, if it names them."""
    constraint = item.metadata["constraint"]
    constraint = getattr(constraint, "inner", constraint)
    return tuple(constraint.options) if isinstance(constraint, OneOf) else ()


def _example_ways(name: str) -> dict[str, Way]:
    """Return the example that the class of a method declares, and its other choices."""
    kind = resolve(name)
    public = None if kind.kind in CLIENTS else next(_places(kind.kind))[2]().public
    example = kind.example_method(EPSILON, public)
    given = {item.name: getattr(example, item.name) for item in fields(kind)}
    del given["epsilon"]
    others = {
        f"{item.name}-{choice}": way(**{**given, item.name: choice})
        for item in fields(kind)
        for choice in choices(item)
        if choice != given[item.name]
    }
    return {"default": way(**given), **others}


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    key: str
    name: str
    options: dict[str, Any] = field(repr=False)
    #: The data, or what clients say.
    data: Callable[[], Any] = field(repr=False)
    digits: int


@cache
def _data(kind: str, unit: str, relation: str) -> Any:
    return DATA[kind][0](unit, relation)


def _places(kind: str) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield every relation and unit of a kind of data, and the data."""
    if kind in CLIENTS:
        relation = "add-remove" if kind == "neighbours" else "replace-one"
        for unit, value in CLIENTS[kind].items():
            yield relation, unit, lambda value=value: value
        return
    _, relations, units = DATA[kind]
    for relation in relations:
        for unit in units:
            yield relation, unit, lambda unit=unit, relation=relation: _data(kind, unit, relation)


def cases(name: str) -> list[Case]:
    """Return all cases of a method."""
    kind, _, short = name.partition(".")
    losses = {"pure": {}}
    if "delta" in {item.name for item in fields(resolve(name))}:
        losses["delta"] = {"delta": DELTA}
    return [
        Case(
            f"{short}/{label}/{relation}/{loss}/{unit}",
            name,
            {"epsilon": EPSILON, **chosen.options, **more},
            data,
            chosen.digits,
        )
        for label, chosen in WAYS[name].items()
        for relation, unit, data in _places(chosen.data or kind)
        for loss, more in losses.items()
    ]


WAYS |= {name: _example_ways(name) for name in METHODS if name not in WAYS}
