# SPDX-License-Identifier: Apache-2.0
"""With cudf.pandas active, which a whole process has it or not: they are started here."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import proxies

ACTIVE = "import cudf.pandas; cudf.pandas.install()"
#: When all of this package that imports pandas is loaded, to the activation.
ORDERS = {
    "before": f"import cudf_arrow_bridge.export.pandas_objects; {ACTIVE}",
    "after": ACTIVE,
}
ROOT = Path(__file__).parents[1]


@cache
def run(*lines):
    """Run Python code in a new process, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(lines)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("check", proxies.CHECKS)
def test_proxies(check, order):
    outcomes = run(ORDERS[order], "from testing import proxies", "proxies.run_checks()")
    failure = json.loads(outcomes)[check]
    assert failure is None, failure


@pytest.mark.parametrize("order", ORDERS)
def test_labels_and_dtypes_are_what_they_are_without_it(order):
    describe = ("from testing import proxies", "proxies.describe()")
    assert run(ORDERS[order], *describe) == run(*describe)


def test_the_command_line():
    data = ROOT / "examples" / "data" / "nyc_flights.parquet"
    main = "from cudf_arrow_bridge.__main__ import main"
    printed = run(ACTIVE, main, f"assert main(['roundtrip', {str(data)!r}]) == 0")
    assert "17 of 17 columns crossed and matched" in printed


def test_nothing_of_it_is_imported_for_others():
    printed = run(
        "import sys",
        "import pyarrow as pa",
        "import cudf_arrow_bridge as cab, cudf_arrow_bridge.export.pandas_objects",
        "frame = cab.from_arrow_device(pa.table({'a': pa.array([1], pa.timestamp('s', 'UTC'))}))",
        "assert pa.record_batch(frame.arrow_device).num_rows == 1",
        "assert pa.table(cab.to_arrow_device_stream([frame])).num_rows == 1",
        "print([name for name in sys.modules if name.startswith('cudf.pandas')])",
    )
    assert printed == "[]\n"


@pytest.mark.parametrize(
    "function", [cab.from_arrow_device, cab.from_arrow_device_stream, cab.from_dlpack]
)
def test_proxies_cannot_be_asked_for_where_there_are_none(function):
    source = pa.array([1, 2])
    with pytest.raises(ValueError, match=re.escape("cudf.pandas.install()")):
        function(source, to="cudf.pandas")


def test_proxies_cannot_be_asked_for_before_it_is_active():
    printed = run(
        "import cudf.pandas, pyarrow as pa, cudf_arrow_bridge as cab",
        "try: cab.from_arrow_device(pa.array([1]), to='cudf.pandas')",
        "except ValueError as error: print(error)",
    )
    assert "while cudf.pandas is not active" in printed
