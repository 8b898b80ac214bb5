# SPDX-License-Identifier: Apache-2.0
"""Datasets of files, and the readers of Arrow IPC and CSV files.

pyarrow's scanners read such files ahead without a limit. Its readers return one batch at a time and
read no Arrow batch and at most 32 CSV blocks ahead.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...arrow.options import path_of
from ...arrow.text import printable
from .datasets import DatasetSource, ReadFile
from .formats import (
    check_delimiter,
    format_by_name,
    format_of,
    format_of_files,
    parse_options,
)

if TYPE_CHECKING:
    import pyarrow.dataset as ds

Batches = Generator[pa.RecordBatch, None, None]

_WILDCARD = re.compile(r"[*?[]")


def names_files(source: Any) -> bool:
    """Return whether a source is a path, a URL, a glob, or a list of paths."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, os.PathLike) for item in source)
    return isinstance(source, (str, os.PathLike))


def is_binary(source: Any) -> bool:
    """Return whether a source is the bytes of a file, or an open file."""
    if isinstance(source, (io.IOBase, pa.NativeFile)):
        return True
    try:
        with memoryview(source) as view:
            return view.itemsize == 1
    except TypeError:
        return False


def open_files(names: Any, memory_map: Any, format: Any, **selection: Any) -> DatasetSource:
    """Open one path, folder, URL or glob, or several paths, as a source of its selected rows.

    `memory_map` maps local Arrow files into memory. The format None is detected. `selection` has
    the columns and the filter.
    """
    from fsspec.implementations.local import LocalFileSystem
    from pyarrow import fs

    if not isinstance(names, (list, tuple)):
        names = [names]
    found, paths, folder = _find_files(names)
    file_format = format_of_files(found, paths) if format is None else format
    if isinstance(found, LocalFileSystem):
        is_mapped = bool(memory_map) and file_format in ("arrow-file", "arrow-stream")
        filesystem = fs.LocalFileSystem(use_mmap=is_mapped)
    else:
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(found))
    schemas = []
    for path in paths:
        with _errors_of(path):
            schemas.append(_schema_of(path, filesystem, file_format))
    with _errors_of(", ".join(os.fspath(name) for name in names)):
        dataset = _dataset_of(filesystem, paths, file_format, folder, schemas)
    read_file = _READERS.get(file_format) if isinstance(file_format, str) else None
    sets = [frozenset(schema.names) for schema in schemas]
    names_of_files = dict(zip(paths, sets, strict=True))
    return DatasetSource(dataset, **selection, read_file=read_file, names=names_of_files)


def _find_files(names: Sequence[str | os.PathLike[str]]) -> tuple[Any, list[str], str | None]:
    """Find the files of a path, folder, URL or glob, or of several paths.

    Return their fsspec filesystem, their paths in it, and the folder if a single one was named. Its
    subfolders can be named ``key=value``. A missing file, or a folder without files, is an error.
    """
    filesystem: Any = None
    paths: list[str] = []
    folder = None
    for name in names:
        filesystem, path = _open_filesystem(name)
        is_folder = filesystem.isdir(path)
        # Check for a file before a glob, since a file name can look like one.
        found = [path] if filesystem.isfile(path) else _list_files(filesystem, path, is_folder)
        if not found:
            what = "no file in this folder" if is_folder else os.strerror(errno.ENOENT)
            raise FileNotFoundError(errno.ENOENT, what, os.fspath(name))
        if is_folder and len(names) == 1:
            folder = path
        paths += found
    return filesystem, paths, folder


