"""How much slips into a saved release: smuggling with new hashes, damage, forged signatures.

    python benchmarks/smuggling.py [--tries 500] [--damages 5000]

Run by hand, from the root of the repository. A table, a graph and points are released and saved.
Then something is hidden in one of them, all hashes are computed anew, and `verify` is asked: an
extra member, key, row, digit, slice or text. Half of the folders claim to come from another
platform, where a few last digits may differ; of what stays within that, only the folders of this
platform are tried. Bytes are flipped, cut off, added, doubled, blanked and swapped in case, in
all files of a folder and in its signature, without new hashes, with and without the key.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.privacy import keys

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.privacy.smuggling import (
    WAYS,
    WITHIN_PLATFORM,
    NothingToDo,
    damage,
    is_caught,
    read_folder,
    smuggle,
)


def saved_releases(home: Path) -> dict[str, Path]:
    """Return the folders of a table, a graph and points, each signed."""
    generator = np.random.default_rng(1)
    ledger = sf.Ledger.create(home / "a.ledger", allow=sf.PureDP(9), unit="row")
    frame = pl.DataFrame(
        {
            "age": generator.integers(0, 100, 3009),
            "height": generator.normal(170, 10, 3009).clip(100, 220),
            "ward": generator.choice(["east", "west", "north"], 3009),
        }
    )
    schema = {
        "age": {"kind": "number", "low": 0, "high": 100, "bins": 10, "decimals": 0},
        "height": {"kind": "number", "low": 100, "high": 220, "bins": 12},
        "ward": {"kind": "category", "values": ["east", "west", "north"]},
    }
    nodes = 60
    ends = generator.integers(0, nodes, (200, 2))
    edges = [tuple(pair) for pair in ends.tolist() if pair[0] != pair[1]]
    places = generator.random((2000, 2))
    made = {
        "table": sf.Synthesizer(epsilon=1).release(sf.Table(frame, schema), ledger=ledger),
        "graph": sf.DKGraph(epsilon=3, order=1).release(sf.Graph(edges, nodes=nodes)),
        "points": sf.PrivTree(epsilon=2).release(
            sf.Points(places, bounds=[(0, 1), (0, 1)], geographic=True)
        ),
    }
    keys.generate(home / "key.pem")
    found = {name: item.save(home / name, key=home / "key.pem") for name, item in made.items()}
    sf.save_report(found["graph"])
    return found


def try_smuggling(folders: dict[str, Path], tries: int) -> None:
    """Hide something so many times, and print how often it was caught."""
    saved = {name: read_folder(folder) for name, folder in folders.items()}
    chance = random.Random(1)
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        while tried.total() < tries:
            kind = chance.choice(sorted(WAYS))
            way, name = chance.choice(WAYS[kind]), chance.choice(sorted(saved))
            elsewhere = way not in WITHIN_PLATFORM and chance.random() < 0.5
            seed = chance.randrange(2**32)
            try:
                found = smuggle(Path(home), saved[name], way, seed, elsewhere=elsewhere)
            except NothingToDo:
                continue
            tried[kind] += 1
            caught[kind] += found
            if not found:
                print(f"MISSED {way.__name__} in {name}, seed {seed}, elsewhere {elsewhere}")
    for kind in sorted(tried):
        print(f"{kind:8} {caught[kind]:5} of {tried[kind]:5} caught")
    seconds = time.perf_counter() - began
    print(f"smuggled {caught.total():5} of {tried.total():5} caught, {seconds:.0f} s")


def try_damage(folders: dict[str, Path], key: Path, tries: int) -> None:
    """Damage files and signatures so many times, and print how often it was seen."""
    chance = random.Random(2)
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        for name, folder in folders.items():
            shutil.copytree(folder, Path(home) / name)
        while tried.total() < tries:
            folder = Path(home) / chance.choice(sorted(folders))
            places = sorted(place for place in folder.iterdir() if place.name != "report.html")
            kind = chance.choice(["signature", "certificate", "file"])
            place = chance.choice(places) if kind == "file" else folder / "certificate.json"
            original = place.read_bytes()
            start = original.index(b'"signature"') if kind == "signature" else 0
            changed = original[:start] + damage(original[start:], chance)
            if changed == original:
                continue
            place.write_bytes(changed)
            options = {"key": key} if chance.random() < 0.5 else {}
            found = is_caught(folder, report=False, **options)
            place.write_bytes(original)
            tried[kind] += 1
            caught[kind] += found
            if not found:
                print(f"MISSED {kind} {place.name}: {len(original)} became {len(changed)} bytes")
    for kind in sorted(tried):
        print(f"{kind:12} {caught[kind]:5} of {tried[kind]:5} seen")
    seconds = time.perf_counter() - began
    print(f"damage       {caught.total():5} of {tried.total():5} seen, {seconds:.0f} s")


def main() -> None:
    """Run both, and print counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=500)
    parser.add_argument("--damages", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folders = saved_releases(Path(home))
        try_smuggling(folders, options.tries)
        try_damage(folders, keys.public_path(Path(home) / "key.pem"), options.damages)


if __name__ == "__main__":
    main()
