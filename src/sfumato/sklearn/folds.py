"""What cross-validation costs."""

from __future__ import annotations

from typing import Any

from sfumato.privacy.loss import ApproxDP, Loss, PureDP

__all__ = ["cost_of_folds"]


def cost_of_folds(estimator: Any, folds: int) -> Loss:
    """Return what fitting on all folds but one, each in turn, costs for one row.

    Parameters
    ----------
    estimator
        The estimator, with its epsilon and delta.
    folds
        How many folds there are; each row is in all training sets but one.

    Notes
    -----
    Privacy: the fits add up, folds − 1 of them for a row added or removed and all of them for a
    row replaced in place. The scores themselves are computed on private rows and are not private.

    Examples
    --------
    >>> from sfumato.sklearn import PrivateLinearRegression
    >>> model = PrivateLinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))
    >>> print(cost_of_folds(model, 5))
    ε = 4
    """
    if folds < 2:
        raise ValueError(f"folds must be at least 2; got {folds}")
    delta = getattr(estimator, "delta", None)
    loss: Loss = PureDP(estimator.epsilon) if delta is None else ApproxDP(estimator.epsilon, delta)
    total = loss
    for _ in range(folds - 2):
        total = total + loss  # type: ignore[operator]
    return total
