"""What is public about genotypes: the sites, the kind of phenotype, and what is declared of groups.

Nothing here may be made from calls or phenotypes: a site at which nobody differs stays, and the
numbers of cases and controls are here only where they were declared to be public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.public import Public, check_count
from sfumato.data.schema import Schema
from sfumato.data.sites import Sites
from sfumato.engines.coding import Generator
from sfumato.engines.packed_genotypes import PackedGenotypes, pack_calls
from sfumato.noise.exact import briefly
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.notebook import list_some
from sfumato.privacy.parameters import OneOf

if TYPE_CHECKING:
    from sfumato.data.genotypes import Genotypes

__all__ = ["CASE_CONTROL", "GRID", "GenotypesPublic"]

#: The phenotype that is one of two groups.
CASE_CONTROL = "case_control"
#: A number is read in so many steps between its bounds.
GRID = 1000
#: What a missing call counts as.
MISSING = ("heterozygous", "reference", "refuse")
#: Whether the numbers of cases and of controls are public.
GROUPS = ("private", "public")
#: The most combinations of covariates.
MOST_STRATA = 100


@dataclass(frozen=True, kw_only=True)
class GenotypesPublic(Public):
    """What is public about genotypes.

    Parameters
    ----------
    sites
        The sites that were studied: declared, never found in the calls.
    bounds
        The least and greatest value of a phenotype that is a number; `None` for cases and controls.
    groups
        `"public"` if the numbers of cases and controls are public: then a participant is replaced
        by another one of the same group. `"private"` otherwise.
    cases
        The number of cases, where it is public.
    cases_about
        A public guess at the number of cases, for plans. Never measured.
    missing
        What a missing call counts as: `"heterozygous"`: one copy; `"reference"`: no copy;
        `"refuse"`: there was none.
    covariates
        The covariates and their declared domains, if there are any.
    unit, relation, contribution, rows, rows_about
        As for every kind of data; the unit is a participant.
    """

    kind = "genotypes"
    made_by = "sf.Genotypes(calls, phenotype)"
    read_by = "sf.read_plink(prefix) or sf.read_vcf(path, phenotype, sites=…)"
    __repr__ = Public.__repr__

    sites: Sites
    bounds: tuple[float, float] | None = None
    groups: str = "private"
    cases: int | None = None
    cases_about: int | None = None
    missing: str = "heterozygous"
    covariates: Schema | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sites, Sites):
            raise TypeError(f"sites must be sf.Sites; got {type(self.sites).__name__}")
        if self.unit is not Unit.PARTICIPANT:
            raise ValueError(f'the unit of genotypes must be "participant"; got "{self.unit}"')
        if self.contribution != 1:
            raise ValueError("a participant has one set of calls; leave contribution out")
        OneOf(GROUPS)("groups", self.groups)
        OneOf(MISSING)("missing", self.missing)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _check_bounds(self.bounds))
        if self.groups == "public":
            if self.relation is not Relation.REPLACE_ONE:
                raise ValueError(
                    'public numbers of cases and controls need relation = "replace_one": a '
                    "participant more or less would change them"
                )
            if self.bounds is not None:
                raise ValueError('groups = "public" needs a phenotype of cases and controls')
        for name in ("cases", "cases_about"):
            number = getattr(self, name)
            if number is not None:
                check_count(name, number)
        if self.cases is not None and (self.groups != "public" or self.rows is None):
            raise ValueError('the number of cases is public only with groups = "public"')
        if self.cases is not None and self.rows is not None and self.cases > self.rows:
            raise ValueError(f"there cannot be {self.cases:,} cases among {self.rows:,}")
        if self.covariates is not None and self.covariates.names == ():
            raise ValueError("covariates must have at least one column")

    @classmethod
    def example(cls, relation: Relation | None, max_rows: int | None) -> GenotypesPublic:
        """Return four sites; under replace-one with public groups of four cases and controls."""
        if max_rows is not None:
            raise ValueError("a participant has one set of calls; leave max_rows out")
        sites = Sites.of(
            ["rs1", "rs2", "rs3", "rs4"], [1, 1, 2, 2], [10, 20, 10, 30], "ACGT", "GTAC"
        )
        told = relation or Relation.ADD_REMOVE
        if told is Relation.ADD_REMOVE:
            return cls(sites=sites, unit=Unit.PARTICIPANT, relation=told)
        return cls(
            sites=sites, unit=Unit.PARTICIPANT, relation=told, groups="public", rows=8, cases=4
        )

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups: cases and controls, or everybody where the phenotype is a number."""
        return ("cases", "controls") if self.bounds is None else ("participants",)

    @property
    def sizes(self) -> tuple[int, int] | None:
        """The numbers of cases and controls, where they are public."""
        if self.cases is None or self.rows is None:
            return None
        return self.cases, self.rows - self.cases

    @property
    def rows_likely(self) -> int | None:
        """How many participants there are, as far as that was declared."""
        return self.rows_about if self.rows is None else self.rows

    @property
    def sizes_likely(self) -> tuple[int, int] | None:
        """The numbers of cases and controls, as far as they were declared."""
        rows = self.rows_likely
        if self.sizes is not None or rows is None or self.bounds is not None:
            return self.sizes
        about = rows // 2 if self.cases_about is None else min(self.cases_about, rows)
        return about, rows - about

    def strata(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the combinations of values of some covariates, in the order they are counted."""
        found: list[tuple[str, ...]] = [()]
        for name in names:
            if self.covariates is None:
                raise ValueError(f"there is no covariate {briefly(name)}: none was declared")
            size = self.covariates.sizes[self.covariates.index(name)]
            coding = self.covariates[name].coding
            found = [(*before, coding.label(code)) for before in found for code in range(size)]
            if len(found) > MOST_STRATA:
                raise ValueError(
                    f"the covariates have more than {MOST_STRATA} combinations; declare fewer bins"
                )
        return found

    def only(self, names: Sequence[str]) -> GenotypesPublic:
        """Return what is public about some of the sites."""
        return replace(self, sites=self.sites.take(self.sites.index(names)))

    def make_synthetic(self, rows: int, generator: Generator) -> Genotypes:
        """Return participants with random calls, half of them cases, for rehearsals.

        Privacy: a function of what is public and of the generator.
        """
        from sfumato.data.genotypes import Genotypes

        if rows < 0:
            raise ValueError(f"rows must not be negative; got {rows}")
        sites = len(self.sites)
        # Sites share a few rows of calls, so that a rehearsal of a million sites is small.
        distinct = min(sites, 1000)
        zeros = np.zeros(distinct * rows, dtype=np.int64)
        calls = np.asarray(generator.integers(zeros, 3)).reshape(distinct, rows)
        groups = np.zeros(rows, dtype=np.uint8)
        numbers = None
        if self.bounds is None:
            groups[rows // 2 :] = 1
        else:
            steps = np.asarray(generator.integers(np.zeros(rows, dtype=np.int64), 2 * GRID + 1))
            numbers = steps.astype(np.int64) - GRID
        sizes = () if self.covariates is None else self.covariates.sizes
        codes = np.array(
            [np.asarray(generator.integers(np.zeros(rows, dtype=np.int64), s)) for s in sizes],
            dtype=np.uint8,
        ).reshape(len(sizes), rows)
        engine = PackedGenotypes(
            pack_calls(calls.astype(np.int8)),
            np.arange(sites, dtype=np.int64) % distinct,
            np.zeros(sites, dtype=np.bool_),
            groups,
            len(self.group_names),
            numbers=numbers,
            codes=codes,
            sizes=sizes,
        )
        # It goes by the same public facts, the number of rows included, however many it has.
        return Genotypes._of(engine, self)

    def brief(self) -> str:
        """Return the number of sites, the phenotype, the unit and the relation."""
        return f"{len(self.sites):,} sites, phenotype={self._phenotype()!r}, {super().brief()}"

    def _phenotype(self) -> str:
        if self.bounds is None:
            return CASE_CONTROL
        return f"{self.bounds[0]:g} to {self.bounds[1]:g}"

    def facts(self) -> list[tuple[str, object]]:
        """Return the sites and the phenotype, and what is public about data of any kind."""
        shown = list_some(self.sites.names.split(" ", 12)[:12])
        facts: list[tuple[str, object]] = [
            ("sites", f"{len(self.sites):,}: {shown}"),
            ("phenotype", self._phenotype()),
            ("missing calls", self.missing),
        ]
        if self.sizes is not None:
            facts.append(("cases and controls", f"{self.sizes[0]:,} and {self.sizes[1]:,}"))
        if self.covariates is not None:
            facts.append(("covariates", list_some(self.covariates.names)))
        return [*facts, *super().facts()]

    def assumptions(self) -> tuple[str, ...]:
        """Return what a guarantee takes as public knowledge, in words."""
        words = [f"the list of {len(self.sites):,} sites with their alleles"]
        if self.bounds is not None:
            words.append("the declared bounds of the phenotype")
        if self.covariates is not None:
            words.append("the declared domains of the covariates")
        if self.missing == "heterozygous":
            words.append("that a missing call counts as one copy of each allele")
        if self.missing == "reference":
            words.append("that a missing call counts as no copy of the effect allele")
        if self.groups == "public":
            words.append(
                "the numbers of cases and controls; a participant is replaced by any other of the "
                "same group"
            )
        return (*words, *super().assumptions())

    @property
    def excludes(self) -> str:
        """What no guarantee covers: who is a case, where the numbers of cases are public."""
        if self.groups != "public":
            return ""
        return "whether a participant is a case or a control"

    def _document(self) -> dict[str, Any]:
        return {
            "sites": self.sites.to_json(),
            "bounds": None if self.bounds is None else list(self.bounds),
            "groups": self.groups,
            "cases": self.cases,
            "cases_about": self.cases_about,
            "missing": self.missing,
            "covariates": None if self.covariates is None else self.covariates.to_json(),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> GenotypesPublic:
        bounds, covariates = document["bounds"], document["covariates"]
        return cls(
            sites=Sites(**document["sites"]),
            bounds=None if bounds is None else (bounds[0], bounds[1]),
            groups=document["groups"],
            cases=document["cases"],
            cases_about=document["cases_about"],
            missing=document["missing"],
            covariates=None if covariates is None else Schema.from_json(covariates),
            unit=document["unit"],
            relation=document["relation"],
            contribution=document["contribution"],
            rows=document["rows"],
            rows_about=document["rows_about"],
        )


def _check_bounds(bounds: Any) -> tuple[float, float]:
    """Return the bounds of a phenotype as floats, or say what is wrong with them."""
    from math import isfinite

    try:
        low, high = (float(end) + 0.0 for end in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            "the bounds of the phenotype must be a pair of numbers (low, high)"
        ) from None
    if not (isfinite(low) and isfinite(high) and isfinite(high - low)) or low >= high:
        raise ValueError(
            "the lower bound of the phenotype must be less than the upper one, both finite; got "
            f"{low!r} and {high!r}"
        )
    return low, high
