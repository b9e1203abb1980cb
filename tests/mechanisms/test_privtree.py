"""PrivTree's splits: worked numbers, the exact law, its price, and mutants that are caught."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import noise
from sfumato.mechanisms.privtree import (
    MOST_NODES,
    Frontier,
    FrontierQuery,
    TreeSplits,
    grow_tree,
    kappa,
)
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, PureDP, pure_within
from sfumato.privacy.program import run_on_data
from sfumato.privacy.rounding import log_up
from tests.mechanisms.opened import opened, transcript_of

ONE = Fraction(1)
BOTH = (Relation.ADD_REMOVE, Relation.REPLACE_ONE)


def splits(**options):
    return TreeSplits(**{"epsilon": ONE, "fan_out": 2, "levels": 3, **options})


def level(scores, parents=None):
    chosen = np.zeros(len(scores)) if parents is None else parents
    return Frontier(np.array(chosen, dtype=np.intp), np.array(scores, dtype=np.int64))


class Halving:
    """Numbers from 0 to 1, halved: a tree of fan-out two."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.cells = [(0.0, 1.0)]
        self.parents = np.zeros(1, dtype=np.intp)

    def scores(self):
        counts = [sum(low <= x < high for x in self.numbers) for low, high in self.cells]
        return np.array(counts, dtype=np.int64)

    def descend(self, split):
        places = np.flatnonzero(split)
        halves = [(self.cells[i][0], sum(self.cells[i]) / 2, self.cells[i][1]) for i in places]
        self.cells = [cell for low, mid, high in halves for cell in ((low, mid), (mid, high))]
        self.parents = np.repeat(places, 2)


@dataclass(frozen=True, eq=False)
class Halves(FrontierQuery):
    """The same as queries; the data are the numbers."""

    cells: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    places: tuple[int, ...] = (0,)

    @property
    def parents(self):
        return np.array(self.places, dtype=np.intp)

    def answer(self, data):
        counts = [sum(low <= x < high for x in data) for low, high in self.cells]
        return Frontier(self.parents, np.array(counts, dtype=np.int64))

    def descend(self, split):
        places = np.flatnonzero(split).tolist()
        halves = [(self.cells[i][0], sum(self.cells[i]) / 2, self.cells[i][1]) for i in places]
        cells = [cell for low, mid, high in halves for cell in ((low, mid), (mid, high))]
        return Halves(tuple(cells), tuple(i for i in places for _ in range(2)))


def grow(budget, numbers, levels):
    splits = TreeSplits(epsilon=pure_within(budget.remaining), fan_out=2, levels=levels)
    run_on_data(grow_tree(budget, Halves(), splits, "splits"), numbers)


def all_trees(depth):
    """Every transcript of a binary tree of so many levels: tuples of levels of bits."""

    def extend(said, nodes, left):
        if nodes == 0 or left == 0:
            yield said
            return
        for bits in itertools.product((False, True), repeat=nodes):
            yield from extend((*said, np.array(bits)), 2 * sum(bits), left - 1)

    return list(extend((), 1, depth))


def frontiers(numbers, said):
    """What the primitive was given when it said a tree."""
    tree, given = Halving(numbers), []
    for bits in said:
        given.append(Frontier(tree.parents, tree.scores()))
        tree.descend(bits)
    return given


def loss(primitive, numbers, others, said):
    here = primitive.log_probability(frontiers(numbers, said), said)
    return here - primitive.log_probability(frontiers(others, said), said)


def test_the_constant():
    def at(children):
        return float(kappa(log_up(Fraction(children))))

    # 1 + the Erdős–Borwein constant for two children.
    assert at(2) == pytest.approx(2.606695152415292, abs=1e-14)
    assert at(4) == pytest.approx(2.185597, abs=1e-6)
    assert at(18) == pytest.approx(2.030208, abs=1e-6)
    for children in (2, 3, 4, 8, 16, 18, 1000):
        assert at(children) <= (2 * children - 1) / (children - 1)
    exact = 1 + math.fsum(1 / (2 * math.exp(j / 100) - 1) for j in range(10_000))
    assert exact <= float(kappa(Fraction(1, 100))) <= exact * (1 + 1e-13)


