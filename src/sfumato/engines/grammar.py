"""Whether a file is CSV in the strict sense of RFC 4180, decided once for every engine.

CSV readers forgive different mistakes in different ways, so none is trusted with them: a file is
scanned before any of them reads it. Every row has as many fields as the header and at least one of
them is not empty (readers disagree whether a line of separators is a row), a field that contains a
quote is quoted from its first to its last character with inner quotes doubled, no row has more than
`LONGEST` bytes, and all lines end in LF or all in CRLF. Nothing of the file is kept or said but the
number of a line.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from sfumato.compiling import compiled

__all__ = ["LONGEST", "first_bad_line"]

BLOCK = 2**22
LONGEST = 2**20
"""The most bytes of one row; some engines read no more."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Where the scanner is: before a field, in a plain one, inside quotes, after a quote that may have
# been the last one, after a CR that must be followed by LF, or stopped at a mistake.
BEFORE, PLAIN, QUOTED, AFTER_QUOTE, AFTER_RETURN, WRONG = range(6)
# What it remembers: its state, the complete fields of the row, the fields of the header (-1: not
# yet known), the line, the line on which a quote was opened, whether the line that ends is
# empty, the first line's end (1 for CRLF, 0 for LF, -1: not yet known), whether some field of
# the row holds anything, and the bytes of the row.
STATE, FIELDS, WIDTH, LINE, OPENED, EMPTY, ENDING, FILLED, LENGTH = range(9)

QUOTE, LINE_FEED, RETURN = ord('"'), ord("\n"), ord("\r")


def _scan_list(block: Any, separator: Any, memory: Any) -> None:
    """Follow the next bytes of a file, as Python's own numbers."""
    kept = memory.tolist()
    _scan.source(block.tolist(), separator, kept)
    memory[:] = kept


@compiled(lambda block, separator, memory: block.size, interpreted=_scan_list)
def _scan(block: Any, separator: Any, memory: Any) -> None:
    """Follow the next bytes of a file; stop in the state `WRONG` at the first mistake."""
    state, fields, line, length = memory[STATE], memory[FIELDS], memory[LINE], memory[LENGTH]
    for byte in block:
        length += 1
        if length > LONGEST:
            state = WRONG
            break
        if state == QUOTED:
            if byte == QUOTE:
                state = AFTER_QUOTE
            else:
                memory[FILLED] = 1
                if byte == LINE_FEED:
                    line += 1
        elif byte == LINE_FEED:
            ending = 1 if state == AFTER_RETURN else 0
            if memory[ENDING] < 0:
                memory[ENDING] = ending
            elif memory[ENDING] != ending:
                state = WRONG
                break
            if state != AFTER_RETURN:
                memory[EMPTY] = 1 if state == BEFORE and fields == 0 else 0
            if memory[EMPTY] == 0:
                if memory[WIDTH] < 0:
                    memory[WIDTH] = fields + 1
                elif memory[WIDTH] != fields + 1 or (fields > 0 and memory[FILLED] == 0):
                    state = WRONG
                    break
            memory[FILLED] = 0
            line += 1
            fields = 0
            length = 0
            state = BEFORE
        elif state == AFTER_RETURN:
            state = WRONG
            break
        elif byte == RETURN:
            memory[EMPTY] = 1 if state == BEFORE and fields == 0 else 0
            state = AFTER_RETURN
        elif byte == separator:
            fields += 1
            state = BEFORE
        elif byte == QUOTE:
            if state == BEFORE:
                state = QUOTED
                memory[OPENED] = line
            elif state == AFTER_QUOTE:
                # A doubled quote is a character of the field.
                state = QUOTED
                memory[FILLED] = 1
            else:
                state = WRONG
                break
        elif state == AFTER_QUOTE:
            state = WRONG
            break
        else:
            state = PLAIN
            memory[FILLED] = 1
    memory[STATE], memory[FIELDS], memory[LINE], memory[LENGTH] = state, fields, line, length


def first_bad_line(file: IO[bytes], separator: str) -> int | None:
    """Return the first line, counted from 1, that breaks the rules; `None` if none does.

    Parameters
    ----------
    file
        The bytes of the file, from its start.
    separator
        The ASCII character between two fields.
    """
    memory = np.array([BEFORE, 0, -1, 1, 1, 0, -1, 0, 0], dtype=np.int64)
    block = file.read(len(BYTE_ORDER_MARK))
    if block == BYTE_ORDER_MARK:
        block = file.read(BLOCK)
    last = LINE_FEED
    while block and memory[STATE] != WRONG:
        _scan(np.frombuffer(block, dtype=np.uint8), ord(separator), memory)
        last = block[-1]
        block = file.read(BLOCK)
    if last != LINE_FEED and memory[STATE] not in (QUOTED, AFTER_RETURN, WRONG):
        # The last line may go without its end.
        end = b"\r\n" if memory[ENDING] == 1 else b"\n"
        _scan(np.frombuffer(end, dtype=np.uint8), ord(separator), memory)
    if memory[STATE] == QUOTED:
        return int(memory[OPENED])
    return int(memory[LINE]) if memory[STATE] in (WRONG, AFTER_RETURN) else None
