"""Hostile parameters are refused in words that name them, or do no harm; none comes too late.

The cases follow from the catalogue. The long version is `benchmarks/parameters.py`.
"""

import pytest

import sfumato as sf
from sfumato.catalogue import METHODS
from sfumato.data.graph_public import GraphPublic
from tests.fuzzing import LIMIT, _alarm
from tests.hostile_parameters import (
    VALUES,
    Case,
    Finding,
    Subject,
    cases,
    declaration_subjects,
    method_subject,
    method_subjects,
    try_case,
)

EVERY = 19
"""Of the cases of a subject, one in so many is tried; no number of values is a multiple of it."""


def findings(subject, every=1, first=0):
    """Return what is found in some of the cases of a subject."""
    found = []
    for case in cases([subject])[first::every]:
        try:
            with _alarm(LIMIT):
                try_case(case)
        except Finding as finding:
            found.append(f"{case.name}: {finding}")
    return found


def test_every_method_is_a_subject():
    assert [subject.name for subject in method_subjects()] == list(METHODS)
    # Every value is tried with some method.
    assert len(VALUES) % EVERY and len(METHODS) > 2 * EVERY


@pytest.mark.parametrize("name", METHODS)
def test_hostile_parameters_of_methods_are_refused_in_words_or_do_no_harm(name):
    found = findings(method_subject(name), EVERY, list(METHODS).index(name) % EVERY)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("subject", declaration_subjects(), ids=lambda subject: subject.name)
def test_hostile_declarations_are_refused_in_words_or_do_no_harm(subject):
    found = findings(subject, 5)
    assert not found, "\n".join(found)


def test_rehearsals_of_absurd_sizes_are_refused_in_words():
    for rows in (-1, 1.5, float("nan"), True, "x", [1], 10**12, 10**5000):
        with pytest.raises(ValueError, match="rows must be"):
            sf.rehearse(sf.DegreeSequence(epsilon=1), GraphPublic(nodes=3), rows=rows)
    with pytest.raises(ValueError, match="pass rows="):
        sf.rehearse(sf.DegreeSequence(epsilon=1), GraphPublic(nodes=3, rows_about=10**12))


def test_a_formula_takes_no_node_and_no_groups_that_the_graph_does_not_have():
    public = GraphPublic(nodes=3)
    for strange in ({"node": "x" * 10_000}, {"groups": [1, 1]}, {"groups": {"x": 1}}):
        method = sf.GraphStatistic(epsilon=1, expression="edges", **strange)
        with pytest.raises(ValueError, match="node"):
            method.plan(public)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OverflowError("too large"), "build: OverflowError"),
        (ValueError("bad"), "names no parameter"),
        (ValueError("size " * 1000), "a refusal of 5000 characters"),
        (ValueError("size \ud800"), "cannot be printed"),
        (None, "nonsense is accepted"),
    ],
)
def test_each_kind_of_carelessness_is_found(error, words):
    def build(size):
        if error is not None:
            raise error

    subject = Subject("careless", {"size": 1}, build, ("size",), lambda built: iter(()))
    with pytest.raises(Finding, match=words):
        try_case(Case(subject, "size", "nan"))
