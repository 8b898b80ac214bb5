# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of exports and imports against other libraries, and of the C++ core against a minimum.

``python -m benchmarks`` measures and prints; see ``--help``. ``python dev/install.py benchmarks``
installs the requirements. Measure published numbers on an idle machine, and write them to `results`
with ``--json``.

In host memory, the peers are pyarrow and nanoarrow. On a GPU, the peer is pylibcudf's own interop.
For frames, a further peer is cuDF's own conversion to and from pylibcudf tables (`peers.py`). Each
case (`cases.py`, `device.py`) transfers the same data in each way. The ways take turns: one sample
of each in random order, hundreds of times (`measure.py`). Noise then affects all ways equally, and
the ratio of their medians is stable although the times are not. On a GPU, each case also measures a
control, the same export of one column by pylibcudf: compare times of different cases only as
multiples of their control. pytest-benchmark measures one way after the other. Therefore it runs the
same cases (`test_cases.py`), but not for published results.

Each way is measured twice. "Dropped": the result of a call is released before the next call, with
the garbage collector enabled, as in processing of a stream of batches. Reports show these numbers
first, and performance goals refer to them. "Kept": all results of a sample are kept, so that each
call allocates fresh memory. Each case also reports its peak memory (`memory.py`). `startup.py`
measures the import of the package. `speed_page.py` has the tables and plots of docs/speed.md.
`cuda_calls.py` counts CUDA calls on the simulated CUDA runtime of the C++ tests.

The transfers do not read or write the data, so their cost is only bookkeeping. `native/floor.cpp`
implements its minimum, the floor: loops that create the nanoarrow structs or libcudf columns of a
flat table of int64 columns, without checks and ownership. `native` is a separate program, built
against the installed package. It exports and imports one table, in turns with the floor. It runs
each sample in a forked process, since the state of the heap after one job affects the next. It
measures nanoseconds and allocations, and with valgrind it counts instructions, which hardly depend
on the machine. `python_bookkeeping.py` counts allocations, instructions and function calls for
tables and frames in Python, and for pyarrow and cuDF, in separate processes.
`tests/project/test_bookkeeping.py` checks these counts, but no times.
"""
