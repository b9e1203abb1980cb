import pytest

import sfumato as sf

from .test_page import outline, words

ALPHABET = ["<i>", "a & b", "$x^{$"]


@pytest.fixture(scope="module")
def sequences():
    some = [["<i>", "a & b"], ["<i>", "<i>", "$x^{$"], [], ["a & b"]] * 60
    return sf.Sequences(some, ALPHABET)


def test_the_page_shows_contexts_strings_files_and_the_alphabet(sequences, tmp_path):
    release = sf.SuffixTree(epsilon=5).release(sequences)
    release.save(tmp_path / "o")
    page = sf.save_report(tmp_path / "o").read_text(encoding="utf-8")
    text = words(page)
    assert release.words() in text
    for heading in ("Symbols after each context", "The most frequent strings", "How to use it"):
        assert heading in text
    assert f"about {release.total:,.0f}" in text
    string, count = release.top(1)[0]
    assert f"{count:,.0f}" in text and str(string[0]) in text
    assert sf.verify(tmp_path / "o").passed


def test_symbols_are_escaped_and_nothing_comes_from_outside(sequences, tmp_path):
    release = sf.SuffixTree(epsilon=5).release(sequences)
    page = sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8")
    parsed = outline(page)
    assert "i" not in parsed.tags and "&lt;i&gt;" in page
    assert not {"script", "link", "img", "iframe", "object"} & set(parsed.tags)
    for name, value in parsed.attributes:
        if name in ("href", "xlink:href"):
            assert value.startswith(("#", "data:image/png;base64,"))


def test_a_list_of_strings_has_a_page(sequences, tmp_path):
    release = sf.TopStrings(epsilon=5, strings=4).release(sequences)
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Their frequencies are not released" in text and "declared about the sequences" in text


def test_persons_with_several_sequences_and_large_alphabets_are_told(tmp_path):
    data = sf.Sequences(
        [[1], [2, 3], [1]], range(100), unit="person", person=[7, 7, 8], max_sequences=2
    )
    release = sf.SuffixTree(epsilon=1).release(data)
    text = words(sf.save_report(release, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "at most 2 were used" in text and "and 40 more" in text
