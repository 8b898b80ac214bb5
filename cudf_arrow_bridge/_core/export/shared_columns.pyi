# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from typing import Any

import pylibcudf as plc

from ..import_.columns import Span

class SharedSpan(Span):
    owner: object

class BufferSharer:
    def __init__(
        self,
        buffer: type,
        owner: type,
        spillable_owner: type,
        spill_lock: type,
        attributes: tuple[str, ...],
        always_shared: object,
        attachment: str,
        is_schema_only: bool,
    ) -> None: ...
    def __call__(self, buffer: Any) -> Any: ...

def share_columns(
    columns: Iterable[Any], sharer: BufferSharer
) -> tuple[list[plc.Column], list[Any], bytes, dict[int, Any]]: ...
