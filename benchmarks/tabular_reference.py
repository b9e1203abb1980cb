"""Figures to compare with: published ones, and reference measurements on the same tables.

The error curves of the PrivBayes paper (Zhang, Cormode, Procopiuc, Srivastava, Xiao: PrivBayes,
private data release via Bayesian networks, and J. Zhang's thesis, NTU 2016) survive as pictures
only. What stands here was measured on the same tables with an independent prototype of the
published algorithm: replace-one, half the budget for the structure, θ = 3, clipping, degree at
most 6 on NLTCS and 4 on ACS; means of 3 to 10 runs, whose deviation is 0.005 to 0.03. A fifth more
or less counts as agreement. Run times are the paper's own (its Table 3.6).
"""

from __future__ import annotations

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


def _curve(text: str) -> tuple[tuple[float, ...], ...]:
    """Read a row such as ".250/.317 .152/.199"."""
    return tuple(tuple(map(float, cell.split("/"))) for cell in text.split())


#: Mean total variation distance at the six epsilons, for either number of ways of the table.
ERRORS = {
    "NLTCS": {
        "PrivBayes-F": _curve(".250/.317 .152/.199 .108/.145 .092/.122 .064/.085 .037/.051"),
        "PrivBayes-R": _curve(".231/.299 .175/.229 .114/.153 .088/.117 .064/.084 .038/.052"),
        "PrivBayes-I": _curve(".237/.307 .178/.237 .118/.160 .086/.117 .066/.089 .037/.051"),
        "Laplace": _curve(".609/.712 .547/.697 .439/.675 .309/.624 .194/.534 .112/.402"),
        "Fourier": _curve(".477/.624 .489/.641 .320/.598 .192/.495 .102/.372 .058/.219"),
        "Contingency, clip table": _curve(
            ".433/.516 .426/.509 .414/.494 .390/.466 .350/.417 .288/.344"
        ),
        "Contingency, clip marginal": _curve(
            ".402/.455 .253/.319 .143/.188 .082/.108 .040/.055 .022/.031"
        ),
        "Independent": _curve(".256/.326 .253/.322 .252/.321 .253/.322 .253/.322 .253/.321"),
        "PrivBayes-R, projection": _curve(
            ".224/.292 .152/.202 .093/.126 .060/.082 .041/.057 .029/.041"
        ),
    },
    "ACS": {
        "PrivBayes-F": _curve(".133/.166 .102/.132 .084/.107 .043/.058 .027/.037 .018/.027"),
        "PrivBayes-R": _curve(".132/.168 .102/.131 .091/.114 .040/.054 .026/.036 .016/.024"),
        "PrivBayes-I": _curve(".126/.165 .114/.149 .092/.119 .048/.065 .029/.043 .020/.030"),
        "Laplace": _curve(".661/.755 .603/.749 .502/.736 .371/.711 .238/.658 .140/.561"),
        "Fourier": _curve(".580/.726 .456/.764 .397/.650 .258/.645 .153/.451 .111/.353"),
        "Contingency, clip table": _curve(
            ".547/.623 .548/.624 .547/.623 .546/.622 .546/.622 .543/.619"
        ),
        "Independent": _curve(".076/.114 .066/.104 .060/.099 .059/.098 .059/.098 .059/.098"),
        "PrivBayes-R, projection": _curve(
            ".097/.127 .094/.122 .054/.072 .035/.048 .021/.030 .014/.022"
        ),
    },
    "Adult": {
        "Hierarchical-R": _curve(".243/.352 .177/.273 .137/.213 .114/.182 .102/.159 .094/.142"),
        "Vanilla-R": _curve(".247/.356 .167/.261 .126/.206 .115/.188 .101/.169 .074/.120"),
        "Laplace": _curve(".687/.892 .593/.886 .471/.872 .352/.846 .237/.802 .146/.733"),
        "Independent": _curve(".164/.263 .118/.210 .092/.182 .082/.172 .078/.167 .075/.165"),
    },
    "BR2000": {
        "Hierarchical-R": _curve(".176/.253 .118/.183 .094/.150 .077/.124 .065/.103 .054/.084"),
        "Vanilla-R": _curve(".179/.260 .121/.187 .097/.155 .081/.133 .075/.123 .054/.084"),
        "Laplace": _curve(".456/.745 .339/.715 .240/.661 .167/.581 .100/.483 .057/.382"),
        "Independent": _curve(".100/.168 .074/.138 .063/.126 .056/.119 .053/.116 .052/.115"),
    },
}

#: The error of answering every marginal with the uniform one.
UNIFORM = {
    "NLTCS": (0.438, 0.523),
    "ACS": (0.548, 0.624),
    "Adult": (0.729, 0.839),
    "BR2000": (0.562, 0.684),
}

#: The sum over a network of the mutual information of child and parents in the data, in bits.
INFORMATION = {
    "NLTCS": {
        "PrivBayes-F": (2.58, 3.39, 3.98, 4.41, 4.54, 4.60),
        "PrivBayes-R": (2.13, 3.22, 3.88, 4.44, 4.60, 4.62),
        "PrivBayes-I": (2.03, 2.90, 3.71, 4.29, 4.52, 4.61),
    },
    "ACS": {
        "PrivBayes-F": (2.24, 2.58, 2.90, 2.90, 2.97, 2.99),
        "PrivBayes-R": (1.69, 2.32, 2.74, 2.91, 2.98, 3.06),
        "PrivBayes-I": (0.93, 1.48, 2.46, 2.62, 2.77, 2.97),
    },
    "Adult": {
        "Hierarchical-R": (0.40, 0.80, 3.45, 4.10, 5.33, 6.20),
        "Vanilla-R": (0.54, 0.86, 2.19, 2.70, 2.94, 6.11),
        "Vanilla-I": (0.49, 0.80, 1.76, 2.29, 2.71, 6.08),
    },
}

#: The paper's seconds at epsilon 0.1 for load, model and answers, for 2, 3 and 4 ways.
SECONDS = {
    "NLTCS": (8.658, 12.17, 57.64),
    "ACS": (317.4, 395.7, 604.1),
    "Adult": (6.718, 24.58, 113.6),
    "BR2000": (11.64, 22.05, 61.35),
}

#: Misclassification with a linear support vector machine: majority, real data, ε = 0.1, 0.4, 1.6.
CLASSIFICATION = {
    ("NLTCS", "getting about outside"): (0.441, 0.199, 0.290, 0.217, 0.194),
    ("NLTCS", "managing money"): (0.232, 0.159, 0.167, 0.192, 0.174),
    ("NLTCS", "bathing"): (0.445, 0.212, 0.231, 0.230, 0.208),
    ("NLTCS", "traveling"): (0.500, 0.191, 0.226, 0.212, 0.191),
    ("Adult", "sex"): (0.319, 0.164, 0.304, 0.181, 0.179),
    ("Adult", "income"): (0.247, 0.154, 0.272, 0.182, 0.184),
    ("Adult", "education"): (0.334, 0.000, 0.334, 0.053, 0.045),
    ("Adult", "marital-status"): (0.322, 0.105, 0.273, 0.120, 0.114),
}
