"""Kernels give the same bits, whether they are interpreted or compiled."""

import copy
import io
import subprocess
import sys
from fractions import Fraction
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import compiling, noise
from sfumato.compiling import Kernel, compiled, uncounted
from sfumato.engines import bit_kernels, genotype_kernels, grammar, kernels, point_kernels
from sfumato.engines.batch_counts import Batch
from sfumato.engines.bits import small_tables
from sfumato.genomics import distance_kernels
from sfumato.genomics.statistics import critical_differences
from sfumato.mechanisms.graphical import Measured, draw_kernels, fit, growth_kernels
from sfumato.mechanisms.graphical import kernels as graphical_kernels
from sfumato.noise import _kernels, _select_kernels
from sfumato.tabular import part_estimates
from sfumato.tabular.candidates import Pool

MODULES = (
    _kernels, _select_kernels, kernels, bit_kernels, grammar, point_kernels,
    graphical_kernels, draw_kernels, growth_kernels, part_estimates,
    genotype_kernels, distance_kernels,
)  # fmt: skip


def bits_of(value):
    """A result or an argument, as something that is equal only if every bit is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(bits_of, value))
    if isinstance(value, float | np.floating):
        return float(value).hex()
    # A number of fewer bits would wrap where its caller counts on, and a compiled one would not.
    assert not isinstance(value, np.integer) or value.dtype.itemsize == 8
    return None if value is None else int(value)


#: Arguments in which kernels keep what nobody reads afterwards.
SCRATCH = {"index", "stack", "stack_cells", "places", "values"}


class Checked:
    """A kernel that is run in all its ways, which must agree in what they return and write."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.source = kernel.source
        self.names = list(signature(kernel.source).parameters)
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        seen = []
        for way in (self.kernel.interpreted, self.source, self.kernel.compiled):
            own = copy.deepcopy(arguments)
            with np.errstate(all="ignore"):
                answer = bits_of(way(*own))
            written = dict(zip(self.names, own, strict=True))
            seen.append((answer, {n: bits_of(a) for n, a in written.items() if n not in SCRATCH}))
        assert seen[0] == seen[1] == seen[2], self.kernel.__name__
        return self.kernel.compiled(*arguments)


@pytest.fixture
def checked(monkeypatch):
    """Check every call of the kernels that are not called by kernels alone."""
    found = {}
    for module in MODULES:
        for name, kernel in vars(module).items():
            if isinstance(kernel, Kernel) and kernel._steps is not uncounted:
                found[name] = Checked(kernel)
                monkeypatch.setattr(module, name, found[name])
    return found


def calls(checked):
    return {name for name, kernel in checked.items() if kernel.calls}


def test_noise_is_the_same(checked):
    with noise.seeded(1):
        for count in (1, 64, 65, 200):
            for scale in (Fraction(1, 9), 1, Fraction(17, 2), 1000, 2**40):
                noise.discrete_laplace(count, scale=scale)
                noise.geometric(count, scale=scale)
        noise.discrete_laplace(4096 + 70, scale=3)  # a full block and a narrower one
        for count in (1, 64, 5000):
            noise.bernoulli(count, probability=Fraction(1, 3))
            noise.bernoulli(count, probability=Fraction(3, 8))
            noise.bernoulli_exp(count, exponent=Fraction(7, 5))
        numerators = np.arange(0, 3000, 7)
        noise.bernoulli_exp_array(numerators, denominator=70)
        noise.discrete_gaussian(50, variance=9)
    assert calls(checked) == {"coins", "geometric", "filter_coins"}


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_choices_are_the_same(checked, kind):
    generator = np.random.default_rng(2)
    most = np.iinfo(np.int64).max
    with noise.seeded(3):
        for size in (1, 2, 64, 65, 300, 3000):
            for spread in (1, 40, 10_000):
                scores = generator.integers(-spread, spread, size).astype(kind)
                for rate in (Fraction(1, 100), 1, 30):
                    noise.permute_and_flip(scores, rate=rate)
                    noise.exponential(scores, rate=rate)
        extreme = np.array([most, -most, 0, -most - 1], dtype=np.int64).astype(kind)
        noise.permute_and_flip(extreme, rate=Fraction(1, 2**64))
        if kind is np.float64:
            noise.permute_and_flip(np.array([1.7e308, -1.7e308]), rate=Fraction(1, 2**1023))
    peaks = "peaks_of_floats" if kind is np.float64 else "peaks_of_integers"
    assert calls(checked) == {peaks, "settle", "survivors", "draw_distinct", "count_levels"}


