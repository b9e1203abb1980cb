import io

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import noise
from sfumato.data.sequences import Sequences
from sfumato.sequence.files import string_text
from sfumato.sequence.suffix_tree import SuffixTree
from tests.sequence import made


@pytest.fixture(scope="module")
def release():
    with noise.seeded(1):
        data = Sequences(made.made(400), "ab")
        return SuffixTree(epsilon=20, longest=6).release(data)


def test_what_a_reader_asks(release):
    assert release.frequency("ab") == release.frequency(["a", "b"])
    top = release.top(8)
    assert all(count == pytest.approx(release.frequency(string)) for string, count in top)
    assert [len(string) for string, _ in release.top(3, length=2)] == [2, 2, 2]
    chances = release.predict("ab")
    assert list(chances) == ["a", "b", None] and sum(chances.values()) == pytest.approx(1)
    assert release.total == pytest.approx(400, rel=0.1)
    assert "400" not in str(release.predict("a"))


def test_strings_outside_the_alphabet_are_refused(release):
    for ask in (release.frequency, release.predict):
        with pytest.raises(ValueError, match="not in the alphabet"):
            ask("ac")
    with pytest.raises(ValueError, match="at least one symbol"):
        release.frequency("")


def test_samples_look_like_the_data(release):
    rows = release.sample(20_000, generator=noise.generator(3))
    true = np.bincount([len(text) for text in made.made(400)], minlength=8) / 400
    drawn = np.bincount([min(len(row), 20) for row in rows], minlength=21)[:8] / 20_000
    assert np.abs(true - drawn).sum() / 2 < 0.1
    again = release.sample(50, generator=noise.generator(3))
    assert again == release.sample(50, generator=noise.generator(3))
    assert abs(len(release.sample()) - release.total) <= 0.5
    Sequences(rows[:100], "ab")
    assert max(len(row) for row in release.sample(500, longest=2)) == 2
    assert release.sample(0) == []


def test_impossible_samples_are_refused(release, monkeypatch):
    with pytest.raises(ValueError, match="rows must not be negative"):
        release.sample(-1)
    with pytest.raises(ValueError, match="longest must not be negative"):
        release.sample(1, longest=-1)
    monkeypatch.setattr("sfumato.sequence.model.MOST_ROWS", 10)
    with pytest.raises(ValueError, match="to choose how many to draw"):
        release.sample()


def test_files_are_plain_and_tampering_shows(release, tmp_path):
    files = release.files()
    contexts = pl.read_csv(io.BytesIO(files["contexts.csv"]))
    assert contexts.columns == ["context", "next a", "next b", "end"]
    assert contexts.height == release.model.nodes
    assert "(start)" in contexts["context"].to_list()
    top = pl.read_csv(io.BytesIO(files["top.csv"]))
    assert top.columns == ["string", "symbols", "count"]
    assert release.agrees(files)
    lines = files["contexts.csv"].decode().splitlines()
    for wrong in ("NaN", "", "17.5"):
        fields = lines[1].split(",")
        fields[-1] = wrong
        changed = "\n".join([lines[0], ",".join(fields), *lines[2:]]).encode()
        assert not release.agrees({**files, "contexts.csv": changed})
    assert not release.agrees({"top.csv": files["top.csv"]})


def test_symbols_of_any_kind_go_through_files_and_pictures(tmp_path):
    for alphabet in (["two words", "$x$", "(start)"], [7, -3], ["a,b", '"', "ä"]):
        data = Sequences([[alphabet[0], alphabet[1]]] * 30, alphabet)
        release = SuffixTree(epsilon=5, longest=3).release(data)
        folder = release.save(tmp_path / str(len(str(alphabet))))
        assert sf.verify(folder).passed
        assert sf.load(folder).top(3) == release.top(3)
        release.plot().savefig(tmp_path / "a.png")
        texts = {string_text(data.public, (code,)) for code in range(len(alphabet) + 1)}
        assert len(texts) == len(alphabet) + 1


def test_a_large_alphabet_is_drawn_as_far_as_it_fits(tmp_path):
    data = Sequences([[row % 60, (row + 1) % 60] for row in range(600)], list(range(60)))
    figure = SuffixTree(epsilon=50, longest=3).release(data).plot()
    assert "36 rarer symbols are not drawn" in figure.get_suptitle()
