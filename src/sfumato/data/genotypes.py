"""Private genotypes of the participants of a study, with a phenotype and covariates.

Calls are read when the object is built, before any door, for the custodian's eyes: 0, 1 or 2
copies of a site's effect allele, or missing. What one call or one phenotype is read as depends on
it and on the declaration alone. Nothing public is taken from them: a site at which nobody differs
stays a site.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.data.frames import column_of, columns_of, names_of
from sfumato.data.genotypes_public import GRID, GenotypesPublic
from sfumato.data.public import ShowsPublic
from sfumato.data.schema import Schema
from sfumato.data.sites import Sites, read_sites
from sfumato.data.table import Table
from sfumato.engines.errors import DataError, Problem, importing, without_values
from sfumato.engines.packed_genotypes import NO_GROUP, CallFile, PackedGenotypes, pack_calls
from sfumato.privacy.canonical import canonical
from sfumato.privacy.forks import refuse_broken_fork
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.parameters import OneOf

__all__ = ["Genotypes", "GenotypesPublic", "read_phenotypes", "read_plink", "read_vcf"]

#: What is done with a participant whose phenotype is missing.
UNKNOWN_PHENOTYPE = ("refuse", "drop")
#: How a phenotype of two groups is written; numbers are compared as numbers.
CASES, CONTROLS = ("case", "1", "1.0", "true"), ("control", "0", "0.0", "false")
#: The first bytes of a .bed file whose sites follow one another.
MAGIC = bytes([0x6C, 0x1B, 0x01])
#: How many sites of an array are packed at a time.
SITES_AT_ONCE = 1024
#: The covariates of a participant are found by this column.
IDENTIFIER = "iid"
#: How files write the allele that none of their participants carries.
NOT_CARRIED = ("0", ".")


@dataclass(frozen=True)
class _Traits:
    """What is read about participants besides their calls. Private."""

    groups: NDArray[np.uint8]
    numbers: NDArray[np.int64] | None
    codes: NDArray[np.uint8]
    sizes: tuple[int, ...]


class Genotypes(ShowsPublic):
    """Private genotypes with a phenotype.

    Parameters
    ----------
    calls
        The copies of each site's effect allele, of shape (participants, sites): 0, 1, 2, and −1,
        NaN or null where a call is missing. An array, or a frame whose columns are sites.
    phenotype
        One per participant: case or control (`"case"`, `"control"`, 1, 0, true, false), or a number
        where `bounds` are given.
    sites
        The sites, in the order of the columns: `Sites`, or a list of names. By default the columns
        of a frame, or numbers. They are public.
    bounds
        The least and greatest phenotype where it is a number: public, never measured.
    relation
        `"add_remove"`, or `"replace_one"` where the number of participants is public.
    groups
        `"public"` if the numbers of cases and controls are public; needs `"replace_one"`.
    missing
        What a missing call counts as: `"heterozygous"` (one copy), `"reference"` (no copy), or
        `"refuse"`: an error.
    unknown_phenotype
        What is done with participants without a phenotype: `"refuse"`, or `"drop"`.
    covariates, covariate_schema
        A frame with one row per participant, and the declared domain of each of its columns.
    person
        Identifiers, one per participant: two equal ones are refused.
    rows_about, cases_about
        Public guesses at the numbers of participants and of cases, for plans.

    Raises
    ------
    DataError
        If a call or a phenotype cannot be read, or a participant is there twice. A message states
        site and participant by their places, never a value.
    """

    __slots__ = ("_engine", "_public", "_whole")

    _engine: PackedGenotypes
    _public: GenotypesPublic
    _whole: tuple[PackedGenotypes, GenotypesPublic]

    def __init__(
        self,
        calls: Any,
        phenotype: Any,
        *,
        sites: Sites | Sequence[str] | None = None,
        bounds: tuple[float, float] | None = None,
        relation: str = "add_remove",
        groups: str = "private",
        missing: str = "heterozygous",
        unknown_phenotype: str = "refuse",
        covariates: Any = None,
        covariate_schema: Any = None,
        person: Any = None,
        rows_about: int | None = None,
        cases_about: int | None = None,
    ) -> None:
        refuse_broken_fork()
        array, names = _call_array(calls)
        if sites is None:
            sites = Sites.numbered(array.shape[1]) if names is None else Sites.of(names)
        listed = sites if isinstance(sites, Sites) else Sites.of(list(sites))
        public = _declare(
            listed,
            bounds=bounds,
            relation=relation,
            groups=groups,
            missing=missing,
            covariate_schema=covariate_schema,
            rows_about=rows_about,
            cases_about=cases_about,
        )
        if array.shape[1] != len(listed):
            raise DataError(
                Problem(
                    wrong=f"there are {len(listed):,} sites and calls for {array.shape[1]:,}",
                    remedy="Give calls of shape (participants, sites).",
                )
            )
        _refuse_repeated(person, array.shape[0])
        traits = _read_traits(phenotype, covariates, public, array.shape[0], unknown_phenotype)
        packed = _pack_array(array, public)
        engine = PackedGenotypes(
            packed,
            np.arange(len(listed), dtype=np.int64),
            np.zeros(len(listed), dtype=np.bool_),
            traits.groups,
            len(public.group_names),
            numbers=traits.numbers,
            codes=traits.codes,
            sizes=traits.sizes,
        )
        self._fill(engine, _with_sizes(public, engine))

    @classmethod
    def _of(cls, engine: PackedGenotypes, public: GenotypesPublic) -> Genotypes:
        genotypes = cls.__new__(cls)
        genotypes._fill(engine, public)
        return genotypes

    def _fill(self, engine: PackedGenotypes, public: GenotypesPublic) -> None:
        object.__setattr__(self, "_engine", engine)
        object.__setattr__(self, "_public", public)
        # A ledger is bound to the whole study, whichever of its sites a method looks at.
        object.__setattr__(self, "_whole", (engine, public))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("genotypes cannot be changed; build new ones")

    def __reduce__(self) -> NoReturn:
        raise TypeError("private genotypes cannot be pickled; save a release of them instead")

    @property
    def public(self) -> GenotypesPublic:
        """What is public about them."""
        return self._public

    @property
    def counts(self) -> PackedGenotypes:
        """The engine that counts in them. Private."""
        return self._engine

    def only(self, names: Sequence[str]) -> Genotypes:
        """Return the same participants with some of the sites; to a ledger it is the same study."""
        places = self._public.sites.index(names)
        view = Genotypes._of(self._engine.only(places), self._public.only(names))
        object.__setattr__(view, "_whole", self._whole)
        return view

    def digest(self, key: bytes) -> bytes:
        """Return HMAC-SHA256 of what is declared and of all calls, which binds a ledger to them.

        Without the key it reveals nothing about the calls, not even whether a guess is right.
        """
        if len(key) < 16:
            raise ValueError(f"the key must have at least 16 bytes; got {len(key)}")
        code = hmac.new(key, digestmod=hashlib.sha256)
        # Guesses at numbers of people say nothing about them.
        engine, public = self._whole
        known = replace(public, rows_about=None, cases_about=None)
        declared = canonical(known.to_json())
        code.update(f"sfumato genotypes 1 {len(declared)} ".encode())
        code.update(declared)
        for block in engine.blocks_of_bytes():
            code.update(block)
        return code.digest()


def read_plink(
    prefix: str | Path,
    *,
    sites: Sites | str | Path | None = None,
    phenotype: Any = None,
    bounds: tuple[float, float] | None = None,
    relation: str = "add_remove",
    groups: str = "private",
    missing: str = "heterozygous",
    unknown_phenotype: str = "refuse",
    covariates: Any = None,
    covariate_schema: Any = None,
    rows_about: int | None = None,
    cases_about: int | None = None,
) -> Genotypes:
    """Read private genotypes from PLINK 1 files: PREFIX.bed, PREFIX.bim and PREFIX.fam.

    The .bed file is mapped into memory and counted in blocks of sites; it must not change while
    the genotypes are in use.

    Parameters
    ----------
    prefix
        The path of the three files without their endings, or of the .bed file.
    sites
        A public list of sites with both alleles: `Sites`, or the path of a .bim file. Alleles are
        then counted as that list says, and PREFIX.bim must hold every listed site. By default
        PREFIX.bim itself, which must then be public: the list of an array, with alleles in an
        order that does not follow from the calls.
    phenotype
        As for `Genotypes`, by participant or in the order of the .fam file; by default its sixth
        column, in which 1 is a control, 2 a case, and 0, −9 or NA unknown. With `bounds` it is a
        number, and −9 or NA is unknown.
    covariates
        A frame or the path of a CSV file with the column `iid` and one row per participant: the
        second column of the .fam file, after the family and a blank where there are families.
    bounds, relation, groups, missing, unknown_phenotype, covariate_schema, rows_about, cases_about
        As for `Genotypes`.

    Raises
    ------
    DataError
        If a file is not of its kind, the three do not fit together, a listed site is not there or
        has other alleles, or the list lacks an allele.
    """
    refuse_broken_fork()
    place = Path(prefix)
    place = place.with_suffix("") if place.suffix == ".bed" else place
    bed, bim, fam = (place.with_name(place.name + ending) for ending in (".bed", ".bim", ".fam"))
    for path in (bed, bim, fam):
        if not path.is_file():
            raise DataError(
                Problem(
                    wrong=f"there is no file {path.name}",
                    remedy="PLINK 1 data are three files: .bed, .bim and .fam.",
                )
            )
    own = _data_sites(bim)
    people = _read_fam(fam, bounds, phenotype is None)
    listed = own if sites is None else (sites if isinstance(sites, Sites) else read_sites(sites))
    public = _declare(
        listed,
        bounds=bounds,
        relation=relation,
        groups=groups,
        missing=missing,
        covariate_schema=covariate_schema,
        rows_about=rows_about,
        cases_about=cases_about,
    )
    identifiers = people[IDENTIFIER]
    _refuse_repeated(identifiers, len(identifiers))
    told = people["phenotype"] if phenotype is None else phenotype
    if isinstance(told, Mapping):
        told = [told.get(identifier) for identifier in identifiers]
    ordered = _order_covariates(covariates, identifiers)
    traits = _read_traits(told, ordered, public, len(identifiers), unknown_phenotype)
    packed, file = _map_bed(bed, len(own), len(identifiers))
    rows, flipped = (
        (np.arange(len(own), dtype=np.int64), np.zeros(len(own), dtype=np.bool_))
        if listed is own
        else _align(listed, own, bim)
    )
    engine = PackedGenotypes(
        packed,
        rows,
        flipped,
        traits.groups,
        len(public.group_names),
        numbers=traits.numbers,
        codes=traits.codes,
        sizes=traits.sizes,
        file=file,
    )
    if missing == "refuse":
        _refuse_missing(engine)
    return Genotypes._of(engine, _with_sizes(public, engine))


def read_vcf(
    path: str | Path,
    phenotype: Any,
    *,
    sites: Sites | str | Path,
    bounds: tuple[float, float] | None = None,
    relation: str = "add_remove",
    groups: str = "private",
    missing: str = "heterozygous",
    unknown_phenotype: str = "refuse",
    covariates: Any = None,
    covariate_schema: Any = None,
    rows_about: int | None = None,
    cases_about: int | None = None,
) -> Genotypes:
    """Read private genotypes from a VCF file, plain or compressed.

    Parameters
    ----------
    path
        The file.
    phenotype
        By sample name, or one per sample in the order of the file; otherwise as for `Genotypes`.
    sites
        A public list of sites with both alleles: `Sites`, or the path of a .bim file. A line is a
        listed site if it has its name, or its chromosome, position and alleles; other lines are
        left out. The file must hold every listed site, also where all samples are alike. A VCF
        file usually lists the sites at which its samples differ, so its own list is private.
    covariates
        A frame or the path of a CSV file with the column `iid` and one row per sample.
    bounds, relation, groups, missing, unknown_phenotype, covariate_schema, rows_about, cases_about
        As for `Genotypes`.

    Raises
    ------
    DataError
        If the file is not a VCF file, a listed site is not there, has no genotypes, or has other or
        more than two alleles, a genotype has not one or two alleles, or the list lacks an allele.
    """
    refuse_broken_fork()
    place = Path(path)
    if not place.is_file():
        raise DataError(Problem(wrong=f"there is no file {place.name}", remedy="Check the path."))
    listed = sites if isinstance(sites, Sites) else read_sites(sites)
    public = _declare(
        listed,
        bounds=bounds,
        relation=relation,
        groups=groups,
        missing=missing,
        covariate_schema=covariate_schema,
        rows_about=rows_about,
        cases_about=cases_about,
    )
    samples, packed, rows, flipped = _read_variants(place, listed)
    _refuse_repeated(samples, len(samples))
    if isinstance(phenotype, Mapping):
        phenotype = [phenotype.get(sample) for sample in samples]
    ordered = _order_covariates(covariates, samples)
    traits = _read_traits(phenotype, ordered, public, len(samples), unknown_phenotype)
    engine = PackedGenotypes(
        packed,
        rows,
        flipped,
        traits.groups,
        len(public.group_names),
        numbers=traits.numbers,
        codes=traits.codes,
        sizes=traits.sizes,
    )
    if missing == "refuse":
        _refuse_missing(engine)
    return Genotypes._of(engine, _with_sizes(public, engine))


def read_phenotypes(path: str | Path) -> dict[str, Any]:
    """Read phenotypes by participant from a CSV file with the columns iid and phenotype.

    Parameters
    ----------
    path
        The file: plain, .gz or .xz.

    Raises
    ------
    DataError
        If a column is missing, or a participant is there twice.
    """
    from sfumato.engines.files import TableFile

    file = TableFile(Path(path), None)
    needed = [IDENTIFIER, "phenotype"]
    absent = [name for name in needed if name not in file.names()]
    if absent:
        raise DataError(
            Problem(
                wrong=f"{Path(path).name} has no column {absent[0]!r}",
                remedy="Name the two columns iid and phenotype.",
            )
        )
    columns = file.read(needed)
    own = [str(value) for value in columns[IDENTIFIER].to_list()]
    _refuse_repeated(own, len(own))
    return dict(zip(own, columns["phenotype"].to_list(), strict=True))


def _declare(
    sites: Sites, *, relation: str, covariate_schema: Any, **facts: Any
) -> GenotypesPublic:
    """Return the public part that the arguments declare."""
    schema = None
    if covariate_schema is not None:
        schema = Schema.of(covariate_schema)
        if schema.unit is None:
            schema = replace(schema, unit=Unit.ROW)
        schema.require_confirmed()
    return GenotypesPublic(
        sites=sites,
        unit=Unit.PARTICIPANT,
        relation=relation,  # type: ignore[arg-type]
        covariates=schema,
        **facts,
    )


def _with_sizes(public: GenotypesPublic, engine: PackedGenotypes) -> GenotypesPublic:
    """Return the public part with the numbers of people that are public."""
    if public.relation is not Relation.REPLACE_ONE:
        return public
    known = replace(public, rows=engine.people)
    if public.groups != "public":
        return known
    return replace(known, cases=int(engine.group_sizes()[0]))


# Calls


def _call_array(calls: Any) -> tuple[NDArray[Any], list[str] | None]:
    """Return calls as an array of shape (participants, sites), and the names of its columns."""
    if isinstance(calls, str | bytes | Path):
        raise DataError(
            Problem(
                wrong="genotypes need an array or a frame; got a path",
                remedy="Read a file with read_plink(prefix) or read_vcf(path, phenotype, sites=…).",
            )
        )
    if isinstance(calls, list | tuple) and any(np.ma.isMaskedArray(row) for row in calls):
        raise DataError(
            Problem(
                wrong="the rows are masked arrays, and a list of them loses the masks",
                remedy="Give one masked array, as of np.ma.stack(rows).",
            )
        )
    if isinstance(calls, np.ndarray | list | tuple):
        array = calls if isinstance(calls, np.ndarray) else np.array(calls, dtype=object)
        if array.ndim != 2:
            raise DataError(
                Problem(
                    wrong="calls must be of shape (participants, sites)",
                    remedy="Give one row per participant, with as many calls in each.",
                )
            )
        return array, None
    names = names_of(calls)
    columns = columns_of(calls, names)
    read = [_read_calls(np.array(columns[name].to_list(), dtype=object)) for name in names]
    return np.stack(read, axis=1), names


def _read_calls(values: NDArray[Any]) -> NDArray[np.int8]:
    """Return calls as 0, 1, 2, −1 for missing and −2 for what is none of these."""
    if isinstance(values, np.ma.MaskedArray):
        known = _read_calls(np.asarray(values.data))
        return np.where(np.ma.getmaskarray(values), np.int8(-1), known)
    if values.dtype.kind in "iub":
        # Compared before the conversion: a large unsigned number would become −1.
        inside = (values >= -1) & (values <= 2)
        return np.where(inside, values.astype(np.int8), np.int8(-2))
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        known = np.where(missing, 0, values)
        found = np.isin(known, (-1, 0, 1, 2))
        read = np.where(found, known, -2).astype(np.int8)
        return np.where(missing, np.int8(-1), read)
    flat = [_read_call(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.int8).reshape(values.shape)


def _read_call(value: Any) -> int:
    """Return one call."""
    if value is None:
        return -1
    if isinstance(value, int | float | np.number | np.bool_):
        if isinstance(value, float | np.floating) and math.isnan(value):
            return -1
        return int(value) if value in (-1, 0, 1, 2) else -2
    return -2


def _pack_array(array: NDArray[Any], public: GenotypesPublic) -> NDArray[np.uint8]:
    """Return calls in two bits each, a few sites at a time."""
    people, many = array.shape
    packed = np.empty((many, -(-people // 4)), dtype=np.uint8)
    for low in range(0, many, SITES_AT_ONCE):
        part = _read_calls(array[:, low : low + SITES_AT_ONCE])
        wrong = part == -2
        if public.missing == "refuse":
            wrong |= part == -1
        if wrong.any():
            person, site = (int(found[0]) for found in np.nonzero(wrong))
            name = public.sites.listed[0][low + site]
            allowed = "0, 1 or 2" if public.missing == "refuse" else "0, 1, 2 or missing"
            raise DataError(
                Problem(
                    field=name,
                    row=person + 1,
                    wrong=f"a call must be {allowed}",
                    remedy='Correct it, or declare missing = "heterozygous".'
                    if public.missing == "refuse"
                    else "Correct it, or make it missing (null or −1).",
                )
            )
        packed[low : low + SITES_AT_ONCE] = pack_calls(np.ascontiguousarray(part.T))
    return packed


def _refuse_missing(engine: PackedGenotypes) -> None:
    """Raise where a call is missing although none may be."""
    for low in range(0, engine.sites, 10_000):
        part = np.arange(low, min(low + 10_000, engine.sites), dtype=np.int64)
        if engine.calls(part)[:, :, 3].any():
            raise DataError(
                Problem(
                    wrong="a call is missing",
                    remedy='Declare missing = "heterozygous", or impute the calls first.',
                )
            )


# Phenotypes and covariates


def _read_traits(
    phenotype: Any, covariates: Any, public: GenotypesPublic, people: int, unknown: str
) -> _Traits:
    """Return the group, the number and the covariates of every participant."""
    OneOf(UNKNOWN_PHENOTYPE)("unknown_phenotype", unknown)
    if unknown == "drop" and public.relation is Relation.REPLACE_ONE:
        raise ValueError(
            "under replace-one the number of participants is public, and dropping those without a "
            'phenotype would make it depend on them; use relation = "add_remove"'
        )
    values = column_of(phenotype).to_list()
    if len(values) != people:
        raise DataError(
            Problem(
                wrong=f"there are {people:,} participants and {len(values):,} phenotypes",
                remedy="Give one phenotype per participant.",
            )
        )
    read = _read_group if public.bounds is None else _number_reader(public.bounds)
    found = [read(value) for value in values]
    _refuse_unreadable(found, public, unknown)
    codes, sizes = _read_covariates(covariates, public, people)
    groups = np.zeros(people, dtype=np.uint8)
    numbers = None
    if public.bounds is None:
        groups[:] = [NO_GROUP if value is None else value for value in found]
    else:
        groups[:] = [NO_GROUP if value is None else 0 for value in found]
        numbers = np.array([0 if value is None else value for value in found], dtype=np.int64)
    return _Traits(groups, numbers, codes, sizes)


def _refuse_unreadable(found: list[Any], public: GenotypesPublic, unknown: str) -> None:
    """Raise where a phenotype is none, or is missing and may not be."""
    allowed = "case or control (1 or 0)"
    if public.bounds is not None:
        allowed = f"a number from {public.bounds[0]:g} to {public.bounds[1]:g}"
    wrong = [number for number, value in enumerate(found, start=1) if value is _UNREADABLE]
    absent = [number for number, value in enumerate(found, start=1) if value is None]
    if wrong:
        raise DataError(
            Problem(
                field="phenotype",
                row=wrong[0],
                more=len(wrong) - 1,
                wrong=f"a phenotype must be {allowed}",
                remedy="Correct it, or give the bounds of a number with bounds=(low, high).",
            )
        )
    if absent and unknown == "refuse":
        raise DataError(
            Problem(
                field="phenotype",
                row=absent[0],
                more=len(absent) - 1,
                wrong="a participant has no phenotype",
                remedy='Remove such participants, or use unknown_phenotype = "drop".',
            )
        )


#: What a phenotype is read as that is none.
_UNREADABLE = object()


def _read_group(value: Any) -> Any:
    """Return 0 for a case, 1 for a control, and nothing for a missing phenotype."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        if not word:
            return None
        return 0 if word in CASES else 1 if word in CONTROLS else _UNREADABLE
    if isinstance(value, bool | int | float):
        return 0 if value == 1 else 1 if value == 0 else _UNREADABLE
    return _UNREADABLE


