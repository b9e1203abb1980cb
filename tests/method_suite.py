"""The suite that every method passes: record and replay, save and load, refusals, rehearsals."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from sfumato import noise
from sfumato.audit import Pair, canonical_pairs, examine, random_pair, sample_loss
from sfumato.mechanisms import knorm, normal
from sfumato.mechanisms.gaussian import GaussianNoise
from sfumato.mechanisms.knorm import KNormNoise
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.mechanisms.normal import NormalNoise
from sfumato.privacy.door import rehearse
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import GDP, ZCDP, PureDP
from sfumato.privacy.loss_check import check_accounts
from sfumato.privacy.record import record, replay
from sfumato.privacy.registry import resolve
from sfumato.privacy.saved import load, verify


def promised_figure(loss: Any) -> Any:
    """Return the figure that replay compares with: ε, ρ, or the ρ = μ²/2 of a Gaussian loss."""
    if isinstance(loss, GDP):
        return loss.mu_squared / 2
    return loss.rho if isinstance(loss, ZCDP) else loss.epsilon


class AuditSuite:
    """The audit that every method faces; subclass it and say what is audited.

    Attributes
    ----------
    name
        The method's name in the catalogue.
    options
        Its parameters, without epsilon.
    questions
        What an interactive method is asked.
    sampled
        Whether to draw samples as well; variants of one method need not all do.
    random_neighbours
        How many random neighbours are replayed; by default 200, and 50 for variants.
    """

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    questions: ClassVar[list[Any] | None] = None
    sampled: ClassVar[bool] = True
    random_neighbours: ClassVar[int | None] = None

    def method(self, epsilon: Any = 1, **options: Any) -> Any:
        return resolve(self.name)(epsilon=epsilon, **{**self.options, **options})

    def audited_public(self) -> Any:
        """Return a small public part, on which the canonical pairs are made."""
        raise AssertionError("say what is audited")

    def halve_noise(self, monkeypatch: Any) -> None:
        """Make the primitives draw with half the noise, and say so in their log-probabilities."""
        monkeypatch.setattr(
            GeometricNoise, "scale", property(lambda p: p.sensitivity / p.epsilon / 2)
        )
        monkeypatch.setattr(
            GaussianNoise, "variance", property(lambda p: p.squared_sensitivity / (8 * p.rho))
        )
        wide, long = NormalNoise.scale.fget, KNormNoise.scale.fget
        monkeypatch.setattr(NormalNoise, "scale", property(lambda p: wide(p) / 2))
        monkeypatch.setattr(KNormNoise, "scale", property(lambda p: long(p) / 2))

    def halve_drawn_noise(self, monkeypatch: Any) -> None:
        """Make the samplers draw with half the noise, behind everybody's back."""
        laplace, gaussian = noise.discrete_laplace, noise.discrete_gaussian
        monkeypatch.setattr(
            noise, "discrete_laplace", lambda size, *, scale: laplace(size, scale=scale / 2)
        )
        monkeypatch.setattr(
            noise,
            "discrete_gaussian",
            lambda size, *, variance: gaussian(size, variance=variance / 4),
        )
        for module, name in ((normal, "perturb_gaussian"), (knorm, "perturb_knorm")):
            true = getattr(module, name)
            monkeypatch.setattr(
                module,
                name,
                lambda values, scale, *, grid_exponent, true=true: true(
                    values, scale / 2, grid_exponent=grid_exponent
                ),
            )

    def pairs(self) -> list[Pair]:
        return canonical_pairs(self.audited_public())

    @pytest.mark.replay
    def test_exact_replay_finds_nothing_and_comes_close_to_the_promise(self):
        method = self.method()
        largest = 0.0
        for pair in self.pairs():
            findings = examine(method, pair, questions=self.questions)
            assert findings.passed, findings
            largest = max(largest, findings.largest)
        working = method.working_loss()
        promised = promised_figure(working)
        # An audit that stays far from the promise could not tell a broken method from a good one.
        assert 0.6 * float(promised) <= largest <= float(promised) * (1 + 1e-9)

    @pytest.mark.slow
    def test_exact_replay_finds_nothing_on_random_neighbours(self):
        many = self.random_neighbours or (200 if self.sampled else 50)
        method, public = self.method(), self.audited_public()

        @settings(max_examples=many, deadline=None, derandomize=True)
        @given(st.integers(0, 2**32))
        def tried(seed):
            pair = random_pair(public, np.random.default_rng(seed))
            findings = examine(method, pair, questions=self.questions, seeds=(seed,))
            # Seeds that give pairs of a larger loss are tried more often.
            target(findings.largest)
            assert findings.passed, findings

        tried()

    def halve_sensitivity(self, monkeypatch: Any) -> None:
        """Make the primitives declare half the sensitivity they are told."""
        for kind, name, part in (
            (GeometricNoise, "sensitivity", 2),
            (GaussianNoise, "squared_sensitivity", 4),
            (NormalNoise, "squared_sensitivity", 4),
            (KNormNoise, "sensitivity", 2),
        ):
            original = kind.__post_init__

            def halved(primitive, original=original, name=name, part=part):
                original(primitive)
                object.__setattr__(primitive, name, getattr(primitive, name) / part)

            monkeypatch.setattr(kind, "__post_init__", halved)

    @pytest.mark.replay
    def test_exact_replay_fails_the_method_with_half_the_sensitivity(self, monkeypatch):
        self.halve_sensitivity(monkeypatch)
        method = self.method()
        found = [examine(method, pair, questions=self.questions) for pair in self.pairs()]
        assert any(not findings.passed for findings in found)

    @pytest.mark.replay
    def test_exact_replay_fails_the_method_with_half_the_noise(self, monkeypatch):
        self.halve_noise(monkeypatch)
        method = self.method()
        found = [examine(method, pair, questions=self.questions) for pair in self.pairs()]
        assert any(not findings.passed for findings in found)

    @pytest.mark.slow
    def test_samples_do_not_refute_the_method(self):
        if not self.sampled:
            pytest.skip("the variant is audited by samples elsewhere")
        # Confidence 1 − 1e-6: the false-alarm rate of this test.
        result = sample_loss(
            self.method(),
            self.pairs()[0],
            trials=400,
            confidence=1 - 1e-6,
            questions=self.questions,
            seed=1,
        )
        assert not result.refuted, str(result)

    @pytest.mark.slow
    def test_samples_refute_the_method_with_half_the_noise_drawn(self, monkeypatch):
        if not self.sampled:
            pytest.skip("the variant is audited by samples elsewhere")
        self.halve_drawn_noise(monkeypatch)
        # Most methods fall with few samples; the others get more.
        for trials in (300, 1500):
            result = sample_loss(
                self.method(epsilon=3),
                self.pairs()[0],
                trials=trials,
                confidence=0.99,
                questions=self.questions,
                seed=1,
            )
            if result.refuted:
                return
        pytest.fail(str(result))


