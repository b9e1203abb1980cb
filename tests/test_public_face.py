"""What a user meets first: calls, messages, what is shown, and what comes out."""

import copy
import inspect
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato import catalogue, noise
from sfumato.audit import Pair
from sfumato.data.frames import to_backend
from sfumato.local import RandomizedResponse
from sfumato.mechanisms.laplace import GeometricNoise
from sfumato.privacy.arguments import choose_generator
from sfumato.privacy.registry import command_name, find_method, resolve

FRAME = pl.DataFrame({"ward": ["a", "b", "b"], "sex": ["f", "m", "f"]})
SCHEMA = sf.Schema.from_dict({"ward": ["a", "b"], "sex": ["f", "m"]})


@pytest.fixture
def table():
    return sf.Table(FRAME, SCHEMA)


@pytest.fixture
def ledger(tmp_path):
    return sf.Ledger.create(tmp_path / "ward.ledger", allow=sf.PureDP(3))


class TestParameters:
    """A call that cannot be meant is answered with what to write."""

    def test_a_number_without_a_name_is_answered_with_the_call(self):
        with pytest.raises(TypeError, match=r"write Synthesizer\(epsilon=1\.0\)"):
            sf.Synthesizer(1.0)

    def test_data_without_a_name_are_never_repeated(self):
        with pytest.raises(TypeError) as refusal:
            sf.Synthesizer(pl.DataFrame({"secret": ["whisper"]}))
        assert "Synthesizer(epsilon=…)" in str(refusal.value)
        assert "whisper" not in str(refusal.value) and "secret" not in str(refusal.value)

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (
                lambda: sf.PrivBayes(epsilon=1, cels=6),
                "PrivBayes has no parameter 'cels'; did you mean 'cells'? Its parameters are "
                "epsilon, delta,",
            ),
            (
                lambda: sf.PrivTree(epsilonn=1),
                "PrivTree has no parameter 'epsilonn'; did you mean 'epsilon'?",
            ),
            (
                lambda: sf.PrivTree(epsilon=1, zzz=1),
                "PrivTree has no parameter 'zzz'. Its parameters are epsilon,",
            ),
            (
                lambda: sf.Synthesizer(),
                "Synthesizer needs epsilon, the privacy loss for one unit of the data: there is no "
                "default; write Synthesizer(epsilon=…)",
            ),
            (
                lambda: sf.LinearRegression(epsilon=1),
                "LinearRegression needs target, the name of a column: there is no default",
            ),
        ],
    )
    def test_names_that_are_wrong_or_missing_are_told(self, make, said):
        with pytest.raises(TypeError) as refusal:
            make()
        assert str(refusal.value).startswith(said)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_methods_are_copied_and_pickled_as_before(self, protocol):
        method = sf.PrivBayes(epsilon=1, cells=6)
        assert pickle.loads(pickle.dumps(method, protocol)) == method
        assert copy.copy(method) == copy.deepcopy(method) == replace(method) == method
        assert replace(method, cells=7).cells == 7

    def test_the_signature_stays_that_of_the_dataclass(self):
        assert "epsilon" in inspect.signature(sf.PrivBayes).parameters

    def test_a_class_of_ones_own_is_answered_as_well(self):
        @dataclass(frozen=True, kw_only=True)
        class Wide(sf.Histogram):
            """A histogram of another name."""

        with pytest.raises(TypeError, match="Wide has no parameter 'epsilom'; did you mean"):
            Wide(epsilom=1)


#: Every method of which a parameter was renamed.
RENAMED = [
    method for method in map(resolve, catalogue.METHODS) if method.__dict__.get("former_names")
]


