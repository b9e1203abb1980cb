# Derived by `make derive`; changes by hand are lost.
from sfumato import attacks as attacks
from sfumato import audit as audit
from sfumato import evaluate as evaluate
from sfumato import local as local
from sfumato import noise as noise
from sfumato import sklearn as sklearn
from sfumato.data.errors import DataError
from sfumato.data.genotypes import Genotypes, read_plink, read_vcf
from sfumato.data.graph import Graph, read_graph
from sfumato.data.points import Points, read_points
from sfumato.data.schema import Schema
from sfumato.data.sequences import Sequences, read_sequences
from sfumato.data.sites import Sites
from sfumato.data.table import Table, read_table
from sfumato.genomics.allele_frequencies import AlleleFrequencies
from sfumato.genomics.association import Association
from sfumato.genomics.frequency_spectrum import FrequencySpectrum
from sfumato.genomics.linkage import LinkageDisequilibrium
from sfumato.genomics.top_snps import TopSNPs
from sfumato.graph.clustered import ClusteredGraph
from sfumato.graph.degree_sequence import DegreeSequence
from sfumato.graph.dk_graph import DKGraph
from sfumato.graph.kronecker_graph import KroneckerGraph
from sfumato.graph.spectrum import Spectrum
from sfumato.graph.statistic import GraphStatistic
from sfumato.graph.subgraph_count import SubgraphCount
from sfumato.graph.summary import GraphSummary
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.ledger import BudgetExceeded, Ledger, LedgerError
from sfumato.privacy.loss import ZCDP, ApproxDP, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.plan import Plan
from sfumato.privacy.release import Release
from sfumato.privacy.saved import load, verify
from sfumato.regression.adassp import AdaSSP
from sfumato.regression.boosted import BoostedAdaSSP
from sfumato.regression.functional import FunctionalRegression
from sfumato.regression.knorm_regression import KNormRegression
from sfumato.regression.linear_regression import LinearRegression
from sfumato.regression.many_responses import ManyResponses
from sfumato.regression.objective_regression import ObjectiveRegression
from sfumato.regression.robust_regression import RobustLinearRegression
from sfumato.regression.tukey import TukeyEM
from sfumato.rehearsal import rehearse
from sfumato.report.page import save_report
from sfumato.sequence.ngram import NGram
from sfumato.sequence.suffix_tree import SuffixTree
from sfumato.sequence.top_strings import TopStrings
from sfumato.spatial.adaptive_grid import AdaptiveGrid
from sfumato.spatial.dawa import DAWA
from sfumato.spatial.hierarchical_grid import HierarchicalGrid
from sfumato.spatial.privelet_grid import Privelet
from sfumato.spatial.privtree import PrivTree
from sfumato.spatial.simple_tree import SimpleTree
from sfumato.spatial.uniform_grid import UniformGrid
from sfumato.tabular.aim import AIM
from sfumato.tabular.contingency import Contingency
from sfumato.tabular.fourier import Fourier
from sfumato.tabular.histogram import Histogram
from sfumato.tabular.independent import Independent
from sfumato.tabular.majority import Majority
from sfumato.tabular.marginals import Marginals
from sfumato.tabular.mst import MST
from sfumato.tabular.mwem import MWEM
from sfumato.tabular.private_erm import PrivateERM
from sfumato.tabular.privbayes import PrivBayes
from sfumato.tabular.privgene import PrivGene
from sfumato.tabular.questions import Questions
from sfumato.tabular.statistic import TableStatistic
from sfumato.tabular.synthesizer import Synthesizer

__version__: str

__all__ = [
    "AIM",
    "DAWA",
    "MST",
    "MWEM",
    "ZCDP",
    "AdaSSP",
    "AdaptiveGrid",
    "AlleleFrequencies",
    "ApproxDP",
    "Association",
    "BoostedAdaSSP",
    "BudgetExceeded",
    "ClusteredGraph",
    "Contingency",
    "DKGraph",
    "DataError",
    "DegreeSequence",
    "Fourier",
    "FrequencySpectrum",
    "FunctionalRegression",
    "Genotypes",
    "Graph",
    "GraphStatistic",
    "GraphSummary",
    "Guarantee",
    "HierarchicalGrid",
    "Histogram",
    "Independent",
    "KNormRegression",
    "KroneckerGraph",
    "Ledger",
    "LedgerError",
    "LinearRegression",
    "LinkageDisequilibrium",
    "Majority",
    "ManyResponses",
    "Marginals",
    "Method",
    "NGram",
    "ObjectiveRegression",
    "Plan",
    "Points",
    "PrivBayes",
    "PrivGene",
    "PrivTree",
    "PrivateERM",
    "Privelet",
    "PureDP",
    "Questions",
    "Release",
    "RobustLinearRegression",
    "Schema",
    "Sequences",
    "SimpleTree",
    "Sites",
    "Spectrum",
    "SubgraphCount",
    "SuffixTree",
    "Synthesizer",
    "Table",
    "TableStatistic",
    "TopSNPs",
    "TopStrings",
    "TukeyEM",
    "UniformGrid",
    "__version__",
    "audit",
    "load",
    "read_graph",
    "read_plink",
    "read_points",
    "read_sequences",
    "read_table",
    "read_vcf",
    "rehearse",
    "save_report",
    "verify",
]
