# SPDX-License-Identifier: Apache-2.0
"""A query of polars over a cuDF frame: `python examples/polars_query.py`.

With a GPU, cudf-polars runs the query, and the result becomes a cuDF frame without a copy to the
host. Without one, polars runs the query on the CPU.
"""

from pathlib import Path

import polars as pl

import cudf_arrow_bridge as cab

FLIGHTS = Path(__file__).parent / "data/nyc_flights.parquet"


def main() -> None:
    """Print the carriers with the most flights."""
    frame = cab.from_arrow_device(FLIGHTS)  # a cuDF frame
    query = (
        cab.polars.scan(frame)
        .group_by("carrier")
        .agg(pl.len().alias("flights"), pl.col("distance").max())
        .sort("flights", "carrier", descending=[True, False])
        .head(3)
    )
    result = cab.polars.collect(query) if cab.has_gpu() else query.collect()
    print(cab.from_arrow_device(result))  # a cuDF frame


if __name__ == "__main__":
    main()