class TestFormerNames:
    """Releases that were saved under other names of parameters stay readable."""

    @pytest.mark.parametrize("method", RENAMED, ids=lambda method: method.__name__)
    def test_former_names_are_read_and_answered(self, method):
        needed = {"target": "sex", "positive": ["f"], "expression": "edges"}
        known = inspect.signature(method).parameters
        made = method(epsilon=1, **{name: needed[name] for name in needed if name in known})
        ((before, now),) = method.former_names.items()
        document = made.parameters()
        former = {before if name == now else name: value for name, value in document.items()}
        assert now in document and before not in document
        assert method.from_parameters(former) == method.from_parameters(document) == made
        with pytest.raises(ValueError, match=f"unknown parameter '{before}'"):
            method.from_parameters({**former, **document})
        with pytest.raises(TypeError, match=f"no parameter '{before}'; it is now called '{now}'"):
            method(epsilon=1, **{before: 1})

    @pytest.mark.parametrize("make", [sf.AdaSSP, sf.PrivateERM])
    def test_a_former_value_is_answered_with_the_present_one(self, make):
        known = inspect.signature(make).parameters
        needed = {"target": "sex", "positive": ["f"], "delta": "1e-6"}
        options = {name: needed[name] for name in needed if name in known}
        with pytest.raises(ValueError, match="got 'published'; write variant='paper'"):
            make(epsilon=1, **options, variant="published")
        made = make(epsilon=1, **options, variant="paper")
        assert make.from_parameters({**made.parameters(), "variant": "published"}) == made

    def test_a_release_saved_under_former_names_is_verified(self, tmp_path, monkeypatch):
        method = sf.HierarchicalGrid(epsilon=1, fan_out=2, levels=2)
        present = sf.HierarchicalGrid.parameters
        data = TWINS["points"][0]
        book = sf.Ledger.create(tmp_path / "book", allow=sf.PureDP(1), unit="point")
        with monkeypatch.context() as earlier:
            earlier.setattr(
                sf.HierarchicalGrid,
                "parameters",
                lambda self: {
                    "branching" if name == "fan_out" else name: value
                    for name, value in present(self).items()
                },
            )
            release = method.release(data, ledger=book)
            release.save(tmp_path / "out")
        certificate = (tmp_path / "out" / "certificate.json").read_text()
        assert '"branching"' in certificate and '"fan_out"' not in certificate
        verified = sf.verify(tmp_path / "out", ledger=book)
        assert verified and verified.booked, str(verified)
        loaded = sf.load(tmp_path / "out")
        assert loaded.provenance.method == method and loaded.files() == release.files()


