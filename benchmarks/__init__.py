# SPDX-License-Identifier: Apache-2.0
"""What crossing costs: ours and pyarrow's, side by side in one process; the C++ core and its floor.

``python -m benchmarks`` measures and prints; see ``--help``.

The data is never touched, so all that crossing costs is bookkeeping. Its floor is `native/floor.cpp`:
loops that write the structs which a flat table of int64 columns needs, check nothing and own nothing
(an import's also makes libcudf's columns). `native` is a program of its own, built against the
installed package, that lets the same table cross both ways, ours and the floor's in turns. It counts
nanoseconds and allocations; valgrind counts instructions, where it is there, which hardly depend on
the machine. `tests/test_bookkeeping.py` holds the counts, not the times.
"""