def test_the_constant_needs_a_loss_of_score():
    with pytest.raises(ValueError, match="positive"):
        kappa(Fraction(0))


def test_worked_example_of_three_points():
    # Zhang, Xiao and Xie's constant, four children: λ = 7/3, δ = λ·ln 4.
    tree = splits(fan_out=4, noise="paper")
    assert float(tree.scale) == pytest.approx(7 / 3, rel=2e-6)
    assert float(tree.decay) == pytest.approx(3.234687, rel=2e-6)

    def root_only(scores):
        return math.exp(tree.log_probability([level([sum(scores)])], [np.array([False])]))

    def four_leaves(scores):
        given = [level([sum(scores)]), level(scores)]
        said = [np.array([True]), np.zeros(4, dtype=bool)]
        return math.exp(tree.log_probability(given, said))

    assert tree.split_probabilities(np.array([3]), 0)[0] == pytest.approx(0.861773, abs=1e-6)
    assert tree.split_probabilities(np.array([2, 1, 0]), 1) == pytest.approx(
        [0.294552, 0.191883, 0.125], abs=1e-6
    )
    assert four_leaves([2, 0, 0, 1]) == pytest.approx(0.376139, abs=1e-6)
    assert four_leaves([2, 0, 0, 0]) == pytest.approx(0.372317, abs=1e-6)
    assert four_leaves([1, 0, 0, 1]) == pytest.approx(0.393902, abs=1e-6)
    # The reverse direction: only the leaf speaks, with 1/λ.
    assert math.log(root_only([3]) / root_only([2])) == pytest.approx(-3 / 7, abs=1e-6)


def test_worked_example_at_half_epsilon():
    tree = splits(epsilon=Fraction(1, 2), fan_out=4, noise="paper")
    assert tree.split_probabilities(np.array([10]), 1)[0] == pytest.approx(0.765362, abs=1e-6)


@pytest.mark.parametrize("children", [2, 4, 8, 16, 18])
def test_a_clamped_node_splits_once_in_twice_the_fan_out(children):
    tree = splits(fan_out=children, levels=10**6)
    deep = tree.split_probabilities(np.array([0, 3, 10**6]), 10**6 - 1)
    assert deep == pytest.approx(1 / (2 * children), rel=1e-5)


def test_coincident_points_lose_less_than_epsilon_on_an_endless_path():
    tree = splits(fan_out=4, levels=200, noise="paper")
    for count, expected in ((4, 0.729544), (8, 0.682859), (24, 0.714907)):
        total = sum(
            tree._logs(np.array([count]), j)[0][0] - tree._logs(np.array([count - 1]), j)[0][0]
            for j in range(200)
        )
        assert total == pytest.approx(expected, abs=1e-5)


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([0.01, 0.3, 0.6, 0.9]), max_size=8),
    st.fractions(Fraction(1, 50), 20, max_denominator=50),
    st.sampled_from(BOTH),
    st.sampled_from(["tight", "paper"]),
    st.integers(-3, 3),
)
def test_probabilities_of_all_trees_sum_to_one(numbers, epsilon, relation, constant, threshold):
    tree = splits(epsilon=epsilon, relation=relation, noise=constant, threshold=threshold)
    said = all_trees(3)
    logs = [tree.log_probability(frontiers(numbers, tree_said), tree_said) for tree_said in said]
    assert len(said) == 26
    assert math.fsum(map(math.exp, logs)) == pytest.approx(1, abs=1e-12)


