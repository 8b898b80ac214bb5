# SPDX-License-Identifier: Apache-2.0
"""Queries of polars whose data stays on the GPU, with the GPU engine of cudf-polars."""

from .results import collect
from .sources import scan

__all__ = ["collect", "scan"]


def __dir__() -> list[str]:
    return sorted(__all__)
