"""Neighbours of what one person holds: answers to a survey, or a list of neighbours in a graph."""

from __future__ import annotations

from typing import Any

from sfumato.audit.neighbours import Pair, PairMaker, register
from sfumato.local.edge_response import NeighboursPublic, OwnNeighbours
from sfumato.local.survey_answers import OwnRespondent, RespondentPublic


def respondent_pairs(public: RespondentPublic) -> list[Pair]:
    """Return the first answers to all questions beside the last ones, and the other way round."""
    first = OwnRespondent((0 for _ in public.sizes), public)
    last = OwnRespondent((size - 1 for size in public.sizes), public)
    pair = Pair("the first answers, and the last", first, last)
    return [pair, pair.turned()]


def random_respondent_pair(public: RespondentPublic, generator: Any) -> Pair:
    """Return two people with random answers."""

    def drawn() -> OwnRespondent:
        return OwnRespondent((int(generator.integers(size)) for size in public.sizes), public)

    return Pair("random answers", drawn(), drawn())


register("respondent", PairMaker(respondent_pairs, random_respondent_pair))


def neighbour_pairs(public: NeighboursPublic) -> list[Pair]:
    """Return a person without an edge beside one with an edge, and one that lacks a single edge."""
    others = _others(public)
    nobody, everybody = (OwnNeighbours(known, public) for known in ((), others))
    return [
        Pair("no edge, and one", nobody, OwnNeighbours(others[:1], public)),
        Pair("all edges, and all but one", everybody, OwnNeighbours(others[:-1], public)),
    ]


def random_neighbour_pair(public: NeighboursPublic, generator: Any) -> Pair:
    """Return random edges, and the same with another one in or out."""
    others = _others(public)
    known = {other for other in others if generator.integers(2)}
    changed = known ^ {others[int(generator.integers(len(others)))]}
    return Pair("random edges", OwnNeighbours(known, public), OwnNeighbours(changed, public))


def _others(public: NeighboursPublic) -> range:
    """Return the nodes with which this one tells pairs."""
    others = range(public.node + 1, public.nodes)
    if not others:
        raise ValueError(f"node {public.node} of {public.nodes} has no neighbour to compare with")
    return others


register("neighbours", PairMaker(neighbour_pairs, random_neighbour_pair))
