# SPDX-License-Identifier: Apache-2.0
"""Decoding of IPC message bodies into arrays that share the received buffers."""

from cpython.bytes cimport PyBytes_AsString
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy
from libcpp.memory cimport unique_ptr
from libcpp.optional cimport optional
from libcpp.utility cimport move
from libcpp.vector cimport vector

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.arguments cimport stream_of
from cudf_arrow_bridge._core.capsules cimport schema_from_capsule
from cudf_arrow_bridge._core.export.exported_array cimport ExportedArray
from cudf_arrow_bridge._core.interpreter cimport share_object
from cudf_arrow_bridge._core.ipc.body cimport BodyBuffer
from cudf_arrow_bridge._core.schema cimport Schema

cdef dict CHECKS = {
    "sizes": <int>core.body_checks.sizes,
    "minimal": <int>core.body_checks.ends,
    "full": <int>core.body_checks.all,
}


cdef class BatchParts:
    """The metadata and the received buffers of a record batch or dictionary.

    It references the owners of the buffers.

    Parameters
    ----------
    header
        The metadata of the message.
    buffers
        Objects that `adopt` supports: all buffers, or one with the packed body. An absent buffer is
        None or empty.
    adopt
        A function that returns the address, size and owner of memory, and whether it has the buffer
        protocol.
    on_device
        Whether memory without bytes counts as memory of the current device if all buffers are
        absent.
    frees_on_stream
        Whether the memory is freed in the order of the stream that the batch is decoded on.

    Raises
    ------
    ValueError
        If a buffer is outside the body, smaller than its size in the metadata, or not at a multiple
        of 8 bytes in the body, as the specification requires (Columnar Format, IPC).
    """

    cdef bytes nodes
    cdef vector[core.ipc_buffer] buffers
    cdef vector[int64_t] variadic_counts
    cdef core.ipc_batch batch
    cdef core.ipc_memory memory
    #: Whether there are bytes. Memory without bytes fits any location.
    cdef readonly bint has_bytes
    #: Whether an empty buffer has the location of its sender.
    cdef bint is_guessed

    def __init__(
        self,
        header,
        list buffers not None,
        adopt not None: Callable[[Any], tuple[int, int, Any, bool]],
        bint on_device=False,
        bint frees_on_stream=False,
    ):
        cdef vector[core.ipc_buffer] received
        cdef list owners = []
        self.nodes = header.nodes
        for buffer in buffers:
            received.push_back(self.adopt(buffer, adopt, owners))
        if on_device and not (self.has_bytes or self.is_guessed):
            self.memory.location.device_type = core.ARROW_DEVICE_CUDA
            self.memory.location.device_id = core.get_current_cuda_device().value()
        self.find_buffers(header.buffers, received)
        self.variadic_counts = header.variadic_counts
        self.batch.length = header.length
        # The memory of a bytes object is at a multiple of 8.
        self.batch.nodes = core.node_span(
            <const core.ipc_node*>PyBytes_AsString(self.nodes),
            len(self.nodes) // sizeof(core.ipc_node),
        )
        self.batch.buffers = core.buffer_span(self.buffers.data(), self.buffers.size())
        self.batch.variadic_counts = core.count_span(
            self.variadic_counts.data(), self.variadic_counts.size()
        )
        self.memory.owner = share_object(owners)
        self.memory.owner_frees_on_stream = frees_on_stream

    @property
    def location(self) -> tuple[int, int]:
        """Arrow's device type and the device id of the memory."""
        return self.memory.location.device_type, self.memory.location.device_id

    @property
    def places(self) -> list[tuple[int, int]]:
        """The address and size of each buffer."""
        return [(<uintptr_t>buffer.address, buffer.size) for buffer in self.buffers]

    cdef core.ipc_buffer adopt(self, object obj, object adopt, list owners) except *:
        """Return the memory of an object, and check that it is where the memory before is."""
        cdef core.ipc_buffer buffer
        cdef core.memory_location location
        cdef uintptr_t address
        cdef bint is_known = True
        buffer.address = NULL
        buffer.size = 0
        if obj is None:
            return buffer
        if isinstance(obj, BodyBuffer):
            buffer.address = <const void*>(<BodyBuffer>obj).address
            buffer.size = (<BodyBuffer>obj).size
            location = (<BodyBuffer>obj).location
            owners.append(obj)
        else:
            address, buffer.size, owner, is_known = adopt(obj)
            buffer.address = <const void*>address
            if not is_known:
                location = core.locate(buffer.address)
            owners.append(owner)
        if buffer.size > 0:
            if not self.has_bytes:
                self.memory.location = location
                self.has_bytes = True
            elif not (self.memory.location == location):
                raise ValueError(
                    f"the buffers are in {core.to_string(self.memory.location).decode()} and in "
                    f"{core.to_string(location).decode()}"
                )
        elif not self.has_bytes and is_known:
            self.memory.location = location
            self.is_guessed = True
        return buffer

    cdef int find_buffers(self, bytes pairs, vector[core.ipc_buffer]& received) except -1:
        cdef const char* numbers = PyBytes_AsString(pairs)
        cdef int64_t count = len(pairs) // sizeof(int64_t[2])
        cdef bint is_packed = received.size() == 1
        cdef int64_t[2] pair
        cdef core.ipc_buffer buffer
        cdef core.ipc_buffer found
        cdef int64_t i
        if not is_packed and <int64_t>received.size() != count:
            raise ValueError(
                f"expected {count} buffers by the metadata, got {received.size()}: "
                "give all buffers, or one with the whole body"
            )
        self.buffers.reserve(count)
        for i in range(count):
            memcpy(pair, numbers + i * sizeof(pair), sizeof(pair))
            found = received[0 if is_packed else i]
            if not is_packed:
                pair[0] = 0
            if pair[0] < 0 or pair[1] < 0 or pair[1] > found.size - pair[0]:
                raise ValueError(
                    f"buffer {i}: expected bytes within {found.size:,}, got {pair[0]:,} to "
                    f"{<object>pair[0] + <object>pair[1]:,}"  # the sum may exceed 64 bits
                )
            if pair[1] > 0 and pair[0] % 8:
                raise ValueError(
                    f"buffer {i}: expected an offset that is a multiple of 8, got {pair[0]:,}"
                )
            buffer.size = pair[1]
            buffer.address = NULL
            if pair[1] > 0:
                buffer.address = <const char*>found.address + pair[0]
            self.buffers.push_back(buffer)
        return 0