def test_the_exact_losses_of_all_small_trees():
    tree = splits()
    found = []
    for count in range(9):
        numbers = [0.01] * count + [0.6]
        found += [loss(tree, [*numbers, 0.01], numbers, said) for said in all_trees(3)]
    # From −1/λ, where only the root speaks, to far below κ/λ = 1.
    assert min(found) == pytest.approx(-0.383628, abs=1e-6)
    assert max(found) == pytest.approx(0.685606, abs=1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([0.01, 0.2, 0.3, 0.6, 0.9]), max_size=12),
    st.sampled_from([0.01, 0.2, 0.6, 0.9]),
    st.sampled_from([0.01, 0.3, 0.9]),
    st.fractions(Fraction(1, 20), 20, max_denominator=20),
    st.integers(-2, 2),
)
def test_no_tree_loses_more_than_epsilon(numbers, new, old, epsilon, threshold):
    options = {"epsilon": epsilon, "threshold": threshold}
    added, replaced = splits(**options), splits(**options, relation=Relation.REPLACE_ONE)
    limit = float(epsilon) * (1 + 1e-9)
    for said in all_trees(3):
        assert abs(loss(added, [*numbers, new], numbers, said)) <= limit
        assert abs(loss(replaced, [*numbers, new], [*numbers, old], said)) <= limit


@pytest.mark.parametrize("children", [2, 4, 8, 16])
@pytest.mark.parametrize("epsilon", ["0.05", "0.4", "1", "3", "20"])
def test_the_worst_path_stays_within_epsilon(children, epsilon):
    """The supremum over a deep path of the losses of its splits, over all phases."""
    tree = splits(epsilon=Fraction(epsilon), fan_out=children, levels=1)
    scale, decay = float(tree.scale), float(tree.decay)

    def log_split(y):
        b = np.maximum(y, -decay)
        # Evaluated on the side where it is asked, so that neither overflows.
        low = -math.log(2) + np.minimum(b, 0) / scale
        return np.where(b > 0, np.log1p(-np.exp(-np.maximum(b, 0) / scale) / 2), low)

    phase = -decay + decay * np.linspace(1e-9, 1, 20_001)
    total = np.zeros_like(phase)
    for j in range(math.ceil(50 * scale / decay) + 2):
        total += log_split(phase + j * decay) - log_split(phase + j * decay - 1)
    assert total.max() <= float(epsilon) * (1 + 1e-9)
    # Not far below it either where ε is small.
    if epsilon == "0.05":
        assert total.max() >= 0.98 * 0.05


@settings(max_examples=40)
@given(st.data())
def test_several_paths_lose_at_most_their_number_of_epsilons(data):
    """Monotone scores that are not counts, moved by several units on several paths."""
    said = data.draw(st.sampled_from([tree for tree in all_trees(3) if len(tree) == 3]))

    def drawn(least):
        levels = []
        for depth, bits in enumerate(said):
            if depth == 0:
                scores = [data.draw(st.integers(least, 12))]
                parents = [0]
            else:
                before, split = levels[-1], np.flatnonzero(said[depth - 1])
                parents = np.repeat(split, 2)
                scores = [data.draw(st.integers(-1, int(before.scores[p]))) for p in parents]
            levels.append(level(scores, parents))
            assert len(scores) == len(bits)
        return levels

    here, there = drawn(0), drawn(0)
    for relation in BOTH:
        tree = splits(relation=relation)
        paths = float(tree.change(here, there).measured)
        realised = tree.log_probability(here, said) - tree.log_probability(there, said)
        assert abs(realised) <= paths * (1 + 1e-9)


def test_change_counts_paths():
    before = [level([5]), level([3, 2], [0, 0]), level([2, 1], [0, 0])]
    one = [level([6]), level([4, 2], [0, 0]), level([2, 2], [0, 0])]
    # One record in two children at once is two paths, though the root moves by one.
    two = [level([6]), level([4, 3], [0, 0]), level([2, 2], [0, 0])]
    assert splits().change(before, one).measured == 1
    assert splits().change(before, two).measured == 2
    assert not splits().change(before, two).holds
    moved = [level([5]), level([2, 3], [0, 0]), level([1, 1], [0, 0])]
    assert splits().change(before, moved).measured == 2
    assert splits(relation=Relation.REPLACE_ONE).change(before, moved).measured == 1