class MethodSuite(AuditSuite):
    """Subclass it in a method's test module and say what is tested."""

    def data(self) -> Any:
        """Return private data."""
        raise AssertionError("say what is tested")

    def neighbours(self) -> list[tuple[Any, Any]]:
        """Return pairs of neighbouring data, the nastiest that are known among them."""
        raise AssertionError("say what is tested")

    def fact(self, release: Any) -> np.ndarray:
        """Return what a release says, as numbers."""
        raise AssertionError("say what is tested")

    @pytest.fixture(autouse=True)
    def _quiet_home(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.delenv("SFUMATO_KEY", raising=False)

    @pytest.mark.replay
    def test_replay_keeps_every_declaration_and_the_loss_within_the_guarantee(self):
        method = self.method()
        for here, there in self.neighbours():
            for one, other in ((here, there), (there, here)):
                for seed in range(6):
                    with noise.seeded(seed):
                        script = record(method, one)
                    mirror = replay(method, other, script)
                    broken = [
                        (step.label, change)
                        for step, change in script.changes(mirror)
                        if not change.holds
                    ]
                    assert not broken
                    if isinstance(method.working_loss(), PureDP):
                        loss = script.loss_against(mirror)
                        assert abs(loss) <= float(method.working_loss().epsilon) * (1 + 1e-9)

    def test_the_books_of_every_transcript_add_up(self):
        method, data = self.method(), self.data()
        release = method.release(data)
        check_accounts(release.transcript, method.working_loss(), data.public)

    def test_save_load_and_verify(self, tmp_path):
        release = self.method().release(self.data())
        folder = release.save(tmp_path / "out")
        outcome = verify(folder)
        assert outcome.passed, str(outcome)
        np.testing.assert_array_equal(self.fact(load(folder)), self.fact(release))
        assert release.words() and release.guarantee.words()

    def test_the_same_bits_give_the_same_release(self):
        facts = []
        for seed in (1, 1, 2):
            with noise.seeded(seed):
                facts.append(self.fact(self.method().release(self.data())))
        np.testing.assert_array_equal(facts[0], facts[1])
        assert not np.array_equal(facts[0], facts[2])

    def test_parameters_go_through_plain_files(self):
        method = self.method(epsilon="1/3")
        assert type(method).from_parameters(method.parameters()) == method
        with pytest.raises(ValueError, match="unknown parameter"):
            type(method).from_parameters({**method.parameters(), "nonsense": 1})

    def test_a_method_does_not_change(self):
        method = self.method()
        for item in fields(method):
            with pytest.raises(FrozenInstanceError):
                setattr(method, item.name, 1)

    def test_epsilon_has_no_default_and_is_checked(self):
        kind = resolve(self.name)
        with pytest.raises(TypeError, match="epsilon"):
            kind(**self.options)
        for bad in (0, -1.0, math.nan, math.inf, "x", None, True):
            with pytest.raises(ValueError, match="epsilon must be positive and finite; got"):
                self.method(epsilon=bad)
        for beyond in ("1e-16", "1e16"):
            with pytest.raises(ValueError, match="epsilon must be from 1e-15 to 1e15; got"):
                self.method(epsilon=beyond)

    def test_data_of_another_kind_are_refused_before_anything_is_spent(self, tmp_path):
        class Strange:
            kind = "strange"

            def assumptions(self):
                return ()

        class Data:
            public = Strange()

            def digest(self, key):
                return key

        ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(5), unit="row")
        with pytest.raises(ValueError, match="needs data of kind"):
            self.method().release(Data(), ledger=ledger)
        assert ledger.spent == PureDP(0) and ledger.history() == []

    def test_more_budget_never_means_more_noise(self):
        public = self.data().public
        margins = [
            [step.figures["margin"] for step in self.method(epsilon=epsilon).plan(public).steps]
            for epsilon in ("1/10", 1, 10)
        ]
        for less, more in pairwise(margins):
            assert all(a >= b for a, b in zip(less, more, strict=True))

    def test_the_plan_tells_costs_that_add_up_to_no_more_than_the_guarantee(self):
        method = self.method()
        plan = method.plan(self.data().public)
        total = plan.steps[0].loss
        for step in plan.steps[1:]:
            total = total + step.loss
        assert total.fits(method.working_loss())
        assert method.name in str(plan)
        assert plan.to_json()["steps"]

    def test_a_rehearsal_needs_no_data_and_promises_nothing(self):
        public = self.data().public
        release = rehearse(self.method(), public, rows=20, generator=noise.generator(1))
        assert not release.guarantee.private
        assert self.fact(release).shape == self.fact(self.method().release(self.data())).shape

    def test_a_release_can_be_drawn(self):
        figure = self.method().release(self.data()).plot()
        assert figure.axes
