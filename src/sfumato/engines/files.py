"""Files of tables: what they are called, what columns they have, and reading them into memory.

A CSV file is read as text only: what a text means is decided by the column's coding, in one place
for every engine. An empty field is a missing value, a line without any field is no row, and a row
with too few or too many fields is an error. What a library says about a file it cannot read may
quote the data, so it is never passed on.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sfumato.engines.errors import DataError, Problem, without_values

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableFile"]

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
GROWTH = 8
"""How many times larger a compressed file is taken to be, when choosing an engine."""


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
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no file {str(self.path)!r}")
        mark = self.separator
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise ValueError(f"separator must be one ASCII character; got {mark!r}")
        if not self.parquet and self._suffix not in SEPARATORS:
            known = ", ".join([*SEPARATORS, ".parquet"])
            raise ValueError(
                f"a table is read from {known} (CSV also .gz, .xz); got {self.path.name!r}"
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
        return without_values(self._header, (OSError, EOFError, lzma.LZMAError), self.unreadable)

    def _parquet_names(self) -> list[str]:
        import polars as pl

        with self.path.open("rb") as file:
            return list(pl.read_parquet_schema(file))

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

        frame = without_values(
            lambda: self._frame(names),
            (pl.exceptions.PolarsError, OSError, EOFError, lzma.LZMAError),
            self.unreadable,
        )
        return {name: frame[name] for name in names}

    def _frame(self, names: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        if self.parquet:
            return pl.read_parquet(self.path, columns=list(names), glob=False)
        header = self.names()
        source = self.path if self.compression != "xz" else io.BytesIO(self.open().read())
        frame = pl.read_csv(source, separator=self.delimiter, infer_schema=False, glob=False)
        # Duplicate names were refused if they matter; here every column needs one of its own.
        frame.columns = [n if header.count(n) == 1 else f"\0{i}" for i, n in enumerate(header)]
        frame = frame.with_columns(pl.all().replace("", None))
        lines = frame.height
        if len(header) > 1:
            frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
        # Polars fills a short row up with nulls, so its last field is one.
        if frame.to_series(-1).null_count() and not self._rectangular(lines, frame.height):
            raise DataError(self.unreadable())
        return frame.select(list(names))

    def _rectangular(self, lines: int, rows: int) -> bool:
        """Return whether every row has as many fields as the header."""
        separators = quotes = 0
        with self.open() as file:
            while block := file.read(2**20):
                separators += block.count(self.delimiter.encode())
                quotes += block.count(b'"')
        if lines == rows and quotes == 0:
            return separators == (len(self.names()) - 1) * (rows + 1)
        return self._bad_line() is None

    def unreadable(self) -> Problem:
        """Return the problem of a file that cannot be read, with the line at fault if found."""
        if self.parquet:
            return Problem(
                wrong=f"{self.path.name} cannot be read as a Parquet file",
                remedy="It may be damaged or cut short; write it again.",
            )
        line = self._bad_line()
        where = f" at line {line}" if line else ""
        return Problem(
            wrong=f"{self.path.name} cannot be read as CSV{where}: every row must have as many "
            f"fields as the header, separated by {self.delimiter!r}, and the text is UTF-8",
            remedy="Correct the line, quote fields that contain the separator, or convert the file "
            "to UTF-8.",
        )

    def _bad_line(self) -> int | None:
        """Return the first line with too few or too many fields or bytes that are no text."""
        try:
            with self._text() as lines:
                rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
                width = len(next(rows, []))
                try:
                    for row in rows:
                        if row and (len(row) != width or any("\ufffd" in t for t in row)):
                            return rows.line_num
                except csv.Error:
                    return rows.line_num
        except (OSError, EOFError, lzma.LZMAError):
            return None
        return None
