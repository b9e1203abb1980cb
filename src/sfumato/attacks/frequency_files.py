"""Files of released frequencies, prevalences and population frequencies, for attacks.

What is read here was released or is public. Errors name the column and the row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.group_frequencies import GroupFrequencies
from sfumato.attacks.outcome import USUAL
from sfumato.engines.errors import DataError, Problem
from sfumato.engines.files import TableFile
from sfumato.genomics.calls import ALLELE_COLUMNS, SITE_COLUMNS, find_column
from sfumato.genomics.site_names import join_name, split_name

__all__ = ["read_frequencies", "read_shares", "read_study"]

Floats = NDArray[np.float64]
#: The groups of a study, and names of their columns in a file with one row for each site.
GROUP_COLUMNS = {
    "cases": ("cases", "case_frequency", "frequency_cases", "effect_allele_frequency_cases"),
    "controls": (
        "controls",
        "control_frequency",
        "frequency_controls",
        "effect_allele_frequency_controls",
    ),
    "participants": ("participants", "frequency", "effect_allele_frequency"),
}
FREQUENCY_COLUMNS = ("frequency", "effect_allele_frequency")


def read_frequencies(
    path: str | Path,
    *,
    people: int,
    group: str | None = None,
    noise: float | None = None,
    epsilon: float | None = None,
) -> GroupFrequencies:
    """Read the released frequencies of one group from a CSV file.

    Parameters
    ----------
    path
        Either the `frequencies.csv` of a release, with a row for each site and group and the
        columns `site`, `effect_allele`, `group`, `frequency` and `margin`; or a table with a row
        for each site and a column `frequency`, `cases` or `controls`.
    people, epsilon
        As in `GroupFrequencies`.
    group
        `"cases"`, `"controls"` or `"participants"`; not needed if the file has one group.
    noise
        The standard deviation of the noise; by default that of the column `margin` (1.96 standard
        deviations), or 0 if there is none.
    """
    groups = _read_groups(Path(path))
    if group is None and len(groups) == 1:
        group = next(iter(groups))
    if group not in groups:
        wanted = "a group must be chosen" if group is None else f"there is no group {group!r}"
        raise ValueError(
            f"{Path(path).name} has frequencies of {', '.join(groups)}; {wanted} (group, --group)"
        )
    found = groups[group]
    _refuse_repeated(Path(path), [name for _, name in found.keys])
    names = tuple(name for _, name in found.keys)
    deviation = found.deviation if noise is None else noise
    return GroupFrequencies(names, np.array(found.values), people, deviation, epsilon)


def read_study(
    path: str | Path, *, trait: str | None = None
) -> dict[str, dict[str, tuple[float, float]]]:
    """Read the released frequencies of cases and controls by trait.

    Parameters
    ----------
    path
        A file as for `read_frequencies` with cases and controls, and perhaps a column `trait`.
    trait
        The trait of a file without a column `trait`.
    """
    groups = _read_groups(Path(path))
    if not {"cases", "controls"} <= set(groups):
        raise DataError(
            Problem(
                wrong=f"{Path(path).name} has frequencies of {', '.join(groups)}",
                remedy="A study needs frequencies of cases and of controls.",
            )
        )
    cases, controls = (dict(zip(groups[name].keys, groups[name].values, strict=True))
                       for name in ("cases", "controls"))  # fmt: skip
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for key, share in cases.items():
        study = key[0] or trait
        if study is None:
            raise ValueError(f"{Path(path).name} has no column 'trait'; name the trait (--study)")
        if key in controls:
            found.setdefault(study, {})[key[1]] = (share, controls[key])
    return found


@dataclass
class _Group:
    """What a file states of one group: traits and sites, frequencies, margins."""

    keys: list[tuple[str | None, str]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)

    @property
    def deviation(self) -> float:
        """The root mean square of the standard deviations of the noise."""
        return float(np.sqrt(np.mean(np.square(self.margins)))) / USUAL if self.margins else 0.0


def _read_groups(path: Path) -> dict[str, _Group]:
    """Return the frequencies of each group of a file."""
    file = TableFile(path)
    site = find_column(file, SITE_COLUMNS)
    allele, study, group, margin = (
        find_column(file, names, needed=False)
        for names in (ALLELE_COLUMNS, ("trait",), ("group",), ("margin",))
    )
    if group is not None:
        shares = {"": find_column(file, FREQUENCY_COLUMNS)}
    else:
        stated = {name: find_column(file, names, needed=False)
                  for name, names in GROUP_COLUMNS.items()}  # fmt: skip
        shares = {name: column for name, column in stated.items() if column is not None}
        if not shares:
            find_column(file, [names[0] for names in GROUP_COLUMNS.values()])
    wanted = dict.fromkeys((site, allele, study, group, margin, *shares.values()))
    columns = file.read([name for name in wanted if name is not None])
    read = {name: column.to_list() for name, column in columns.items()}
    assert site is not None
    rows = len(read[site])
    letters = [None] * rows if allele is None else read[allele]
    names = [join_name(str(name), letter)
             for name, letter in zip(read[site], letters, strict=True)]  # fmt: skip
    keys = list(zip([None] * rows if study is None else read[study], names, strict=True))
    margins = [] if margin is None else _numbers(margin, read[margin]).tolist()
    found: dict[str, _Group] = {}
    for label, column in shares.items():
        assert column is not None
        values = _numbers(column, read[column]).tolist()
        labels = [label] * rows if group is None else read[group]
        for row, name in enumerate(labels):
            one = found.setdefault(str(name), _Group())
            one.keys.append(keys[row])
            one.values.append(values[row])
            if margins:
                one.margins.append(margins[row])
    if not found:
        raise DataError(Problem(wrong=f"{path.name} has no rows", remedy="Give one for each site."))
    return found


def _refuse_repeated(path: Path, names: list[str]) -> None:
    """Refuse several frequencies of one site and group."""
    for name, many in Counter(split_name(name)[0] for name in names).items():
        if many > 1:
            raise DataError(
                Problem(
                    wrong=f"{path.name} has {many} frequencies of {name} in one group",
                    remedy="Keep the rows of one trait and one stratum.",
                )
            )


def _numbers(field: str, texts: list[str | None]) -> Floats:
    """Return a column of finite numbers; anything else is refused."""
    found = np.empty(len(texts))
    for row, text in enumerate(texts, start=1):
        try:
            found[row - 1] = float(text or "nan")
        except ValueError:
            found[row - 1] = np.nan
        if not np.isfinite(found[row - 1]):
            raise DataError(
                Problem(
                    field=field,
                    row=row,
                    wrong="a frequency must be a finite number",
                    remedy="Correct the entry, or leave the site out.",
                )
            )
    return found


def read_shares(path: str | Path, *, key: str, value: str) -> dict[str, float]:
    """Read a table of two columns, such as trait and prevalence.

    Parameters
    ----------
    path
        A CSV file.
    key
        `"trait"` or `"site"`; a column `allele` beside sites is added to their names.
    value
        The name of the column of numbers.
    """
    file = TableFile(Path(path))
    names = SITE_COLUMNS if key == "site" else (key,)
    first, second = find_column(file, names), find_column(file, (value,))
    allele = find_column(file, ALLELE_COLUMNS, needed=False) if key == "site" else None
    read = file.read([name for name in (first, second, allele) if name is not None])
    assert first is not None and second is not None
    keys = [str(name) for name in read[first].to_list()]
    if allele is not None:
        keys = [join_name(name, letter) for name, letter in zip(keys, read[allele], strict=True)]
    return dict(zip(keys, _numbers(second, read[second].to_list()).tolist(), strict=True))
