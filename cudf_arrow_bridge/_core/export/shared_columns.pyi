# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable
from typing import Any

import pylibcudf as plc

from ..import_.columns import Span

class CudfLayout:
    def __init__(
        self,
        *,
        plc_column: str,
        dtype: str,
        buffer: type,
        owner: str,
        offset: str,
        size: str,
        buffer_owner: type,
        ptr: str,
        references: str,
        always_shared: object,
        spillable_owner: type,
        spill_lock: type,
        attachment: str,
        attached_to_column: Callable[[Any], Any],
    ) -> None: ...

class SharedSpan(Span):
    owner: object

class BufferSharer:
    def __init__(self, layout: CudfLayout, is_schema_only: bool = False) -> None: ...
    def __call__(self, buffer: Any) -> Any: ...

def share_columns(
    columns: Iterable[Any], sharer: BufferSharer
) -> tuple[list[plc.Column], list[Any], bytes, dict[int, Any]]: ...
