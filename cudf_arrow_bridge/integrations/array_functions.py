# SPDX-License-Identifier: Apache-2.0
"""The functions of higher layers that arrays call.

The modules of `arrow/` cannot import them, because a lower layer does not import higher ones. They
call `arrow.higher_layers.functions`, which `registration.py` sets; the call imports this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..export.inputs import export_again as export_again
from ..ipc.pickling import reduce as reduce
from ..tensors import from_dlpack
from ..to_arrow import to_arrow_device as to_arrow_device

if TYPE_CHECKING:
    from ..arrow.device_array import DeviceArray
    from ..arrow.options import Kind


def from_tensor(capsule: object, stream: Any, kind: Kind, schema: Any) -> DeviceArray:
    """Export the tensor in a DLPack capsule as a table or column, with a schema."""
    columns = from_dlpack(capsule, stream=stream, to="pylibcudf", kind=kind)
    return to_arrow_device(columns, stream=stream, requested_schema=schema)
