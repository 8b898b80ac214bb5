# SPDX-License-Identifier: Apache-2.0
"""Queries whose result stays on the GPU: `collect`."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..arrow.device_array import DeviceArray
from ..export.cudf_polars_private import evaluate
from ..to_arrow import to_arrow_device


def collect(
    query: pl.LazyFrame, *, engine: str | pl.GPUEngine = "gpu", **options: Any
) -> DeviceArray:
    """Run a query with the GPU engine and export the result, which stays on the GPU.

    ``query.collect(engine="gpu")`` copies the result to the host.

    Parameters
    ----------
    query : polars.LazyFrame
        The query.
    engine : "gpu" or polars.GPUEngine
        The engine, as for ``polars.LazyFrame.collect``. A streaming engine must have its ranks in
        this process, such as ``SPMDEngine``; the result is the partition of its rank.
    **options
        The keywords of `to_arrow_device`.

    Returns
    -------
    DeviceArray
        The result. It shares the memory of the engine's frame, which it keeps alive.

    Raises
    ------
    NotImplementedError
        If cudf-polars cannot run the query on a GPU. The message names the unsupported operations.
        ``polars.LazyFrame.collect`` would run the query on the CPU.
    ImportError
        If cudf-polars is missing or of an unsupported release.
    TypeError
        If `query` is not a lazy frame, or `engine` is not a GPU engine.
    ValueError
        If the partitions of the result are in other processes.
    polars.exceptions.PolarsError
        The errors of the query.

    Examples
    --------
    >>> import polars as pl
    >>> query = pl.scan_parquet("flights.parquet").group_by("carrier").len()  # doctest: +SKIP
    >>> frame = cab.from_arrow_device(cab.polars.collect(query))  # doctest: +SKIP
    """
    if not isinstance(query, pl.LazyFrame):
        raise TypeError(f"query: expected a polars.LazyFrame, got {type(query).__name__}")
    if engine == "gpu":
        engine = pl.GPUEngine()
    if not isinstance(engine, pl.GPUEngine):
        raise TypeError(f"engine: expected 'gpu' or a polars.GPUEngine, got {engine!r}")
    return to_arrow_device(evaluate(query, engine), **options)
