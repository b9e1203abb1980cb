"""Every choice a client can make, with its exact probability: the full law of its reports."""

from fractions import Fraction

from sfumato.noise.expansions import WORD


class Path:
    """Choices that follow a given path, and write down what else could have been chosen."""

    def __init__(self, chosen):
        self.chosen = list(chosen)
        self.probability = Fraction(1)
        self.depth = 0
        self.ways = []

    def _choose(self, probabilities):
        if self.depth == len(self.chosen):
            self.chosen.append(0)
        chosen = self.chosen[self.depth]
        self.depth += 1
        self.ways.append(len(probabilities))
        self.probability *= probabilities[chosen]
        return chosen

    def coin(self, threshold):
        heads = Fraction(threshold, WORD)
        return bool(self._choose([1 - heads, heads]))

    def uniform(self, bound):
        return self._choose([Fraction(1, bound)] * bound)

    def piece(self, ends):
        weights = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        return self._choose([Fraction(weight, WORD) for weight in weights])


def exact_law(primitive, value):
    """Return the probability of every report for one answer, by trying all choices."""
    law = {}
    chosen = []
    while True:
        path = Path(chosen)
        report = primitive.draw(value, path)
        law[report] = law.get(report, 0) + path.probability
        chosen = path.chosen[: path.depth]
        while chosen and chosen[-1] + 1 == path.ways[len(chosen) - 1]:
            chosen.pop()
        if not chosen:
            return {report: share for report, share in law.items() if share}
        chosen[-1] += 1
