# SPDX-License-Identifier: Apache-2.0
"""Tensors of any library as cuDF data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pylibcudf as plc

from .arrow.options import TensorImportOptions
from .cuda.ordering import ImportStreams
from .import_.tensors import assemble, import_cuda_array, import_tensor

if TYPE_CHECKING:
    import cudf

__all__ = ["from_cuda_array_interface", "from_dlpack"]


def from_dlpack(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    copy: bool | None = None,
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Import a tensor as cuDF data, without copying it where its columns are contiguous.

    One dimension becomes a column, two a table: zero-copy in Fortran order, gathered into columns
    otherwise. The memory stays the producer's: its deleter is called once, after the last column
    over it has gone and the work that may still read it is done.

    Parameters
    ----------
    obj : Any
        Anything with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule. With a capsule,
        the caller orders `stream` behind the producer's work.
    stream : optional
        The CUDA stream that will use the data, named as in `to_arrow_device`; the producer makes it
        wait.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource of copies; None for rmm's current one.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        What to make: a frame or series, their proxy, or a pylibcudf table or column; see
        `from_arrow_device`.
    copy : bool, optional
        None: copy what cannot be shared; True: always; False: never, which is an error where the
        columns are not contiguous or the memory is the host's and there is a GPU.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By the number of dimensions and `to`. A frame's columns are numbered.

    Raises
    ------
    TypeError
        If `obj` speaks no DLPack, or cuDF has no such type.
    ValueError
        If the tensor contradicts itself, has neither one nor two dimensions, lives on another
        device than the current one (unless copied), or would have to be copied with ``copy=False``.
    OverflowError
        If it has more rows than a cuDF column can have.

    Examples
    --------
    >>> import numpy as np
    >>> cab.from_dlpack(np.arange(3))
    0    0
    1    1
    2    2
    dtype: int64
    """
    streams = ImportStreams.of(stream, to)
    options = TensorImportOptions(streams.importing, streams.reader, mr, copy)
    return assemble(import_tensor(obj, options), streams, to)


def from_cuda_array_interface(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    copy: bool | None = None,
) -> cudf.DataFrame | cudf.Series | plc.Table | plc.Column:
    """Import an object with the CUDA array interface as cuDF data, without copying if possible.

    One dimension becomes a column, two a table: zero-copy in Fortran order, gathered into columns
    otherwise. The object is released after the last column over its memory, and after the work that
    may still read it.

    Parameters
    ----------
    obj : Any
        Anything with ``__cuda_array_interface__``.
    stream : optional
        The CUDA stream that will use the data, named as in `to_arrow_device`. It waits for the
        stream that the interface names.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource of copies; None for rmm's current one.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        What to make: a frame or series, their proxy, or a pylibcudf table or column; see
        `from_arrow_device`.
    copy : bool, optional
        None: copy what cannot be shared; True: always; False: never, which is an error where the
        columns are not contiguous or the memory is the host's and there is a GPU.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        By the number of dimensions and `to`. A frame's columns are numbered.

    Raises
    ------
    TypeError
        If `obj` has no such interface, a mask, or a type that cuDF lacks.
    ValueError
        If the interface contradicts itself, has neither one nor two dimensions, lives on another
        device than the current one (unless copied), or would have to be copied with ``copy=False``.
    OverflowError
        If it has more rows than a cuDF column can have.

    Examples
    --------
    >>> import cupy  # doctest: +SKIP
    >>> series = cab.from_cuda_array_interface(cupy.arange(3))  # doctest: +SKIP
    """
    streams = ImportStreams.of(stream, to)
    options = TensorImportOptions(streams.importing, streams.reader, mr, copy)
    return assemble(import_cuda_array(obj, options), streams, to)
