"""Genotype calls of people as plain arrays, for attacks: who has how many copies of which allele.

Calls are private if people are real. Errors name the site and the row, never the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.genomics.codings import MISSING, encode_counts, refuse_unknown_coding
from sfumato.genomics.site_names import is_same_allele, join_name, split_name

__all__ = ["Calls", "read_calls", "read_sites", "read_truth"]

#: Texts of a call that is missing.
ABSENT = ("", "NA", "NaN", "nan", ".", "-1", "-9")
#: Names of columns that say who a person is; they are not read.
IDENTITIES = ("id", "person", "sample", "iid")
#: Names of the column of a sites file that names the site, and of the counted allele.
SITE_COLUMNS = ("site", "snp", "rsid", "variant_id", "rs_id")
ALLELE_COLUMNS = ("allele", "effect_allele", "counted_allele")


@dataclass(frozen=True)
class Calls:
    """Calls of people at sites.

    Parameters
    ----------
    names
        One name for each column: a site, or a site with the counted allele as `rs12982744-C`.
    values
        People in rows: 0, 1 or 2 copies, −1 for missing; or 0 and 1 if they are bits.
    bits
        Whether values are bits (the person has the allele, or not) instead of counts.
    """

    names: tuple[str, ...]
    values: NDArray[np.int8]
    bits: bool = False

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise DataError(
                Problem(
                    wrong=f"calls must have people in rows and {len(self.names):,} sites in "
                    f"columns; the array has the shape {values.shape}",
                    remedy="Transpose the array if it has sites in rows, and name every site.",
                )
            )
        sites = [split_name(name)[0] for name in self.names]
        if len(set(sites)) < len(sites):
            twice = next(site for site in sites if sites.count(site) > 1)
            raise DataError(
                Problem(wrong=f"{twice} has two columns", remedy="Keep one column for each site.")
            )
        object.__setattr__(self, "values", self._checked(values))

    def _checked(self, values: NDArray[Any]) -> NDArray[np.int8]:
        """Return values as small integers; anything but a call is refused."""
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), MISSING, values)
        most = 1 if self.bits else 2
        if values.dtype.kind not in "fiub":
            wrong = np.ones(values.shape, dtype=np.bool_)
        else:
            wrong = ~np.isin(values, np.arange(MISSING, most + 1))
        if wrong.any():
            problems = []
            for column in np.flatnonzero(wrong.any(axis=0)):
                rows = np.flatnonzero(wrong[:, column])
                problems.append(_bad_call(self.names[column], int(rows[0]) + 1, len(rows), most))
            raise DataError(problems)
        return values.astype(np.int8)

    @classmethod
    def of(cls, data: Any, *, sites: Sequence[str] | None = None, bits: bool = False) -> Calls:
        """Return calls from an array with the names of its sites, a mapping, or a frame.

        Parameters
        ----------
        data
            An array of people by sites; a mapping from site to calls; or a frame with a column for
            each site. `None` and NaN are missing.
        sites
            The names of the columns of an array.
        bits
            Whether values are bits instead of counts.
        """
        if isinstance(data, Calls):
            return data
        if isinstance(data, Mapping):
            columns = {name: np.atleast_1d(np.asarray(data[name], dtype=object)) for name in data}
        elif hasattr(data, "columns"):
            names = [str(name) for name in data.columns if str(name).lower() not in IDENTITIES]
            columns = {name: np.asarray(data[name], dtype=object) for name in names}
        else:
            if sites is None:
                raise TypeError("an array of calls needs sites, the names of its columns")
            return cls(tuple(sites), np.asarray(data), bits)
        rows = {len(column) for column in columns.values()}
        if len(rows) > 1:
            raise DataError(
                Problem(
                    wrong="sites have different numbers of people",
                    remedy="Give one call for each person and site; use None where it is missing.",
                )
            )
        return cls(tuple(columns), _parse_columns(columns, bits), bits)

    @property
    def people(self) -> int:
        """The number of people."""
        return len(self.values)

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, without alleles."""
        return tuple(split_name(name)[0] for name in self.names)

    def counts_of(
        self, sites: Sequence[str], alleles: Sequence[tuple[str, str]]
    ) -> NDArray[np.int8]:
        """Return the calls at some sites in terms of some alleles; −1 where a site has no column.

        Parameters
        ----------
        sites, alleles
            The sites, and the two alleles of each: the one that is counted, and the other if it is
            known. A column without an allele in its name counts the first already; one that counts
            the second is turned; one that counts neither is refused.
        """
        places = {site: place for place, site in enumerate(self.sites)}
        found = np.full((self.people, len(sites)), MISSING, dtype=np.int8)
        most = 1 if self.bits else 2
        for at, (site, pair) in enumerate(zip(sites, alleles, strict=True)):
            place = places.get(site)
            if place is None:
                continue
            column = self.values[:, place]
            if not self._counts(place, pair):
                column = np.where(column == MISSING, MISSING, most - column)
            found[:, at] = column
        return found

    def _counts(self, place: int, pair: tuple[str, str]) -> bool:
        """Tell whether a column counts the first of two alleles, or the second."""
        try:
            return is_same_allele(split_name(self.names[place])[1], *pair)
        except ValueError as wrong:
            problem = Problem(field=self.names[place], wrong=str(wrong).partition(";")[0],
                              remedy="Correct the name of the allele.")  # fmt: skip
        raise DataError(problem)

    def states_of(
        self, sites: Sequence[str], alleles: Sequence[tuple[str, str]], coding: str
    ) -> NDArray[np.int8]:
        """Return the state of each person at some sites under a coding; −1 where it is missing."""
        refuse_unknown_coding(coding)
        counts = self.counts_of(sites, alleles)
        if not self.bits:
            return encode_counts(counts, coding)
        if coding == "dosage":
            raise ValueError("bits do not tell the number of copies; choose another coding")
        return counts

    def keep(self, people: ArrayLike | slice) -> Calls:
        """Return the calls of some people, by their rows or by a mask."""
        return Calls(
            self.names,
            self.values[people if isinstance(people, slice) else np.asarray(people)],
            self.bits,
        )


