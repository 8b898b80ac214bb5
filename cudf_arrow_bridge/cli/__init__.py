# SPDX-License-Identifier: Apache-2.0
"""The command line: ``roundtrip``, ``inspect`` and ``doctor``.

Nothing here imports rich or cuDF until a command needs it, so ``--help`` stays quick.
"""
