# Derived by `make derive`; changes by hand are lost.
from sfumato.local.choice import Choice, best_design
from sfumato.local.compare import Compared, compare
from sfumato.local.contingency import ShareTable
from sfumato.local.design import Design, Variances
from sfumato.local.edge_response import EdgeResponse
from sfumato.local.estimation import estimate, likeliest_of_reports
from sfumato.local.graph_collection import GraphCollection
from sfumato.local.hadamard import HadamardResponse
from sfumato.local.local_hash import LocalHash
from sfumato.local.matrix_response import LaplaceResponse, MatrixResponse
from sfumato.local.mean_response import MeanResponse, PiecewiseMean
from sfumato.local.measures import (
    Measure,
    chi_squared,
    correlation,
    entropy,
    g_squared,
    log_odds_ratio,
    mutual_information,
    odds_ratio,
)
from sfumato.local.multi_response import MultiResponse
from sfumato.local.posterior import guess_answers, posterior
from sfumato.local.randomized import RandomizedResponse
from sfumato.local.record_reports import RecordReports, RecordTally
from sfumato.local.reports import Estimate, MeanEstimate, Reports
from sfumato.local.shares import Shares
from sfumato.local.subset import SubsetSelection
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.tally import Tally
from sfumato.local.unary import UnaryEncoding

__all__ = [
    "Choice",
    "Compared",
    "Design",
    "EdgeResponse",
    "Estimate",
    "GraphCollection",
    "HadamardResponse",
    "LaplaceResponse",
    "LocalHash",
    "MatrixResponse",
    "MeanEstimate",
    "MeanResponse",
    "Measure",
    "MultiResponse",
    "PiecewiseMean",
    "RandomizedResponse",
    "RecordReports",
    "RecordTally",
    "Reports",
    "ShareTable",
    "Shares",
    "SubsetSelection",
    "SurveyAnswers",
    "Tally",
    "UnaryEncoding",
    "Variances",
    "best_design",
    "chi_squared",
    "compare",
    "correlation",
    "entropy",
    "estimate",
    "g_squared",
    "guess_answers",
    "likeliest_of_reports",
    "log_odds_ratio",
    "mutual_information",
    "odds_ratio",
    "posterior",
]
