# SPDX-License-Identifier: Apache-2.0
"""What crossing costs: ours beside pyarrow's in one process, and the C++ core beside its floor.

``python -m benchmarks`` measures and prints; see ``--help``.

The data is never touched, so all that crossing costs is bookkeeping. Its floor is in
`native/floor.cpp`: loops that write the structs which a flat table of int64 columns needs, check
nothing and own nothing; an import's also makes libcudf's columns. `native` is a program of its own,
built against the installed package, that lets one table cross both ways, in turns with the floor's.
It counts nanoseconds and allocations. Where there is a valgrind, that counts instructions, which
hardly depend on the machine; `tests/test_bookkeeping.py` holds them and the allocations, no times.
"""
