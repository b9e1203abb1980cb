"""Which sections a kind of release adds to its page.

A renderer is found by the kind of release; the package's own are imported when they are first
needed. A kind that nobody registered still gets the picture that the release draws of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, cast

from sfumato.privacy.release import Release
from sfumato.report.blocks import Picture, Section
from sfumato.report.drawing import inlined

Renderer: TypeAlias = Callable[[Any], tuple[Section, ...]]

_PLACES = {
    "noisy tables": "sfumato.report.noisy_tables:sections",
    "answers": "sfumato.report.answers:sections",
    "synthetic table": "sfumato.report.synthetic_table:sections",
    "spatial histogram": "sfumato.report.spatial_histogram:sections",
    "sequence model": "sfumato.report.sequence_model:sections",
    "frequent strings": "sfumato.report.sequence_model:strings_sections",
    "number": "sfumato.report.graph:number_sections",
    "degree sequence": "sfumato.report.graph:degree_sections",
    "graph summary": "sfumato.report.graph:summary_sections",
    "statistic": "sfumato.report.statistic:sections",
    "synthetic graph": "sfumato.report.synthetic_graph:sections",
    "regression model": "sfumato.report.regression_model:sections",
    "graph spectrum": "sfumato.report.graph_spectrum:sections",
}
_renderers: dict[str, Renderer] = {}


def register(kind: str, renderer: Renderer) -> None:
    """Let a renderer draw the releases of a kind.

    Parameters
    ----------
    kind
        The kind of release, as its class names it.
    renderer
        Given the release, returns the sections of its page.
    """
    _renderers[kind] = renderer


def sections_of(release: Release) -> tuple[Section, ...]:
    """Return the sections that a release's own kind adds to its page."""
    return _renderer(release.kind)(release)


def _renderer(kind: str) -> Renderer:
    if kind not in _renderers and kind in _PLACES:
        module, _, name = _PLACES[kind].partition(":")
        _renderers[kind] = cast(Renderer, getattr(import_module(module), name))
    return _renderers.get(kind, _own_picture)


def _own_picture(release: Release) -> tuple[Section, ...]:
    picture = Picture(inlined("own", release.plot), "The release, as it draws itself.")
    return (Section("picture", "A picture of it", (picture,), "the release itself"),)