def test_change_refuses_other_trees_and_scores_that_rise():
    before = [level([5]), level([3, 2], [0, 0])]
    assert splits().change(before, [level([5])]).measured == math.inf
    other = [level([5]), level([3, 2], [0, 1])]
    assert splits().change(before, other).measured == math.inf
    rising = [level([5]), level([6, 2], [0, 0])]
    assert splits().change(before, rising).measured == math.inf


def test_a_path_counted_with_too_little_noise_is_caught():
    """Half the noise breaks the promise, and the exact losses say so."""

    class Half(TreeSplits):
        kind = "half the noise of tree splits"

        @property
        def rate(self):
            return 2 * super().rate

    def worst(kind):
        tree = kind(epsilon=Fraction(1, 5), fan_out=2, levels=40)
        said = [np.array([True])] * 40
        paths = [[level([count])] * 40 for count in range(60)]
        logs = [tree.log_probability(path, said) for path in paths]
        return max(after - before for before, after in itertools.pairwise(logs))

    assert worst(TreeSplits) <= 0.2 < worst(Half)


def test_a_tree_without_the_clamp_pays_for_every_level():
    """Without the clamp the deep, empty nodes go on costing 1/λ each."""

    class Unclamped(TreeSplits):
        kind = "tree splits without the clamp"

        def exponents(self, scores, depth):
            signed = scores * int(self.rate * 2**self.bits) - depth * 0
            return np.abs(signed), signed > 0

    tree = Unclamped(epsilon=ONE, fan_out=2, levels=12)
    path = [level([1])] + [level([1, 0], [0, 0]) for _ in range(11)]
    empty = [level([0])] + [level([0, 0], [0, 0]) for _ in range(11)]
    said = [np.array([True]), *(np.array([True, False]) for _ in range(11))]
    assert tree.change(path, empty).holds
    assert abs(tree.log_probability(path, said) - tree.log_probability(empty, said)) > 1


@pytest.mark.parametrize("relation", BOTH)
def test_samples_follow_the_law(relation):
    # χ² at a false-alarm rate of 1e-9 over 7 scores, 40,000 coins each, at two depths.
    tree = splits(epsilon=Fraction(3, 5), relation=relation, levels=2)
    scores = np.repeat(np.array([0, 1, 2, 3, 5, 9, 30]), 40_000)
    with noise.seeded(7):
        run = tree.start()
        drawn = [run.step(Frontier(np.zeros(len(scores), np.intp), scores)) for _ in range(2)]
    for depth, bits in enumerate(drawn):
        expected = tree.split_probabilities(np.unique(scores), depth)
        seen = bits.reshape(7, -1).sum(axis=1)
        z = (seen - 40_000 * expected) / np.sqrt(40_000 * expected * (1 - expected))
        assert stats.chi2.sf((z**2).sum(), 7) > 1e-9


