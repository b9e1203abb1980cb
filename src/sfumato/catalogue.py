"""What is public and where it lives, so that importing sfumato stays instant.

Names are imported when they are first used. Methods are not listed here: `sfumato.places` is
derived from their classes by `make derive`. The same places tell a saved release which class its
method's name stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sfumato.places import METHODS, PUBLIC_PARTS
from sfumato.privacy.registry import register_place

__all__ = [
    "LOCAL_METHODS",
    "METHODS",
    "OTHER_NAMES",
    "PACKAGES",
    "PUBLIC_NAMES",
    "PUBLIC_PARTS",
    "load_name",
]

#: Packages that `import sfumato as sf` reaches by their names, loaded when they are first used.
PACKAGES = ("attacks", "audit", "evaluate", "local", "noise", "sklearn")

#: Public names that are not methods → where they live.
OTHER_NAMES = {
    "ApproxDP": "sfumato.privacy.loss:ApproxDP",
    "BudgetExceeded": "sfumato.privacy.ledger:BudgetExceeded",
    "DataError": "sfumato.data.errors:DataError",
    "Genotypes": "sfumato.data.genotypes:Genotypes",
    "Graph": "sfumato.data.graph:Graph",
    "Guarantee": "sfumato.privacy.guarantee:Guarantee",
    "Ledger": "sfumato.privacy.ledger:Ledger",
    "LedgerError": "sfumato.privacy.ledger:LedgerError",
    "Method": "sfumato.privacy.method:Method",
    "Plan": "sfumato.privacy.plan:Plan",
    "Points": "sfumato.data.points:Points",
    "PureDP": "sfumato.privacy.loss:PureDP",
    "Release": "sfumato.privacy.release:Release",
    "Schema": "sfumato.data.schema:Schema",
    "Sequences": "sfumato.data.sequences:Sequences",
    "Sites": "sfumato.data.sites:Sites",
    "Table": "sfumato.data.table:Table",
    "ZCDP": "sfumato.privacy.loss:ZCDP",
    "audit": "sfumato.audit:audit",
    "load": "sfumato.privacy.saved:load",
    "read_graph": "sfumato.data.graph:read_graph",
    "read_plink": "sfumato.data.genotypes:read_plink",
    "read_points": "sfumato.data.points:read_points",
    "read_sequences": "sfumato.data.sequences:read_sequences",
    "read_table": "sfumato.data.table:read_table",
    "read_vcf": "sfumato.data.genotypes:read_vcf",
    "rehearse": "sfumato.rehearsal:rehearse",
    "save_report": "sfumato.report.page:save_report",
    "verify": "sfumato.privacy.saved:verify",
}
_methods = {place.partition(":")[2]: place for place in METHODS.values()}

#: Methods of local collection, public as `sfumato.local.NAME` → where they live.
LOCAL_METHODS = {n: place for n, place in _methods.items() if place.startswith("sfumato.local.")}
#: Names that are public as `sfumato.NAME` → where they live.
PUBLIC_NAMES = OTHER_NAMES | {n: place for n, place in _methods.items() if n not in LOCAL_METHODS}

register_place("report.compare_page", "sfumato.report.page:compare_page")
for _name, _place in METHODS.items():
    register_place(_name, _place)
for _kind, _place in PUBLIC_PARTS.items():
    register_place(f"public.{_kind}", _place)


def load_name(package: str, names: Mapping[str, str], name: str) -> Any:
    """Import and return one of the names of a package, or raise `AttributeError`.

    Parameters
    ----------
    package
        The package that was asked for the name.
    names
        Its names, and where they live.
    name
        The name.
    """
    if name not in names:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, attribute = names[name].partition(":")
    return getattr(import_module(module), attribute)
