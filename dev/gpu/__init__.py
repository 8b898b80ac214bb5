# SPDX-License-Identifier: Apache-2.0
"""What dev/test-gpu.sh runs: parts that install, test and measure on a GPU host, and record it.

Only `smoke.py` and `recorded_pytest.py` are run by the interpreter of the environment under test;
all else runs on a Python without any package.
"""