class TestData:
    """What is clear is accepted; what is not is answered before anything is booked."""

    @pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
    def test_a_frame_is_answered_with_the_table_to_write(self, backend, ledger):
        frame = to_backend(FRAME, backend)
        with pytest.raises(TypeError) as refusal:
            sf.Histogram(epsilon=1).release(frame, ledger=ledger)
        said = str(refusal.value)
        assert "Write release(sf.Table(frame, schema))" in said and "never inferred" in said
        assert "ward" not in said and ledger.bookings == 0

    @pytest.mark.parametrize(
        ("method", "given", "said"),
        [
            (sf.PrivTree(epsilon=1), [[1, 2]], "got a list. Write release(sf.Points(array, bounds"),
            (sf.NGram(epsilon=1), [["a"]], "Write release(sf.Sequences(list, alphabet="),
            (sf.DegreeSequence(epsilon=1), [(0, 1)], "Write release(sf.Graph(edges, nodes="),
            (sf.Histogram(epsilon=1), "a.csv", "Write release(sf.read_table(path, schema))"),
            (sf.Histogram(epsilon=1), SCHEMA, "got a Schema. Write release(sf.Table(frame, "),
            (sf.Histogram(epsilon=1), SCHEMA.public, "got their public part, which holds no rec"),
            (sf.Histogram(epsilon=1), None, "got None"),
        ],
    )
    def test_what_is_no_private_data_is_told_in_the_words_of_its_kind(self, method, given, said):
        with pytest.raises(TypeError) as refusal:
            method.release(given)
        assert said in str(refusal.value)

    def test_a_session_needs_data_too(self):
        with pytest.raises(TypeError, match=r"Write open\(sf\.Table\(frame, schema\)\)"):
            sf.Questions(epsilon=1).open(FRAME)

    def test_columns_called_public_and_digest_make_no_data(self):
        frame = pd.DataFrame({"public": ["a"], "digest": ["b"]})
        with pytest.raises(TypeError, match="got a pandas DataFrame"):
            sf.Histogram(epsilon=1).release(frame)

    def test_plans_guarantees_and_rehearsals_take_what_has_a_public_part(self, table):
        method = sf.Histogram(epsilon=1)
        for given in (table, SCHEMA, method.release(table)):
            assert method.plan(given) == method.plan(table.public)
            assert method.guarantee(given) == method.guarantee(table.public)
        assert sf.rehearse(method, table, rows=5).kind == "noisy tables"
        with pytest.raises(TypeError, match=r"Write plan\(sf\.Table\(frame, schema\)\)"):
            method.plan(FRAME)
        with pytest.raises(TypeError, match="rehearse needs private data or their public part"):
            sf.rehearse(method, FRAME)

    def test_rehearsals_and_plans_are_the_same_whatever_the_private_part(self, table):
        method = sf.Histogram(epsilon=1)
        empty = sf.Table(FRAME.clear(), SCHEMA)
        assert method.plan(empty) == method.plan(table)
        with noise.seeded(1):
            one = sf.rehearse(method, table, rows=9, seed=2)
        with noise.seeded(1):
            other = sf.rehearse(method, empty, rows=9, seed=2)
        assert one.files() == other.files()

    def test_a_path_given_as_ledger_is_opened(self, table, ledger, tmp_path):
        method = sf.Histogram(epsilon="0.5")
        for path in (ledger.path, str(ledger.path)):
            release = method.release(table, ledger=path)
        assert ledger.spent == sf.PureDP(1)
        assert release.guarantee.ledger == "ward.ledger#2"
        release.save(tmp_path / "out")
        assert sf.verify(tmp_path / "out", ledger=str(ledger.path)).booked
        session = sf.Questions(epsilon=1, questions=1).open(table, ledger=ledger.path)
        session.close()
        assert ledger.spent == sf.PureDP(2)

    def test_a_report_is_booked_under_a_path_too(self, tmp_path):
        book = sf.Ledger.create(
            tmp_path / "mine", allow=sf.PureDP(1), unit="report", relation="replace_one"
        )
        RandomizedResponse(epsilon=1, answers=["a", "b"]).perturb("a", ledger=tmp_path / "mine")
        assert book.spent == sf.PureDP(1)

    def test_what_is_no_ledger_is_refused_before_anything_happens(self, table, tmp_path):
        with pytest.raises(sf.LedgerError, match=r"there is no ledger at .*Ledger\.create"):
            sf.Histogram(epsilon=1).release(table, ledger=tmp_path / "none")
        with pytest.raises(TypeError, match=r"ledger must be a ledger .* got an int\. Write"):
            sf.Histogram(epsilon=1).release(table, ledger=3)
        assert not list(tmp_path.iterdir())

    def test_one_name_stands_for_a_list_of_one(self, table):
        assert sf.Histogram(epsilon=1, columns="ward").columns == ("ward",)
        assert sf.Marginals(epsilon=1, tables="ward").tables == (("ward",),)
        assert sf.Majority(epsilon=1, target="sex", positive="f").positive == ("f",)
        for method in (sf.Marginals(epsilon=1), sf.Independent(epsilon=1)):
            release = method.release(table)
            assert release.marginal("ward").equals(release.marginal(("ward",)))
            assert np.array_equal(release.counts("ward"), release.counts(["ward"]))

    def test_one_axis_is_read_by_its_name(self, tmp_path):
        FRAME.with_columns(height=pl.Series([1.0, 2.0, 3.0])).write_csv(tmp_path / "a.csv")
        points = sf.read_points(tmp_path / "a.csv", columns="height", bounds=[(0, 4)])
        assert points.public.names == ("height",)


#: Two data sets of each kind that differ in everything private: how many records, and which.
TWINS = {
    "table": [sf.Table(FRAME, SCHEMA), sf.Table(FRAME[:1], SCHEMA)],
    "points": [sf.Points(np.full((n, 2), n / 10), bounds=[(0, 1), (0, 1)]) for n in (3, 7)],
    "sequences": [sf.Sequences([list("abba")] * n, alphabet=["a", "b"]) for n in (3, 7)],
    "graph": [sf.Graph([(0, n)], nodes=9) for n in (3, 7)],
}


