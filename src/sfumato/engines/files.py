"""Files of tables: what they are called, what columns they have, and reading them into memory.

A CSV file is read as text only: what a text means is decided by the column's coding, in one place
for every engine. An empty field is a missing value, a line without any character is no row, and a
row with too few or too many fields, with all of them empty, or with a stray quote is an error,
found before any engine reads the file. What a library says about a file it cannot read may quote
the data, so it is never passed on.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sfumato.engines.errors import DataError, Problem, without_values

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableFile"]

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
ENGINES = ("auto", "memory", "duckdb")
IN_MEMORY = 2 * 2**30
"""Files up to about this many bytes are read into memory, unless asked otherwise."""

MANY_VALUES = 2**27
"""Tables that are declared to hold more values than this are read by DuckDB, unless asked."""

MOST_DIGITS = 38
"""Of a decimal number in a Parquet file; DuckDB makes doubles of longer ones."""

MOST_MILLISECONDS = (2**63 - 1) // 1000
"""Of a time stamp in a Parquet file, which DuckDB counts in microseconds."""

DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What unpacking a file that is damaged or cut short raises."""

GROWTH = 8
"""How many times larger a compressed file is taken to be than it is."""


@dataclass(frozen=True)
class TableFile:
    """A CSV file (plain, .gz or .xz) or a Parquet file.

    Parameters
    ----------
    path
        Where it is.
    separator
        What stands between two fields of a CSV file; `None` goes by the name.
    """

    path: Path
    separator: str | None = None

    def __post_init__(self) -> None:
        _refuse_no_text(self.path)
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no file {str(self.path)!r}")
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise ValueError(f"separator must be one ASCII character; got {mark!r}")
        if not self.parquet and self._suffix not in SEPARATORS:
            known = ", ".join([*SEPARATORS, ".parquet"])
            raise ValueError(
                f"a table file must be {known} (CSV also .gz, .xz); got {self.path.name!r}"
            )

    @property
    def compression(self) -> str:
        """`gz`, `xz` or nothing."""
        suffix = self.path.suffix.lower()
        return suffix[1:] if suffix in (".gz", ".xz") else ""

    @property
    def _suffix(self) -> str:
        name = Path(self.path.stem) if self.compression else self.path
        return name.suffix.lower()

    @property
    def parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.path.suffix.lower() in (".parquet", ".pq")

    @property
    def delimiter(self) -> str:
        """What stands between two fields."""
        return self.separator or SEPARATORS[self._suffix]

    @property
    def bytes_about(self) -> int:
        """About how large it is when unpacked."""
        return self.path.stat().st_size * (GROWTH if self.compression or self.parquet else 1)

    @property
    def fits_memory(self) -> bool:
        """Whether it is small enough to be read into memory without being asked to."""
        return self.bytes_about <= IN_MEMORY

    def choose_engine(self, wished: str, rows_about: int | None, columns: int) -> str:
        """Return which engine reads the file: the wished one, or by what is declared about it.

        The size of the file is private and decides nothing: a file that is too large for memory is
        refused, and the user chooses.

        Parameters
        ----------
        wished
            `"memory"`, `"duckdb"` or `"auto"`.
        rows_about, columns
            The public guess at the number of rows, and how many columns are read.
        """
        if wished not in ENGINES:
            raise ValueError(f"engine must be 'auto', 'memory' or 'duckdb'; got {wished!r}")
        if wished != "auto":
            return wished
        if (rows_about or 0) * columns > MANY_VALUES:
            return "duckdb"
        if not self.fits_memory:
            raise DataError(
                Problem(
                    wrong=f"{self.path.name} takes about {self.bytes_about / 2**30:.0f} GiB, too "
                    "much to read into memory by default",
                    remedy='Choose engine="duckdb" (--engine duckdb), which reads files of any '
                    'size, or engine="memory" (--engine memory) if there is enough memory.',
                )
            )
        return "memory"

    def open(self) -> IO[bytes]:
        """Open the unpacked bytes of a CSV file."""
        if self.compression == "gz":
            return gzip.open(self.path)  # type: ignore[return-value]
        return lzma.open(self.path) if self.compression == "xz" else self.path.open("rb")

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.open(), encoding="utf-8-sig", errors="replace", newline="")

    def names(self) -> list[str]:
        """Return the names of the columns."""
        if self.parquet:
            import polars as pl

            failures = (pl.exceptions.PolarsError, OSError)
            return without_values(self._parquet_names, failures, self.unreadable)
        return without_values(self._header, (csv.Error, *DAMAGED), self._bad_header)

    def _parquet_names(self) -> list[str]:
        return list(self._parquet_types())

    def _parquet_types(self) -> dict[str, Any]:
        import polars as pl

        with self.path.open("rb") as file:
            return dict(pl.read_parquet_schema(file))

    def _header(self) -> list[str]:
        with self._text() as lines:
            header = next(csv.reader(lines, delimiter=self.delimiter), [])
        if not header:
            raise DataError(
                Problem(
                    wrong=f"{self.path.name} is empty",
                    remedy="The first line must name the columns.",
                )
            )
        return header

    def read(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """Return some columns, in memory."""
        import polars as pl

        self.check(names)
        frame = without_values(
            lambda: self._frame(names),
            (pl.exceptions.PolarsError, *DAMAGED),
            self.unreadable,
        )
        if self.parquet and any(_is_too_far(frame[name]) for name in names):
            raise DataError(self._damage_error())
        return {name: frame[name] for name in names}

    def _frame(self, names: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        if self.parquet:
            return pl.read_parquet(self.path, columns=list(names), glob=False)
        header = self.names()
        source = self.path if self.compression != "xz" else io.BytesIO(self.open().read())
        frame = pl.read_csv(source, separator=self.delimiter, infer_schema=False, glob=False)
        # Duplicate names were refused if they matter; here every column needs one of its own.
        counted = Counter(header)
        frame.columns = [n if counted[n] == 1 else f"\0{i}" for i, n in enumerate(header)]
        if len(header) > 1:
            # Of a row that is one some field is filled: `check` refused all others.
            frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
        return frame.select(pl.col(list(names)).replace("", None))

    def check(self, names: Sequence[str]) -> None:
        """Refuse what engines would read in different ways: mistakes in a CSV file, odd types.

        Parameters
        ----------
        names
            The columns that are read.
        """
        if self.parquet:
            self._check_types(names)
            return
        line = without_values(self._bad_line, DAMAGED, self._damage_error)
        if line is not None:
            raise DataError(self._bad_csv(line))

    def _check_types(self, names: Sequence[str]) -> None:
        """Refuse columns of a Parquet file whose type is no number, text, date or time stamp."""
        import polars as pl

        failures = (pl.exceptions.PolarsError, OSError)
        types = without_values(self._parquet_types, failures, self.unreadable)
        problems = [
            Problem(
                field=name,
                wrong=f"the column is stored as {types[name]}, which is not a number, text, date "
                "or time stamp",
                remedy="Write it as text or as a number.",
            )
            for name in names
            if not _is_plain(types[name])
        ]
        counted = Counter(other.lower() for other in types)
        problems += [
            Problem(
                field=name,
                wrong="another column has the same name apart from upper and lower case, which "
                "DuckDB does not distinguish",
                remedy="Give every column a distinct name.",
            )
            for name in names
            if counted[name.lower()] > 1
        ]
        if problems:
            raise DataError(problems)

    def unreadable(self) -> Problem:
        """Return the problem of a file that cannot be read, with the line at fault if found."""
        if self.parquet:
            return self._damage_error()
        try:
            return self._bad_csv(self._bad_line() or self._line_of_bad_text())
        except DAMAGED:
            return self._damage_error()

    def _bad_header(self) -> Problem:
        """Return the problem of a CSV file whose first line cannot be read."""
        try:
            line = self._bad_line() or self._line_of_bad_text()
        except DAMAGED:
            return self._damage_error()
        if line is not None:
            return self._bad_csv(line)
        return Problem(
            wrong=f"a name in the first line of {self.path.name} has more than "
            f"{csv.field_size_limit():,} characters",
            remedy="The first line must name the columns; give them shorter names.",
        )

    def _damage_error(self) -> Problem:
        kind = "a Parquet file" if self.parquet else f"a CSV file ({self.path.suffix})"
        return Problem(
            wrong=f"{self.path.name} cannot be read as {kind}",
            remedy="It may be damaged or cut short; write it again.",
        )

    def _bad_csv(self, line: int | None) -> Problem:
        from sfumato.engines.grammar import LONGEST

        where = f" at line {line}" if line else ""
        return Problem(
            wrong=f"{self.path.name} cannot be read as CSV{where}: every row must have as many "
            f"fields as the header, separated by {self.delimiter!r}, a field with a quote in it is "
            "quoted as a whole with the inner quote doubled, no row has all fields empty or more "
            f"than {LONGEST:,} bytes, all "
            "lines end in LF or all in CRLF, and the text is UTF-8",
            remedy="Correct the line, quote fields that contain the separator or a quote, write NA "
            "where a whole row is missing, or convert the file to UTF-8.",
        )

    def _bad_line(self) -> int | None:
        """Return the first line with too few or too many fields or a stray quote."""
        from sfumato.engines.grammar import first_bad_line

        with self.open() as file:
            return first_bad_line(file, self.delimiter)

    def _line_of_bad_text(self) -> int | None:
        """Return the first line with bytes that are not UTF-8."""
        with self.open() as file:
            for number, line in enumerate(file, start=1):
                if line.decode("utf-8", errors="ignore").encode() != line:
                    return number
        return None


def _is_plain(kind: Any) -> bool:
    """Tell whether a type of Polars holds values that every engine reads alike."""
    import polars as pl

    if isinstance(kind, pl.Decimal):
        return (kind.precision or MOST_DIGITS) <= MOST_DIGITS
    plain = (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Date, pl.Null)
    return kind in plain or isinstance(kind, pl.Datetime) or bool(kind.is_numeric())


def _is_too_far(series: pl.Series) -> bool:
    """Tell whether a time stamp has no count of microseconds, by which DuckDB reads it."""
    import polars as pl

    if series.dtype != pl.Datetime("ms"):
        return False
    counts = series.to_physical()
    return bool(((counts > MOST_MILLISECONDS) | (counts < -MOST_MILLISECONDS)).any())


def _refuse_no_text(path: Path) -> None:
    """Raise for a path that is not text, which the engines could not open."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"the path of a table must be text in UTF-8; rename {str(path)!r}"
        ) from None
