"""What all estimators share: `fit` goes through the door and books before it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from sfumato.data.frames import column_of, columns_of, names_of
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.privacy import door
from sfumato.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.method import AnyMethod


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` is a release.

    A subclass stores its parameters untouched in `__init__` (scikit-learn clones by them), and
    calls `_fit_release` once in `fit`. Everything learned comes from the release.
    """

    schema: Any
    target: str
    ledger: Ledger | None

    def _declared(self) -> Schema:
        schema = Schema.of(self.schema)
        schema.index(self.target)
        return schema

    def _features(self) -> list[str]:
        return [name for name in self._declared().names if name != self.target]

    def _table(self, X: Any, y: Any) -> Table:
        """Return features and target as one private table."""
        import polars as pl

        schema = self._declared()
        recipe = schema.recipe
        recipe.check_names([*(n for n in names_of(X) if n != self.target), self.target])
        columns = columns_of(X, [name for name in recipe.needed if name != self.target])
        # As they are: in one array, one label could change the type of all others.
        target = column_of(y)
        if any(len(column) != len(target) for column in columns.values()):
            raise ValueError("X and y must have the same number of rows")
        return Table(pl.DataFrame({**columns, self.target: target}), schema)

    def _fit_release(self, method: AnyMethod, table: Table) -> Any:
        """Book the loss and release; what is learned is a function of the release."""
        release = door.release(method, table, self.ledger, kind="fit")
        self.release_ = release
        self.n_features_in_ = len(self._features())
        return release

    @property
    def guarantee_(self) -> Guarantee:
        """What is promised for the rows that were fitted."""
        guarantee: Guarantee = self.release_.guarantee
        return guarantee
