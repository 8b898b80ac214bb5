# SPDX-License-Identifier: Apache-2.0
"""What crossing costs: ours and pyarrow's, side by side in one process.

``python -m benchmarks`` measures and prints; see ``--help``.
"""
