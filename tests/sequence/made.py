"""Small sequences for tests."""

from sfumato.data.sequences import Sequences

ALPHABET = "ab"


def sequences(texts, alphabet=ALPHABET, **declared):
    return Sequences(texts, alphabet, **declared)


def made(count):
    """Return texts of different lengths: mostly an a and then some b."""
    return ["a" * (row % 2) + "b" * (row % 4) + "a" * (row % 3 == 0) for row in range(count)]


def added_pairs():
    """Return neighbours under add/remove, nasty ones among them."""
    texts = made(12)
    ones = ["", "a", "b" * 40, "ab" * 20, "bbbbbb", "abba"]
    pairs = [(sequences(texts), sequences([*texts, one])) for one in ones]
    pairs += [(sequences([]), sequences([one])) for one in ones]
    pairs.append((sequences(["b" * 40] * 5), sequences(["b" * 40] * 6)))
    return pairs


def replaced_pairs():
    """Return neighbours under replace-one, nasty ones among them."""
    texts = made(12)
    changes = [("", "b" * 40), ("b" * 40, "ab" * 20), ("a", "b"), ("ab" * 20, "ba" * 20)]

    def data(last):
        return sequences([*texts, last], relation="replace_one")

    return [(data(one), data(other)) for one, other in changes] + [
        (sequences(["b"], relation="replace_one"), sequences(["a" * 9], relation="replace_one"))
    ]


def person_pairs():
    """Return neighbours that differ in one person with up to three sequences."""
    texts = made(12)
    owners = [f"p{row // 2}" for row in range(12)]

    def data(more):
        return sequences(
            [*texts, *more], unit="person", person=[*owners, *["new"] * len(more)], max_sequences=3
        )

    return [(data([]), data(more)) for more in (["bbbb"] * 3, ["ab", "", "a"], ["b" * 9])]


#: The four sequences of the worked example: every number of it is known.
EXAMPLE = ["B", "AB", "AAB", "AAAB"]