def _bad_call(name: str, row: int, many: int, most: int) -> Problem:
    """Return the problem of entries that are no call."""
    allowed = "0 or 1" if most == 1 else "0, 1 or 2 copies"
    return Problem(
        field=name,
        row=row,
        more=many - 1,
        wrong=f"a call must be {allowed}, or missing",
        remedy="Correct the entry, or write NA (in arrays −1 or NaN).",
    )


def _parse_columns(columns: Mapping[str, NDArray[Any]], bits: bool) -> NDArray[np.int8]:
    """Return columns of numbers or texts as an array; what is no call is marked for refusal."""
    most = 1 if bits else 2
    known: dict[Any, int] = {str(value): value for value in range(most + 1)}
    known |= {f"{value}.0": value for value in range(most + 1)}
    known |= dict.fromkeys((*ABSENT, "None", "<NA>", "null", "-1.0"), MISSING)
    known |= {"True": 1, "False": 0} if bits else {}
    rows = len(next(iter(columns.values()), ()))
    values = np.empty((rows, len(columns)), dtype=np.int8)
    problems = []
    for place, (name, column) in enumerate(columns.items()):
        parsed = [known.get(str(value).strip()) for value in column]
        wrong = [row for row, value in enumerate(parsed, start=1) if value is None]
        if wrong:
            problems.append(_bad_call(name, wrong[0], len(wrong), most))
        else:
            values[:, place] = np.array(parsed, dtype=np.int8)
    if problems:
        raise DataError(problems)
    return values


def read_calls(
    path: str | Path, *, sites: Sequence[str] | None = None, bits: bool = False
) -> Calls:
    """Read genotype calls from a CSV file (plain, .gz or .xz) or a NumPy array (.npy).

    Parameters
    ----------
    path
        A table with a column for each site and a row for each person; a column `id`, `person` or
        `sample` is ignored. Or an array of people by sites.
    sites
        The names of the columns of an array (`read_sites` reads them from a file).
    bits
        Whether entries are bits instead of counts.
    """
    place = Path(path)
    if place.suffix.lower() == ".npy":
        if sites is None:
            raise ValueError(f"{place.name} has no names of sites; give them by sites (--sites)")
        return Calls(tuple(sites), _load_array(place), bits)
    return Calls(*_read_table(place, bits), bits)


def read_truth(path: str | Path) -> dict[str, NDArray[np.int8]]:
    """Read who has which trait from a CSV file.

    Parameters
    ----------
    path
        A table with a column of 0 and 1 for each trait and a row for each person; a column `id`,
        `person` or `sample` is ignored.
    """
    names, values = _read_table(Path(path), bits=True)
    problems = [_bad_call(name, int(np.flatnonzero(column == MISSING)[0]) + 1, 1, 1)
                for name, column in zip(names, values.T, strict=True)
                if (column == MISSING).any()]  # fmt: skip
    if problems:
        raise DataError(problems)
    return dict(zip(names, values.T, strict=True))


def _read_table(path: Path, bits: bool) -> tuple[tuple[str, ...], NDArray[np.int8]]:
    """Return the names and the calls of a CSV file."""
    file = TableFile(path)
    names = [name for name in file.names() if name.lower() not in IDENTITIES]
    columns = {name: series.to_numpy() for name, series in file.read(names).items()}
    return tuple(names), _parse_columns(columns, bits)


def _load_array(path: Path) -> NDArray[Any]:
    """Return the array of a file of NumPy; files with Python objects are refused."""
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (ValueError, EOFError):
        pass
    raise DataError(
        Problem(
            wrong=f"{path.name} cannot be read as a NumPy array of numbers",
            remedy="Write it with numpy.save.",
        )
    )


def read_sites(path: str | Path) -> tuple[str, ...]:
    """Read the names of sites from a CSV file, with the counted allele if it has such a column.

    Parameters
    ----------
    path
        A table with a column `site` (or `snp`, `rsid`, `variant_id`), and perhaps `allele` (or
        `effect_allele`).
    """
    file = TableFile(Path(path))
    site = find_column(file, SITE_COLUMNS)
    allele = find_column(file, ALLELE_COLUMNS, needed=False)
    columns = file.read([name for name in (site, allele) if name is not None])
    assert site is not None
    if allele is None:
        return tuple(columns[site].to_list())
    pairs = zip(columns[site].to_list(), columns[allele].to_list(), strict=True)
    return tuple(join_name(name, letter) for name, letter in pairs)


def find_column(file: TableFile, names: Sequence[str], *, needed: bool = True) -> str | None:
    """Return the first column of a file that has one of some names, in upper or lower case."""
    found = {name.lower(): name for name in reversed(file.names())}
    for name in names:
        if name in found:
            return found[name]
    if needed:
        raise DataError(
            Problem(
                wrong=f"{file.path.name} has no column {' or '.join(map(repr, names))}",
                remedy="Rename the column.",
            )
        )
    return None
