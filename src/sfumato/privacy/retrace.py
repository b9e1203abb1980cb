"""Retracing a transcript: the method runs again on made-up data, and its primitives say the same.

Nothing private decides what a method asks. So on any data, when its primitives say what a
transcript says, the method must ask what the transcript says it asked: the same labels, slices,
signatures and costs, in the same order, and nothing else. Whatever in a transcript does not come
out of this was not said by a primitive of this method. No private data are needed for it, and
nothing is drawn.
"""

from __future__ import annotations

from typing import Any

from sfumato import noise
from sfumato.privacy import door
from sfumato.privacy.method import AnyMethod
from sfumato.privacy.program import DoesNotFollow, Prompter, require_same
from sfumato.privacy.transcript import REHEARSED, SEEDED, Transcript

__all__ = ["DoesNotFollow", "retrace"]

#: What is asked does not depend on how many records there are, so one will do.
RECORDS = 1


def retrace(method: AnyMethod, public: Any, transcript: Transcript) -> None:
    """Raise `DoesNotFollow` unless a method asks exactly what a transcript says it asked.

    Parameters
    ----------
    method, public
        The method, and the public part of the data.
    transcript
        What was said.
    """
    if transcript.marks not in ((), (SEEDED,), (REHEARSED,), (SEEDED, REHEARSED)):
        raise DoesNotFollow("the transcript bears a mark that no transcript has")
    if door._is_program(method):
        door.follow(method, public, transcript)
        return
    data = public.made_up(RECORDS, noise.generator(0))
    require_same(door.run(method, data, Prompter(iter(transcript))), transcript)
