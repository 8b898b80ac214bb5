# SPDX-License-Identifier: Apache-2.0
"""Mutants of packed arrays: each is rejected, or gives an array within the given buffers.

Run as a program: ``python -m testing.exchange.packs random --count 1000``. It prints the mutants'
outcomes as JSON. The error of a mutant that breaks a rule has the mutant's number.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import random
from collections import Counter
from contextlib import suppress
from itertools import islice

import pyarrow as pa

from cudf_arrow_bridge.processes.packing import HEAD, pack, unpack
from testing.exchange.pickles import adopted
from testing.ipc import mutations
from testing.ipc.mutants import REFUSALS, limit_memory, resident
from testing.ipc.mutations import NUMBERS, Guarded
from testing.ipc.reach import spans
from testing.peers.arrays import DeviceOnly

#: Index of the header's byte that says whether buffers are packed bodies.
IS_PACKED = 5
#: Maximum bytes of a buffer that the bridge allocates: an offset, or the sizes of views' buffers.
OWN = 64


def originals():
    """Yield headers and buffers of every layout, as tables and as columns."""
    for batch, *_ in mutations.batches():
        (array,) = adopted(batch.schema, [batch])
        columns = [array["list"]] if "list" in batch.schema.names else array.children
        for each in (array, *columns):
            header, buffers = pack(each)
            yield header, [Guarded(pa.py_buffer(buffer)) for buffer in buffers]


def split(header):
    """Return the head, the schema and the numbers of a header."""
    *_, size, _ = HEAD.unpack_from(header)
    end = HEAD.size + size
    return header[: HEAD.size], header[HEAD.size : end], header[end:]


def cut(known, count):
    """Yield every header, truncated at every byte."""
    for header, buffers in known:
        for size in range(len(header)):
            yield header[:size], plain(buffers)


def changed_bytes(known, count):
    """Yield some headers, with every byte changed in turn."""
    for header, buffers in known[:: len(known) // 5]:
        for at, byte in enumerate(header):
            for value in {0, 1, 0x7F, 0x80, 0xFF, *(byte ^ (1 << bit) for bit in range(8))} - {
                byte
            }:
                yield header[:at] + bytes([value]) + header[at + 1 :], plain(buffers)


def changed_numbers(known, count):
    """Yield every header, with every number replaced by extreme and by near values."""
    for header, buffers in known:
        end = len(header) - len(split(header)[2])
        for at in (8, 16, *range(end, len(header), 8)):
            number = int.from_bytes(header[at : at + 8], "little", signed=True)
            for value in {*NUMBERS, number + 1, number - 1, number + 4, number * 2} - {number}:
                yield with_number(header, at, value), plain(buffers)


def at_random(known, count):
    for number in range(count):
        yield mutant(random.Random(number), known)


FORMS = {"cut": cut, "bytes": changed_bytes, "numbers": changed_numbers, "random": at_random}


def plain(buffers):
    return [guarded.buffer for guarded in buffers]


def with_number(header, at, value):
    value = max(-(2**63), min(value, 2**63 - 1))
    return header[:at] + value.to_bytes(8, "little", signed=True) + header[at + 8 :]


def mutant(rng, known):
    """Return a header and buffers, with random changes of one or both."""
    header, guarded = rng.choice(known)
    buffers = plain(guarded)
    kind = rng.randrange(8)
    if kind <= 1:
        header = mutations.mutated_bytes(rng, header)
    if kind in (2, 3, 4):
        end = len(header) - len(split(header)[2])
        for _ in range(kind - 1):
            header = with_number(header, rng.randrange(end, len(header), 8), any_number(rng))
    if kind == 5:
        head, _, numbers = split(header)
        _, schema, _ = split(rng.choice(known)[0])
        header = b"".join([head[:8], len(schema).to_bytes(8, "little"), head[16:], schema, numbers])
    if kind == 6:
        flags = bytes(rng.choice((0, 1, 1, 2, 13, 255)) for _ in range(4))
        header = header[:4] + flags + header[8:]
        buffers = [pa.py_buffer(b"".join(map(bytes, map(padded, buffers))))]
    if kind == 7 or rng.randrange(4) == 0:
        change_buffers(rng, buffers)
    return header, buffers


def any_number(rng):
    return rng.choice([*NUMBERS, rng.randrange(64), rng.randrange(1 << 12)])


def padded(buffer):
    return buffer.to_pybytes() + bytes(-buffer.size % 64)


def change_buffers(rng, buffers):
    if not buffers:
        return
    i, j = rng.randrange(len(buffers)), rng.randrange(len(buffers))
    kind = rng.randrange(6)
    if kind == 0:
        buffers[i] = buffers[i][: rng.randrange(buffers[i].size + 1)]
    elif kind == 1:
        buffers[i], buffers[j] = buffers[j], buffers[i]
    elif kind == 2:
        del buffers[i]
    elif kind == 3:
        buffers.insert(j, buffers[i])
    elif kind == 4:
        buffers[i] = pa.py_buffer(bytes(rng.randrange(1, 8)) + buffers[i].to_pybytes())[1:]
    else:
        buffers[i] = rng.choice([None, b"", "text", 7, buffers[i].to_pybytes(), object()])


def try_one(header, buffers):
    """Unpack one mutant; return the outcome."""
    try:
        array = unpack(header, buffers)
    except REFUSALS as error:
        return type(error).__name__ if str(error) else "an error that says nothing"
    check_within(array, buffers)
    to_arrow = pa.record_batch if array._kind == "table" else pa.array
    to_arrow(DeviceOnly(array)).validate()
    # Packing and copying the array also read within its buffers.
    assert repr(array)
    for carry in (pack, copy.deepcopy):
        with suppress(*REFUSALS):
            carry(array)
    return "array"


def check_within(array, buffers):
    """Check that each buffer lies in a given buffer, or is a copy of a misaligned one."""
    given = [pa.py_buffer(buffer) for buffer in buffers if buffer is not None]
    ranges = [(buffer.address, buffer.address + buffer.size) for buffer in given]
    is_aligned = all(buffer.address % 8 == 0 for buffer in given)
    for address, reach in spans(array):
        size = reach or 0
        if not any(begin <= address and address + size <= end for begin, end in ranges):
            assert not any(begin <= address < end for begin, end in ranges), "reads past the end"
            assert size <= OWN or not is_aligned, "reads outside of the given buffers"
            pa.foreign_buffer(address, size).to_pybytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    known = list(originals())
    mutants = FORMS[options.form](known, options.first + options.count)
    outcomes, begin = Counter(), 0
    for number, each in enumerate(islice(mutants, options.first, None), options.first):
        if number == options.first + options.count // 10:
            gc.collect()
            begin = resident()
            limit_memory(256 << 20)
        try:
            outcomes[try_one(*each)] += 1
        except BaseException as error:
            error.add_note(f"mutant {number} of {options.form}")
            raise
    gc.collect()
    print(json.dumps({"grown": resident() - begin, "outcomes": outcomes}))


if __name__ == "__main__":
    main()
