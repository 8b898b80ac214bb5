# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m cudf_arrow_bridge`` and the script ``cudf-arrow-bridge``."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from textwrap import fill

from cudf_arrow_bridge._load.build_info import __version__
from cudf_arrow_bridge.cli import exits, report

#: The meaning of "support" in the commands and the documentation.
SUPPORT = (
    "Support: zero-copy if the column of the frame and the exported array share the memory of "
    "the imported array; converted if a buffer is copied or created; depends if the values "
    "determine this; unsupported if cuDF has no such type."
)

#: How shtab completes names of files.
COMPLETE_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def positive(text: str) -> int:
    """Parse a positive integer."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parser() -> argparse.ArgumentParser:
    """Build the argument parser."""
    top = argparse.ArgumentParser(
        prog="cudf-arrow-bridge",
        description="Exchange cuDF frames with other Arrow libraries.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    trip = commands.add_parser(
        "roundtrip",
        help="import a file's columns to cuDF, export them, and compare",
        description="Read each file into a cuDF frame, export it, let another Arrow library import"
        " it, import it back, and compare every column with the file.",
        epilog=f"{fill(SUPPORT)}\n\n{exits.MEANING}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = "a Parquet, Arrow IPC or CSV file, or its URL"
    files = trip.add_argument("files", nargs="+", metavar="FILE", help=kinds)
    trip.add_argument("--rows", type=positive, metavar="N", help="read only the first N rows")
    trip.add_argument(
        "--max-rows",
        type=positive,
        metavar="N",
        help="use batches of at most N rows, through the stream interfaces",
    )

    look = commands.add_parser(
        "inspect",
        help="show the types and the support of a file's columns, without reading its data",
        description="Read only the schema and show the cuDF type of each column.",
        epilog=SUPPORT,
    )
    file = look.add_argument("file", metavar="FILE", help=kinds)
    for argument in (files, file):
        argument.complete = COMPLETE_FILES  # type: ignore[attr-defined]

    health = commands.add_parser(
        "doctor",
        help="show the driver, devices, versions and working functions of this machine",
        description="Probe this machine. Needs no GPU. Exits with 1 if the package does not work.",
    )
    for command in (trip, look, health):
        command.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program name. None: the arguments of the process.

    Returns
    -------
    int
        The exit code, see ``cudf-arrow-bridge roundtrip --help``.
    """
    if sys.stdout is None:
        report.print_error("cannot write to stdout: it is closed")
        return exits.UNWRITABLE
    if isinstance(sys.stdout, io.TextIOWrapper):
        # argparse ignores the errors of its writes, so they must occur in the flush.
        sys.stdout.reconfigure(errors="backslashreplace", write_through=False)
    try:
        try:
            return run(argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except ImportError as error:
        report.print_error(f"{error}; cudf-arrow-bridge doctor examines the installed packages")
        return exits.FAILED
    except OSError as error:
        # The flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # The reader (such as head) has closed the pipe.
            return 128 + signal.SIGPIPE
        report.print_error(f"cannot write to stdout: {error.strerror or error}")
        return exits.UNWRITABLE


def run(argv: Sequence[str] | None) -> int:
    """Run the command of the arguments, whose errors other than those of stdout it reports."""
    options = vars(parser().parse_args(argv))
    try:
        command = import_module(f"cudf_arrow_bridge.cli.{options.pop('command')}")
    except Exception as error:  # Broken libraries raise any exception.
        raise ImportError(report.one_line(error)) from error
    code: int = command.run(**options)
    return code


if __name__ == "__main__":
    sys.exit(main())
