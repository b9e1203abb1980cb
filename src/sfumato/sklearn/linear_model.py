"""Linear models of arrays: regression, and two classes told apart by one."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato import catalogue
from sfumato.privacy import door
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.registry import resolve
from sfumato.sklearn.arrays import (
    TARGET,
    feature_frame,
    feature_names,
    limits,
    private_table,
    real_target,
    refuse_odd,
    run_check,
)

if TYPE_CHECKING:
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.method import AnyMethod

__all__ = ["PrivateLinearClassifier", "PrivateLinearRegression"]

Floats = NDArray[np.float64]

#: The methods that fit one target; those that fit several at once do not serve here.
METHODS = tuple(
    name.removeprefix("table.")
    for name, place in sorted(catalogue.METHODS.items())
    if place.startswith("sfumato.regression.") and name != "table.ManyResponses"
)


class PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
    """What both share: parameters, the table, the door, and weights in own units.

    Everything learned is a function of the release, of the bounds and of the shape of X.
    """

    epsilon: Any
    bounds: Any
    delta: Any
    method: str
    options: dict[str, Any] | None
    relation: str
    ledger: Ledger | None

    @property
    def _suited(self) -> dict[str, Any]:
        """What is taken for parameters of the method that `options` does not name."""
        return {}

    def _method(self) -> AnyMethod:
        """Return the method that is meant, with its parameters checked."""
        if self.method not in METHODS:
            raise ValueError(
                f"method must be a regression: one of {', '.join(METHODS)}; {self.method!r} is none"
            )
        kind: Any = resolve(f"table.{self.method}")
        given = {
            "epsilon": self.epsilon,
            "target": TARGET,
            **self._suited,
            **(self.options or {}),
        }
        known = {field.name for field in fields(kind)}
        if self.delta is not None:
            if "delta" not in known:
                raise ValueError(f"{self.method} guarantees pure epsilon-DP; leave delta out")
            given["delta"] = self.delta
        made: AnyMethod = kind(**given)
        return made

    def _release(self, values: Floats, target: Any, target_kind: Any) -> None:
        """Book the loss and release; what is learned is a function of the release."""
        method = self._method()
        ends = limits(self.bounds, values.shape[1], "bounds")
        table = private_table(values, target, ends, target_kind, self.relation)
        self.release_ = door.release(method, table, self.ledger, kind="fit")
        weights = self.release_.coef
        names = feature_names(values.shape[1])
        # A column of which the declared range is a single step has no weight.
        self.coef_ = np.array([weights.get((name, ""), 0.0) for name in names])
        self.intercept_ = sum(
            weight for (column, _), weight in weights.items() if column not in names
        )

    def _seen(self, X: Any) -> Floats:
        """Return further rows as doubles."""
        refuse_odd(X, "the features", features=True)
        check = lambda: validate_data(self, X, dtype=np.float64, reset=False)  # noqa: E731
        return np.asarray(run_check(check, "the features"))

    def _predict_rows(self, X: Any) -> NDArray[Any]:
        """Return what the release says about rows."""
        check_is_fitted(self, "release_")
        values = self._seen(X)
        return np.asarray(self.release_.predict(feature_frame(values)))

    @property
    def guarantee_(self) -> Guarantee:
        """What is promised for the rows that were fitted."""
        check_is_fitted(self, "release_")
        guarantee: Guarantee = self.release_.guarantee
        return guarantee

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Each fit draws fresh noise from the operating system; there is no seed to give.
        tags.non_deterministic = True
        return tags


class PrivateLinearRegression(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """Linear regression whose weights are private.

    Parameters
    ----------
    epsilon
        Privacy loss for one row; there is no default.
    bounds
        A list of (low, high), one pair a feature, or (low, high) of all features, each end a
        number or a NumPy array with one number a feature: public knowledge, not what these data
        hold. Two pairs are those of two features. What is outside counts as the nearer bound.
    target_bounds
        (low, high) of the target.
    delta
        If given, the guarantee is (epsilon, delta).
    method
        The method of `sfumato` that fits: `"LinearRegression"` takes what is best for the number
        of rows and features and for epsilon.
    options
        Further parameters of the method.
    relation
        What a neighbour is: `"add_remove"` a row, or `"replace_one"` row, which takes the number
        of rows to be public.
    ledger
        Where the loss is booked, once each time `fit` is called.

    Notes
    -----
    Privacy: `fit` is one release of the method, whose guarantee is `guarantee_`; predictions are
    post-processing. Cross-validation fits several times and pays each time (`cost_of_folds`).
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        bounds: Any,
        target_bounds: Any,
        delta: Any = None,
        method: str = "LinearRegression",
        options: dict[str, Any] | None = None,
        relation: str = "add_remove",
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.delta = delta
        self.method = method
        self.options = options
        self.relation = relation
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> Self:
        """Release the weights.

        Parameters
        ----------
        X
            The features, a row each.
        y
            The target.
        """
        refuse_odd(X, "the features", features=True)
        refuse_odd(y, "the target")
        X, y = run_check(lambda: self._numbers(X, y), "the features and the target")
        low, high = limits(self.target_bounds, 1, "target_bounds")[0]
        self._release(X, y, real_target(low, high))
        return self

    def _numbers(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Return features and target as doubles."""
        features, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return features, target.astype(np.float64)

    def predict(self, X: Any) -> Floats:
        """Return what the model takes the target of each row to be, within the bounds."""
        return np.asarray(self._predict_rows(X), dtype=np.float64)

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return where the target of each row lies with a given probability.

        Only methods that know how uncertain their weights are can tell; others say so.
        """
        check_is_fitted(self, "release_")
        values = self._seen(X)
        found = self.release_.interval(feature_frame(values), level=level)
        return found.low, found.high

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # On a few hundred rows whose bounds are wide, noise leaves no good score.
        tags.regressor_tags.poor_score = True
        return tags


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel):  # type: ignore[misc]
    """Two classes told apart by a private linear model of them.

    Parameters
    ----------
    epsilon
        Privacy loss for one row; there is no default.
    bounds
        As for `PrivateLinearRegression`.
    classes
        The two classes, the positive one last: public knowledge, not read off the data.
    delta, relation, ledger, options
        As for `PrivateLinearRegression`.
    method
        `"LinearRegression"`, or another of the linear ones, explains −1 and 1;
        `"FunctionalRegression"` is logistic.

    Notes
    -----
    Privacy: `fit` is one release of the method; predictions are post-processing.
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        bounds: Any,
        classes: Any,
        delta: Any = None,
        method: str = "LinearRegression",
        options: dict[str, Any] | None = None,
        relation: str = "add_remove",
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.delta = delta
        self.method = method
        self.options = options
        self.relation = relation
        self.ledger = ledger

    @property
    def _logistic(self) -> bool:
        return self.method == "FunctionalRegression"

    @property
    def _suited(self) -> dict[str, Any]:
        # Two values have no middle to be found: −1 and 1 are where they are. A residual is cut
        # where a guess is on the wrong side, three spreads of a third off.
        suited: dict[str, Any] = {"response": "declared"}
        return {**suited, "bound": 3} if self.method == "LinearRegression" else suited

    def _method(self) -> AnyMethod:
        if not self._logistic:
            return super()._method()
        given = {"epsilon": self.epsilon, "target": TARGET, **(self.options or {})}
        if self.delta is not None:
            raise ValueError("FunctionalRegression guarantees pure epsilon-DP; leave delta out")
        kind: Any = resolve("table.FunctionalRegression")
        made: AnyMethod = kind(positive=["true"], **given)
        return made

    def fit(self, X: Any, y: Any) -> Self:
        """Release the weights.

        Parameters
        ----------
        X
            The features, a row each.
        y
            The class of each row.
        """
        refuse_odd(X, "the features", features=True)
        refuse_odd(y, "the target", words=True)
        X, y = run_check(lambda: validate_data(self, X, y, dtype=np.float64), "the features")
        check_classification_targets(y)
        declared = np.asarray(self.classes)
        if declared.shape != (2,) or declared[0] == declared[1]:
            raise ValueError(
                "classes must be two different values, the positive one last. Only binary "
                "classification is supported."
            )
        if declared.dtype.kind in "iuf" and (np.abs(declared.astype(np.float64)) >= 2.0**53).any():
            # One label in floating point would make all others look alike.
            raise ValueError("classes that are numbers must be less than 2**53; give them as text")
        unknown = ~np.isin(y, declared)
        if unknown.any():
            # Which value it is stays private; in which row is for the custodian.
            raise ValueError(
                "Only binary classification is supported: y must hold the two declared classes; "
                f"row {int(unknown.argmax())} holds another. Declare its class or leave the row out"
            )
        positive = np.asarray(y == declared[1])
        if self._logistic:
            self._release(X, positive, bool)
        else:
            self._release(X, np.where(positive, 1.0, -1.0), real_target(-1.0, 1.0))
        self.classes_ = declared
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return how far each row is on the side of the positive class."""
        if self._logistic:
            check_is_fitted(self, "release_")
            values = self._seen(X)
            likely = self.release_.probability(feature_frame(values))
            return np.asarray(np.log(likely) - np.log1p(-likely))
        return np.asarray(self._predict_rows(X), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of each row."""
        check_is_fitted(self, "release_")
        chosen: NDArray[Any] = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return chosen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
