"""Estimators with scikit-learn's face, each a method behind the one door."""

from sfumato.sklearn.naive_bayes import PrivateNaiveBayes

__all__ = ["PrivateNaiveBayes"]