class TestShown:
    """A repr is short, and shows nothing private."""

    @pytest.mark.parametrize("kind", TWINS)
    def test_private_data_show_what_is_public_and_nothing_else(self, kind):
        one, other = TWINS[kind]
        assert one.digest(b"k" * 16) != other.digest(b"k" * 16)
        assert repr(one) == repr(other) == str(one)
        assert one._repr_html_() == other._repr_html_()
        assert "unit" in repr(one) and "<table>" in one._repr_html_()

    def test_own_answers_show_no_value(self):
        method = RandomizedResponse(epsilon=1, answers=["alpha", "beta"])
        assert repr(method.own("alpha")) == repr(method.own("beta"))

    def test_a_wide_table_shows_the_first_columns(self):
        schema = sf.Schema.from_dict({f"c{n}": ["a", "b"] for n in range(40)})
        assert repr(schema) == (
            "Schema({'c0': 2, 'c1': 2, 'c2': 2, 'c3': 2, 'c4': 2, 'c5': 2, 'c6': 2, 'c7': 2, "
            "… 32 more}, unit='row', relation='add_remove')"
        )
        assert repr(schema.public) == repr(schema).replace("Schema", "TablePublic")
        assert "c39" in schema._repr_html_()

    def test_a_draft_says_that_it_is_one(self):
        assert "a draft that is not confirmed" in repr(sf.Schema.draft(FRAME))

    def test_names_from_files_command_neither_a_terminal_nor_a_page(self, tmp_path):
        name = "<script>\x1b[2J&"
        schema = sf.Schema.from_dict({name: ["<b>", "m"]})
        table = sf.Table(pl.DataFrame({name: ["m"]}), schema)
        book = sf.Ledger.create(tmp_path / "<i>.ledger", allow=sf.PureDP(1))
        method = sf.Marginals(epsilon=1)
        release = method.release(table, ledger=book)
        plan = method.plan(schema)
        shown = (
            schema,
            table,
            table.public,
            plan,
            plan.guarantee,
            release,
            release.guarantee,
            book,
        )
        for thing in shown:
            assert "\x1b" not in repr(thing)
            page = thing._repr_html_()
            assert "<script" not in page and "<b>" not in page and "<i>" not in page
            assert "\x1b" not in page
        assert "&lt;script&gt;" in schema._repr_html_() and "&lt;i&gt;" in book._repr_html_()

    def test_reprs_are_one_short_line(self, table, ledger):
        method = sf.Synthesizer(epsilon=1)
        release = method.release(table, ledger=ledger)
        plan = method.plan(table)
        for thing in (release, plan, plan.guarantee, ledger, table, SCHEMA):
            assert "\n" not in repr(thing) and len(repr(thing)) < 250
        assert repr(plan).startswith("<Plan of table.Synthesizer: ε = 1 for any one row")
        assert repr(plan.guarantee).startswith("<Guarantee: ε = 1 for any one row")
        unproved = sf.PrivBayes(epsilon=1, variant="published", accept_unproven=True).plan(table)
        assert repr(unproved).startswith("<Plan of table.PrivBayes: claimed, not proved: ε = 1")
        assert repr(unproved.guarantee).startswith("<Guarantee: claimed, not proved: ε = 1")
        assert "expected error" in plan._repr_html_()
        assert "ward.ledger#1" in release._repr_html_() and "epsilon=1" in release._repr_html_()

    def test_a_ledger_shows_what_is_spent_and_the_last_bookings(self, table, ledger):
        assert "Last bookings" not in ledger._repr_html_()
        sf.Histogram(epsilon=1).release(table, ledger=ledger)
        page = ledger._repr_html_()
        assert ">ε = 2<" in page and ">table.Histogram<" in page and ">released<" in page