def test_the_mean_size_of_a_tree_without_data():
    # |T| = 1 + β·(splits); mean 1 + β, variance of the splits bounded by 3. 5.5 σ: < 1e-7.
    sizes = []
    with noise.seeded(1):
        for _ in range(3_000):
            tree = splits(fan_out=2, levels=60).start()
            nodes, frontier = 1, 1
            while frontier and not tree.done:
                bits = tree.step(level([0] * frontier))
                frontier = 2 * int(bits.sum())
                nodes += frontier
            sizes.append(nodes)
    deviation = np.std(sizes) / math.sqrt(len(sizes))
    assert abs(np.mean(sizes) - 3) < 5.5 * deviation


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-6", "1", "1e3", "1e9"])
def test_extreme_budgets_and_scores_give_bits(epsilon):
    tree = splits(epsilon=Fraction(epsilon), levels=2000, sensitivity=2**20)
    assert tree.rate * kappa(tree.gamma) * tree.sensitivity <= tree.epsilon
    scores = np.array([0, 1, 2**40, 2**62, np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    run = tree.start()
    for depth in range(2000):
        if depth % 500 == 0:
            probabilities = tree.split_probabilities(scores, depth)
            assert ((probabilities >= 0) & (probabilities <= 1)).all()
            assert (np.diff(probabilities[:5]) >= 0).all()
        assert run.step(level(scores)).dtype == np.bool_
    assert run.done
    with pytest.raises(RuntimeError, match="stopped"):
        run.step(level(scores))


def test_the_widest_tree_at_the_smallest_budget_loses_at_most_epsilon():
    """The largest δ that 64 bits hold: cut scores must not stay above the clamp."""
    tree = splits(epsilon=Fraction(1, 10**11), fan_out=2**32, levels=40)
    said = [np.array([True])] * 40
    for count in (0, 2**40, 2**42, 6_400_017_234_075, 2**61):
        here = [level([count])] * 40
        there = [level([count + 1])] * 40
        for depth in range(3, 40):
            numerators, above = tree.exponents(np.array([count]), depth)
            assert numerators[0] == int(tree.gamma * 2**tree.bits) or above[0]
        assert tree.change(here, there).holds
        difference = tree.log_probability(there, said) - tree.log_probability(here, said)
        assert abs(difference) <= 1e-11 + 1e-12


def test_grow_asks_level_by_level_and_spends_the_slice():
    for limit in (PureDP(4), ZCDP(8)):
        budget = opened(limit)
        with noise.seeded(3):
            grow(budget, [0.1] * 50 + [0.7] * 3, levels=5)
        said = transcript_of(budget).steps("splits")
        assert 1 <= len(said) <= 5
        assert len(said[0]) == 1
        for before, after in itertools.pairwise(said):
            assert len(after) == 2 * before.sum()
        signature = transcript_of(budget).entries[0].signature
        assert Fraction(signature["epsilon"]) == pytest.approx(4, rel=1e-9)


def test_grow_stops_before_too_many_nodes(monkeypatch):
    from sfumato.mechanisms import privtree

    monkeypatch.setattr(privtree, "MOST_NODES", 10)
    budget = opened(PureDP(1000))
    grow(budget, [i / 64 for i in range(64)] * 10, levels=6)
    assert sum(len(bits) for bits in transcript_of(budget).steps("splits")) <= 10
    assert MOST_NODES == 2**22


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": Fraction(0)}, "epsilon"),
        ({"fan_out": 1}, "fan_out"),
        ({"fan_out": 2**33}, "fan_out"),
        ({"levels": -1}, "levels"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"threshold": 2**60}, "threshold"),
        ({"noise": "none"}, "noise"),
    ],
)
def test_bad_signatures_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        splits(**options)


def test_bad_levels_are_refused():
    uneven = Frontier(np.zeros(1, np.intp), np.zeros(2, np.int64))
    halves = Frontier(np.zeros(1, np.intp), np.zeros(1))
    for value in ([1, 2], uneven, halves):
        with pytest.raises(ValueError, match="level"):
            splits().check(value)


def test_impossible_transcripts_have_probability_zero():
    tree = splits(levels=1)
    assert tree.log_probability([level([1])], []) == -math.inf
    assert tree.log_probability([level([1])], [np.array([True, False])]) == -math.inf
    two = [level([1]), level([1, 0], [0, 0])]
    assert tree.log_probability(two, [np.array([True]), np.zeros(2, bool)]) == -math.inf


def test_it_costs_epsilon_in_every_measure():
    tree = splits(epsilon=Fraction(1, 2))
    assert tree.cost(PureDP) == PureDP(Fraction(1, 2))
    assert tree.cost(ZCDP) == ZCDP(Fraction(1, 8))