cdef class BodyDecoder:
    """A decoder of messages into arrays: wraps `cudf_arrow_bridge::body_decoder`.

    The capsule of the schema is not consumed.
    """

    cdef unique_ptr[core.body_decoder] decoder

    def __init__(self, schema):
        self.decoder.reset(new core.body_decoder(schema_from_capsule(schema)[0]))

    @property
    def schema(self) -> Schema:
        """The schema of record batches."""
        return Schema.wrap(self.decoder.get().schema())

    @property
    def num_dictionaries(self) -> int:
        """The number of dictionaries of the schema, including those in values of others."""
        return self.decoder.get().num_dictionaries()

    def dictionary_schema(self, size_t index) -> Schema:
        """Return the field of the values of a dictionary."""
        return Schema.wrap(self.decoder.get().dictionary_schema(index))

    def end_of_dictionary(self, size_t index) -> int:
        """Return the index after the dictionaries in the values of a dictionary."""
        return self.decoder.get().end_of_dictionary(index)

    def decode(
        self,
        BatchParts parts not None,
        list dictionaries not None: list[ExportedArray | None],
        str checks not None,
        stream: Stream,
        tuple location not None: tuple[int, int],
        Py_ssize_t index=-1,
    ) -> ExportedArray:
        """Decode a record batch, or the values of the dictionary with an index.

        `dictionaries` has the `ExportedArray` of each dictionary or None. The checks are
        ``"sizes"``, ``"minimal"`` or ``"full"``. The buffers are ready on `stream`. Memory without
        bytes counts as memory of the `location`, as in `BatchParts.location`.
        """
        cdef vector[core.device_array] values
        cdef core.device_array nothing
        cdef core.device_array array
        cdef core.ipc_batch batch = parts.batch
        cdef core.ipc_memory memory = parts.memory
        cdef core.body_checks c_checks = <core.body_checks><int>CHECKS[checks]
        cdef core.stream_ref c_stream = stream_of(stream)
        for known in dictionaries:
            values.push_back(nothing if known is None else (<ExportedArray?>known).array)
        cdef core.array_span c_values = core.array_span(values.data(), values.size())
        if not parts.has_bytes:
            memory.location.device_type, memory.location.device_id = location
        cdef optional[size_t] dictionary
        if index >= 0:
            dictionary = <size_t>index
        with nogil:
            array = self.decoder.get().decode(
                batch, c_values, memory, c_checks, c_stream, dictionary
            )
        return ExportedArray.wrap(move(array), stream)
