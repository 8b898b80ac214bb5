# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC without copies of bodies: metadata on the host, data on its device."""

from .messages import Message, from_messages, messages
from .read import DeviceArrayFile, open_file, open_stream
from .write import write_file, write_stream

__all__ = [
    "DeviceArrayFile",
    "Message",
    "from_messages",
    "messages",
    "open_file",
    "open_stream",
    "write_file",
    "write_stream",
]


def __dir__() -> list[str]:
    return sorted(__all__)
