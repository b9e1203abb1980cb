"""Bad files that reach new places of the code: Atheris grows them for every reader.

Run `pip install atheris` and `python benchmarks/guided.py --seconds 60`, by hand, with the
project's test environment. Atheris counts which branches of `sfumato` a file reaches and damages
further what reached new ones; the damage is that of `benchmarks/fuzz.py`, which knows the form of
each file. A line for each reader: how many files were tried, how many reached something new, and
how many ended unexpectedly, hung or showed a canary. Such files are printed and kept, and fail the
run. `--keep` puts the smallest files that reached something new into `tests/corpus/grown`, which
the tests try again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

MOST = 8
"""Files of each reader that are kept: the smallest that reached new code."""


def grow(name: str, work: Path, options: list[str]) -> None:
    """Let Atheris try files of one reader in this process, until its time is over."""
    import atheris

    warnings.simplefilter("ignore")
    found = work / "found"
    found.mkdir(exist_ok=True)
    with atheris.instrument_imports(include=["sfumato"], exclude=_compiled()):
        from tests.fuzzing import grown_files, readers, try_file, workshop

        (reader,) = [one for one in readers() if one.name == name]

        def mutate(content: bytes, longest: int, seed: int) -> bytes:
            draw = random.Random(seed)
            with contextlib.suppress(Exception):
                return bytes(reader.damage(content, draw))[:longest]
            # What is damaged already may have lost its form.
            return bytes(atheris.Mutate(content, longest))

        def try_one(content: bytes) -> None:
            _, finding = try_file(content, reader, random.Random(content))
            if finding is not None:
                print(finding, flush=True)
                (found / _digest(content)).write_bytes(content)

        with workshop():
            seeds = work / "seeds"
            seeds.mkdir(exist_ok=True)
            (seeds / "good").write_bytes(Path(reader.file).read_bytes())
            for old in grown_files(reader):
                shutil.copy(old, seeds)
            try_one((seeds / "good").read_bytes())
            arguments = ["guided", str(work / "corpus"), str(seeds), *options]
            atheris.Setup(arguments, try_one, custom_mutator=mutate)
            atheris.Fuzz()


def _compiled() -> list[str]:
    """Return the modules with compiled functions, whose code must stay as it is."""
    source = ROOT / "src"
    return [
        ".".join(file.relative_to(source).with_suffix("").parts)
        for file in source.rglob("*.py")
        if "numba" in file.read_text(encoding="utf-8")
    ]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def run_reader(name: str, seconds: int, *, keep: bool) -> tuple[int, int, int]:
    """Grow files of one reader in a process of its own; return tried, new and wrong ones."""
    from tests.fuzzing import CORPUS, place_of

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "corpus").mkdir()
        flags = [f"-max_total_time={seconds}", "-timeout=120", "-rss_limit_mb=8000"]
        text = _run(name, work, [*flags, f"-max_len={2**20}", "-len_control=0"])
        tried = max(map(int, re.findall(r"^#(\d+)\s", text, re.MULTILINE)), default=0)
        new = len(list((work / "corpus").iterdir()))
        for wrong in (work / "found").glob("*"):
            shutil.copy(wrong, Path.cwd())
        faults = len(list((work / "found").glob("*"))) + ("Done" not in text)
        if faults:
            print(text[-6000:])
        if keep:
            kept = CORPUS / "grown" / place_of(name)
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            found = sorted((work / "corpus").iterdir(), key=lambda file: file.stat().st_size)
            for file in found[:MOST]:
                shutil.copy(file, kept)
        return tried, new, faults


def _run(name: str, work: Path, options: list[str]) -> str:
    """Run Atheris for one reader and return what it prints."""
    command = [sys.executable, __file__, "--reader", name, "--work", str(work), "--", *options]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, check=False, env=environment)
    return (ran.stdout + ran.stderr).decode("utf-8", "replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--only", default="", help="a regular expression for readers' names")
    parser.add_argument("--keep", action="store_true", help="renew the corpus of the tests")
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.reader is not None:
        grow(options.reader, options.work, [word for word in rest if word != "--"])
        return
    from tests.fuzzing import readers

    whole = [0, 0, 0]
    for reader in readers():
        if not re.search(options.only, reader.name):
            continue
        figures = run_reader(reader.name, options.seconds, keep=options.keep)
        tried, new, wrong = figures
        print(
            f"{reader.name:36} {tried:6,} files, {new:4} reached new code, {wrong:3} wrong",
            flush=True,
        )
        whole = [sum(pair) for pair in zip(whole, figures, strict=True)]
    print(f"{whole[0]:,} files, {whole[1]:,} reached new code, {whole[2]} wrong")
    sys.exit(1 if whole[2] else 0)


if __name__ == "__main__":
    main()
