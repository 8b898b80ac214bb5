# SPDX-License-Identifier: Apache-2.0
"""The implementation of dev/test-gpu.sh: installation, tests and benchmarks on a GPU host.

Only `smoke.py` and `recorded_pytest.py` run in the environment under test. The other modules need
no packages.
"""
