"""Estimators with scikit-learn's face, each a method behind the one door."""

from sfumato.sklearn.folds import cost_of_folds
from sfumato.sklearn.linear_model import PrivateLinearClassifier, PrivateLinearRegression
from sfumato.sklearn.naive_bayes import PrivateNaiveBayes

__all__ = [
    "PrivateLinearClassifier",
    "PrivateLinearRegression",
    "PrivateNaiveBayes",
    "cost_of_folds",
]
