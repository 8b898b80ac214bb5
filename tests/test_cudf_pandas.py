# SPDX-License-Identifier: Apache-2.0
"""Test with cudf.pandas, which is active in a whole process; the tests start new processes."""

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
#: Import of the modules that use pandas before or after the activation of cudf.pandas.
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
def test_proxy_checks_pass_in_both_import_orders(check, order):
    outcomes = run(ORDERS[order], "from testing import proxies", "proxies.run_checks()")
    failure = json.loads(outcomes)[check]
    assert failure is None, failure


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", ORDERS)
def test_labels_and_dtypes_are_the_same_as_without_cudf_pandas(order):
    describe = ("from testing import proxies", "proxies.describe()")
    assert run(ORDERS[order], *describe) == run(*describe)


def test_roundtrip_command_matches_with_cudf_pandas():
    data = ROOT / "examples" / "data" / "nyc_flights.parquet"
    main = "from cudf_arrow_bridge.__main__ import main"
    printed = run(ACTIVE, main, f"assert main(['roundtrip', {str(data)!r}]) == 0")
    assert "17 of 17 columns matched after the round trip" in printed


def test_cudf_pandas_is_not_imported_unless_used():
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
def test_import_to_cudf_pandas_is_rejected_without_its_import(function):
    source = pa.array([1, 2])
    with pytest.raises(ValueError, match=re.escape("cudf.pandas.install()")):
        function(source, to="cudf.pandas")


def test_import_to_cudf_pandas_is_rejected_before_its_activation():
    printed = run(
        "import cudf.pandas, pyarrow as pa, cudf_arrow_bridge as cab",
        "try: cab.from_arrow_device(pa.array([1]), to='cudf.pandas')",
        "except ValueError as error: print(error)",
    )
    assert "expected cudf.pandas to be active" in printed
