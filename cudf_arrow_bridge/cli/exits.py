# SPDX-License-Identifier: Apache-2.0
"""Exit codes. Of several for files, the lowest but 0 counts."""

OK = 0
FAILED = 1
UNREADABLE = 2
UNSUPPORTED = 3
UNWRITABLE = 4

MEANING = """exit codes:
  0  every column of every file matched after the round trip
  1  a column did not match or failed
  2  a file could not be read, or the command line was wrong
  3  all supported columns matched, but some columns are not supported
  4  the output could not be written
If several apply, 1 comes before 2, and 2 before 3."""
