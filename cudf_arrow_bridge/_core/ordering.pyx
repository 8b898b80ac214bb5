# SPDX-License-Identifier: Apache-2.0
"""CUDA streams as C++ takes them, and their order."""

from cuda.bindings.cyruntime cimport cudaStream_t
from libc.stdint cimport uintptr_t
from rmm.librmm.cuda_stream_ref cimport stream_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


def order_after(uintptr_t later, uintptr_t earlier) -> None:
    """Make later work on a stream wait for the work enqueued so far on another.

    Both are given by their handles. The host does not wait.
    """
    cdef stream_ref c_later = stream_ref(<cudaStream_t>later)
    cdef stream_ref c_earlier = stream_ref(<cudaStream_t>earlier)
    with nogil:
        core.order_after(c_later, c_earlier)


cdef stream_ref stream_of(object stream) except *:
    """Return the C++ reference to a `Stream` on this thread; None: the default stream."""
    handle = 0 if stream is None else stream.handle
    return stream_ref(<cudaStream_t><uintptr_t>handle)
