# SPDX-License-Identifier: Apache-2.0
"""Remove each line of the core that orders or releases memory, and find a test that fails.

Run it from a clone:

    python dev/remove_lines.py build/removals -DPython_EXECUTABLE=... [--only drain] [--fresh]
    python dev/remove_lines.py --check

dev/removals.toml lists the lines. The script copies the sources to the given folder and builds the
tests on the simulated CUDA runtime with AddressSanitizer. In the copy, an environment variable
selects the removed line, so that one build is sufficient. The folder stores the results, so that an
interrupted run continues. The next run repeats the lines whose removal no test detected. If tests
detect all removals, the script writes the table of csrc/tests/sim/REMOVALS.md; otherwise it exits
with 1. `--check` only checks that each line occurs once in the sources, and that the table has the
same lines as dev/removals.toml.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "dev/removals.toml"
TABLE = ROOT / "csrc/tests/sim/REMOVALS.md"
TARGET = "cudf_arrow_bridge_sim_tests"
# The time limits in seconds for one test and for all tests. A test that hangs has failed. The
# simulation aborts most hanging tests, because it detects that no work can run.
LIMIT_OF_ONE, LIMIT = 30, 600
HEADING = "| file | purpose of the line | test that fails without it |\n| --- | --- | --- |\n"
HEADER = "line_is_removed.hpp"
CONDITION = """#pragma once
#include <cstdlib>
#include <string_view>
inline bool line_is_removed(std::string_view line)
{
  static char const* const removed = std::getenv("REMOVED_LINE");
  return removed != nullptr && line == removed;
}
"""


@dataclass(frozen=True)
class Removal:
    """A statement that is omitted, or an expression that is replaced by another one."""

    file: str
    role: str
    text: str
    instead: str = ""  # the other expression; empty: `text` is a statement
    within: str = ""  # the context of `text`, if `text` is not unique

    def make_removable(self, source: str) -> str:
        """Return the source with a condition that skips this line if it is the removed one."""
        place = self.within or self.text
        found = re.findall(pattern(place), source)
        if len(found) != 1:
            raise SystemExit(f"{self.file}: expected one occurrence, got {len(found)}, of: {place}")
        is_removed = f'line_is_removed("{self.row}")'
        if self.instead:
            new = f"({is_removed} ? ({self.instead}) : ({self.text}))"
        else:
            new = f"if (!{is_removed}) {{ {self.text} }}"
        return source.replace(found[0], re.sub(pattern(self.text), lambda _: new, found[0]))

    @property
    def row(self) -> str:
        return f"| {self.file} | {self.role} |"


def pattern(text: str) -> str:
    """Return a pattern that matches `text` with any whitespace."""
    return r"\s+".join(re.escape(word) for word in text.split())


def read_lines() -> list[Removal]:
    """Return the lines to remove, in the order of the file."""
    return [
        Removal(file, role, **(line if isinstance(line, dict) else {"text": line}))
        for file, lines in tomllib.loads(LINES.read_text()).items()
        for role, line in lines.items()
    ]


def make_all_removable(folder: Path, removals: list[Removal]) -> dict[Path, str]:
    """Return the modified sources. Replace longer texts first, because they can contain others."""
    sources: dict[Path, str] = {}
    for removal in sorted(removals, key=lambda r: -len(r.within or r.text)):
        path = folder / "csrc/src" / removal.file
        sources[path] = removal.make_removable(sources.get(path) or path.read_text())
    return {path: f'#include "{HEADER}"\n{text}' for path, text in sources.items()}


def build_once(folder: Path, removals: list[Removal], options: list[str]) -> Path:
    """Build the tests from a copy of the sources and return the program."""
    work, build = folder / "sources", folder / "build"
    fresh = folder / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "*.so")
    shutil.copytree(ROOT, fresh, ignore=ignored)
    for path, text in make_all_removable(fresh, removals).items():
        path.write_text(text)
    (fresh / "csrc/src" / HEADER).write_text(CONDITION)
    take_changes(fresh, work)
    configure: list[str | Path] = ["cmake", "-S", work, "-B", build, "-G", "Ninja"]
    configure += ["-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    configure += ["-DCUDF_ARROW_BRIDGE_SANITIZE=address,undefined", *options]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "-j2", "--target", TARGET], check=True)
    return build / "csrc/tests/sim" / TARGET


def take_changes(fresh: Path, work: Path) -> None:
    """Move `fresh` to `work`. Keep unchanged files, so that only changed files are compiled."""
    for old in [path for path in work.rglob("*") if path.is_file()]:
        if not (fresh / old.relative_to(work)).exists():
            old.unlink()
    for new in [path for path in fresh.rglob("*") if path.is_file()]:
        old = work / new.relative_to(fresh)
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)
    shutil.rmtree(fresh)


def first_failure(tests: Path, line: str, likely: str) -> str:
    """Run the tests without a line. Return the test that failed, or an empty string."""
    for suites in filter(None, (likely, "-schedules.*", "schedules.*")):
        process = subprocess.Popen(
            [tests, "--gtest_fail_fast", f"--gtest_filter={suites}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=os.environ | {"REMOVED_LINE": line},
        )
        try:
            output, _ = process.communicate(timeout=LIMIT_OF_ONE if suites == likely else LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        if process.returncode != 0:
            started = re.findall(r"\[ RUN      \] (\S+)", output)
            failed = re.findall(r"\[  FAILED  \] (\S+) \(", output)
            ended = "leaks" if "[  PASSED  ]" in output else f"{started[-1]} (crashed or hung)"
            return failed[0] if failed else ended
    return ""


def read_table() -> dict[str, str]:
    """Return the test of each row of the table."""
    table = TABLE.read_text().split(HEADING)[1]
    return dict(re.findall(r"^(\|[^|]+\|[^|]+\|) ([^|]+) \|$", table, re.M))


def write_table(removals: list[Removal], results: dict[str, str]) -> None:
    head = TABLE.read_text().split(HEADING)[0]
    rows = [f"{removal.row} {results[removal.row]} |\n" for removal in removals]
    TABLE.write_text(head + HEADING + "".join(rows))


def main(*arguments: str) -> int:
    """Remove each line once and write the table."""
    removals = read_lines()
    if arguments == ("--check",):
        make_all_removable(ROOT, removals)
        if list(read_table()) != [removal.row for removal in removals]:
            raise SystemExit(f"{TABLE.name} lists other lines than {LINES.name}: run this script")
        return 0
    folder, *options = arguments
    only = options[options.index("--only") + 1] if "--only" in options else ""
    defines = [option for option in options if option.startswith("-D")]
    tests = build_once(Path(folder), removals, defines)
    kept = Path(folder) / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() and "--fresh" not in options else {}
    if failed := first_failure(tests, "none", ""):
        raise SystemExit(f"a test fails although no line is removed: {failed}")
    known = read_table()
    for row in [removal.row for removal in removals]:
        if only not in row or results.get(row):
            continue
        likely = known.get(row, "").partition(" ")[0]
        results[row] = first_failure(tests, row, likely if "." in likely else "")
        print(f"{row} {results[row] or 'NONE: SURVIVED'} |", flush=True)
        kept.write_text(json.dumps(results, indent=1))
    survivors = [removal.row for removal in removals if not results.get(removal.row)]
    if not survivors:
        write_table(removals, results)
    print(f"{len(removals)} lines, {len(survivors)} undetected or untried", *survivors, sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
