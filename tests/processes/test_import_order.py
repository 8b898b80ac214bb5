# SPDX-License-Identifier: Apache-2.0
"""Processes import the bridge before or after the packages that carry arrays."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.processes import PYTHONPATH

protocol = pytest.importorskip("distributed.protocol", reason="the extra dask is not installed")
pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def test_arrays_are_registered_and_deserialized_in_every_order_of_imports():
    array = cab.to_arrow_device(pa.table({"a": range(1500), "s": ["größer", None, ""] * 500}))
    header, frames = protocol.serialize(array, on_error="raise")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testing.exchange.import_order"],
        input=pickle.dumps((header, list(map(bytes, frames)))),
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    outcomes = json.loads(done.stdout)
    assert outcomes.pop("dask_cuda_first") in ("passed", "no dask_cuda")
    assert outcomes == dict.fromkeys(
        ["exchange_without_pickles", "distributed_first", "only_distributed"], "passed"
    )
