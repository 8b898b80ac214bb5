# SPDX-License-Identifier: Apache-2.0
"""The command line: ``roundtrip``, ``inspect`` and ``doctor``.

The module of a command is imported when the command runs, so ``--help`` stays quick.
"""
