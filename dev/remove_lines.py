# SPDX-License-Identifier: Apache-2.0
"""Take each line out of the core that orders or frees, and see which test on the simulation fails.

Run it from a clone:

    python dev/remove_lines.py build/removals -DPython_EXECUTABLE=... [--only drain] [--fresh]
    python dev/remove_lines.py --check

The lines are in dev/removals.toml. Works on a copy of the sources in the folder given, under
AddressSanitizer; the clone is left alone. In the copy each line stands behind a question to the
environment, so that one build serves for all. Results are kept in the folder: a run that was cut
short goes on, and what survived is tried again. At the end the table of csrc/tests/sim/REMOVALS.md
is written anew; exits with 1 if any line is not missed. `--check` only looks whether each line is
still there, once, and in the table.
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
# Seconds for a test, and for all of them: one that hangs has failed. Most that do are aborted by
# the simulation, which knows that nothing can run any more.
LIMIT_OF_ONE, LIMIT = 30, 600
HEADING = "| file | what the line does | the test that fails without it |\n| --- | --- | --- |\n"
HEADER = "line_is_removed.hpp"
QUESTION = """#pragma once
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
    """A statement that is left out, or an expression that gives way to another one."""

    file: str
    role: str
    text: str
    instead: str = ""  # an expression; none: `text` is a statement
    within: str = ""  # what `text` stands in, if there are others like it

    def put_aside(self, source: str) -> str:
        """Put the line behind a question, which is whether it is the one that is removed."""
        place = self.within or self.text
        found = re.findall(pattern(place), source)
        if len(found) != 1:
            raise SystemExit(f"{self.file} has {len(found)} times: {place}")
        question = f'line_is_removed("{self.row}")'
        if self.instead:
            new = f"({question} ? ({self.instead}) : ({self.text}))"
        else:
            new = f"if (!{question}) {{ {self.text} }}"
        return source.replace(found[0], re.sub(pattern(self.text), lambda _: new, found[0]))

    @property
    def row(self) -> str:
        return f"| {self.file} | {self.role} |"


def pattern(text: str) -> str:
    """Let any white space stand where `text` has some."""
    return r"\s+".join(re.escape(word) for word in text.split())


def read_lines() -> list[Removal]:
    """Return the lines to remove, in their order."""
    return [
        Removal(file, role, **(line if isinstance(line, dict) else {"text": line}))
        for file, lines in tomllib.loads(LINES.read_text()).items()
        for role, line in lines.items()
    ]


def put_all_aside(folder: Path, removals: list[Removal]) -> dict[Path, str]:
    """Return the core's sources as they are to be, longer pieces first as they may hold others."""
    sources: dict[Path, str] = {}
    for removal in sorted(removals, key=lambda r: -len(r.within or r.text)):
        path = folder / "csrc/src" / removal.file
        sources[path] = removal.put_aside(sources.get(path) or path.read_text())
    return {path: f'#include "{HEADER}"\n{text}' for path, text in sources.items()}


def build_once(folder: Path, removals: list[Removal], options: list[str]) -> Path:
    """Build the tests from a copy of the sources. Returns the program."""
    work, build = folder / "sources", folder / "build"
    fresh = folder / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "*.so")
    shutil.copytree(ROOT, fresh, ignore=ignored)
    for path, text in put_all_aside(fresh, removals).items():
        path.write_text(text)
    (fresh / "csrc/src" / HEADER).write_text(QUESTION)
    take_changes(fresh, work)
    configure: list[str | Path] = ["cmake", "-S", work, "-B", build, "-G", "Ninja"]
    configure += ["-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    configure += ["-DCUDF_ARROW_BRIDGE_SANITIZE=address,undefined", *options]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "-j2", "--target", TARGET], check=True)
    return build / "csrc/tests/sim" / TARGET


def take_changes(fresh: Path, work: Path) -> None:
    """Make `work` like `fresh`, leaving alone what is the same, so that little is compiled."""
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
    """Run the tests without a line. Returns the one that failed, or an empty string."""
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
    """Return what the table says of each row."""
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
        put_all_aside(ROOT, removals)
        if list(read_table()) != [removal.row for removal in removals]:
            raise SystemExit(f"{TABLE.name} is of other lines than {LINES.name}: run me for it")
        return 0
    folder, *options = arguments
    only = options[options.index("--only") + 1] if "--only" in options else ""
    defines = [option for option in options if option.startswith("-D")]
    tests = build_once(Path(folder), removals, defines)
    kept = Path(folder) / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() and "--fresh" not in options else {}
    if failed := first_failure(tests, "none", ""):
        raise SystemExit(f"fails as it is: {failed}")
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
    print(f"{len(removals)} lines, {len(survivors)} not missed or not tried", *survivors, sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
