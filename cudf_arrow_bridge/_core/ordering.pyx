# SPDX-License-Identifier: Apache-2.0
"""CUDA streams, as C++ takes them, behind one another."""

from cuda.bindings.cyruntime cimport cudaStream_t
from libc.stdint cimport uintptr_t
from rmm.librmm.cuda_stream_ref cimport stream_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core


def order_after(uintptr_t later, uintptr_t earlier) -> None:
    """Make what is enqueued on a stream from now on wait for the work another one has so far.

    The host doesn't wait. Both are handles.
    """
    cdef stream_ref c_later = stream_ref(<cudaStream_t>later)
    cdef stream_ref c_earlier = stream_ref(<cudaStream_t>earlier)
    with nogil:
        core.order_after(c_later, c_earlier)


cdef stream_ref stream_of(object stream) except *:
    """Return what C++ takes for a `Stream`, named on this thread; None: the default one."""
    handle = 0 if stream is None else stream.handle
    return stream_ref(<cudaStream_t><uintptr_t>handle)
