# SPDX-License-Identifier: Apache-2.0
"""Change the C++ core in one place at a time, and find a test that fails.

    python dev/mutants.py build/mutants [--gpu-only] [--sample N] [--seed S] [-D...]

Run it with the Python of the environment that dev/test.sh creates. It copies the clone to the
folder and builds the C++ tests with AddressSanitizer. One build has all mutants that compile; an
environment variable selects one. `--gpu-only` builds only the tests on the simulated CUDA runtime,
and selects calls that order streams, wait for events or release memory: a GPU seldom shows that one
is missing. The folder keeps the results, so that an interrupted run continues; the next run repeats
the mutants that no test detected. The script prints these survivors, and then exits with 1.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "csrc/src"
SIMULATED, UNIT = "cudf_arrow_bridge_sim_tests", "cudf_arrow_bridge_tests"
REJECTED = "does not compile"
OPTIONS = f"""-GNinja -DPython_EXECUTABLE={sys.executable} -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS=-w -DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON
  -DCUDF_ARROW_BRIDGE_SANITIZE=address,undefined""".split()
HEADER = """#ifndef IS_MUTANT
#define IS_MUTANT
#include <cstdlib>
#include <cstring>
#include <type_traits>
inline bool is_selected(char const* name)
{
  static char const* const selected = std::getenv("MUTANT");
  return selected != nullptr && std::strcmp(name, selected) == 0;
}
constexpr bool is_mutant(char const* name)
{ return !std::is_constant_evaluated() && is_selected(name); }
#endif
#line 1
"""
ORDERING = (
    r"(?:\w+(?:\.|->))*\b(?!is_)\w*(?:cuda[A-Z]|wait|order|resolve|record|synchronize|query"
    r"|release|drain|free|deallocate|give_back|set_stream|capture)\w*\("
)
STATEMENT = (
    r"(?:^ *|\{ )(?!static_assert|.*(?: noexcept|= default|= delete);)"
    r"()(?=(?:\(void\)|\+\+|--|delete )?[\w:]+(?:\.|->|\(|\[| [-+|&]?= |\+\+|--|;))"
)
CALL = rf"(?:(?<!TRY)\(|[=:?] |\breturn )({ORDERING})"
INVERTED = "is_mutant({}) != static_cast<bool>("
#: The kinds of mutants: where the changed text begins, the characters that end it outside of
#: brackets, of which only the first is accepted, and the code before and after the text.
KINDS = {
    "statement": (STATEMENT, ";", "if (!is_mutant({})) {{ ", " }"),
    "condition": (r"\b(?:if|while) \((?:auto [^;]*; )?(?!auto )()", ");", INVERTED, ")"),
    "choice": (r"(?:\breturn | = )()(?=.* \? )", "?;,", INVERTED, ")"),
    "call": (CALL, ")", "(is_mutant({}) ? cudaSuccess : ", ")"),
    "bound": (r" (?:<|>=) ()", "", "is_mutant({}) + ", ""),
    "one": (r" [-+] (1\b(?![.']))", "", "(is_mutant({}) ? 0 : ", ")"),
}


class Mutant(NamedTuple):
    """A change of the text from `begin` to `end` in a line of a file of csrc/src."""

    file: str
    line: int
    kind: str
    begin: int
    end: int
    code: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.begin + 1}: {self.kind}"

    def __str__(self) -> str:
        return f"{self.name}: {self.code.strip()}"


def end_of(code: str, begin: int, stops: str) -> int:
    """Return where the text ends that begins at `begin`; -1 if it does not end on the line."""
    depth = 0
    for index in range(begin, len(code)):
        if depth == 0 and code[index] in stops:
            return index if code[index] == stops[0] else -1
        depth += (code[index] in "([{") - (code[index] in ")]}")
    return -1 if stops else begin


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Find the mutants of a file. There are none in files that need a GPU."""
    is_after_statement = False
    lines = path.read_text().splitlines() if path.parent.name != "device" else []
    for number, line in enumerate(lines, 1):
        code = line.partition("//")[0].rstrip()
        if not code or re.match(r"#| *(?:/\*\*|\* |\*/)", code):
            continue
        for kind, (pattern, stops, *_) in KINDS.items():
            for found in re.finditer(pattern, code):
                begin, end = found.start(1), end_of(code, found.end(1), stops)
                end += end >= 0 and kind in ("statement", "call")
                is_whole = is_after_statement or code[:begin].strip()
                if kind == "statement" and not (is_whole and code[end:].strip() in ("", "}")):
                    continue
                if end >= begin:
                    file = path.relative_to(SOURCES).as_posix()
                    yield Mutant(file, number, kind, begin, end, code)
        is_after_statement = code.endswith((";", "{", "}", ":"))


