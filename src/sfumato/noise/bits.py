"""Random bits: the one place where randomness enters the library.

A source is the key stream of AES-256 in counter mode under a key from the operating system. Each
thread has its own; a forked child makes a new one. A source never hands out the same word twice,
is never copied or pickled, and never falls back to anything weaker. The seeded source is for tests
only, and everything drawn from it is marked as not private.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Never, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

Words: TypeAlias = NDArray[np.uint64]

#: Words made at a time: 1 MiB, small enough for the cache, large enough to hide the cost of a call.
BLOCK_WORDS = 1 << 17

_WORD_BYTES = 8
_CIPHER_BLOCK_BYTES = 16
_ZEROS = bytes(BLOCK_WORDS * _WORD_BYTES)
_forks = 0


def _count_fork() -> None:
    """Let every source that a child process inherited know that it is stale."""
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class Bits:
    """A stream of uniformly random 64-bit words.

    `words` and `fill` take words off the stream. Samplers that do not know beforehand how many
    words they need look ahead instead: inside `with source:` they may ask for `unread(minimum)`,
    read from that view, and `consume(count)` what they used. Either way the words come in the
    order of the stream, so what a sampler returns does not depend on the size of any buffer.

    Parameters
    ----------
    seed
        None for the system source. Anything else makes a reproducible stream, for tests only.

    Attributes
    ----------
    private
        Whether the words are unpredictable; False for a seeded source.
    """

    __slots__ = ("_busy", "_cipher", "_end", "_home", "_next", "_words", "private")

    def __init__(self, seed: int | str | None = None) -> None:
        self.private = seed is None
        self._busy = False
        self._words = _buffer(BLOCK_WORDS)
        self._start(os.urandom(32) if seed is None else _key_of(_check_seed(seed)))

    def words(self, count: int) -> Words:
        """Return the next `count` words of the stream.

        Parameters
        ----------
        count
            How many 64-bit words.
        """
        taken = np.empty(count, dtype=np.uint64)
        self.fill(taken)
        return taken

    def fill(self, buffer: Words) -> None:
        """Overwrite a one-dimensional array of uint64 with the next words of the stream.

        Parameters
        ----------
        buffer
            The array to overwrite.
        """
        if buffer.ndim != 1 or buffer.dtype != np.uint64:
            raise ValueError(
                "fill needs a one-dimensional array of uint64; "
                f"got {buffer.ndim} dimensions of {buffer.dtype}"
            )
        filled = 0
        with self:
            while filled < buffer.size:
                part = self.unread(1)[: buffer.size - filled]
                buffer[filled : filled + part.size] = part
                self.consume(part.size)
                filled += part.size

    def unread(self, minimum: int) -> Words:
        """Return a view of at least `minimum` words that nobody has read yet, without taking them.

        Parameters
        ----------
        minimum
            How many words the view must hold; it usually holds more.
        """
        self._check_home()
        if self._end - self._next < minimum:
            self._refill(minimum)
        return self._words[self._next : self._end]

    def consume(self, count: int) -> None:
        """Take the first `count` words of `unread` off the stream.

        Parameters
        ----------
        count
            How many words were used.
        """
        if not 0 <= count <= self._end - self._next:
            raise ValueError(f"cannot consume {count} of {self._end - self._next} unread words")
        self._next += count

    def _start(self, key: bytes) -> None:
        """Begin a new stream under a key, forgetting all words of an old one."""
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        # A key is used for one stream only, so the counter may start at zero.
        self._cipher: CipherContext = Cipher(AES256(key), CTR(bytes(16))).encryptor()
        self._words.fill(0)
        self._next = self._end = 0
        self._home = (_forks, os.getpid(), threading.get_ident())

    def _check_home(self) -> None:
        """Re-key after a fork; refuse a thread that the source does not belong to."""
        home = (_forks, os.getpid(), threading.get_ident())
        if home == self._home:
            return
        if home[:2] == self._home[:2]:
            raise RuntimeError(
                "a source of random bits belongs to the thread that made it; call bits() (or open "
                "seeded()) in each thread"
            )
        if not self.private:
            raise RuntimeError(
                "a seeded source does not follow a fork, since parent and child would draw the "
                "same noise; open seeded() with another seed in the child"
            )
        self._start(os.urandom(32))

    def _refill(self, minimum: int) -> None:
        """Move the unread words to the front and make new ones behind them."""
        left = self._end - self._next
        if minimum > self._words.size:
            larger = _buffer(-(-minimum // BLOCK_WORDS) * BLOCK_WORDS)
            larger[:left] = self._words[self._next : self._end]
            self._words.fill(0)
            self._words = larger
        else:
            self._words[:left] = self._words[self._next : self._end].copy()
        self._next, self._end = 0, left
        while self._end < self._words.size:
            self._extend(min(self._words.size - self._end, BLOCK_WORDS))

    def _extend(self, count: int) -> None:
        """Write the next `count` words of the key stream behind the last word."""
        start = self._end * _WORD_BYTES
        size = count * _WORD_BYTES
        room = _pad_buffer(self._words).data.cast("B")[start : start + size + _CIPHER_BLOCK_BYTES]
        self._cipher.update_into(memoryview(_ZEROS)[:size], room)
        self._end += count
        if sys.byteorder == "big":  # the stream is little-endian on every machine
            self._words[self._end - count : self._end].byteswap(inplace=True)

    def __enter__(self) -> Bits:
        if self._busy:
            raise RuntimeError(
                "this source of random bits is being read already; a signal handler must not draw "
                "noise while a sampler runs"
            )
        self._busy = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._next = self._end  # what an interrupted sampler has seen is never used again
        self._busy = False

    def __reduce__(self) -> Never:
        raise TypeError("a source of random bits is never copied or pickled; call bits() instead")


def bits() -> Bits:
    """Return the source of random bits of this thread.

    It is keyed by the operating system, unless the caller stands inside `seeded`.
    """
    seeded_source = _seeded.get()
    if seeded_source is not None:
        return seeded_source
    source: Bits | None = getattr(_threads, "source", None)
    if source is None:
        source = _threads.source = Bits()
    return source


@contextlib.contextmanager
def seeded(seed: int | str) -> Iterator[Bits]:
    """Draw reproducible bits inside this context: FOR TESTS AND REHEARSALS ONLY.

    Everything drawn inside is a known function of the seed, hence `bits().private` is False there
    and nothing made there carries a guarantee. The stream is the same on every machine. Threads
    started inside do not inherit it.

    Parameters
    ----------
    seed
        Any integer or text; equal seeds give equal streams.
    """
    source = Bits(_check_seed(seed))
    token = _seeded.set(source)
    try:
        yield source
    finally:
        _seeded.reset(token)


def generator(seed: int | None = None) -> np.random.Generator:
    """Return a NumPy generator for post-processing, such as sampling synthetic rows.

    It must never touch a private value: its bits are fast, not cryptographic, and its floats are
    not exact.

    Parameters
    ----------
    seed
        A seed for a reproducible sample; by default fresh bits from `bits()`.
    """
    if seed is not None:
        return np.random.Generator(np.random.PCG64(seed))
    entropy = [int(word) for word in bits().words(4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def _check_seed(seed: object) -> int | str:
    """Refuse what is not a seed, booleans and None above all."""
    if isinstance(seed, np.integer):
        return int(seed)
    if isinstance(seed, bool) or not isinstance(seed, (int, str)):
        raise TypeError(f"a seed is an int or a str; got {type(seed).__name__}")
    return seed


def _key_of(seed: int | str) -> bytes:
    """Derive the key of a seeded source."""
    return hashlib.sha256(f"sfumato seeded source {type(seed).__name__} {seed}".encode()).digest()


def _buffer(count: int) -> Words:
    """Make room for `count` words, with the spare block behind them that the cipher insists on."""
    padding = _CIPHER_BLOCK_BYTES // _WORD_BYTES
    return np.zeros(count + padding, dtype=np.uint64)[:count]


def _pad_buffer(words: Words) -> Words:
    """Return the buffer of `_buffer` together with its spare block."""
    whole = words.base
    assert isinstance(whole, np.ndarray)
    return whole


_seeded: ContextVar[Bits | None] = ContextVar("sfumato_seeded_source", default=None)
_threads = threading.local()
