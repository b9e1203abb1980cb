"""A naive Bayes classifier from noisy two-way tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from sfumato import noise
from sfumato.data.frames import column_of, columns_of, names_of
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.privacy import door
from sfumato.privacy.guarantee import Guarantee
from sfumato.tabular.marginals import Marginals

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.method import AnyMethod

# What all estimators share: `fit` goes through the door and books before it looks.


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
        for column in schema.columns:
            if column.coding.is_open:
                raise ValueError(
                    f"{type(self).__name__} cannot find the values of {column.name!r}, declared "
                    'with values = "discover"; list the values in the schema, or remove the column'
                )
        return schema

    def _features(self) -> list[str]:
        return [name for name in self._declared().names if name != self.target]

    def _table(self, X: Any, y: Any) -> Table:
        """Return features and target as one private table."""
        import polars as pl

        schema = self._declared()
        rules = schema.intake_rules
        rules.check_names([*(n for n in names_of(X) if n != self.target), self.target])
        columns = columns_of(X, [name for name in rules.needed if name != self.target])
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


class PrivateNaiveBayes(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Classify by the noisy counts of each feature with the target.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the training table; there is no default.
    schema
        The declared columns, features and target.
    target
        The column to predict; it must be a category.
    delta
        If given, Gaussian noise and an (epsilon, delta) guarantee.
    ledger
        Where the loss is booked, once each time `fit` is called.

    Notes
    -----
    Privacy: `fit` is a release of `Marginals` over the pairs (feature, target); predictions are
    post-processing (docs/proofs/marginals.md). Cross-validation fits several times and pays each
    time.
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        schema: Any,
        target: str,
        delta: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.target = target
        self.delta = delta
        self.ledger = ledger

    def _method(self) -> Marginals:
        pairs = [(name, self.target) for name in self._features()]
        return Marginals(epsilon=self.epsilon, delta=self.delta, tables=pairs or [(self.target,)])

    def _classes(self) -> NDArray[Any]:
        """Return the target's values as the schema declares them, in their own type."""
        coding = self._declared()[self.target].coding
        if coding.kind not in ("category", "boolean"):
            raise ValueError(f"the target {self.target!r} must be a category or true/false")
        # Categories decode to themselves; the generator is asked for nothing.
        return np.array(coding.decode(np.arange(coding.size), noise.generator(0)).to_list())

    def fit(self, X: Any, y: Any) -> Self:
        """Release the noisy tables of features and target.

        Parameters
        ----------
        X
            A data frame with the features.
        y
            The target, one value a row.
        """
        classes = self._classes()
        table = self._table(X, y)
        release = self._fit_release(self._method(), table)
        self.classes_ = classes
        # One pseudo-row a class keeps every probability positive.
        prior = release.counts([self.target]) + 1.0
        self.log_prior_ = np.log(prior / prior.sum())
        self.log_tables_ = {}
        for name in self._features():
            counts = release.counts([name, self.target]) + 1.0 / table.public.domain[name]
            self.log_tables_[name] = np.log(counts / counts.sum(axis=0))
        return self

    def predict_log_scores(self, X: Any) -> NDArray[np.float64]:
        """Return for each row and class the log of its unnormalised probability."""
        features = self._features()
        columns = [column for column in self._declared().columns if column.name in features]
        scores = np.tile(self.log_prior_, (len(X), 1))
        if features:
            encoded = Table(X, Schema(columns=tuple(columns))).counts
            for number, column in enumerate(columns):
                scores += self.log_tables_[column.name][encoded.codes(number)]
        return np.asarray(scores, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        chosen: NDArray[Any] = self.classes_[self.predict_log_scores(X).argmax(axis=1)]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row."""
        scores = self.predict_log_scores(X)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)