def _number_reader(bounds: tuple[float, float]) -> Any:
    """Return what reads a phenotype that is a number, in whole steps between its bounds."""
    low, high = bounds

    def read(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return _UNREADABLE
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return _UNREADABLE
        if math.isnan(number):
            return None
        if not low <= number <= high:
            return _UNREADABLE
        return round((number - low) / (high - low) * 2 * GRID) - GRID

    return read


def _read_covariates(
    covariates: Any, public: GenotypesPublic, people: int
) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """Return the codes of all covariates, and how many codes each has."""
    schema = public.covariates
    if (covariates is None) != (schema is None):
        raise ValueError("covariates and covariate_schema need each other")
    if schema is None:
        return np.zeros((0, people), dtype=np.uint8), ()
    table = Table(covariates, schema).counts
    if table.rows != people:
        raise DataError(
            Problem(
                wrong=f"there are {people:,} participants and {table.rows:,} rows of covariates",
                remedy="Give one row per participant.",
            )
        )
    if max(schema.sizes) > NO_GROUP:
        raise ValueError(f"a covariate may have at most {NO_GROUP} values or bins")
    codes = [np.asarray(table.codes(number)) for number in range(len(schema.sizes))]
    return np.stack(codes).astype(np.uint8), schema.sizes


def _order_covariates(covariates: Any, identifiers: Sequence[str]) -> Any:
    """Return the rows of covariates in the order of the participants."""
    if covariates is None:
        return None
    import polars as pl

    if isinstance(covariates, str | Path):
        from sfumato.engines.files import TableFile

        file = TableFile(Path(covariates), None)
        columns: Any = file.read(list(file.names()))
    else:
        columns = columns_of(covariates, names_of(covariates))
    if IDENTIFIER not in columns:
        raise DataError(
            Problem(
                wrong=f"the covariates have no column {IDENTIFIER!r}",
                remedy="Name the column of participants so.",
            )
        )
    own = [str(value) for value in columns[IDENTIFIER].to_list()]
    _refuse_repeated(own, len(own))
    places = {value: place for place, value in enumerate(own)}
    absent = [n for n, value in enumerate(identifiers, start=1) if value not in places]
    if absent:
        raise DataError(
            Problem(
                row=absent[0],
                more=len(absent) - 1,
                wrong="a participant has no row of covariates",
                remedy="Give every participant one row.",
            )
        )
    order = [places[value] for value in identifiers]
    return pl.DataFrame(
        {name: column.gather(order) for name, column in columns.items() if name != IDENTIFIER}
    )


def _refuse_repeated(person: Any, people: int) -> None:
    """Raise where a participant is there twice, or identifiers are too few."""
    if person is None:
        return
    own = [str(value) for value in column_of(person).to_list()]
    if len(own) != people:
        raise DataError(
            Problem(
                wrong="person must hold one identifier per participant",
                remedy="Give as many identifiers as there are participants.",
            )
        )
    seen: set[str] = set()
    repeated = []
    for number, value in enumerate(own, start=1):
        if value in seen:
            repeated.append(number)
        seen.add(value)
    if repeated:
        raise DataError(
            Problem(
                row=repeated[0],
                more=len(repeated) - 1,
                wrong="a participant is there twice",
                remedy="Keep one set of calls per participant, chosen without looking at them.",
            )
        )


# Files


def _data_sites(bim: Path) -> Sites:
    """Return the sites of a .bim file."""
    try:
        return read_sites(bim)
    except ValueError as error:
        problem = Problem(wrong=str(error), remedy="Write the three files anew with PLINK.")
    raise DataError(problem)


def _read_fam(
    fam: Path, bounds: tuple[float, float] | None, with_phenotypes: bool
) -> dict[str, list[Any]]:
    """Return the identifiers and, where they are used, the phenotypes of a .fam file."""
    from sfumato.privacy.documents import read_text

    identifiers, phenotypes = [], []
    for number, line in enumerate(read_text(fam).splitlines(), start=1):
        fields = line.split()
        if len(fields) != 6:
            raise DataError(
                Problem(
                    wrong=f"{fam.name}, line {number}: a participant has 6 fields; got "
                    f"{len(fields)}",
                    remedy="The fields are family, participant, father, mother, sex, phenotype.",
                )
            )
        # Without families, the family is 0 or the participant.
        alone = fields[0] in ("0", fields[1])
        identifiers.append(fields[1] if alone else f"{fields[0]} {fields[1]}")
        phenotypes.append(_fam_phenotype(fields[5], bounds) if with_phenotypes else None)
    wrong = [number for number, value in enumerate(phenotypes, 1) if value is _UNREADABLE]
    if wrong:
        raise DataError(
            Problem(
                field="phenotype",
                row=wrong[0],
                more=len(wrong) - 1,
                wrong=f"the sixth field of a line of {fam.name} must be 1 (control), 2 (case), or "
                "0, -9 or NA (unknown)",
                remedy="Correct it, give phenotypes by participant with phenotype=…, or give the "
                "bounds of a number with bounds=(low, high).",
            )
        )
    return {IDENTIFIER: identifiers, "phenotype": phenotypes}


def _fam_phenotype(text: str, bounds: tuple[float, float] | None) -> Any:
    """Return a phenotype of a .fam file as `Genotypes` takes it; codes are compared as numbers."""
    if text in ("NA", "nan"):
        return None
    try:
        number = float(text)
    except ValueError:
        return _UNREADABLE if bounds is None else text
    if number == -9:
        return None
    if bounds is not None:
        return text
    return {1.0: "control", 2.0: "case", 0.0: None}.get(number, _UNREADABLE)


def _map_bed(bed: Path, sites: int, people: int) -> tuple[NDArray[np.uint8], CallFile]:
    """Return the calls of a .bed file, mapped into memory."""
    with importing("bed-reader", "genomics"):
        from bed_reader import open_bed
    width = -(-people // 4)
    file = CallFile.of(bed)
    with open(bed, "rb") as opened:
        magic = opened.read(3)
    if magic != MAGIC or file.size != 3 + sites * width:
        raise DataError(
            Problem(
                wrong=f"{bed.name} does not hold {sites:,} sites of {people:,} participants, site "
                "after site",
                remedy="Write the three files anew with PLINK 1.9 or 2 (--make-bed).",
            )
        )
    if sites and people:
        # The field's own reader must agree that the file is one.
        with open_bed(bed, iid_count=people, sid_count=sites, num_threads=1) as reader:
            without_values(
                lambda: reader.read(np.s_[:1, :1], dtype="int8"),
                Exception,
                lambda: Problem(wrong=f"{bed.name} cannot be read", remedy="Write it anew."),
            )
    if not people:
        return np.zeros((sites, 0), dtype=np.uint8), file
    mapped = np.memmap(bed, dtype=np.uint8, mode="r", offset=3, shape=(sites, width))
    return mapped, file


def _flip(own: tuple[str, str], declared: tuple[str, str]) -> bool | None:
    """Return whether a file counts the other allele of a declared site; nothing if it is another.

    An allele that none of the participants carries has no letter in a file; the other one must then
    be one of the declared two.
    """
    if own in (declared, declared[::-1]):
        return own != declared
    counted, rest = own
    if counted in NOT_CARRIED and rest not in NOT_CARRIED and rest in declared:
        return rest == declared[0]
    if rest in NOT_CARRIED and counted not in NOT_CARRIED and counted in declared:
        return counted == declared[1]
    return None


def _refuse_unknown_alleles(listed: Sites) -> None:
    """Raise where a list lacks an allele: the order of the file's alleles would decide then."""
    for name, *alleles in zip(*(listed.listed[column] for column in (0, 3, 4)), strict=True):
        if "?" in alleles:
            raise DataError(
                Problem(
                    field=name,
                    wrong="the public list of sites lacks an allele of the site; a file needs both",
                    remedy="Give the effect allele and the other allele of every listed site, from "
                    "public knowledge.",
                )
            )


def _refuse_absent(rows: NDArray[np.int64], listed: Sites, path: Path) -> None:
    """Raise where a file lacks a listed site.

    A file may lack a site because nobody differs there; one carrier would then change how all
    others are read.
    """
    absent = np.flatnonzero(rows < 0).tolist()
    if absent:
        more = f", nor {len(absent) - 1:,} other listed sites" if len(absent) > 1 else ""
        raise DataError(
            Problem(
                field=listed.listed[0][absent[0]],
                wrong=f"{path.name} does not hold the site of the public list{more}",
                remedy="Write all listed sites into the file, also those at which all participants "
                "have the reference allele (for instance with bcftools call without "
                "--variants-only), or take the site off the public list.",
            )
        )


def _other_alleles(name: str) -> DataError:
    return DataError(
        Problem(
            field=name,
            wrong="the alleles of the site are not those of the public list",
            remedy="Correct the list, or remove the site from the list and the data.",
        )
    )


def _align(listed: Sites, own: Sites, path: Path) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the row of every listed site in a file, and whether the file counts the other allele.

    A file that lacks a listed site, or has other alleles there, is refused.
    """
    _refuse_unknown_alleles(listed)
    rows = own.find(listed.listed[0])
    _refuse_absent(rows, listed, path)
    flipped = np.zeros(len(rows), dtype=np.bool_)
    names, _, _, effects, others = listed.listed
    own_effects, own_others = own.listed[3], own.listed[4]
    for place, row in enumerate(rows.tolist()):
        flip = _flip((own_effects[row], own_others[row]), (effects[place], others[place]))
        if flip is None:
            raise _other_alleles(names[place])
        flipped[place] = flip
    return rows, flipped


def _read_variants(
    path: Path, listed: Sites
) -> tuple[list[str], NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Return samples, calls, and the row of every listed site, of a VCF file."""
    with importing("cyvcf2", "genomics"):
        from cyvcf2 import VCF

    def problem() -> Problem:
        return Problem(
            wrong=f"{path.name} is not a VCF file with genotypes",
            remedy="Check it with bcftools view.",
        )

    _refuse_unknown_alleles(listed)
    reader = without_values(lambda: VCF(str(path)), Exception, problem)
    samples = [str(sample) for sample in reader.samples]
    located: dict[tuple[str, str], list[int]] = {}
    for place, where in enumerate(zip(listed.listed[1], listed.listed[2], strict=True)):
        if where != ("0", "0"):
            located.setdefault(where, []).append(place)
    rows = np.full(len(listed), -1, dtype=np.int64)
    flipped = np.zeros(len(listed), dtype=np.bool_)
    width = -(-len(samples) // 4)
    variants = iter(reader)
    many = 0
    line = 0
    # The calls of a large file do not fit into memory; the temporary file has no name, and stays
    # as long as it is mapped.
    with tempfile.TemporaryFile() as store:
        while True:
            variant = without_values(lambda: next(variants, None), Exception, problem)
            if variant is None:
                break
            line += 1
            found = _listed_at(variant, listed, located)
            if not found:
                continue
            for place, flip in found.items():
                if rows[place] >= 0:
                    raise DataError(
                        Problem(
                            field=listed.listed[0][place],
                            wrong="the site is there twice",
                            remedy="Keep one line per site.",
                        )
                    )
                rows[place], flipped[place] = many, flip
            if samples:
                calls = _variant_calls(variant, listed.listed[0][next(iter(found))], line)
                store.write(pack_calls(calls[None, :]).tobytes())
            many += 1
        store.flush()
        _refuse_absent(rows, listed, path)
        packed = np.zeros((many, width), dtype=np.uint8)
        if packed.size:
            packed = np.memmap(store, np.uint8, mode="r", shape=(many, width))
    return samples, packed, rows, flipped


def _listed_at(
    variant: Any, listed: Sites, located: dict[tuple[str, str], list[int]]
) -> dict[int, bool]:
    """Return the listed sites that a line of a VCF file is, and whether it counts the other allele.

    A line is a listed site by its name, or by its place and alleles. A line without an alternative
    allele may be several sites at one place.
    """
    names, _, _, effects, others = listed.listed
    alternatives = list(variant.ALT)
    own = (alternatives[0] if alternatives else ".", str(variant.REF))
    named = int(listed.find([variant.ID or ""])[0])
    places = [named] if named >= 0 else located.get((str(variant.CHROM), str(variant.POS)), [])
    found = {}
    for place in places:
        declared = (effects[place], others[place])
        if len(alternatives) > 1:
            if place != named and not {*declared} <= {variant.REF, *alternatives}:
                continue
            raise DataError(
                Problem(
                    field=names[place],
                    wrong="the site has more than two alleles",
                    remedy="Split it with bcftools norm -m-, or remove it from the list of sites.",
                )
            )
        flip = _flip(own, declared)
        if flip is not None:
            found[place] = flip
        elif place == named:
            raise _other_alleles(names[place])
    return found


def _variant_calls(variant: Any, name: str, line: int) -> NDArray[np.int8]:
    """Return the copies of the alternative allele in every sample, −1 where a call is missing.

    One allele, as of men on the X chromosome, counts as two copies of it.
    """

    def problem() -> Problem:
        return Problem(
            field=name,
            wrong=f"data line {line:,} of the VCF file has no genotypes (GT)",
            remedy="Write genotypes for every listed site, or take the site off the public list.",
        )

    if "GT" not in (variant.FORMAT or ()):
        raise DataError(problem())
    # Of one sample: the alleles, −1 for a missing and −2 for none, and whether they are phased.
    read = without_values(lambda: np.asarray(variant.genotype.array()), Exception, problem)
    alleles = read[:, :-1]
    if (alleles[:, 2:] != -2).any() or (alleles > len(variant.ALT)).any():
        raise DataError(
            Problem(
                field=name,
                wrong=f"data line {line:,} of the VCF file has a genotype that is not one or two "
                "of the two alleles of the line",
                remedy="Make genotypes diploid or haploid, of the reference and the alternative "
                "allele (bcftools norm -m-), or make them missing.",
            )
        )
    alleles = alleles[:, :2]
    copies = (alleles == 1).sum(axis=1)
    if alleles.shape[1] == 1:
        copies = 2 * copies
    else:
        copies = np.where(alleles[:, 1] == -2, 2 * copies, copies)
    return np.where((alleles == -1).any(axis=1), -1, copies).astype(np.int8)
