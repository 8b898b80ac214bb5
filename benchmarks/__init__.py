# SPDX-License-Identifier: Apache-2.0
"""What crossing costs: ours beside others' in one process, and the C++ core beside its floor.

``python -m benchmarks`` measures and prints; see ``--help``. ``pip install '.[benchmarks]'`` brings
what it needs. Numbers to keep are made on an idle machine, with ``--json`` and ``--plot`` into
`results`.

In host memory ours stands beside pyarrow's and nanoarrow's, on a GPU beside pylibcudf's own
interop, and frames beside cuDF's own way to and from pylibcudf's tables (`peers.py`). Each case
(`cases.py`, `device.py`) lets the same data cross by each way, in turns: one sample of each in
random order, hundreds of times (`measure.py`), so that noise meets all of them alike and the ratio
of their medians is steady where the times are not. That is why pytest-benchmark, which measures one
way after the other, runs the same cases (`test_cases.py`) but makes no results.

Each way is measured twice. One at a time, what a call made is released before the next one, with
the garbage collector on, as where batches arrive, are used and go: these are the numbers that are
shown first, and that goals are about. Kept, all results of a sample stay, so that each call pays
for fresh memory. Each case has its peak memory too (`memory.py`), and `startup.py` times the import
of the package. `speed_page.py` is the table of docs/speed.md.

The data is never touched, so all that crossing costs is bookkeeping. Its floor is in
`native/floor.cpp`: loops that make what a flat table of int64 columns needs, nanoarrow's structs
or libcudf's columns, check nothing and own nothing. `native` is a program of its own, built against
the installed package, that lets one table cross both ways, in turns with the floor's, each sample
in a process forked for it, since how the last job left the heap decides what the next one pays. It
counts nanoseconds and allocations. Where there is a valgrind, that counts instructions, which
hardly depend on the machine. `python_bookkeeping.py` counts both for tables and frames in Python,
and the functions that are called, beside pyarrow's and cuDF's own counts, in processes started for
it. `tests/project/test_bookkeeping.py` holds all of these counts, no times.
"""
