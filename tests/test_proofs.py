"""Every proof page is stamped with its code, and all code that privacy needs is on some page."""

import shutil

import pytest

from tests.everything import ROOT, stamps

PAGE = """---
summary: nothing
proves:
  - src/sfumato/noise/uniform.py
stamp: {stamp}
---
# A page
"""


def test_proofs_are_stamped_with_the_code_they_prove():
    assert stamps().stale() == []
    assert len(stamps().pages()) > 60


def test_every_file_on_which_privacy_rests_is_on_some_page():
    missing = set(stamps().required()) - stamps().covered()
    assert not missing


def test_a_new_file_is_missed(tmp_path):
    source = tmp_path / "sfumato"
    for folder in ("noise", "tabular"):
        (source / folder).mkdir(parents=True)
    (source / "noise" / "__init__.py").write_text('"""Nothing but words."""\n')
    (source / "noise" / "new.py").write_text("X = 1\n")
    (source / "tabular" / "helper.py").write_text("def shown():\n    return 1\n")
    (source / "tabular" / "new.py").write_text(
        "class New:\n    def program(self, public, budget):\n        pass\n"
    )
    (source / "tabular" / "drawn.py").write_text("class Drawn(StatefulPrimitive):\n    pass\n")
    assert stamps().required(source) == [
        f"src/sfumato/{name}" for name in ("noise/new.py", "tabular/drawn.py", "tabular/new.py")
    ]


def test_every_page_is_in_the_index_and_in_the_navigation():
    index = (ROOT / "docs" / "proofs" / "index.md").read_text()
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in stamps().pages():
        assert f"]({page.name})" in index
        assert f": proofs/{page.name}\n" in navigation


@pytest.fixture
def two_pages(tmp_path, monkeypatch):
    """Two pages of one file, both with an old stamp."""
    proofs = tmp_path / "docs" / "proofs"
    proofs.mkdir(parents=True)
    kept = tmp_path / "src" / "sfumato" / "noise"
    kept.mkdir(parents=True)
    shutil.copy(ROOT / "src/sfumato/noise/uniform.py", kept)
    for name in ("first", "second"):
        (proofs / f"{name}.md").write_text(PAGE.format(stamp="none"))
    monkeypatch.setattr(stamps(), "PROOFS", proofs)
    monkeypatch.setattr(stamps(), "ROOT", tmp_path)
    return proofs


def test_one_page_is_stamped_at_a_time(two_pages, capsys):
    assert stamps().stale() == ["first.md", "second.md"]
    assert stamps().main(["first"]) == 0
    assert stamps().stale() == ["second.md"]
    assert "src/sfumato/noise/uniform.py" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["third"], ["--all"]])
def test_without_a_page_nothing_is_stamped_and_stale_pages_are_named(two_pages, capsys, arguments):
    assert stamps().main(arguments) == 2
    assert stamps().stale() == ["first.md", "second.md"]
    assert "stale: first, second" in capsys.readouterr().out


def test_a_check_names_what_to_read(two_pages, capsys):
    assert stamps().main(["--check"]) == 1
    assert "make stamp PAGE=first" in capsys.readouterr().out
    for page in ("first", "second"):
        assert stamps().main([page]) == 0
    assert stamps().main(["--check"]) == 0


def test_words_do_not_make_a_page_stale_and_code_does(two_pages):
    for page in ("first", "second"):
        stamps().main([page])
    file = two_pages.parent.parent / "src/sfumato/noise/uniform.py"
    file.write_text("# A comment.\n" + file.read_text())
    assert stamps().stale() == []
    file.write_text(file.read_text() + "\nmore = 1\n")
    assert stamps().stale() == ["first.md", "second.md"]


@pytest.mark.parametrize("line", ["src/sfumato/noise/gone.py", "src/sfumato/noise/uniform.py"])
def test_a_page_that_lists_a_file_twice_or_one_that_is_gone_is_refused(two_pages, line):
    page = two_pages / "first.md"
    page.write_text(PAGE.format(stamp="none").replace("stamp:", f"  - {line}\nstamp:"))
    with pytest.raises(ValueError, match="twice, or one that is gone"):
        stamps().stale()
