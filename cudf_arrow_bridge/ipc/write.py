# SPDX-License-Identifier: Apache-2.0
"""`write_stream` and `write_file`: writing of cuDF data as Arrow IPC streams and files."""

from __future__ import annotations

from typing import Any

from ..arrow.options import check_max_rows
from .compression import Compression, check_compression
from .encoder import encoder_of
from .metadata import make_footer
from .transport.framing import CHUNK_SIZE, END_OF_STREAM, MAGIC, Block, check_chunk_size
from .transport.sinks import open_sink


def write_stream(
    source: Any,
    sink: Any,
    *,
    stream: Any = None,
    preserve_index: bool | None = None,
    max_rows: int | None = None,
    compression: Compression | None = None,
    chunk_size: int = CHUNK_SIZE,
) -> None:
    """Write cuDF data as an Arrow IPC stream.

    Host buffers are written in place, one by one, with small buffers joined. Device memory is
    copied through two pieces of pinned memory: while one is written, the next one is copied.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`. A column becomes a batch of one column.
    sink
        A path, an fsspec URL, a binary file, a socket, or an object with ``write``. A path is
        written to a temporary file in the same folder, which replaces the old file at the end. A
        URL is an upload that is completed at the end. If writing fails, the old file stays.
    stream, preserve_index, max_rows : optional
        See `messages`.
    compression : {"lz4", "zstd"}, optional
        The codec for buffers. pyarrow compresses on the host; device memory is copied there, one
        batch at a time. None: no compression.
    chunk_size : int
        The number of bytes of device memory that are copied at a time.

    Raises
    ------
    TypeError, ValueError
        See `messages`; also if an argument has an invalid type or value.
    OSError
        If writing to the sink fails.

    Notes
    -----
    Source: Arrow columnar format, "IPC Streaming Format".

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> import pyarrow as pa
    >>> sink = io.BytesIO()
    >>> cab.ipc.write_stream(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]})), sink)
    >>> pa.ipc.open_stream(sink.getvalue()).read_all().column("a").to_pylist()
    [1, 2, 3]
    """
    max_rows = check_max_rows(max_rows)
    _write(source, sink, False, compression, chunk_size, stream, preserve_index, max_rows)


def write_file(
    source: Any,
    sink: Any,
    *,
    stream: Any = None,
    preserve_index: bool | None = None,
    max_rows: int | None = None,
    compression: Compression | None = None,
    chunk_size: int = CHUNK_SIZE,
) -> None:
    """Write cuDF data as an Arrow IPC file (Feather 2).

    The batches of a file can be read in any order. A file cannot replace a dictionary: dictionaries
    of later batches must start with the values of earlier ones.

    Parameters
    ----------
    source, sink, stream, preserve_index, max_rows, compression, chunk_size
        See `write_stream`. A sink that already has data must be at a multiple of 8.

    Raises
    ------
    ValueError
        Also for a dictionary that replaces another.

    Notes
    -----
    Source: Arrow columnar format, "IPC File Format".

    Examples
    --------
    >>> import pandas as pd
    >>> import pyarrow as pa
    >>> path = getfixture("tmp_path") / "frame.arrow"
    >>> cab.ipc.write_file(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]})), path)
    >>> pa.ipc.open_file(path).read_all().column("a").to_pylist()
    [1, 2, 3]
    """
    max_rows = check_max_rows(max_rows)
    _write(source, sink, True, compression, chunk_size, stream, preserve_index, max_rows)


def _write(
    source: Any, sink: Any, is_file: bool, compression: Any, chunk_size: int, *arguments: Any
) -> None:
    """Write a stream or file; the other arguments are those of `encoder_of`."""
    codec = check_compression(compression)
    check_chunk_size(chunk_size)
    flags = {"is_file": is_file, "is_downloaded": True}
    arrays, encoder = encoder_of(source, *arguments, **flags)
    with open_sink(sink) as out:
        if is_file:
            out.write(MAGIC + bytes(2))
        out.write_message(encoder.schema_metadata, None, chunk_size)
        #: The positions of the dictionaries and of the record batches.
        blocks: tuple[list[Block], list[Block]] = ([], [])
        for batch in encoder.messages(arrays, codec):
            block = out.write_message(batch.metadata(codec), batch.body, chunk_size)
            blocks[batch.dictionary is None].append(block)
            del batch
        out.write(END_OF_STREAM)
        if is_file:
            footer = make_footer(encoder.schema_metadata, *blocks)
            out.write(footer + len(footer).to_bytes(4, "little") + MAGIC)
