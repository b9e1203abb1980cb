"""How well rules that were learnt from released rows predict private ones.

NOT PRIVATE. Every figure here is computed from the private data without noise: it is for the
custodian's eyes and is never part of a release, a certificate or a report.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.data.table import Table, TablePublic
from sfumato.engines.errors import importing
from sfumato.evaluate.paired_counts import keep_released_columns
from sfumato.sections import Text
from sfumato.tabular.classifier import Classifier
from sfumato.tabular.synthetic import SyntheticTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Classification",
    "Mistakes",
    "compare_rules",
    "mistakes",
    "split_rows",
    "train_and_test",
]

#: One private row in this many is kept for tests.
TESTED = 5
RULES = ("svm", "logistic")


@dataclass(frozen=True)
class Classification:
    """How often rules are wrong on private rows they have not seen. Not private.

    Parameters
    ----------
    target
        The column that is predicted from all others.
    error
        The share of test rows that a rule learnt from the release gets wrong.
    private_error
        The same for a rule learnt from the other private rows: as good as it gets.
    majority_error
        The same for guessing the most frequent value of the private rows always.
    rows
        How many rows were tested.
    """

    target: str
    error: float
    private_error: float
    majority_error: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"private": False, **asdict(self)}

    def words(self) -> str:
        """Return the same for people."""
        return (
            f"Predicting {self.target} for {self.rows:,} private rows: {100 * self.error:.1f} % "
            f"wrong when learnt from the release, {100 * self.private_error:.1f} % when learnt "
            f"from the private table, {100 * self.majority_error:.1f} % by guessing the most "
            "frequent value."
        )


@dataclass(frozen=True)
class Mistakes:
    """How often a released rule is wrong on private rows. Not private.

    Parameters
    ----------
    target
        The column that is predicted.
    error
        The share of rows that the rule gets wrong.
    majority_error
        The same for the better of the two guesses that look at no column.
    rows
        How many rows were tested.
    """

    target: str
    error: float
    majority_error: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {"private": False, **asdict(self)}

    def blocks(self) -> list[Text]:
        """Return the same for people."""
        return [
            Text(
                f"Predicting {self.target} for {self.rows:,} private rows: "
                f"{100 * self.error:.1f} % wrong, {100 * self.majority_error:.1f} % by always "
                "guessing the most frequent value."
            )
        ]


def mistakes(table: Table, release: Classifier) -> Mistakes:
    """Test a released rule on a private table. Not private.

    Parameters
    ----------
    table
        The private table; rows that were not used for the release make a stricter test.
    release
        The rule.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    table = keep_released_columns(table, release)
    task = release.task
    codes = _codes(table)
    truth = task.positive[codes[:, task.target]]
    if not truth.size:
        return Mistakes(release.target, 0.0, 0.0, 0)
    wrong = release.decide(codes[:, list(task.features.columns)]) != truth
    share = float(np.mean(truth))
    return Mistakes(release.target, float(np.mean(wrong)), min(share, 1 - share), truth.size)


