"""Pictures that a command writes: no name in them commands the program that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.privacy.escaping import escape

DPI = 160


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of Matplotlib, all its texts escaped; what it is depends on the ending.

    Parameters
    ----------
    figure
        The figure.
    path
        The file, .svg, .png or .pdf.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(escape(text.get_text(), lines=True))
    figure.savefig(path, dpi=DPI)
