# SPDX-License-Identifier: Apache-2.0
"""Import of tensors as cuDF data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .arrow.options import check_kind
from .import_.importer import Importer
from .import_.tensors import import_cuda_array, import_tensor

if TYPE_CHECKING:
    from .arrow.options import Kind


def from_dlpack(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    copy: bool | None = None,
    kind: Kind | None = None,
) -> Any:
    """Import a tensor as cuDF data, without copying if its columns are contiguous.

    A tensor of one dimension becomes a column. A tensor of two dimensions becomes a table: shared
    in Fortran order, otherwise copied into columns. With ``kind="column"``, a tensor of more
    dimensions becomes a column of lists, one for each row: shared in C order. The producer owns the
    memory. Its deleter is called once, after the last column that uses the memory is deleted and
    the work that may read it has finished.

    Parameters
    ----------
    obj : Any
        An object with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule. For a capsule,
        the caller makes `stream` wait for the producer's work.
    stream : optional
        The CUDA stream that will use the data, as in `to_arrow_device`. The producer makes it wait
        for the data.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource for copies. None: rmm's current resource.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        The library of the result: a frame or series, its cudf.pandas proxy, or a pylibcudf table or
        column; see `from_arrow_device`.
    copy : bool, optional
        None: copy only if the memory cannot be shared. True: always copy. False: never copy; raise
        an error if the columns are not contiguous, or if the tensor is in host memory and there is
        a GPU.
    kind : {"table", "column"}, optional
        The result for two dimensions. None or "table": a table. "column": lists of one length. An
        export gives them the Arrow type fixed_size_list, or fixed_shape_tensor for three dimensions
        and more. The import creates offsets, and copies orders other than C.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        Depends on the number of dimensions, `kind` and `to`. The columns of a frame are numbered.

    Raises
    ------
    TypeError
        If `obj` does not implement DLPack, or cuDF does not have its type.
    ValueError
        If the tensor is inconsistent, does not have one or two dimensions (with
        ``kind="column"``, at least one), is on another device than the current one (unless
        copied), or requires a copy with ``copy=False``.
    OverflowError
        If it has more rows, or elements of lists, than a cuDF column supports.

    Examples
    --------
    >>> import numpy as np
    >>> cab.from_dlpack(np.arange(3))
    0    0
    1    1
    2    2
    dtype: int64
    >>> cab.from_dlpack(np.zeros((2, 3), "float32"), kind="column")
    0    [0.0, 0.0, 0.0]
    1    [0.0, 0.0, 0.0]
    dtype: list
    """
    check_kind(kind)
    importer = Importer.of(stream, mr, to, copy, validate="minimal", sanitize=True)
    return import_tensor(obj, importer, kind)


def from_cuda_array_interface(
    obj: Any,
    *,
    stream: Any = None,
    mr: Any = None,
    to: Literal["cudf", "cudf.pandas", "pylibcudf"] = "cudf",
    copy: bool | None = None,
    kind: Kind | None = None,
) -> Any:
    """Import an object with the CUDA array interface as cuDF data, without copying if possible.

    An array of one dimension becomes a column. An array of two dimensions becomes a table: shared
    in Fortran order, otherwise copied into columns. With ``kind="column"``, an array of more
    dimensions becomes a column of lists, one for each row: shared in C order. The object is
    released after the last column that uses its memory is deleted and the work that may read it has
    finished.

    Parameters
    ----------
    obj : Any
        An object with ``__cuda_array_interface__``.
    stream : optional
        The CUDA stream that will use the data, as in `to_arrow_device`. It waits for the stream in
        the interface.
    mr : rmm.mr.DeviceMemoryResource, optional
        The memory resource for copies. None: rmm's current resource.
    to : {"cudf", "cudf.pandas", "pylibcudf"}
        The library of the result: a frame or series, its cudf.pandas proxy, or a pylibcudf table or
        column; see `from_arrow_device`.
    copy : bool, optional
        None: copy only if the memory cannot be shared. True: always copy. False: never copy; raise
        an error if the columns are not contiguous, or if the array is in host memory and there is a
        GPU.
    kind : {"table", "column"}, optional
        The result for two dimensions. None or "table": a table. "column": lists of one length. An
        export gives them the Arrow type fixed_size_list, or fixed_shape_tensor for three dimensions
        and more. The import creates offsets, and copies orders other than C.

    Returns
    -------
    cudf.DataFrame, cudf.Series, pylibcudf.Table or pylibcudf.Column
        Depends on the number of dimensions, `kind` and `to`. The columns of a frame are numbered.

    Raises
    ------
    TypeError
        If `obj` does not have this interface, has a mask, or has a type that cuDF does not have.
    ValueError
        If the interface is inconsistent, does not have one or two dimensions (with
        ``kind="column"``, at least one), is on another device than the current one (unless
        copied), or requires a copy with ``copy=False``.
    OverflowError
        If it has more rows, or elements of lists, than a cuDF column supports.

    Examples
    --------
    >>> import cupy  # doctest: +SKIP
    >>> series = cab.from_cuda_array_interface(cupy.arange(3))  # doctest: +SKIP
    """
    check_kind(kind)
    importer = Importer.of(stream, mr, to, copy, validate="minimal", sanitize=True)
    return import_cuda_array(obj, importer, kind)
