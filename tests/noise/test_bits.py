import copy
import hashlib
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from sfumato import noise
from sfumato.noise import bits as bits_module_function
from sfumato.noise.bits import BLOCK_WORDS, Bits


def _first_words(_=None):
    return noise.bits().words(4).tolist()


def test_the_seeded_stream_is_fixed_for_ever():
    with noise.seeded(7) as source:
        assert source.words(3).tolist() == [
            3286274626377357889,
            14889876918884741598,
            2127399941592095201,
        ]
        later = source.words(3 * BLOCK_WORDS)
    digest = hashlib.sha256(later.astype("<u8").tobytes()).hexdigest()
    assert digest == "9fa6a61f9cb4a5bffaf3b313a3b41594fc75fb4bf709e517dd5b7fd8f510810e"


def test_the_seeded_stream_is_aes_256_in_counter_mode():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = hashlib.sha256(b"sfumato seeded source int 7").digest()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8000))
    assert Bits(7).words(1000).tolist() == np.frombuffer(stream, "<u8").tolist()


@pytest.mark.parametrize("pieces", [[5000], [1, 4999], [2500, 0, 2500], [1] * 5000])
def test_the_stream_does_not_depend_on_how_it_is_read(pieces):
    source = Bits(1)
    read = np.concatenate([source.words(piece) for piece in pieces])
    assert read.tolist() == Bits(1).words(5000).tolist()


def test_reading_over_the_end_of_many_blocks_skips_and_repeats_nothing():
    source, count = Bits(1), 2 * BLOCK_WORDS + 77
    whole = source.words(count)
    other = Bits(1)
    parts = []
    while sum(part.size for part in parts) < count:
        parts.append(other.words(min(10_007, count - sum(part.size for part in parts))))
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.unique(whole).size == count


def test_looking_ahead_takes_nothing_and_may_exceed_a_block():
    source = Bits(1)
    source.words(BLOCK_WORDS - 5)
    ahead = source.unread(BLOCK_WORDS + 100).copy()
    assert ahead.size >= BLOCK_WORDS + 100
    source.consume(3)
    assert source.words(50).tolist() == ahead[3:53].tolist()


def test_only_words_that_were_made_can_be_consumed():
    source = Bits(1)
    size = source.unread(10).size
    with pytest.raises(ValueError, match="cannot consume"):
        source.consume(size + 1)
    with pytest.raises(ValueError, match="cannot consume"):
        source.consume(-1)


def test_fill_overwrites_any_one_dimensional_array_of_words():
    buffer = np.zeros(20, dtype=np.uint64)
    Bits(1).fill(buffer[::2])
    assert buffer[::2].tolist() == Bits(1).words(10).tolist()
    assert not buffer[1::2].any()
    with pytest.raises(ValueError, match="one-dimensional array of uint64"):
        Bits(1).fill(np.zeros((2, 2), dtype=np.uint64))
    with pytest.raises(ValueError, match="one-dimensional array of uint64"):
        Bits(1).fill(np.zeros(2, dtype=np.int64))


def test_system_bits_are_private_and_seeded_ones_are_not():
    assert noise.bits().private
    with noise.seeded(1) as outer:
        assert not noise.bits().private
        with noise.seeded(2) as inner:
            assert noise.bits() is inner
        assert noise.bits() is outer
    assert noise.bits().private
    assert noise.bits() is bits_module_function()


def test_the_system_source_returns_after_an_error_inside_seeded():
    with pytest.raises(KeyError), noise.seeded(1):
        raise KeyError
    assert noise.bits().private


def test_system_bits_never_repeat():
    assert Bits().words(100).tolist() != Bits().words(100).tolist()
    assert np.unique(noise.bits().words(10_000)).size == 10_000


@pytest.mark.parametrize("seed", [None, True, 1.5, b"seed"])
def test_what_is_not_a_seed_is_refused(seed):
    with pytest.raises(TypeError, match="seed"), noise.seeded(seed):
        pass


def test_different_seeds_and_kinds_of_seed_give_different_streams():
    first = {Bits(seed).words(1).item() for seed in [0, 1, -1, 10**30, "1", "", "one"]}
    assert len(first) == 7
    assert Bits(np.int64(3)).words(1) == Bits(3).words(1)


def test_a_source_is_never_copied_or_pickled():
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never copied or pickled"):
            duplicate(noise.bits())


def test_every_thread_has_a_stream_of_its_own():
    with ThreadPoolExecutor(8) as pool:
        barrier = threading.Barrier(8)

        def draw(_):
            barrier.wait(10)
            return [noise.bits().words(500) for _ in range(20)]

        words = np.concatenate([part for parts in pool.map(draw, range(8)) for part in parts])
    assert np.unique(words).size == words.size


def test_a_source_refuses_a_thread_that_is_not_its_own():
    with noise.seeded(1) as source, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: noise.bits().private).result()
        with pytest.raises(RuntimeError, match="belongs to the thread"):
            pool.submit(source.words, 1).result()


def test_a_source_refuses_to_be_read_while_it_is_being_read():
    source = Bits(1)
    with source, pytest.raises(RuntimeError, match="being read already"):
        source.words(1)
    assert source.words(1).size == 1


def test_an_interrupted_reader_leaves_no_words_for_the_next_one():
    source = Bits(1)
    seen: set[int] = set()

    def interrupted():
        with source:
            seen.update(source.unread(10).tolist())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not seen & set(source.words(1000).tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_parent_and_child_of_a_fork_draw_different_words():
    # A fresh interpreter without threads: forking this one could dead-lock.
    program = """
import os
from sfumato import noise
held = noise.bits()
held.words(10)
reader, writer = os.pipe()
child = os.fork()
mine = held.words(4).tolist() + noise.bits().words(4).tolist()
if child == 0:
    os.write(writer, repr(mine).encode())
    os._exit(0)
os.waitpid(child, 0)
theirs = eval(os.read(reader, 10_000))
assert len(theirs) == 8 and not set(mine) & set(theirs), (mine, theirs)
with noise.seeded(1) as source:
    source.words(1)
    child = os.fork()
    if child == 0:
        try:
            source.words(1)
        except RuntimeError as error:
            os._exit(0 if "does not follow a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("different")
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "different", result.stderr


def test_worker_processes_draw_different_words():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(_first_words, range(4)))
    words = [word for result in [*results, _first_words()] for word in result]
    assert len(set(words)) == len(words)


def test_the_generator_for_post_processing_is_reproducible_when_asked():
    assert noise.generator(3).integers(10**9) == noise.generator(3).integers(10**9)
    assert noise.generator().integers(10**15) != noise.generator().integers(10**15)
    with noise.seeded(5):
        first = noise.generator().integers(10**15)
    with noise.seeded(5):
        assert noise.generator().integers(10**15) == first


def test_the_words_are_uniform_bit_by_bit(yardstick):
    words = Bits("uniform").words(100_000)
    for bit in range(64):
        ones = int(((words >> np.uint64(bit)) & np.uint64(1)).sum())
        assert yardstick.frequency_fits(ones, words.size, 0.5)
