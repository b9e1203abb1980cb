"""What all methods for genotypes share: the panel of sites, and pure or Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from sfumato.data.genotypes import Genotypes
from sfumato.data.genotypes_public import GenotypesPublic
from sfumato.privacy.loss import ZCDP, ApproxDP, Loss, Number, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.parameters import DELTA, Names, OrNone, parameter
from sfumato.privacy.plan import Size
from sfumato.privacy.release import Release

__all__ = ["CovariateNames", "GenotypeMethod", "SiteNames"]

#: Tests of more participants would not be exact enough in floating point.
MOST_PEOPLE = 2**26

ReleaseT = TypeVar("ReleaseT", bound=Release)


@dataclass(frozen=True)
class SiteNames(Names):
    """A list of distinct names of sites."""

    allowed = "a non-empty list of distinct names of sites"


@dataclass(frozen=True)
class CovariateNames(Names):
    """A list of distinct names of covariates, which may be empty."""

    allowed = "a list of distinct names of covariates"

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names as a tuple."""
        return () if isinstance(value, list | tuple) and not value else super().parse(value)


@lru_cache(maxsize=256)
def _concentrated_loss(limit: ApproxDP) -> ZCDP:
    """Return the largest ρ that implies (ε, δ); copies of a method need not search again."""
    return ZCDP.within(limit)


@dataclass(frozen=True, kw_only=True)
class GenotypeMethod(Method[Genotypes, ReleaseT]):
    """A method for genotypes that is pure, or counts in zCDP where a delta is given.

    Parameters
    ----------
    epsilon
        Privacy loss for one participant.
    delta
        If given, noise is Gaussian and the guarantee is (epsilon, delta), with less noise if many
        sites are released; otherwise the guarantee is pure.
    sites
        The names of the sites that are used; by default all. No other site is published.
    """

    kind: ClassVar[str] = "genotypes"

    delta: Number | None = parameter(OrNone(DELTA), None)
    sites: Any = parameter(OrNone(SiteNames()), None)

    def loss(self) -> Loss:
        """Return ε, or (ε, δ)."""
        if self.delta is None:
            return PureDP(self.epsilon)
        return ApproxDP(self.epsilon, self.delta)

    def working_loss(self) -> Loss:
        """Return ε, or the largest ρ that implies (ε, δ)."""
        limit = self.loss()
        return _concentrated_loss(limit) if isinstance(limit, ApproxDP) else limit

    def uses(self, public: GenotypesPublic) -> tuple[str, ...] | None:
        """Return the panel; `None` for all sites."""
        return None if self.sites is None else tuple(self.sites)

    def check(self, public: GenotypesPublic) -> None:
        """Raise where a site of the panel is unknown."""
        super().check(public)
        if self.sites is not None:
            public.sites.index(self.sites)

    def site_count(self, public: GenotypesPublic) -> int:
        """Return how many sites are used."""
        return len(public.sites) if self.sites is None else len(self.sites)

    def view(self, public: GenotypesPublic) -> tuple[GenotypesPublic, tuple[int, ...] | None]:
        """Return what is public about the panel, and the numbers of its sites if it is a part."""
        if self.sites is None or public.sites.names == " ".join(self.sites):
            return public, None
        chosen = tuple(public.sites.index(self.sites).tolist())
        return public.only(self.sites), chosen

    def site_sizes(self, public: GenotypesPublic) -> tuple[Size, ...]:
        """Return what a release of all sites is made of."""
        return (Size(self.site_count(public), "sites"),)


def require_groups(method: Method[Any, Any], public: GenotypesPublic) -> None:
    """Raise where there are no cases and controls."""
    if public.bounds is not None:
        raise ValueError(
            f"{type(method).__name__} needs a phenotype of cases and controls; this one is a number"
        )


def require_public_groups(what: str, public: GenotypesPublic) -> tuple[int, int]:
    """Return the numbers of cases and controls, or raise where they are private."""
    sizes = public.sizes if public.sizes is not None else public.sizes_likely
    if public.groups != "public" or sizes is None:
        raise ValueError(
            f"{what} needs public numbers of cases and controls; declare relation = "
            '"replace_one" and groups = "public", with rows_about and cases_about for plans'
        )
    if min(sizes) < 1:
        raise ValueError(f"{what} needs at least one case and one control")
    if sum(sizes) > MOST_PEOPLE:
        raise ValueError(f"{what} needs at most {MOST_PEOPLE:,} participants; got {sum(sizes):,}")
    return sizes
