# SPDX-License-Identifier: Apache-2.0
from typing import Final, Literal

BytesLike = bytes | bytearray | memoryview
Codec = Literal["lz4_frame", "zstd"]
Kind = Literal["schema", "dictionary", "batch"]

V4: int
V5: int
CODECS: tuple[Codec, ...]

class Flatbuffer:
    data: Final[bytes]
    def __init__(self, data: BytesLike, subject: str) -> None: ...
    def root(self) -> Table: ...
    def error(self, position: int, found: str, expected: str) -> ValueError: ...

class Table:
    buffer: Final[Flatbuffer]
    position: Final[int]
    def number(self, index: int, size: int) -> int: ...
    def table(self, index: int) -> Table | None: ...
    def vector(self, index: int, item_size: int, alignment: int) -> tuple[int, int]: ...
    def key_values(self, index: int) -> dict[bytes, bytes]: ...
    def dictionary_ids(self, index: int, map_names: list[tuple[str, ...]]) -> tuple[int, ...]: ...

class Header:
    metadata: Final[bytes]
    kind: Final[Kind]
    body_length: Final[int]
    length: Final[int]
    nodes: Final[int]
    num_nodes: Final[int]
    buffers: Final[int]
    num_buffers: Final[int]
    variadic_counts: Final[tuple[int, ...]]
    codec: Final[Codec | None]
    dictionary_id: Final[int]
    is_delta: Final[bool]

def bytes_of(metadata: BytesLike) -> bytes: ...
def schema_table(metadata: bytes) -> Table: ...
def read_header(metadata: BytesLike) -> Header: ...
