# SPDX-License-Identifier: Apache-2.0
"""Loans of exported arrays: `cudf_arrow_bridge::device_loan` for Python."""

from libcpp.memory cimport unique_ptr
from libcpp.utility cimport move
from rmm.librmm.cuda_stream_ref cimport stream_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.fences cimport FenceSet
from cudf_arrow_bridge._core.ordering cimport stream_of


cdef class DeviceLoan:
    """A loan of an array to a `Stream`, until `end`, from the one that the array was made on."""

    cdef unique_ptr[core.device_loan] loan
    #: Dropped behind the loan, which still uses them.
    cdef object streams

    def __cinit__(self, ExportedArray array not None, borrower):
        cdef stream_ref c_owner = stream_of(array.stream)
        cdef stream_ref c_borrower = stream_of(borrower)
        cdef core.device_array handle = array.array
        self.streams = (array.stream, borrower)
        with nogil:
            self.loan.reset(new core.device_loan(handle, c_owner, c_borrower))
            handle.reset()

    def add_fence(self, FenceSet fences not None) -> int:
        """Add a fence behind the work that the borrower has so far; not after `end`."""
        cdef core.fence_id fence
        with nogil:
            fence = self.loan.get().add_fence(fences.fences)
        return fence

    def end(self) -> None:
        """Make the owner's stream wait for the borrower's, and let go of the array."""
        cdef unique_ptr[core.device_loan] loan = move(self.loan)
        with nogil:
            loan.reset()
