# SPDX-License-Identifier: Apache-2.0
"""Fences in the work of streams: `cudf_arrow_bridge::fence_set` for Python."""

from cuda.bindings.cyruntime cimport cudaEvent_t
from libc.stdint cimport uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.optional cimport optional
from libcpp.utility cimport move
from libcpp.vector cimport vector
from rmm.librmm.cuda_stream_ref cimport stream_ref

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport device_array_from_capsule
from cudf_arrow_bridge._core.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.libcudf_arrow_bridge cimport fence_id, fence_set, fence_state
from cudf_arrow_bridge._core.ordering cimport stream_of

REACHED = <int>fence_state.reached
CANCELLED = <int>fence_state.cancelled
FAILED = <int>fence_state.failed


cdef class FenceSet:
    """A set of fences, which tells through a file descriptor when they end."""

    def __cinit__(self):
        self.fences = fence_set.make()

    def fileno(self) -> int:
        """Return the descriptor, which is readable while `poll` has something to return."""
        return self.fences.fileno()

    def add(self) -> int:
        """Add a fence that `complete` ends."""
        return self.fences.add()

    def add_stream(self, stream) -> int:
        """Add a fence behind the work enqueued so far on a `Stream`."""
        cdef stream_ref c_stream = stream_of(stream)
        cdef fence_id fence
        with nogil:
            fence = self.fences.add(c_stream)
        return fence

    def add_array(self, ExportedArray array not None) -> int:
        """Add a fence that is reached when the data of an array is there."""
        cdef core.device_array handle = array.array
        cdef fence_id fence
        with nogil:
            fence = handle.add_fence(self.fences)
            handle.reset()
        return fence

    def add_capsule(self, capsule, uint64_t lane):
        """Add a fence that is reached when the data of an array in a capsule is there.

        Parameters
        ----------
        capsule
            An ``arrow_device_array`` PyCapsule, which is not consumed, and kept.
        lane
            A number for the producer: its fences are reached in the order in which they were added.

        Returns
        -------
        int
            The fence; 0 if the data is there already.
        """
        cdef core.ArrowDeviceArray* array = device_array_from_capsule(capsule)
        cdef shared_ptr[const void] keeper
        cdef cudaEvent_t event
        cdef fence_id fence
        if array.sync_event == NULL:
            return 0
        event = (<cudaEvent_t*>array.sync_event)[0]
        keeper = share_object(capsule)
        with nogil:
            fence = self.fences.add(event, <int>array.device_id, lane, move(keeper))
        return fence

    def complete(self, fence_id fence) -> None:
        """End a fence of `add` as reached; nothing if it has ended."""
        self.fences.complete(fence)

    def cancel(self, fence_id fence) -> bool:
        """End a fence as cancelled; return whether it had not ended."""
        return self.fences.cancel(fence)

    def __len__(self) -> int:
        return self.fences.num_pending()

    def poll(self) -> list:
        """List the number, the state and the error's text of all fences that have ended."""
        cdef optional[core.nanoseconds] at_once = core.nanoseconds(0)
        cdef vector[core.fence_result] ended = self.fences.poll(at_once)
        return [
            (
                result.fence,
                <int>result.state,
                core.error_text(result.error).decode()
                if result.state == fence_state.failed
                else "",
            )
            for result in ended
        ]

    def wake(self) -> None:
        """Make the descriptor readable until the next `poll`."""
        self.fences.wake()