class TestSamples:
    """What is drawn can be drawn again, one way for all releases."""

    @pytest.mark.parametrize(
        ("method", "kind"),
        [
            (sf.Marginals(epsilon=1), "table"),
            (sf.Independent(epsilon=1), "table"),
            (sf.UniformGrid(epsilon=1, cells=2), "points"),
            (sf.NGram(epsilon=1, grams=2, largest_limit=8), "sequences"),
            (sf.KroneckerGraph(epsilon=1), "graph"),
        ],
    )
    def test_the_same_seed_draws_the_same(self, method, kind):
        release = sf.rehearse(method, TWINS[kind][0], rows=20, seed=3)
        rows = () if kind == "graph" else (30,)

        def draw(**given):
            drawn = release.sample(*rows, **given)
            return drawn.pairs.tolist() if kind == "graph" else drawn

        def same(one, other):
            return one.equals(other) if isinstance(one, pl.DataFrame) else one == other

        assert same(draw(seed=5), draw(seed=5))
        assert same(draw(seed=5), draw(generator=noise.generator(5)))
        with pytest.raises(TypeError, match="seed and generator cannot be combined"):
            draw(seed=5, generator=noise.generator(5))

    def test_seeds_that_are_none_are_refused(self):
        with pytest.raises(ValueError, match="seed must be a whole number of at least 0; got -1"):
            choose_generator(-1)
        with pytest.raises(TypeError, match=r"got an int\. Write seed=1"):
            choose_generator(None, 1)

    def test_without_a_seed_bits_are_fresh(self):
        assert choose_generator(None).random() != choose_generator(None).random()


class TestFrames:
    """Releases that are tables become data frames."""

    @pytest.mark.parametrize(
        ("method", "kind", "columns"),
        [
            (sf.Independent(epsilon=1), "table", ["ward", "sex"]),
            (sf.Histogram(epsilon=1), "table", ["ward", "sex", "count", "margin"]),
            (
                sf.Marginals(epsilon=1, ways=1),
                "table",
                ["table", "column_1", "value_1", "count", "margin"],
            ),
            (
                sf.UniformGrid(epsilon=1, cells=2),
                "points",
                ["x_from", "x_to", "y_from", "y_to", "count"],
            ),
            (
                sf.NGram(epsilon=1, grams=2, largest_limit=8),
                "sequences",
                ["context", "next a", "next b", "end"],
            ),
            (
                sf.TopStrings(epsilon=1, strings=2, largest_limit=8),
                "sequences",
                ["place", "string", "symbols"],
            ),
            (sf.KroneckerGraph(epsilon=1), "graph", ["source", "target"]),
            (sf.DegreeSequence(epsilon=1), "graph", ["degree", "nodes"]),
            (
                sf.Majority(epsilon=1, target="sex", positive="f"),
                "table",
                ["column", "value", "weight"],
            ),
            (
                sf.FunctionalRegression(epsilon=1, target="sex", positive="f"),
                "table",
                ["column", "value", "adds"],
            ),
        ],
    )
    def test_the_main_table_is_a_frame(self, method, kind, columns):
        release = sf.rehearse(method, TWINS[kind][0], rows=20, seed=1)
        frame = release.to_polars()
        assert frame.columns == columns
        assert isinstance(release.to_pandas(), pd.DataFrame)
        assert list(release.to_pandas().columns) == columns
        assert len(release.to_pandas()) == len(frame)

    def test_frames_hold_what_is_saved(self):
        release = sf.rehearse(sf.Marginals(epsilon=1), SCHEMA, rows=20, seed=1)
        saved = pl.read_csv(release.files()["marginals.csv"])
        assert release.marginal(["ward", "sex"])["count"].to_list() == saved["count"].to_list()

    def test_a_missing_pandas_names_the_extra(self, monkeypatch):
        import builtins

        real = builtins.__import__

        def without(name, *rest, **more):
            if name == "pandas":
                raise ImportError(name)
            return real(name, *rest, **more)

        release = sf.rehearse(sf.Histogram(epsilon=1), SCHEMA, rows=5)
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r"pandas is needed .*sfumato\[pandas\]"):
            release.to_pandas()


