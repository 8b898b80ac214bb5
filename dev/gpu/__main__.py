# SPDX-License-Identifier: Apache-2.0
"""Run the tests and benchmarks on a GPU host; see docs/gpu.md.

The exit code is 0 if no part failed, 1 if a part failed, and 3 if the time limit was reached. In
that case, the same command continues where this one stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from . import environment, report
from .host import DriverError, Host, look
from .outcome import FAILED, PASSED, SKIPPED, UNFINISHED, Outcome
from .parts import PARTS, Part
from .record import MixedError, Record
from .run import ROOT, Run, last_lines

_FAILED_CODE, _UNFINISHED_CODE = 1, 3
_RESERVED_SECONDS = 20  # for ending a process and writing the results
_LINES_OF_A_FAILURE = 20


def main() -> int:
    options = _options()
    end = None
    if options.minutes is not None:
        end = time.monotonic() + 60 * options.minutes - _RESERVED_SECONDS
    record = Record(options.results)
    if options.again:
        record.forget(options.parts or ["host", "install", *(part.name for part in PARTS)])
    try:
        statuses = _all(options, record, end)
    except (DriverError, MixedError, environment.SourceError) as error:
        print(error, file=sys.stderr)
        return _FAILED_CODE
    print("all results:", report.write(options.results))
    if FAILED in statuses:
        return _FAILED_CODE
    return _UNFINISHED_CODE if UNFINISHED in statuses else 0


def _options() -> argparse.Namespace:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(
        prog="bash dev/test-gpu.sh",
        description=__doc__,
        epilog="\n".join(["parts:", *(f"  {part.name:16}{part.what}" for part in PARTS)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", choices=[*names, []], help="these parts only, below"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--wheels", type=Path, metavar="FOLDER",
        help="install every wheel of this folder, and what the host has; no network is needed",
    )  # fmt: skip
    source.add_argument(
        "--bridge", type=Path, metavar="WHEEL",
        help="install this wheel of the package instead of building it, the rest from the registry",
    )  # fmt: skip
    source.add_argument(
        "--installed", action="store_true", help="install nothing: test what python3 has"
    )
    parser.add_argument(
        "--cuda", type=int, choices=(12, 13),
        help="build and install for this version (default: the newest that the driver supports)",
    )  # fmt: skip
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", default=ROOT / "build/gpu-results",
        help="where results go, and what is done already is seen (default: build/gpu-results)",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=float, help="end by itself before so many, to go on in another call"
    )
    parser.add_argument(
        "--again", action="store_true", help="forget the results of these parts first, or all"
    )
    parser.add_argument(
        "--commit", metavar="TEXT", help="what to call the commit where git does not tell"
    )
    parser.add_argument("--relative-to", type=Path, default=Path(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("wheels", "bridge", "results"):
        if (path := getattr(options, name)) is not None:
            setattr(options, name, (options.relative_to / path).resolve())
    return options


def _all(options: argparse.Namespace, record: Record, end: float | None) -> list[str]:
    """Run the requested parts and return their statuses."""
    source = environment.Source(
        installed=options.installed,
        wheels=options.wheels,
        bridge=options.bridge,
        cuda=options.cuda,
        folder=options.results.parent / "gpu-env",
    )
    host = look(options.commit)
    for key in ("commit", "devices"):
        record.expect("host", key, host.details()[key])
    run = Run(options.results, environment.python(source), bool(host.devices), end)
    first = _do(record, run, "host", "what the host has", lambda: _look_at(host, source))
    if first == FAILED:
        return [first]

    def install() -> Outcome:
        outcome = environment.install(run, source, host)
        if outcome.status == PASSED:
            record.expect("install", "packages", outcome.details["packages"])
        return outcome

    second = _do(record, run, "install", "the environment under test", install)
    if second != PASSED:
        return [second]
    chosen = [part for part in PARTS if part.name in (options.parts or [part.name])]
    run = replace(run, sanitizer=environment.sanitizer(source))
    return [first, *(_part(record, run, part) for part in chosen)]


def _look_at(host: Host, source: environment.Source) -> Outcome:
    free = host.machine["disk_free_gib"]
    needed = environment.gib_to_install(source)
    if free < needed:
        reason = f"{free} GiB of disk are free, {needed} are needed"
        return Outcome(FAILED, reason, host.details())
    if not host.devices:
        wanted = os.environ.get("CUDF_ARROW_BRIDGE_REQUIRE_GPU") == "1"
        return Outcome(FAILED if wanted else SKIPPED, host.why_no_gpu, host.details())
    names = ", ".join(device.name for device in host.devices)
    return Outcome(PASSED, names, host.details())


def _part(record: Record, run: Run, part: Part) -> str:
    """Run a part, unless it is recorded as passed or failed, or there is not enough time."""
    before = record.part(part.name)
    if before is not None and before["status"] in (PASSED, FAILED):
        print(f"=== {part.name}: {before['status']} before: {before['reason']}", flush=True)
        return str(before["status"])
    if run.seconds_left() < part.needs_seconds:
        print(f"=== {part.name}: no time is left for it", flush=True)
        return UNFINISHED

    def do() -> Outcome:
        installed = record.detail("install", "packages", {})
        if part.needs not in installed:
            return Outcome(SKIPPED, f"the package {part.needs} is missing")
        return part.do(run)

    return _do(record, run, part.name, part.what, do)


def _do(record: Record, run: Run, name: str, what: str, do: Callable[[], Outcome]) -> str:
    print(f"=== {name}: {what}", flush=True)
    start = time.monotonic()
    outcome = do()
    seconds = time.monotonic() - start
    record.keep(name, outcome, seconds)
    if outcome.status == FAILED:
        for line in last_lines(run.file(f"{name}.log"), _LINES_OF_A_FAILURE):
            print("   |", line)
    print(f"    {outcome.status} in {seconds:.0f} s. {outcome.reason}", flush=True)
    return outcome.status


if __name__ == "__main__":
    sys.exit(main())
