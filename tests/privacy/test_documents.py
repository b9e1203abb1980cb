"""Small files are read with limits that their errors state."""

import pytest

from sfumato.privacy.documents import DEEPEST, LARGEST_DOCUMENT, read_json, read_toml


def written(tmp_path, text):
    place = tmp_path / "a.toml"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = inf", "a must be a finite number; got inf"),
        ("[b]\na = [1, [nan]]", "b.a must be a finite number; got nan"),
        ("a = 18446744073709551616", "a must be a number of at most 64 bits; got one of about 20"),
        (f"a = 1{'0' * 5000}", "thousands of digits; write one of at most 19 digits"),
        (f"a = {'[' * 101}{']' * 101}", f"nested more than {DEEPEST} deep"),
        (f"a = {'[' * 5000}{']' * 5000}", f"nested more than {DEEPEST} deep"),
        ("a = ", "is not a TOML file: Invalid value"),
        (b"a = '\xff'", "not a text file in UTF-8; save it as UTF-8"),
    ],
)
def test_what_a_schema_may_not_hold_is_named(tmp_path, text, words):
    with pytest.raises(ValueError, match=r"^a\.toml") as refusal:
        read_toml(written(tmp_path, text))
    assert words in str(refusal.value) and refusal.value.__cause__ is None


def test_numbers_of_64_bits_and_a_hundred_levels_are_read(tmp_path):
    assert read_toml(written(tmp_path, "a = 18446744073709551615"))["a"] == 2**64 - 1
    deep = f"a = {'[' * (DEEPEST - 2)}{']' * (DEEPEST - 2)}"
    assert "a" in read_toml(written(tmp_path, deep))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "NaN is not a number in JSON"),
        ('{"a": -Infinity}', "-Infinity is not a number in JSON"),
        ('{"a": ' + "9" * 5000 + "}", "thousands of digits"),
        ("[" * 100_000, f"nested more than {DEEPEST} deep"),
        ("[" * 101 + "]" * 101, f"nested more than {DEEPEST} deep"),
        ('{"a": "\\ud800"}', "text that is not Unicode"),
        ('{"\\ud800": 1}', "text that is not Unicode"),
        ("{", "it is not valid JSON"),
    ],
)
def test_what_a_survey_or_tally_may_not_hold_is_named(tmp_path, text, words):
    with pytest.raises(ValueError, match=r"^a\.toml") as refusal:
        read_json(written(tmp_path, text))
    assert words in str(refusal.value)


@pytest.mark.parametrize("read", [read_toml, read_json])
def test_a_file_that_is_too_large_is_not_parsed(tmp_path, read, monkeypatch):
    assert LARGEST_DOCUMENT == 2**26
    monkeypatch.setattr("sfumato.privacy.documents.LARGEST_DOCUMENT", 2**20)
    with pytest.raises(ValueError, match="it has more than 1 MiB"):
        read(written(tmp_path, b" " * (2**20 + 1)))