def test_counts_are_the_same(checked):
    generator = np.random.default_rng(4)
    sizes = (12, 2, 5, 1, 3)
    tables = ((0,), (1,), (0, 1), (1, 2), (0, 1, 2), (2, 3, 4), (1, 4))
    for rows in (0, 1, 63, 64, 1000, 40_000):
        codes = [generator.integers(0, size, rows).astype(np.uint8) for size in sizes]
        batch = Batch(tables, sizes, 50_000)
        batch.add([codes[column] for column in batch.columns])
        batch.add([codes[column] for column in batch.columns], np.arange(rows))
        small = small_tables(tables, sizes)
        small.count([[codes[column] for column in small.columns]])
        small.summed(generator.random(sizes))
        kernels.distances(batch.flat(), 16, batch.flat()[::-1].copy(), batch._places)
    expected = {"count_block", "pack", "count_words", "complete", "sum_up", "look_up_sums"}
    assert calls(checked) == expected | {"distances"}


def test_points_are_the_same(checked):
    generator = np.random.default_rng(9)
    for axes in (1, 2, 3):
        array = generator.normal(0.4, 0.3, (500, axes))
        array[:3] = [[0], [1], [np.nextafter(1, 0)]]
        points = sf.Points(array, bounds=[(0, 1)] * axes, outside="clamp").counts
        points.histogram([7] * axes)
        points.count_nested([3] * axes, generator.integers(1, 5, [3] * axes))
    named = {"put_on_grid", "interleave_bits", "separate_bits", "count_grid", "count_nested"}
    assert calls(checked) == named


def test_files_are_scanned_the_same(checked):
    generator = np.random.default_rng(5)
    lines = [
        b"a,b",
        b'"a",b',
        b'"a""b",c',
        b'"a\n,b",c',
        b"a",
        b"",
        b'a"b,c',
        b'"a"b,c',
        b",",
        b"a,b\r",
    ]
    for _ in range(200):
        chosen = generator.choice(len(lines), 5, p=[0.4] + [0.6 / 9] * 9)
        ending = b"\r\n" if generator.random() < 0.3 else b"\n"
        text = ending.join(lines[number] for number in chosen) + generator.choice([b"", ending])
        grammar.first_bad_line(io.BytesIO(text), ",")
    assert calls(checked) == {"_scan"}


def test_models_are_the_same(checked):
    generator = np.random.default_rng(6)
    for sizes, sets in (
        ((12, 2, 5), [(0,), (1,), (2,), (0, 1, 2), (0, 1), (1, 2)]),
        ((3, 4, 2, 5, 3), [(0, 1), (1, 2), (2, 3), (3, 4), (0,)]),
        ((3, 4), [(0,), (1,)]),
    ):
        for scale in (1.0, 30.0, 3000.0):
            measured = []
            for columns in sets:
                shape = tuple(sizes[column] for column in columns)
                values = generator.poisson(2000 / np.prod(shape), shape) + generator.normal(
                    0, scale, shape
                )
                measured.append(Measured(columns, values, scale))
            model = fit(sizes, measured, 2000.0, iterations=80)
            model.draw(1000, generator)
    assert calls(checked) == {"descend", "spread_evenly"}


def test_estimates_are_the_same(checked):
    generator = np.random.default_rng(8)
    sizes = (3, 4, 2, 5, 3)
    measured = [
        Measured(columns, generator.random([sizes[column] for column in columns]), 1.0)
        for columns in ((0, 3), (1, 4), (2,))
    ]
    model = fit(sizes, measured, 10.0, iterations=5)
    pool = Pool(((0, 1), (0, 3), (0, 1, 3, 4), (1, 2, 4), (2,), (2, 3)), sizes)
    part_estimates.estimate_shares(pool, model, 500, generator)
    assert checked["multiply_parts"].calls == 1


