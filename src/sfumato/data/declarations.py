"""Schema files of all kinds: what is public about data, written down and never measured.

For tables, whose domains are many, a draft can be made from the data and has to be confirmed
(`sfumato.data.schema`); points and sequences are declared without reading any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.data.points_public import PointsPublic
from sfumato.data.public import Public
from sfumato.data.schema import Schema
from sfumato.data.sequences_public import SequencesPublic
from sfumato.data.table import TablePublic
from sfumato.data.toml import write_value
from sfumato.privacy.documents import read_toml
from sfumato.privacy.guarantee import Unit

__all__ = [
    "declare_points",
    "declare_sequences",
    "find_kind",
    "read_public",
    "write_points",
    "write_sequences",
]

#: The sections that tell what kind of data a schema is about.
KINDS = ("table", "points", "sequences")
#: What the sections of points and sequences may hold.
POINTS = ("unit", "person", "max_points", "relation", "rows_about", "outside", "geographic")
SEQUENCES = ("unit", "max_sequences", "relation", "rows_about", "alphabet")


def find_kind(path: Path) -> str:
    """Return the kind of data that a schema file declares."""
    found = [kind for kind in KINDS if kind in _read_document(path)]
    if len(found) != 1:
        names = ", ".join(f"[{kind}]" for kind in KINDS)
        raise ValueError(f"{path.name} must have one of the sections {names}")
    return found[0]


def read_public(path: Path, kind: str) -> Public:
    """Return what a schema file declares to be public, or say in a `ValueError` what is wrong.

    Parameters
    ----------
    path
        The schema file.
    kind
        The kind of data that it must be about.
    """
    if kind == "table":
        return TablePublic.of(Schema.read(path))
    document = _read_document(path)
    try:
        read = {"points": _read_points, "sequences": _read_sequences}[kind]
    except KeyError:
        raise ValueError(f"data of the kind {kind!r} have no schema file") from None
    try:
        return read(document)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def declare_points(
    *,
    axes: Mapping[str, Sequence[float]],
    unit: str,
    max_points: int | None = None,
    person: str | None = None,
    relation: str = "add_remove",
    **facts: Any,
) -> PointsPublic:
    """Return the public part of points that is declared, or say what does not fit.

    Parameters
    ----------
    axes
        The least and greatest value of each axis, by its name.
    unit, person, max_points
        Whose contribution is protected, which column identifies the person, and how many points
        of one are used.
    relation, facts
        As for `PointsPublic`.
    """
    if unit == "person" and (person is None or max_points is None):
        raise ValueError(
            'unit "person" needs a bound: set person to the column that identifies the person, '
            "and max_points to the most points used per person"
        )
    return PointsPublic(
        bounds=tuple((low, high) for low, high in axes.values()),
        names=tuple(axes),
        unit=unit,  # type: ignore[arg-type]
        person=person,
        contribution=1 if max_points is None else max_points,
        relation=relation,  # type: ignore[arg-type]
        **facts,
    )


def declare_sequences(
    *,
    alphabet: Iterable[Any],
    unit: str,
    max_sequences: int | None = None,
    relation: str = "add_remove",
    **facts: Any,
) -> SequencesPublic:
    """Return the public part of sequences that is declared, or say what does not fit.

    Parameters
    ----------
    alphabet
        All symbols that may occur.
    unit, max_sequences
        Whose contribution is protected, and how many sequences of a person are used.
    relation, facts
        As for `SequencesPublic`.
    """
    if unit == "person" and max_sequences is None:
        raise ValueError(
            'unit "person" needs a bound: set max_sequences to the most sequences used per person; '
            "the first field of each line is then the person's identifier"
        )
    if unit != "person" and max_sequences is not None:
        raise ValueError('max_sequences needs unit "person"')
    return SequencesPublic(
        alphabet=tuple(alphabet),
        unit=unit,  # type: ignore[arg-type]
        contribution=1 if max_sequences is None else max_sequences,
        relation=relation,  # type: ignore[arg-type]
        **facts,
    )


def write_points(public: PointsPublic) -> str:
    """Return the text of a schema file."""
    facts = {
        **_common_facts(public),
        "person": public.person,
        "outside": public.outside,
        "geographic": True if public.geographic else None,
    }
    axes = {name: list(pair) for name, pair in zip(public.names, public.bounds, strict=True)}
    return "\n".join([*_lines("points", facts, POINTS), "", *_lines("axes", axes, axes), ""])


def write_sequences(public: SequencesPublic) -> str:
    """Return the text of a schema file."""
    facts = {**_common_facts(public), "alphabet": list(public.alphabet)}
    return "\n".join([*_lines("sequences", facts, SEQUENCES), ""])


def _common_facts(public: Public) -> dict[str, Any]:
    return {
        "unit": str(public.unit),
        public.bound: public.contribution if public.unit is Unit.PERSON else None,
        "relation": str(public.relation),
        "rows_about": public.rows_about,
    }


def _lines(name: str, entries: Mapping[str, Any], order: Iterable[str]) -> list[str]:
    """Return a section as lines of TOML; what is `None` is left out."""
    lines = [f"[{name}]"]
    for key in order:
        if entries[key] is not None:
            bare = key.isidentifier() and key.isascii()
            lines.append(f"{key if bare else write_value(key)} = {write_value(entries[key])}")
    return lines


def _read_document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no schema file {str(path)!r}")
    return read_toml(path)


def _read_points(document: Mapping[str, Any]) -> PointsPublic:
    facts = _section(document, "points", POINTS, ("axes",))
    axes = document.get("axes")
    if not isinstance(axes, dict) or not all(_is_pair(pair) for pair in axes.values()):
        raise ValueError("[axes] must give every axis its bounds, as in longitude = [-180, 180]")
    _require_unit(facts, "points", "point", "person and max_points")
    return declare_points(axes=axes, **facts)


def _read_sequences(document: Mapping[str, Any]) -> SequencesPublic:
    facts = _section(document, "sequences", SEQUENCES)
    _require_unit(facts, "sequences", "sequence", "max_sequences")
    if not isinstance(facts.get("alphabet"), list):
        raise ValueError('[sequences] needs a list: alphabet = ["a", "b"]')
    return declare_sequences(**facts)


def _section(
    document: Mapping[str, Any], name: str, known: Sequence[str], further: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a section of a schema file, after refusing names that it, or the file, may not hold.

    Parameters
    ----------
    document
        The whole file.
    name, known
        The section, and what it may hold.
    further
        Other sections that the file may have.
    """
    found = document.get(name)
    if not isinstance(found, dict):
        others = [kind for kind in KINDS if kind in document and kind != name]
        told = f"; this file describes {others[0]}" if others else ""
        raise ValueError(f"the section [{name}] is missing{told}")
    unknown = [key for key in found if key not in known]
    if unknown:
        raise ValueError(f"[{name}] has no {unknown[0]!r}; it may hold {', '.join(known)}")
    sections = (name, *further)
    strange = [section for section in document if section not in sections]
    if strange:
        allowed = ", ".join(f"[{section}]" for section in sections)
        raise ValueError(f"unknown section {strange[0]!r}; allowed are {allowed}")
    return found


def _require_unit(facts: Mapping[str, Any], what: str, one: str, needed: str) -> None:
    """Raise where a file does not say whose contribution is protected."""
    if "unit" not in facts:
        raise ValueError(
            f"[{what}] must state the unit: can one person have several {what}? No: "
            f'unit = "{one}". Yes: unit = "person", with {needed}'
        )


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair)
    )