def _open_filesystem(name: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the fsspec filesystem and the path in it, with ``~`` expanded."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    name = path_of(name)
    if not os.fspath(name):
        raise ValueError("the path is empty")
    if isinstance(name, str) and "://" in name:
        filesystem, path = url_to_fs(name)
        return filesystem, path
    return LocalFileSystem(), os.path.abspath(os.path.expanduser(name))


def _list_files(filesystem: Any, path: str, is_folder: bool) -> list[str]:
    """Return the data files of a folder or glob in order.

    Files such as ``_SUCCESS``, ``.crc`` and README are skipped, but not for a part of the path that
    the caller named.
    """
    if is_folder:
        begin, found = path, filesystem.find(path)
    else:
        begin, *has_wildcard = _WILDCARD.split(path)
        infos = filesystem.glob(path, detail=True) if has_wildcard else {}
        found = [path for path, info in infos.items() if info["type"] == "file"]
    visible = [
        path
        for path in sorted(found)
        if not any(part.startswith(("_", ".")) for part in path[len(begin) :].split("/"))
    ]
    return [path for path in visible if format_by_name(path)] or visible


def _dataset_of(
    filesystem: pa.fs.FileSystem,
    paths: list[str],
    file_format: ds.FileFormat | str,
    folder: str | None,
    schemas: list[pa.Schema],
) -> ds.Dataset:
    """Make a dataset from files, with the unified schema of all files.

    Arrow streams in it can be read only by `_arrow_stream`, not by pyarrow.
    """
    import pyarrow.dataset as ds

    if file_format == "arrow-stream":
        known: ds.FileFormat = ds.IpcFileFormat()
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        fragments = [known.make_fragment(path, filesystem) for path in paths]
        return ds.FileSystemDataset(fragments, schema, known, filesystem)
    options = ds.FileSystemFactoryOptions()
    if folder is not None:
        options.partitioning_factory = ds.HivePartitioning.discover()
        options.partition_base_dir = folder
    known = _dataset_format(file_format)
    factory = ds.FileSystemDatasetFactory(filesystem, paths, known, options)
    if folder is not None:
        _, *of_folders = factory.inspect_schemas()
        schemas = schemas + of_folders
    # A column that is missing in a file is null there.
    return factory.finish(pa.unify_schemas(schemas, promote_options="permissive"))


def _schema_of(
    path: str, filesystem: pa.fs.FileSystem, file_format: ds.FileFormat | str
) -> pa.Schema:
    """Read the schema of a file."""
    if file_format == "arrow-stream":
        with pa.ipc.open_stream(filesystem.open_input_file(path)) as reader:
            return reader.schema
    if file_format == "csv":
        with filesystem.open_input_stream(path) as file:
            check_delimiter(file)
    return _dataset_format(file_format).inspect(path, filesystem)


def open_bytes(source: Any, memory_map: Any, format: Any, **selection: Any) -> DatasetSource:
    """Open the bytes of a file, or an open binary file at position 0, as a source.

    `memory_map` has no effect. For the other arguments see `open_files`.
    """
    import pyarrow.dataset as ds

    is_file = isinstance(source, (io.IOBase, pa.NativeFile))
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is a text file: open it in binary mode")
    if is_file and (position := source.tell()) != 0:
        raise ValueError(f"the file is at byte {position:,}, not at its beginning")
    if not is_file:
        source = pa.py_buffer(source)
    name = format
    if name is None:
        head = source.read(8) if is_file else source[:8].to_pybytes()
        if is_file:
            source.seek(0)
        name = format_of("", head)
    # For these formats pyarrow would close the file after reading, so it gets a buffer instead.
    is_read_at_once = name == "arrow-stream" or isinstance(name, ds.CsvFileFormat)
    if is_file and (is_read_at_once or isinstance(name, ds.JsonFileFormat)):
        source = pa.py_buffer(source.read())
    if name == "arrow-stream":
        with pa.ipc.open_stream(source) as reader:
            dataset = ds.dataset(reader.read_all())
    else:
        known = _dataset_format(name)
        fragment = known.make_fragment(source)
        dataset = ds.FileSystemDataset([fragment], fragment.physical_schema, known)
    return DatasetSource(dataset, **selection)


def _dataset_format(name: str | ds.FileFormat) -> ds.FileFormat:
    """Return the pyarrow file format of a named format, or a file format unchanged."""
    import pyarrow.dataset as ds

    if not isinstance(name, str):
        return name
    if name in ("csv", "tsv"):
        return ds.CsvFileFormat(parse_options(name))
    return {"parquet": ds.ParquetFileFormat, "arrow-file": ds.IpcFileFormat}[name]()


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Name the files in errors of pyarrow, which become `ValueError`."""
    try:
        yield
    except pa.ArrowTypeError as error:
        raise ValueError(
            printable(f"{name}: {error}")
            + "; a pyarrow.dataset.Dataset made with a schema can say how they are read"
        ) from error
    except ValueError as error:
        raise ValueError(printable(f"{name}: {error}")) from error


def _arrow_file(fragment: ds.FileFragment, schema: pa.Schema) -> Batches:
    from pyarrow import fs

    file = fragment.filesystem.open_input_file(fragment.path)
    options = pa.ipc.IpcReadOptions()
    if fragment.filesystem != fs.LocalFileSystem(use_mmap=True):
        # With this option, pyarrow copies the data even from mapped files.
        indices = map(pa.ipc.open_file(file).schema.get_field_index, schema.names)
        options.included_fields = [index for index in indices if index >= 0]
    with pa.ipc.open_file(file, options=options) as reader:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def _arrow_stream(fragment: ds.FileFragment, schema: pa.Schema) -> Batches:
    with pa.ipc.open_stream(fragment.filesystem.open_input_file(fragment.path)) as reader:
        yield from reader


def _csv(fragment: ds.FileFragment, schema: pa.Schema) -> Batches:
    from pyarrow import csv

    # The input stream decompresses files with the suffix of a compression format.
    file = fragment.filesystem.open_input_stream(fragment.path)
    # The values of other columns can have any type.
    options = csv.ConvertOptions(
        column_types={field.name: field.type for field in schema},
        include_columns=schema.names,
        include_missing_columns=True,
    )
    parsing = fragment.format.parse_options
    with csv.open_csv(file, parse_options=parsing, convert_options=options) as reader:
        yield from reader


#: For formats that pyarrow's scanner reads ahead without a limit, or does not read.
_READERS: dict[str, ReadFile] = {
    "arrow-file": _arrow_file,
    "arrow-stream": _arrow_stream,
    "csv": _csv,
    "tsv": _csv,
}