def test_sizes_of_models_are_the_same(checked):
    generator = np.random.default_rng(7)
    for columns in (1, 3, 20, 70):
        sizes = generator.integers(1, 50, columns).astype(np.float64)
        near = np.eye(columns, dtype=np.bool_)
        for _ in range(columns // 2):
            one, other = generator.integers(0, columns, 2)
            near[one, other] = near[other, one] = True
        sets = [
            np.sort(generator.choice(columns, min(columns, 3), replace=False)) for _ in range(30)
        ]
        starts = np.cumsum([0, *map(len, sets)])
        growth_kernels.count_grown_cells(near, sizes, np.concatenate(sets), starts)
        growth_kernels.joinable(near, sizes, np.concatenate(sets), starts, 5000.0)
    assert calls(checked) == {"_count_grown_cells"}


def test_calls_of_genotypes_are_the_same(checked):
    generator = np.random.default_rng(10)
    for people in (1, 31, 32, 33, 200):
        words = generator.integers(0, 2**64, (5, -(-people // 32)), dtype=np.uint64)
        case = np.arange(people) % 2 == 0
        masks = np.zeros((2, words.shape[1]), dtype=np.uint64)
        for person in range(people):
            masks[int(case[person]), person >> 5] |= np.uint64(1 << 2 * (person & 31))
        counts = np.zeros((5, 2, 4), dtype=np.int64)
        genotype_kernels.count_calls(words, masks, counts)
        assert counts.sum() == 5 * people
        pairs = np.array([[0, 1], [2, 2]])
        genotype_kernels.count_pairs(words, pairs, masks[0] | masks[1], np.zeros((2, 4, 4), int))
        values = generator.integers(-1000, 1000, people)
        genotype_kernels.sum_products(words, values, np.zeros((5, 4), dtype=np.int64))
        scores = np.zeros(3, dtype=np.int64)
        tables = generator.multinomial(people, [0.5, 0.3, 0.2], (2, 3))
        critical = critical_differences((people, people), 10_000)
        distance_kernels.association_distances(*tables, critical, scores)
    named = {"count_calls", "count_pairs", "sum_products", "association_distances"}
    assert calls(checked) == named


def test_every_kernel_is_compared(checked):
    named = {
        "coins", "geometric", "filter_coins", "peaks_of_floats", "peaks_of_integers", "settle",
        "survivors", "draw_distinct", "count_levels", "count_block", "distances", "pack",
        "count_words", "complete", "sum_up", "look_up_sums", "_scan", "descend", "spread_evenly",
        "_count_grown_cells", "put_on_grid", "interleave_bits", "separate_bits", "count_grid",
        "count_nested", "multiply_parts", "count_calls", "count_pairs", "sum_products",
        "association_distances",
    }  # fmt: skip
    assert set(checked) == named
    users = [
        path
        for path in Path(compiling.__file__).parent.rglob("*.py")
        if "from sfumato.compiling import" in path.read_text(encoding="utf-8")
    ]
    assert {Path(module.__file__) for module in MODULES} == set(users)


def test_a_kernel_is_compiled_when_its_steps_add_up(monkeypatch):
    monkeypatch.setattr(compiling, "INTERPRETED_STEPS", 10)
    made = []
    kernel = compiled(lambda n: n, make=lambda function: made.append(function) or function)(abs)
    for steps in (6, 4, 1, 1):
        assert kernel(steps) == steps
        assert bool(made) is (kernel._taken > 10)
    assert made == [abs] and kernel._taken == 11


def test_equal_calls_of_a_repeatable_kernel_are_run_in_the_same_way(monkeypatch):
    monkeypatch.setattr(compiling, "REPEATED_STEPS", 5)
    kernel = compiled(lambda n: n, make=lambda function: lambda n: -n, repeatable=True)(abs)
    assert [kernel(steps) for steps in (5, 6, 5, 6, 5)] == [5, -6, 5, -6, 5]


def test_a_small_release_compiles_nothing(tmp_path):
    ages = np.random.default_rng(8).integers(0, 100, 10_000)
    lines = ["age,sex,town", *(f"{age},{'fm'[age % 2]},{'abc'[age % 3]}" for age in ages)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.schema.toml").write_text(
        '[table]\nunit = "row"\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 100\nbins = 10\n'
        '[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
        '[columns.town]\nkind = "category"\nvalues = ["a", "b", "c"]\n'
    )
    program = (
        "import sys\nimport sfumato as sf\n"
        "table = sf.read_table('t.csv', schema='t.schema.toml')\n"
        "sf.Synthesizer(epsilon=1).release(table).save('o')\n"
        "print(sorted({'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"
    assert sf.verify(tmp_path / "o").passed
