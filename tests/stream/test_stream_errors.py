# SPDX-License-Identifier: Apache-2.0
"""Errors at every position of a stream, and how producers and consumers report these errors."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import textwrap
import traceback

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.streams import (
    ArrowArrayStream,
    ArrowDeviceArrayStream,
    Consumer,
    DeviceStreamOnly,
    StreamOnly,
    StreamProducer,
    capsule_of,
)

BATCH = pa.record_batch({"a": [1, None, 3], "s": pa.array([["x"], [], None])})
PROTOCOLS = ["__arrow_c_stream__", "__arrow_c_device_stream__"]


def failing(position, error):
    for _ in range(position):
        yield BATCH
    raise error


def lengths(stream, concat):
    """Import a whole stream; return the lengths of the frames."""
    found = cab.from_arrow_device_stream(stream, concat=concat)
    return [len(frame) for frame in ([found] if concat else found)]


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_exception_whose_str_raises_is_reported_by_its_type():
    stream = cab.to_arrow_device_stream(failing(1, MuteError()))
    consumer = Consumer(stream.__arrow_c_stream__())
    assert consumer.rows() == 3
    assert consumer.next()[0] == errno.EIO
    assert consumer.error() == "MuteError"
    consumer.release()


CODES = [
    pytest.param(ValueError("boom"), errno.EINVAL, id="ValueError"),
    pytest.param(TypeError("boom"), errno.EINVAL, id="TypeError"),
    pytest.param(KeyError("boom"), errno.EINVAL, id="KeyError"),
    pytest.param(MemoryError("boom"), errno.ENOMEM, id="MemoryError"),
    pytest.param(NotImplementedError("boom"), errno.ENOSYS, id="NotImplementedError"),
    pytest.param(FileNotFoundError(errno.ENOENT, "boom"), errno.ENOENT, id="FileNotFoundError"),
    pytest.param(OSError("boom"), errno.EIO, id="OSError"),
    pytest.param(OSError(-5, "boom"), errno.EIO, id="OSError of no errno"),
    pytest.param(RuntimeError("boom"), errno.EIO, id="RuntimeError"),
    pytest.param(KeyboardInterrupt("boom"), errno.EINTR, id="KeyboardInterrupt"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("error", "code"), CODES)
def test_exception_of_a_generator_is_reported_to_the_c_consumer(protocol, error, code):
    stream = cab.to_arrow_device_stream(failing(2, error))
    consumer = Consumer(getattr(stream, protocol)())
    assert [consumer.rows(), consumer.rows()] == [3, 3]
    assert consumer.error() is None
    for _ in range(3):
        assert consumer.next()[0] == code
        assert "boom" in consumer.error()
        assert type(error).__name__ in consumer.error()
    assert stream.error is error
    assert consumer.schema()[0] == 0
    assert consumer.error() is None
    consumer.release()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_exception_before_the_first_batch_is_raised_at_once(protocol):
    error = ValueError("boom")
    stream = cab.to_arrow_device_stream(failing(0, error))
    with pytest.raises(ValueError, match="boom") as found:
        getattr(stream, protocol)()
    assert found.value is error
    assert stream.error is error
    assert "boom" in repr(stream)
    with pytest.raises(ValueError, match="boom") as found:
        _ = stream.schema
    assert found.value is error


@pytest.mark.parametrize(
    "wrap", [lambda s: s, DeviceStreamOnly, StreamOnly], ids=["ours", "device", "host"]
)
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("position", [0, 2])
def test_import_of_our_own_stream_raises_the_original_exception(wrap, concat, position):
    class OwnError(Exception):
        pass

    error = OwnError("boom")
    stream = wrap(cab.to_arrow_device_stream(failing(position, error)))
    with pytest.raises(OwnError) as found:
        lengths(stream, concat)
    assert found.value is error
    assert any(f.name == "failing" for f in traceback.extract_tb(error.__traceback__))


def test_iteration_raises_the_original_exception():
    error = KeyError("boom")
    stream = cab.to_arrow_device_stream(failing(2, error))
    batches = iter(stream)
    assert [len(next(batches)), len(next(batches))] == [3, 3]
    for _ in range(2):
        with pytest.raises(KeyError) as found:
            next(batches)
        assert found.value is error
    assert stream.is_released


DRIFTS = {
    "type": (
        pa.record_batch({"a": [1.5], "s": pa.array([["x"]])}),
        "column 'a': .*'int64'.* got 'double'",
    ),
    "name": (
        pa.record_batch({"b": [1], "s": pa.array([["x"]])}),
        "the name 'a' .* got 'b'",
    ),
    "nested": (
        pa.record_batch({"a": [1], "s": pa.array([[1]])}),
        r"column 's\[\]': .*'string'.* got 'int64'",
    ),
    "fewer": (pa.record_batch({"a": [1]}), "children of '2' .* got '1'"),
    "no batch": (pa.array([1]), r"\(top level\).*'struct'.* got 'int64'"),
}


@pytest.mark.parametrize(("other", "message"), DRIFTS.values(), ids=DRIFTS)
def test_batch_of_another_schema_is_an_error_of_get_next(other, message):
    stream = cab.to_arrow_device_stream([BATCH, BATCH, other, BATCH])
    consumer = Consumer(stream.__arrow_c_stream__())
    assert [consumer.rows(), consumer.rows()] == [3, 3]
    for _ in range(2):
        assert consumer.next()[0] == errno.EINVAL
        with pytest.raises(ValueError, match=f"batch 2 of the stream: .*{message}"):
            raise ValueError(consumer.error())
    consumer.release()
    with pytest.raises(ValueError, match=message):
        cab.from_arrow_device_stream(cab.to_arrow_device_stream([BATCH, other]))


def test_unknown_kind_is_rejected():
    with pytest.raises(ValueError, match="'row'"):
        cab.from_arrow_device_stream(pa.table({"a": [1]}), kind="row")


def test_requested_schema_is_checked_from_the_first_batch():
    wanted = pa.schema([("n", pa.int64())])
    stream = cab.to_arrow_device_stream([BATCH], requested_schema=wanted)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"2 fields.* 1$"):
            next(iter(stream))


def test_non_nullable_batch_fits_a_nullable_schema():
    strict = pa.schema([pa.field("a", pa.int64(), nullable=False), BATCH.schema.field("s")])
    one = pa.record_batch([pa.array([1]), pa.array([["x"]])], strict)
    assert pa.table(StreamOnly(cab.to_arrow_device_stream([BATCH, one]))).num_rows == 4
    with pytest.raises(
        ValueError,
        match=r"batch 1 of the stream: column 'a': .*nullable",
    ):
        list(cab.to_arrow_device_stream([one, BATCH]))


def test_metadata_of_batches_may_differ():
    batches = [BATCH.replace_schema_metadata({"number": str(i)}) for i in range(2)]
    found = pa.table(StreamOnly(cab.to_arrow_device_stream(batches)))
    assert found.schema.metadata == {b"number": b"0"}


EXCEPTIONS = {
    errno.EINVAL: ValueError,
    errno.ENOMEM: MemoryError,
    errno.ENOSYS: NotImplementedError,
    errno.EIO: OSError,
    errno.ENOENT: FileNotFoundError,
}


@pytest.mark.parametrize(("code", "kind"), EXCEPTIONS.items())
@pytest.mark.parametrize(("position", "concat"), [(0, True), (2, True), (2, False)])
def test_error_of_a_producer_becomes_an_exception(code, kind, position, concat):
    source = StreamProducer(BATCH.schema, [BATCH] * position + [code, BATCH])
    with pytest.raises(kind, match="the disk is gone") as found:
        lengths(source, concat)
    if kind is OSError:
        assert found.value.errno == code
    del found
    gc.collect()
    assert source.releases == 1
    assert source.pulls == position + 1


@pytest.mark.parametrize(("message", "said"), [(None, os.strerror(errno.EIO)), (b"", "^.Errno")])
def test_error_of_a_producer_may_have_no_message(message, said):
    source = StreamProducer(BATCH.schema, [errno.EIO], message)
    with pytest.raises(OSError, match=said) as found:
        cab.from_arrow_device_stream(source)
    assert found.value.errno == errno.EIO
    assert source.releases == 1


def test_error_of_get_schema_is_raised_and_releases_the_stream():
    source = StreamProducer(errno.EIO, [BATCH])
    with pytest.raises(OSError, match="the disk is gone"):
        cab.from_arrow_device_stream(source)
    assert source.releases == 1
    assert source.pulls == 0


def test_stream_is_released_after_a_batch_that_cannot_be_imported():
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    source = StreamProducer(twice.schema, [twice, twice])
    with pytest.raises(
        TypeError,
        match=r"\['a'\].* must be unique",
    ):
        list(cab.from_arrow_device_stream(source, concat=False))
    gc.collect()
    assert source.releases == 1


class Fixed:
    def __init__(self, capsule):
        self.__arrow_c_stream__ = lambda requested_schema=None: capsule


@pytest.mark.parametrize("struct", [ArrowArrayStream, ArrowDeviceArrayStream])
def test_released_stream_is_rejected(struct):
    with pytest.raises(ValueError, match="released"):
        cab.from_arrow_device_stream(Fixed(capsule_of(struct)))


def test_capsule_with_another_name_is_rejected():
    with pytest.raises(ValueError, match="arrow_device_array_stream"):
        cab.from_arrow_device_stream(Fixed(BATCH.__arrow_c_array__()[0]))


def test_reading_after_shutdown_names_the_reason():
    # This exit handler runs after that of the package, because it is registered before the import.
    code = """
        import atexit

        @atexit.register
        def read():
            for make in (iter, pa.RecordBatchReader.from_stream):
                try:
                    list(make(cab.to_arrow_device_stream([table])))
                except (RuntimeError, pa.ArrowException) as error:
                    print("the interpreter is shutting down" in str(error))

        import pyarrow as pa, cudf_arrow_bridge as cab
        table = cab.from_arrow_device(pa.record_batch({"a": [1]}), to="pylibcudf")
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nTrue\n", "")
