# SPDX-License-Identifier: Apache-2.0
"""Fences in CUDA streams."""

from cuda.bindings.cyruntime cimport cudaEvent_t
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport stream_of
from cudf_arrow_bridge._core.capsules cimport device_array_from_capsule
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object

REACHED: int = <int>core.fence_state.reached
CANCELLED: int = <int>core.fence_state.cancelled
FAILED: int = <int>core.fence_state.failed


cdef class FenceSet:
    """A set of fences, with a file descriptor that is readable after one of them ends.

    Wraps `cudf_arrow_bridge::fence_set`.
    """

    cdef core.fence_set fences

    def __cinit__(self):
        self.fences = core.fence_set.make()

    def fileno(self) -> int:
        """Return the file descriptor, which is readable while `poll` has results."""
        return self.fences.fileno()

    def add(self) -> int:
        """Add a fence that ends when `complete` is called."""
        return self.fences.add()

    def add_stream(self, stream: Stream, int device=-1) -> int:
        """Add a fence after the work that is enqueued on a `Stream` now.

        `device` is the device of the stream; -1 is the current device.
        """
        cdef core.stream_ref c_stream = stream_of(stream)
        cdef core.fence_id fence
        with nogil:
            fence = self.fences.add(c_stream, core.cuda_device_id(device))
        return fence

    def add_array(self, ExportedArray array not None) -> int:
        """Add a fence that is reached when the data of an array is ready."""
        cdef core.device_array handle = array.array
        cdef core.fence_id fence
        with nogil:
            fence = handle.add_fence(self.fences)
            handle.reset()
        return fence

    def add_capsule(self, capsule) -> int:
        """Add a fence that is reached when the data of an array is ready; return 0 if it is now.

        The fence references the capsule of the array, which is not consumed.
        """
        cdef core.ArrowDeviceArray* array = device_array_from_capsule(capsule)
        cdef shared_ptr[const void] keeper
        cdef cudaEvent_t event
        cdef core.fence_id fence
        if array.sync_event == NULL:
            return 0
        event = (<cudaEvent_t*>array.sync_event)[0]
        keeper = share_object(capsule)
        with nogil:
            fence = self.fences.add(event, <int>array.device_id, move(keeper))
        return fence

    def complete(self, core.fence_id fence) -> None:
        """End a fence of `add` as reached. No effect if it has ended."""
        self.fences.complete(fence)

    def cancel(self, core.fence_id fence) -> bool:
        """End a fence as cancelled. Return False if it had already ended."""
        return self.fences.cancel(fence)

    def __len__(self) -> int:
        return self.fences.num_pending()

    def poll(self) -> list[tuple[int, int, str]]:
        """List the number, state and error message of each fence that has ended."""
        cdef vector[core.fence_result] ended = self.fences.poll()
        return [
            (
                result.fence,
                <int>result.state,
                core.error_text(result.error).decode()
                if result.state == core.fence_state.failed
                else "",
            )
            for result in ended
        ]

    def wake(self) -> None:
        """Make the descriptor readable until the next `poll`."""
        self.fences.wake()
