# SPDX-License-Identifier: Apache-2.0
"""The objects of cudf-polars. Only this module uses its names, which are not a public API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .._core.export.array_exporter import ExportInput
from .._core.import_.columns import types_of
from .._core.protocols import ColumnMetadata
from .._core.schema import SchemaSpec, cache_spec, cached_spec
from ..arrow.metadata import from_field
from ..arrow.schemas import fields_of
from ..arrow.sources import is_instance
from ..cuda.ordering import order
from ..cuda.streams import resolve_stream

if TYPE_CHECKING:
    import polars as pl
    import pylibcudf as plc

    from .._core.protocols import Stream

#: The releases of cudf-polars whose names this module uses.
RELEASES = ("26.8", "26.10")


def is_container(obj: Any) -> bool:
    """Return whether this is a frame or column of cudf-polars, without importing cudf-polars."""
    return is_instance(obj, "cudf_polars.containers", "DataFrame", "Column")


def is_result(obj: Any) -> bool:
    """Return whether this is the result of ``engine.execute()``, without importing cudf-polars."""
    return is_instance(obj, "cudf_polars.engine.persisted_result", "PersistedQueryResult")


@cache
def check_release() -> None:
    """Raise ImportError if the release of cudf-polars is unknown."""
    from cudf_polars import __version__ as version

    release = ".".join(str(int(part)) for part in version.split(".")[:2])
    if release not in RELEASES:
        raise ImportError(
            f"expected cudf-polars {' or '.join(RELEASES)}, got {version}: its frames and engines "
            "have no stable interface. Install a supported release, or use pl.LazyFrame.collect()."
        )


def input_of_container(obj: Any, stream: Stream) -> ExportInput:
    """Return the columns of a frame or column, with the schema of its polars types.

    `stream` waits for the stream of a frame, which waits for `stream` before it frees the columns.
    """
    check_release()
    is_column = not hasattr(obj, "column_map")
    columns = [obj] if is_column else obj.columns
    made_on = None if is_column else resolve_stream(obj.stream)
    if made_on is not None:
        order(stream.handle, made_on.handle)
    of_libcudf = [column.obj for column in columns]
    fields = [(column.name or "", column.dtype.polars_type) for column in columns]
    key = "polars", types_of(of_libcudf), fields
    spec = cached_spec(key)
    if spec is None:
        import polars

        schema = polars.DataFrame(schema=fields).to_arrow().schema
        spec = SchemaSpec(list(map(_metadata_of, schema)), {})
        cache_spec(key, spec, None)
    return ExportInput(
        "column" if is_column else "table",
        of_libcudf,
        obj.size if is_column else obj.num_rows,
        spec,
        freed_on=made_on,
    )


def _metadata_of(field: pa.Field) -> ColumnMetadata:
    """Return the metadata of a column with the Arrow type of its polars type."""
    found = from_field(field)
    if pa.types.is_fixed_size_list(field.type):
        return found  # The lists of libcudf become lists of a fixed size again.
    # Other types have several forms in Arrow, and the export chooses one.
    children = tuple(map(_metadata_of, fields_of(field.type)))
    return replace(found, children=children, imported_schema=None)


def take_partitions(result: Any) -> Iterator[Any]:
    """Take the partitions of a result out of the store of this process, one frame each.

    Raises
    ------
    ValueError
        If the result is released, or its partitions are in other processes.
    RuntimeError
        The error of cudf-polars for a partition that was taken before.
    """
    from cudf_polars.engine.persisted_result import PersistedHandle, _PersistedLoader

    check_release()
    alive = result._finalizer.peek()
    if alive is None:
        raise ValueError("the query result is released")
    backend = type(alive[1].__self__)
    if backend.__module__ != "cudf_polars.engine.spmd":
        raise ValueError(
            f"the partitions of this query result are in the workers of its {backend.__name__}: "
            "collect result.lazy() with the engine, or export in the workers"
        )
    for rank in result._ranks:
        yield _PersistedLoader(PersistedHandle(result._uid, result._query_id, rank), result)()


def evaluate(query: pl.LazyFrame, engine: Any) -> Any:
    """Run a query and return its result, a frame of cudf-polars; see `polars.collect`."""
    from cudf_polars.callback import set_device, set_memory_resource
    from cudf_polars.dsl.ir import IRExecutionContext
    from cudf_polars.dsl.translate import Translator
    from cudf_polars.engine.core import StreamingEngine, raise_for_translation_errors
    from cudf_polars.engine.default_singleton_engine import DefaultSingletonEngine
    from cudf_polars.engine.persisted_result import execute_persisted_query
    from cudf_polars.engine.spmd import SpmdPersistedBackend
    from cudf_polars.streaming.io import _clear_source_info_cache

    check_release()
    # As in LazyFrame.collect: a Parquet file may have been replaced since its footer was read.
    _clear_source_info_cache()
    if isinstance(engine, StreamingEngine):
        (frame,) = take_partitions(engine.execute(query))
        return frame
    translator = Translator(query._ldf.visit(), engine)
    plan = translator.translate_ir()
    raise_for_translation_errors(translator)
    options = translator.config_options
    with (
        set_device(options.device),
        set_memory_resource(
            engine.memory_resource, options.memory_resource_config, options.executor
        ),
    ):
        if options.executor.name == "in-memory":
            return plan.evaluate(cache={}, timer=None, context=IRExecutionContext())
        # collect(engine="gpu") uses this engine too.
        running = DefaultSingletonEngine.get_or_create()
        uid = running._store_uid
        backend = SpmdPersistedBackend(uid, running.context, running.comm, running.py_executor)
        (frame,) = take_partitions(execute_persisted_query(engine, query, backend, uid))
        return frame


#: Makes the pylibcudf table of a batch with types of cudf-polars, on a CUDA stream.
MakeTable = Callable[[list[Any], Any], "plc.Table"]


@cache
def lazy_frame_class() -> Any:
    """Return a class of frames for both engines of polars.

    The GPU engine uses it as a frame of cudf-polars, whose columns are created at the first use.
    The CPU engine reads ``_df``, as of a ``polars.DataFrame``, and no columns are created.
    """
    from cudf_polars.containers import Column, DataFrame, DataType
    from rmm.pylibrmm.stream import DEFAULT_STREAM

    check_release()

    class LazyFrame(DataFrame):  # type: ignore[misc]
        _made_of: tuple[pl.Schema, MakeTable, Callable[[], pl.DataFrame]]

        @classmethod
        def of(
            cls, schema: pl.Schema, make_table: MakeTable, to_polars: Callable[[], pl.DataFrame]
        ) -> LazyFrame:
            self = cls.__new__(cls)
            self._made_of = schema, make_table, to_polars
            return self

        def __getattr__(self, name: str) -> Any:
            if "_made_of" not in self.__dict__:
                raise AttributeError(name)
            schema, make_table, _ = self._made_of
            types = [DataType(dtype) for dtype in schema.values()]
            table = make_table(types, DEFAULT_STREAM)
            columns = [
                Column(column, dtype, name=name)
                for column, dtype, name in zip(table.columns(), types, schema, strict=True)
            ]
            DataFrame.__init__(self, columns, DEFAULT_STREAM, table.num_rows())
            # Not before, so that the next use tries again after an error.
            self.__dict__.pop("_made_of", None)
            return getattr(self, name)

        @property
        def _df(self) -> Any:
            return self._made_of[2]()._df

    return LazyFrame
