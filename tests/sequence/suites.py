"""What the suites of all methods for sequences share."""

import numpy as np

from sfumato import noise
from sfumato.mechanisms.choose import Choose
from sfumato.privacy.record import record, replay
from tests.method_suite import AuditSuite, MethodSuite
from tests.sequence import made


class SequenceAuditSuite(AuditSuite):
    def audited_public(self):
        return made.sequences([]).public

    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        true = Choose.rate.fget
        monkeypatch.setattr(Choose, "rate", property(lambda p: 2 * true(p)))

    def halve_drawn_noise(self, monkeypatch):
        super().halve_drawn_noise(monkeypatch)
        choose = noise.permute_and_flip
        monkeypatch.setattr(
            noise, "permute_and_flip", lambda scores, *, rate: choose(scores, rate=2 * rate)
        )


class SequenceSuite(SequenceAuditSuite, MethodSuite):
    # Samples are drawn of a variant whose loss shows in one number.
    sampled = False
    options = {"longest": 4}  # noqa: RUF012

    def data(self):
        return made.sequences(made.made(60))

    def audited_public(self):
        return self.data().public

    def neighbours(self):
        return made.added_pairs()

    def fact(self, release):
        strings = ["a", "b", "ab", "bb", "bba"]
        return np.array([release.total, *(release.frequency(string) for string in strings)])


class ReplacedSuite(SequenceSuite):
    def data(self):
        return made.sequences(made.made(60), relation="replace_one")

    def neighbours(self):
        return made.replaced_pairs()


def check_persons(method):
    """Check that a person of three sequences loses at most ε = 1, and enough to be telling."""
    worst = 0.0
    for here, there in made.person_pairs():
        for one, other in ((here, there), (there, here)):
            for seed in range(6):
                with noise.seeded(seed):
                    script = record(method, one)
                worst = max(worst, abs(script.loss_against(replay(method, other, script))))
    assert 0.3 < worst <= 1 + 1e-9
