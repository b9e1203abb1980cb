"""What the suites of methods that choose sites share."""

from sfumato import noise
from sfumato.mechanisms.choose import Choose, ChooseSeveral
from tests.method_suite import AuditSuite


class ChoosingSuite(AuditSuite):
    def halve_noise(self, monkeypatch):
        super().halve_noise(monkeypatch)
        for kind in (Choose, ChooseSeveral):
            true = kind.rate.fget
            monkeypatch.setattr(kind, "rate", property(lambda p, true=true: 2 * true(p)))

    def halve_drawn_noise(self, monkeypatch):
        super().halve_drawn_noise(monkeypatch)
        choose = noise.permute_and_flip
        monkeypatch.setattr(
            noise, "permute_and_flip", lambda scores, *, rate: choose(scores, rate=2 * rate)
        )