def with_mutants(text: str, mutants: list[Mutant]) -> str:
    """Return the text of a file with all its mutants, of which some contain others."""
    lines, inserted = text.splitlines(), []
    for mutant in mutants:
        _, _, before, after = KINDS[mutant.kind]
        length = mutant.end - mutant.begin
        inserted.append((mutant.line, mutant.begin, 1, -length, before.format(f'"{mutant.name}"')))
        inserted.append((mutant.line, mutant.end, 0, length, after))
    for number, place, *_, code in sorted(inserted, reverse=True):
        line = lines[number - 1]
        lines[number - 1] = line[:place] + code + line[place:]
    return HEADER + "\n".join([*lines, ""])


def store(folder: Path, results: dict[str, str]) -> None:
    (folder / "results.json").write_text(json.dumps(results, indent=1))


def build(
    folder: Path, programs: list[str], results: dict[str, str], options: list[str]
) -> list[Mutant]:
    """Build the programs with all mutants that compile. Return these, and store the others."""

    def copy(source: str, target: str) -> None:
        """Copy a file unless the copy is equal, so that only changed files are compiled again."""
        content, path = Path(source).read_bytes(), Path(target)
        name = source.removeprefix(f"{SOURCES}/")
        if own := [mutant for mutant in mutants if mutant.file == name]:
            content = with_mutants(content.decode(), own).encode()
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)

    sources, tree = folder / "sources", folder / "build"
    command = ["cmake", "--build", tree, "-j2", "--target", *programs, "--", "-k0"]
    ignored = shutil.ignore_patterns(".*", "build", "*.so")
    while True:
        mutants = [m for path in sorted(SOURCES.rglob("*.[ch]pp")) for m in mutants_of(path)]
        mutants = [mutant for mutant in mutants if results.get(str(mutant)) != REJECTED]
        shutil.copytree(ROOT, sources, ignore=ignored, copy_function=copy, dirs_exist_ok=True)
        subprocess.run(["cmake", "-S", sources, "-B", tree, *OPTIONS, *options], check=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return mutants
        places = re.findall(r"sources/csrc/src/(\S+?):(\d+):\d+: (?:fatal )?error", done.stdout)
        wrong = [mutant for mutant in mutants if (mutant.file, str(mutant.line)) in places]
        if not wrong:
            raise SystemExit(done.stdout)
        # Most errors are replaced calls that do not return a status.
        calls = {(mutant.file, mutant.line) for mutant in wrong if mutant.kind == "call"}
        for mutant in wrong:
            if mutant.kind == "call" or (mutant.file, mutant.line) not in calls:
                results[str(mutant)] = REJECTED
        store(folder, results)


def likely_suites(component: str, program: str) -> str:
    """Return a filter for the tests in the folder of the component."""
    folder = ROOT / "csrc/tests" / ("sim/tests" if program == SIMULATED else "") / component
    texts = [path.read_text() for path in folder.rglob("*_test.cpp")]
    names = {name for text in texts for name in re.findall(r"^TEST\w*\((\w+),", text, re.M)}
    return ":".join(f"{name}.*:*/{name}.*" for name in sorted(names))


def first_failure(binaries: dict[str, Path], mutant: Mutant | None) -> str:
    """Run the tests with a mutant, likely ones first. Return the test that failed, or nothing."""
    runs = [(SIMULATED, "-*Schedules.*"), (UNIT, "*"), (SIMULATED, "*Schedules.*")]
    if mutant is not None:
        component = mutant.file.partition("/")[0]
        runs = [(program, likely_suites(component, program)) for program in binaries] + runs
    for program, suites in runs:
        if program in binaries and suites:
            # A run that takes ten minutes hangs.
            command = ["timeout", "600", binaries[program], "--gtest_fail_fast"]
            command += [f"--gtest_filter={suites}"]
            environment = os.environ | {"MUTANT": mutant.name if mutant else ""}
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            if done.returncode != 0:
                output = done.stdout.decode(errors="replace")
                failed = re.findall(r"\[  FAILED  \] (\S+) \(", output)
                started = [program, *re.findall(r"\[ RUN      \] (\S+)", output)]
                return failed[0] if failed else f"{started[-1]} (crash, hang or leak)"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu-only", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments, options = parser.parse_known_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    programs = [SIMULATED] if arguments.gpu_only else [SIMULATED, UNIT]
    mutants = build(folder, programs, results, options)
    binaries = {name: next((folder / "build").rglob(name)) for name in programs}
    if failed := first_failure(binaries, None):
        raise SystemExit(f"a test fails without a mutant: {failed}")
    if arguments.gpu_only:
        mutants = [m for m in mutants if re.search(ORDERING, m.code[m.begin : m.end])]
    if arguments.sample is not None:
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    for mutant in mutants:
        results[str(mutant)] = results.get(str(mutant)) or first_failure(binaries, mutant)
        store(folder, results)
        print(f"{mutant}\n    {results[str(mutant)] or 'SURVIVED'}", flush=True)
    survivors = [str(mutant) for mutant in mutants if not results[str(mutant)]]
    print(f"{len(mutants)} mutants, {len(survivors)} survived", *survivors, sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
