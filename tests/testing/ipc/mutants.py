# SPDX-License-Identifier: Apache-2.0
"""Mutants of messages: each is rejected, or gives arrays within the given buffers."""

from __future__ import annotations

import ctypes
import io
import mmap
import random
import re
import zlib
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.pickling import unpack
from testing.ipc import mutations as ipc_mutations
from testing.ipc.metadata import RECORD_BATCH as BATCH
from testing.ipc.metadata import Metadata
from testing.ipc.reach import spans
from testing.peers.arrays import DeviceOnly

#: Errors of pyarrow for values that the bridge accepts, because they cause no read out of bounds:
#: numbers out of their type's range, null rows of list views, and bytes after a short string.
HARMLESS = re.compile(
    "does not fit in precision|whole number of days|is not within the acceptable range"
    "|Offset invariant failure: (size|offset) for slot|padding bytes were not all zero"
)
#: Errors that `from_messages` may raise for its arguments.
REFUSALS = (ValueError, TypeError, OverflowError, KeyError)


def check_within(array, given):
    """Check that each buffer lies in a given buffer, or in readable memory of the bridge."""
    for address, reach in spans(array):
        if any(begin <= address <= end and address + (reach or 0) <= end for begin, end in given):
            continue
        assert not any(begin <= address < end for begin, end in given), "reads past the end"
        # The bridge allocated this buffer: check that all of it is readable.
        ctypes.string_at(address, reach or 0)


class Messages:
    """Mutants of messages whose bodies are lists of buffers."""

    def __init__(self):
        self._streams = list(ipc_mutations.messages())

    def mutant(self, rng, change_body):
        stream = rng.choice(self._streams)
        if change_body:
            return ipc_mutations.with_bodies_changed(rng, stream)
        return ipc_mutations.mutated_messages(rng, stream)

    @staticmethod
    def ranges(mutant):
        return [(part.address, part.address + part.size) for _, parts in mutant for part in parts]

    @staticmethod
    def arrays(mutant, validate):
        yield from cab.ipc.from_messages(mutant, validate=validate)


class Bytes:
    """Mutants of streams or files, of which selected columns are read from memory or a reader."""

    def __init__(self, is_file, columns=None):
        self._is_file = is_file
        self._columns = columns
        self._originals = list(ipc_mutations.written(is_file))

    def mutant(self, rng, change_body):
        return pa.py_buffer(ipc_mutations.mutated_bytes(rng, rng.choice(self._originals)))

    @staticmethod
    def ranges(mutant):
        return [(mutant.address, mutant.address + mutant.size)]

    def arrays(self, mutant, validate):
        if self._is_file:
            source = mutant
            if self._columns and zlib.crc32(mutant) % 2:
                source = io.BufferedReader(io.BytesIO(mutant))
            with cab.ipc.open_file(source, validate=validate, columns=self._columns) as file:
                yield from file
        else:
            yield from cab.ipc.open_stream(mutant, validate=validate)


class Packed:
    """Mutants of packed arrays: tables and columns, and bodies in one piece or in buffers."""

    def __init__(self):
        self._streams = [
            stream[: 1 + next(i for i, (m, _) in enumerate(stream) if Metadata(m).kind == BATCH)]
            for stream in ipc_mutations.messages()
        ]

    def mutant(self, rng, change_body):
        messages = ipc_mutations.mutated_messages(rng, rng.choice(self._streams))
        is_packed = rng.random() < 0.2
        bodies = [[part for part in parts if part.size] for _, parts in messages]
        if is_packed:
            bodies = [[pa.py_buffer(b"".join(map(padded, parts)))] for parts in bodies if parts]
        kind = "table" if rng.random() < 0.8 else "column"
        device_type = rng.choice((1, 2, 13))
        header = [kind, device_type, is_packed, None, *(metadata for metadata, _ in messages)]
        if rng.random() < 0.1:
            header[rng.randrange(len(header))] = rng.choice((None, -1, 2**63, "x", b"", (1,)))
        return tuple(header), [part for parts in bodies for part in parts]

    @staticmethod
    def ranges(mutant):
        return [(part.address, part.address + part.size) for part in mutant[1]]

    @staticmethod
    def arrays(mutant, validate):
        yield unpack(*mutant)


def padded(buffer):
    """Return the bytes of a buffer with the zeros that follow it in a packed body."""
    return buffer.to_pybytes() + bytes(-buffer.size % 64)


FORMS = {
    "messages": Messages,
    "stream": partial(Bytes, False),
    "file": partial(Bytes, True),
    "columns": partial(Bytes, True, ["some"]),
    "packed": Packed,
}


def try_one(number, form, validate):
    """Read one mutant with the bridge; return the outcome."""
    rng = random.Random(number)
    mutant = form.mutant(rng, validate == "full" and rng.randrange(2))
    given = form.ranges(mutant)
    count = 0
    arrays = form.arrays(mutant, validate)
    while True:
        try:
            array = next(arrays, None)
        except REFUSALS as error:
            return type(error).__name__ if str(error) else "an error that says nothing"
        if array is None:
            return "arrays" if count else "no arrays"
        check_within(array, given)
        if validate == "full":
            check_values(array)
        count += 1


def check_values(array):
    """Validate all values with pyarrow."""
    try:
        pa.record_batch(DeviceOnly(array)).validate(full=True)
    except pa.ArrowInvalid as error:
        if not HARMLESS.search(str(error)):
            raise


def resident():
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def outcomes_of(form, numbers, validate):
    """Read mutants with these numbers; return how often each outcome occurred."""
    mutator, outcomes = FORMS[form](), Counter()
    for number in numbers:
        try:
            outcomes[try_one(number, mutator, validate)] += 1
        except BaseException as error:
            error.add_note(f"mutant {number} of {form}, {validate=}")
            raise
    return outcomes
