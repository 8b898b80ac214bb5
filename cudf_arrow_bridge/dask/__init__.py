# SPDX-License-Identifier: Apache-2.0
"""Device arrays on a Dask cluster."""

from .dataframes import to_dataframe
from .futures import to_futures

__all__ = ["to_dataframe", "to_futures"]


def __dir__() -> list[str]:
    return sorted(__all__)
