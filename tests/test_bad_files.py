"""Files that are damaged or made up: every reader refuses them in words, soon, and without values.

The long version of the second test is `benchmarks/fuzz.py`.
"""

import random
from pathlib import Path

import pytest

from sfumato.cli.exits import ExitCode
from tests.fuzzing import (
    CORPUS,
    LIMIT,
    grown_files,
    readers,
    run,
    try_case,
    try_file,
    workshop,
)

CASES = 5
"""Damaged files for each reader."""
KNOWN = sorted((CORPUS / "bad").glob("*/*"))
"""Files that once ended a command with an unexpected error, or nearly did."""
GROWN = [reader for reader in readers() if grown_files(reader)]
"""Readers for which a fuzzer that is guided by coverage has kept files."""
REFUSED = {ExitCode.USAGE, ExitCode.DATA, ExitCode.VERIFICATION, ExitCode.LEDGER}


@pytest.fixture(scope="module")
def _workshop():
    with workshop() as folder:
        yield folder


@pytest.mark.usefixtures("_workshop")
@pytest.mark.parametrize("bad", KNOWN, ids=lambda bad: f"{bad.parent.name}-{bad.name}")
def test_every_bad_file_of_the_corpus_is_refused_in_words(bad):
    place = Path(bad.parent.name)
    (reader,) = [reader for reader in readers() if reader.file == str(place)]
    good = place.read_bytes()
    command = next(words for words in reader.commands if "table schema" not in words)
    try:
        place.write_bytes(bad.read_bytes())
        ending = run(command.replace("OUT", "free").split(), limit=LIMIT)
    finally:
        place.write_bytes(good)
    assert ending.code in REFUSED, ending.shown
    assert "QZCANARYZQ" not in ending.shown and "73519264" not in ending.shown
    assert not Path("free").exists(), "something was released"


@pytest.mark.usefixtures("_workshop")
@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_damaged_files_end_no_command_unexpectedly_and_show_no_value(reader):
    findings = [try_case(case, reader)[1] for case in range(CASES)]
    assert not any(findings), "\n".join(str(finding) for finding in findings if finding)


@pytest.mark.slow
@pytest.mark.usefixtures("_workshop")
@pytest.mark.parametrize("reader", GROWN, ids=lambda reader: reader.name)
def test_files_that_reached_new_code_end_no_command_unexpectedly(reader):
    for file in grown_files(reader):
        content = file.read_bytes()
        finding = try_file(content, reader, random.Random(content))[1]
        assert finding is None, f"{file.name}: {finding}"


@pytest.mark.slow
@pytest.mark.usefixtures("_workshop")
def test_every_command_of_every_reader_ends_well_with_its_good_file():
    # The files of one release share their commands.
    for command in dict.fromkeys(words for reader in readers() for words in reader.commands):
        ending = run(command.replace("OUT", "fresh").split())
        assert ending.code == 0, f"{command}: {ending.shown}"
        _remove(Path("fresh"))


def _remove(place):
    import shutil

    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