class TestAudit:
    """One thing, whether called or commanded."""

    def test_what_is_public_gives_the_canonical_pairs(self, table):
        method = sf.Histogram(epsilon=1)
        results = [sf.audit(method, given, trials=100, seed=1) for given in (SCHEMA, table)]
        for result in results:
            assert len(result.pairs) == len(sf.audit.canonical_pairs(SCHEMA.public)) > 1
            assert not result.refuted and str(result).startswith("not refuted at 99.9 %")
        assert results[0].to_json() == results[1].to_json()

    def test_without_data_the_example_of_the_method_is_tried(self):
        result = sf.audit(sf.Histogram(epsilon=1), trials=100, seed=1)
        assert result.public == sf.Histogram.example_public() and not result.refuted
        method = RandomizedResponse(epsilon=1, answers=["a", "b"])
        assert sf.audit(method, trials=100, seed=1).public == method.public
        asked = sf.audit(sf.Questions(epsilon=1), trials=100, seed=1)
        assert asked.pairs[0].replayed.largest > 0

    def test_replay_refutes_what_samples_are_too_few_to_see(self):
        class Hasty(sf.Histogram):
            """Forgets that a row that is replaced leaves one cell and enters another."""

            def noises(self, public):
                limit, _ = self.record_budget(public)
                return [GeometricNoise(shape=public.sizes, sensitivity=1, epsilon=limit.epsilon)]

        pair = sf.audit.canonical_pairs(replace(SCHEMA, relation="replace_one").public)[0]
        result = sf.audit(Hasty(epsilon=1), pair, trials=100, seed=1)
        assert result.refuted and not result.telling.sampled.refuted
        assert str(result).startswith("REFUTED by replay on the pair 'one row, replaced'")
        assert not sf.audit(sf.Histogram(epsilon=1), pair, trials=100, seed=1).refuted

    def test_a_function_is_sampled_on_a_pair(self, tmp_path):
        path = tmp_path / "event.svg"
        result = sf.audit(
            len, ([1], [1, 1]), trials=100, claimed=sf.PureDP(1), seed=1, picture=path
        )
        assert result.refuted and result.pairs[0].replayed is None
        assert result.bound == result.largest > 1 and result.p > result.q
        assert "a loss of" in str(result) and "'the given pair'" in str(result)
        assert path.read_text().startswith("<?xml") and "method" not in result.to_json()
        assert dict(result.curve)[0.0] == result.bound and result.event.score

    def test_several_pairs_share_the_risk(self):
        pairs = [Pair(name, [1], [1]) for name in ("a", "b")]
        result = sf.audit(len, pairs, trials=100, claimed=sf.PureDP(1), seed=1, confidence=0.99)
        assert [pair.sampled.confidence for pair in result.pairs] == [0.995, 0.995]

    @pytest.mark.parametrize(
        ("given", "options", "said"),
        [
            (SCHEMA, {}, "a function is audited on two neighbouring data sets"),
            (([], []), {"picture": "a.pdf"}, ".svg or .png"),
            (([], []), {"picture": "nowhere/a.svg"}, "no folder"),
            (([], []), {"trials": 5}, "at least 100"),
        ],
    )
    def test_what_cannot_be_audited_is_refused_before_any_work(self, given, options, said):
        with pytest.raises((TypeError, ValueError), match=said):
            sf.audit(lambda data: pytest.fail("ran"), given, claimed=sf.PureDP(1), **options)


class TestNames:
    """A method has one name on the command line, made from its class."""

    def test_every_method_has_a_name_of_its_own(self):
        names = [command_name(name) for name in catalogue.METHODS]
        assert len(set(names)) == len(names)
        assert all(command_name(resolve(name)) == command_name(name) for name in catalogue.METHODS)

    @pytest.mark.parametrize(
        "given", ["privbayes", "priv-bayes", "PrivBayes", "table.PrivBayes", " table.priv-bayes "]
    )
    def test_case_and_hyphens_do_not_matter(self, given):
        assert find_method(given, catalogue.METHODS) == "table.PrivBayes"

    @pytest.mark.parametrize(
        ("given", "said"),
        [("privbays", "did you mean 'privbayes'?"), ("graph.PrivBayes", "there is no method")],
    )
    def test_a_near_miss_gets_a_suggestion(self, given, said):
        with pytest.raises(ValueError, match="Methods: allelefrequencies") as refusal:
            find_method(given, catalogue.METHODS)
        assert said in str(refusal.value)