def train_and_test(
    table: Table,
    release: SyntheticTable | Table,
    *,
    target: str,
    positive: Sequence[str] | None = None,
    test: Table | None = None,
    rule: str = "svm",
) -> Classification:
    """Learn a linear rule from released rows and test it on private ones. Not private.

    Parameters
    ----------
    table
        The private table; one row in five, drawn alike each time, is kept for the test unless
        `test` is given.
    release
        The release of it, or a table of rows made otherwise.
    target
        The column that is predicted from all others.
    positive
        Values of the target that are told from all others; by default every value is a class.
    test
        Private rows that were not used for the release, which make a stricter test.
    rule
        `"svm"`, a linear support vector machine with hinge loss and C = 1, or `"logistic"`, a
        logistic regression; either on one feature for each value of each column.

    Notes
    -----
    Privacy: none. The result is for the custodian's eyes and must not be published.
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}")
    table = keep_released_columns(table, release)
    public = table.public
    column = public.schema.index(target)
    classes = _classes(public, target, positive)
    private = _codes(table)
    if test is None:
        learnt, judged = split_rows(private)
    else:
        test = keep_released_columns(test, release)
        learnt, judged = private, _codes(test)
    released = release.published_codes if isinstance(release, SyntheticTable) else _codes(release)
    sides = learnt, judged, released
    return compare_rules(target, sides, column, classes, public.sizes, rule)


def split_rows(private: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the private rows that a rule learns from and those kept for the test, always alike."""
    tested = noise.generator(0).permutation(len(private)) < -(-len(private) // TESTED)
    return private[~tested], private[tested]


def compare_rules(
    target: str,
    sides: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    column: int,
    classes: NDArray[np.int64],
    sizes: tuple[int, ...],
    rule: str = RULES[0],
) -> Classification:
    """Learn a rule from released rows and from private ones, and test both. Not private.

    Parameters
    ----------
    target
        What is predicted, in words.
    sides
        The codes of the private rows to learn from, of those to test with, and of released rows.
    column, classes
        The column that is predicted, and the class of each of its codes.
    sizes
        The number of codes of each column.
    rule
        As for `train_and_test`.
    """
    learnt, judged, released = sides
    truth = classes[judged[:, column]]

    def error(train: NDArray[Any]) -> float:
        guessed = _predict_classes(train, judged, column, classes, sizes, rule)
        return float(np.mean(guessed != truth)) if truth.size else 0.0

    most = _most_frequent(classes[learnt[:, column]])
    guess = float(np.mean(truth != most)) if truth.size else 0.0
    return Classification(target, error(released), error(learnt), guess, int(truth.size))


def _classes(public: TablePublic, target: str, positive: Sequence[str] | None) -> NDArray[np.int64]:
    """Return the class of each code of the target."""
    labels = public.labels(target)
    if positive is None:
        return np.arange(len(labels))
    unknown = [value for value in positive if value not in labels]
    if unknown or not positive:
        raise ValueError(
            f"positive must hold values of {target!r}: {', '.join(labels[:20])}; got {unknown!r}"
        )
    return np.array([label in positive for label in labels], dtype=np.int64)


def _codes(table: Table) -> NDArray[np.int64]:
    """Return the codes of all rows. Private."""
    counts = table.counts
    columns = [counts.codes(number) for number in range(len(counts.sizes))]
    return np.column_stack(columns).astype(np.int64)


def _most_frequent(classes: NDArray[np.int64]) -> int:
    return int(np.argmax(np.bincount(classes))) if classes.size else 0


def _predict_classes(
    train: NDArray[Any],
    test: NDArray[Any],
    target: int,
    classes: NDArray[np.int64],
    sizes: tuple[int, ...],
    rule: str,
) -> NDArray[np.int64]:
    """Return the predicted classes of test rows by a rule learnt from others."""
    known = classes[train[:, target]]
    others = [column for column in range(len(sizes)) if column != target]
    # A single class, or nothing to tell classes by, leaves one guess.
    if np.unique(known).size < 2 or not others or not len(test):
        return np.full(len(test), _most_frequent(known))
    with importing("scikit-learn", "sklearn"):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC
    model = (
        LinearSVC(C=1.0, loss="hinge", dual=True, random_state=0)
        if rule == "svm"
        # Not the default solver, which older versions call in a way that SciPy has deprecated.
        else LogisticRegression(C=1.0, max_iter=300, solver="newton-cg")
    )
    with warnings.catch_warnings():
        # A fit that stopped early is judged by its errors all the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(_features(train, others, sizes), known)
    return np.asarray(model.predict(_features(test, others, sizes)), dtype=np.int64)


def _features(codes: NDArray[Any], columns: list[int], sizes: tuple[int, ...]) -> csr_array:
    """Return rows as vectors with one feature for each value of each column."""
    from scipy.sparse import csr_array

    firsts = np.cumsum([0, *(sizes[column] for column in columns)])
    # liblinear reads 32-bit indices only.
    places = (codes[:, columns] + firsts[:-1]).astype(np.int32)
    shape = (len(codes), int(firsts[-1]))
    rows = np.arange(0, places.size + 1, len(columns), dtype=np.int32)
    return csr_array((np.ones(places.size), places.ravel(), rows), shape=shape)
