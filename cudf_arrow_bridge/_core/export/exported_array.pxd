# SPDX-License-Identifier: Apache-2.0

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


cdef class ExportedArray:
    cdef core.device_array array
    #: The `Stream` of the export; None for a copy in host memory.
    cdef readonly object stream  # type: Stream | None
    #: The `Tensor` over the array that consumers of DLPack's C interface share.
    cdef object tensor

    @staticmethod
    cdef ExportedArray wrap(core.device_array array, object stream)


cdef class DescribedArray:
    #: Declared first, so that it is dropped before `_array`, whose owner the exit waits for.
    cdef public object _source  # type: Any
    cdef public object _arguments  # type: Any
    cdef public ExportedArray _array
    cdef public object _arrow_schema  # type: Any
    cdef public str _kind  # type: Kind
    cdef public tuple _labels
    cdef public object _first_row  # type: int | None

    cdef tuple capsules(self)
