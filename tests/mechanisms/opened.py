"""A budget for tests, opened without the door."""

from sfumato.privacy.budget import _KEY, Budget, Sampler, _Account
from sfumato.privacy.guarantee import Relation


def opened(limit, relation=Relation.ADD_REMOVE):
    account = _Account(limit, relation, Sampler(), booked=False)
    return Budget(account=account, path=(), key=_KEY)


def transcript_of(budget):
    """The transcript of a budget."""
    return budget._account.transcript()
