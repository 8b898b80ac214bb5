# SPDX-License-Identifier: Apache-2.0
"""``python -m cudf_arrow_bridge`` and the ``cudf-arrow-bridge`` script."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from textwrap import fill

from cudf_arrow_bridge import __version__
from cudf_arrow_bridge.arrow.types import MEANING
from cudf_arrow_bridge.cli import exits


def positive(text: str) -> int:
    """Read a whole number above zero."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parser() -> argparse.ArgumentParser:
    """Build the argument parser."""
    top = argparse.ArgumentParser(
        prog="cudf-arrow-bridge",
        description="Hand cuDF frames to anything that speaks Arrow, and take them back.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    trip = commands.add_parser(
        "roundtrip",
        help="send a file's columns across the bridge and back, and compare",
        description="Read each file into a cuDF frame, export it, let another Arrow library import"
        " it, import it back, and compare every column with the file.",
        epilog=f"{fill(MEANING)}\n\n{exits.MEANING}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trip.add_argument("files", nargs="+", metavar="FILE", help="Parquet, Arrow IPC or CSV")
    trip.add_argument("--rows", type=positive, metavar="N", help="take only the first N rows")
    trip.add_argument(
        "--max-rows",
        type=positive,
        metavar="N",
        help="cross in batches of at most N rows, through the stream interfaces",
    )

    look = commands.add_parser(
        "inspect",
        help="show how a file's columns would cross, without reading its data",
        description="Read only the schema and show what each column becomes in cuDF.",
        epilog=MEANING,
    )
    look.add_argument("file", metavar="FILE", help="Parquet, Arrow IPC or CSV")

    health = commands.add_parser(
        "doctor",
        help="show the driver, devices, versions, and what works on this machine",
        description="Probe this machine. Needs no GPU. Exits with 1 if the bridge does not work.",
    )
    for command in (trip, look, health):
        command.add_argument("--json", action="store_true", help="print JSON for programs")
    return top


def run(arguments: argparse.Namespace) -> int:
    """Start the chosen command."""
    if arguments.command == "roundtrip":
        from cudf_arrow_bridge.cli import roundtrip

        return roundtrip.run(
            arguments.files,
            rows=arguments.rows,
            max_rows=arguments.max_rows,
            as_json=arguments.json,
        )
    if arguments.command == "inspect":
        from cudf_arrow_bridge.cli import inspect

        return inspect.run(arguments.file, as_json=arguments.json)
    from cudf_arrow_bridge.cli import doctor

    return doctor.run(as_json=arguments.json)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        The exit code, see ``cudf-arrow-bridge roundtrip --help``.
    """
    arguments = parser().parse_args(argv)
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader (head, say) went away; the flush at exit must not complain about it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
