"""What is audited: a method with its example, and synthetic data that it can be tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from sfumato import catalogue
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.method import AnyMethod, InteractiveMethod
from sfumato.privacy.registry import command_name, find_method, resolve

__all__ = ["Subject", "subject_of"]


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Parameters
    ----------
    method
        The method with its parameters.
    public
        The public part of the synthetic data.
    questions
        What an interactive method is asked: questions that every canonical pair changes.
    """

    method: AnyMethod
    public: Any
    questions: list[Any] | None = None


def subject_of(
    called: str,
    *,
    epsilon: str,
    delta: str | None = None,
    relation: str | None = None,
    max_rows: int | None = None,
    read_public: Callable[[str], Any] | None = None,
) -> Subject:
    """Return a method with the example that its class declares, and data it can be tried on.

    Parameters
    ----------
    called
        The name of the method; case and hyphens do not matter.
    epsilon, delta
        What it promises.
    relation, max_rows
        What a neighbour is, and how many records of one person there may be.
    read_public
        Returns the public part of the synthetic data, given the kind of data of the method;
        instead of an example that follows `relation` and `max_rows`.
    """
    method = resolve(find_method(called, catalogue.METHODS))
    if delta is not None and "delta" not in {field.name for field in fields(method)}:
        raise ValueError(f"{command_name(method)} guarantees pure epsilon-DP; leave --delta out")
    if read_public is None:
        told = None if relation is None else Relation.parse(relation)
        public = method.example_public(told, max_rows)
    elif relation is None and max_rows is None:
        public = read_public(method.kind)
    else:
        raise ValueError(
            "the schema states relation and max_rows; leave --relation and --max-rows out"
        )
    made = method.example_method(epsilon, public, **({} if delta is None else {"delta": delta}))
    made.check(public)
    interactive = issubclass(method, InteractiveMethod)
    return Subject(made, public, method.example_questions(public) if interactive else None)
