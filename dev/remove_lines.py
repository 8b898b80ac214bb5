# SPDX-License-Identifier: Apache-2.0
"""Take each line out of the core that orders or frees, and see which test on the simulation fails.

Run it from a clone:

    python dev/remove_lines.py build/removals -DPython_EXECUTABLE=... [--only drain] [--fresh]
    python dev/remove_lines.py --check

Works on a copy of the sources in the folder given, under AddressSanitizer; the clone is left alone.
In the copy each line stands behind a question to the environment, so that one build serves for all.
Results are kept in the folder: a run that was cut short goes on, and what survived is tried again.
At the end the table of csrc/tests/sim/REMOVALS.md is written anew; exits with 1 if any line is not
missed. `--check` only looks whether each line is still there, once.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "csrc/tests/sim/REMOVALS.md"
TARGET = "cudf_arrow_bridge_sim_tests"
LIMIT = 90  # seconds: a test that hangs has failed; most that hang are aborted after 60
HEADING = "| file | what the line does | the test that fails without it |\n| --- | --- | --- |\n"
QUESTION = """#pragma once
#include <cstdlib>
inline bool line_is_removed(int line)
{
  static int const removed = [] {
    auto const* text = std::getenv("REMOVED_LINE");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return line == removed;
}
"""


@dataclass(frozen=True)
class Removal:
    """A statement that is left out, or an expression that gives way to another one."""

    file: str
    text: str  # spaces stand for any white space
    role: str
    instead: str = ""  # an expression; none: `text` is a statement
    within: str = ""  # what `text` stands in, if there are others like it

    def put_aside(self, source: str, line: int) -> str:
        """Put the line behind a question, which is whether it is the one that is removed."""
        place = self.within or self.text
        found = re.findall(pattern(place), source)
        if len(found) != 1:
            raise SystemExit(f"{self.file} has {len(found)} times: {place}")
        if self.instead:
            new = f"(line_is_removed({line}) ? ({self.instead}) : ({self.text}))"
        else:
            new = f"if (!line_is_removed({line})) {{ {self.text} }}"
        return source.replace(found[0], re.sub(pattern(self.text), lambda _: new, found[0]))

    @property
    def row(self) -> str:
        return f"| {self.file} | {self.role} |"


def pattern(text: str) -> str:
    """Let any white space stand where `text` has some."""
    return r"\s+".join(re.escape(word) for word in text.split())


REMOVALS = [
    Removal("events.cpp", "cudaEventDisableTiming", "events without timing", "0"),
    Removal("events.cpp", "idle.pop_back();", "an event is lent to one at a time"),
    Removal(
        "events.cpp",
        "idle_[static_cast<std::size_t>(device)].push_back(event);",
        "events go back to the pool",
    ),
    Removal("events.cpp", "--on_loan_;", "events given back are counted"),
    Removal("events.cpp", "!in_forked_child()", "forked children give no event back", "true"),
    Removal("export.cpp", "RMM_CUDA_TRY(tree->ready.record(stream));", "record on export"),
    Removal(
        "export.cpp",
        "on_device(tree->location)",
        "export on the memory's device",
        "on_device(memory_location{})",
    ),
    Removal("export.cpp", "tree->owner = std::move(owner);", "exports keep their source"),
    Removal("stream_export.cpp", "batch.array.wait();", "streams of host arrays wait"),
    Removal(
        "array_tree.cpp",
        "static_cast<void*>(const_cast<cudaEvent_t*>(tree->ready.handle()))",
        "consumers are told the event",
        "nullptr",
    ),
    Removal(
        "source_array.cpp",
        "wait_for_producer(*array, stream);",
        "wait on import",
    ),
    Removal("source_array.cpp", "status != cudaSuccess", "refused events are told", "false"),
    Removal("source_array.cpp", "(void)cudaGetLastError();", "errors told are not left behind"),
    Removal("source_array.cpp", "is_far && !options.copy", "other devices take a copy", "false"),
    Removal(
        "device_array.cpp",
        "RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *tree_->ready.handle()));",
        "wait before to_host",
    ),
    Removal(
        "device_array.cpp",
        "if (tree_->ready) { RMM_CUDA_TRY(tree_->ready.wait()); }",
        "wait for readers without events",
    ),
    Removal(
        "tree_copy.cpp",
        "if (!from_host_ && to_host_) { "
        "RMM_CUDA_TRY(cudaStreamSynchronize(where_.stream.get())); }",
        "wait at the end of to_host",
    ),
    Removal(
        "tree_copy.cpp",
        "if (!from_host_ && !sized_.empty()) { RMM_CUDA_TRY("
        "cudaStreamSynchronize(where_.stream.get())); }",
        "wait for the sizes of strings",
    ),
    Removal(
        "tree_copy.cpp",
        "(void)cudaStreamSynchronize(stream.get());",
        "wait after a copy that failed",
    ),
    Removal(
        "read_back.cpp",
        "cudaStreamSynchronize(stream.get())",
        "wait for an integer that is read",
        "cudaSuccess",
    ),
    Removal(
        "read_back.cpp",
        "if (status != cudaSuccess) { place->give_up(stream); }",
        "its place outlives a failed wait",
    ),
    Removal("read_back.cpp", "place->leave();", "its place is freed"),
    Removal(
        "tensor_export.cpp",
        "RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *event_of(array)));",
        "consumers of tensors wait",
    ),
    Removal(
        "tensor_export.cpp",
        "on_device(view_.location)",
        "on the memory's device",
        "on_device(memory_location{})",
    ),
    Removal(
        "tensor_export.cpp",
        "RMM_CUDA_TRY(cudaEventSynchronize(*event_of(*memory_->get())));",
        "hosts wait for tensors",
    ),
    Removal("tensor_export.cpp", "wait_on(stream, source);", "copies of tensors wait"),
    Removal(
        "tensor_export.cpp",
        "RMM_CUDA_TRY(tree->ready.record(stream));",
        "copies of tensors are recorded",
    ),
    Removal(
        "tensor_export.cpp",
        "if (!where_.host) { wait_on(where_.stream, array_); }",
        "counts of nulls wait",
    ),
    Removal(
        "tensor_export.cpp",
        "on_device(location)",
        "tensors are copied on their device",
        "on_device(memory_location{})",
    ),
    Removal(
        "tensor_import.cpp",
        "tree_->ready.record(producer)",
        "imports of tensors wait",
        "cudaSuccess",
    ),
    Removal(
        "tensor_import.cpp",
        "(void)cudaGetLastError();",
        "a refused producer leaves no error behind",
    ),
    Removal(
        "tensor_import.cpp",
        "guard.emplace(rmm::cuda_device_id{static_cast<int>(tree_->location.device_id)});",
        "producers are recorded on their device",
    ),
    Removal("staging.cpp", "pass(stream);", "pinned memory waits for its copies"),
    Removal("staging.cpp", "finish();", "pinned memory goes back"),
    Removal(
        "staging.cpp",
        "if (reads_source_) { (void)cudaStreamSynchronize(stream_.get()); }",
        "uploads that read the source late are waited for",
    ),
    Removal("staging.cpp", "idle_.erase(found);", "pinned memory is lent to one at a time"),
    Removal(
        "foreign_array.cpp",
        "if (in_forked_child()) { return; }",
        "forked children release no device memory",
    ),
    Removal("foreign_array.cpp", "pass(stream);", "a share is dropped in stream order"),
    Removal("foreign_array.cpp", "!host_", "host memory is released at once", "true"),
    Removal("foreign_array.cpp", "finish();", "the last share releases"),
    Removal("foreign_array.hpp", "array_->add_share();", "each buffer has a share"),
    Removal("foreign_array.hpp", "drop(stream_);", "the import's own share is dropped"),
    Removal(
        "adopt.cpp",
        "state_->share.drop(stream);",
        "buffers drop their share on the stream they are freed on",
    ),
    Removal("adopt.cpp", "state_->memory = nullptr;", "foreign memory is freed once"),
    Removal("adopt.cpp", "std::exchange(state_->handed_out, true)", "and lent once", "false"),
    Removal("deferred.cpp", "release_queue::instance().start();", "the queue's thread"),
    Removal("deferred.cpp", "spare_ = pooled_event::acquire();", "events are had before freeing"),
    Removal(
        "deferred.cpp",
        "(void)cudaStreamSynchronize(stream.get());",
        "without an event the free waits",
    ),
    Removal("deferred.cpp", "(void)cudaGetLastError();", "and leaves no error behind"),
    Removal(
        "deferred.cpp",
        "if (known != passages_.end()) { return known->event.record(stream); }",
        "one event per stream",
    ),
    Removal(
        "deferred.cpp",
        "known->event.record(stream)",
        "the newest point of a stream counts",
        "cudaSuccess",
    ),
    Removal(
        "deferred.cpp",
        "event.record(stream)",
        "record when a buffer is freed",
        "cudaSuccess",
        within="status = event.record(stream)",
    ),
    Removal("deferred.cpp", "passages_.push_back({id, std::move(event)});", "points are noted"),
    Removal("deferred.cpp", "delete this;", "what waits for nothing is released"),
    Removal("release_lanes.cpp", "(*lane)->last_->next_ = work;", "a lane has all its objects"),
    Removal("release_lanes.cpp", "(*lane)->last_ = work;", "a lane's end moves on"),
    Removal("release_lanes.cpp", "*lane = rest;", "what is left of a lane stays"),
    Removal(
        "release_lanes.cpp",
        "while (*lane != nullptr) { lane = &(*lane)->next_lane_; }",
        "and the lanes behind it",
    ),
    Removal(
        "release_lanes.cpp",
        "in_hand(stream_of(**lane))",
        "one thread per stream at a time",
        "false",
        within="in_hand(stream_of(**lane))) { lane",
    ),
    Removal(
        "release_queue.cpp",
        "std::atexit([] { instance().drain(); });",
        "exit waits for releases",
    ),
    Removal(
        "release_queue.cpp", "if (num_threads_ > 0) { return; }", "one start, however many imports"
    ),
    Removal(
        "release_queue.cpp",
        "lanes_.num_waiting() > num_idle_",
        "late streams hold up no other",
        "false",
    ),
    Removal(
        "release_queue.cpp",
        "num_threads_ < release_lanes::max_workers",
        "threads are few",
        "true",
    ),
    Removal("release_queue.cpp", "pushed_.notify_one();", "the threads wake"),
    Removal(
        "release_queue.cpp",
        "if (in_forked_child()) { return; }",
        "forked children drain nothing",
    ),
    Removal("release_queue.cpp", "if (on_thread_of_queue) { return; }", "a release may drain"),
    Removal(
        "release_queue.cpp",
        "released_.wait_for(lock, patience, [&] { return me.left == 0; });",
        "drain waits",
    ),
    Removal("release_queue.cpp", "*link = me.next;", "who has drained is forgotten"),
    Removal("release_queue.cpp", "--num_idle_;", "busy threads are known"),
    Removal(
        "release_queue.cpp",
        "++num_idle_;",
        "and idle ones",
        within="++num_idle_; lanes_.put_down",
    ),
    Removal("release_queue.cpp", "lanes_.put_down(worker);", "streams have their next turn"),
    Removal(
        "release_queue.cpp",
        "enqueue(work);",
        "releases wait for every stream",
        within="else { enqueue(work); }",
    ),
    Removal("release_queue.cpp", "(void)cudaSetDevice(event.device());", "device of a release"),
    Removal("release_queue.cpp", "(void)event.wait();", "releases wait for their event"),
    Removal(
        "release_queue.cpp",
        "if (++work->num_passed_ < work->passages_.size()) { return false; }",
        "and for the others",
    ),
    Removal("release_queue.cpp", "delete work;", "the threads release"),
    Removal("release_queue.cpp", "++num_released_;", "releases are counted"),
    Removal(
        "release_queue.cpp",
        "number < other->before",
        "drain waits for what came before it",
        "true",
    ),
    Removal("release_queue.cpp", "--other->left == 0", "who drains wakes", "false"),
]


def put_all_aside(folder: Path) -> dict[Path, str]:
    """Return the core's sources as they are to be, longer pieces first as they may hold others."""
    sources: dict[Path, str] = {}
    for line, removal in sorted(
        enumerate(REMOVALS), key=lambda item: -len(item[1].within or item[1].text)
    ):
        path = folder / "csrc/src" / removal.file
        sources[path] = removal.put_aside(sources.get(path) or path.read_text(), line)
    return sources


def build_once(folder: Path, options: list[str]) -> Path:
    """Build the tests from a copy of the sources. Returns the program."""
    work, build = folder / "sources", folder / "build"
    fresh = folder / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "*.so")
    shutil.copytree(ROOT, fresh, ignore=ignored)
    for path, text in put_all_aside(fresh).items():
        path.write_text(text)
    (fresh / "line_is_removed.hpp").write_text(QUESTION)
    take_changes(fresh, work)
    question = f"-include {work.resolve() / 'line_is_removed.hpp'}"
    configure: list[str | Path] = ["cmake", "-S", work, "-B", build, "-G", "Ninja"]
    configure += ["-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON", f"-DCMAKE_CXX_FLAGS={question}"]
    configure += ["-DCMAKE_BUILD_TYPE=Debug", "-DCUDF_ARROW_BRIDGE_SANITIZE=address,undefined"]
    configure += options
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


def first_failure(tests: Path, line: int, likely: str) -> str:
    """Run the tests without a line. Returns the one that failed, or an empty string."""
    for suites in filter(None, (likely, "-schedules.*", "schedules.*")):
        process = subprocess.Popen(
            [tests, "--gtest_fail_fast", f"--gtest_filter={suites}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=os.environ | {"REMOVED_LINE": str(line)},
        )
        try:
            output, _ = process.communicate(timeout=LIMIT)
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
    rows = re.findall(r"^(\|[^|]+\|[^|]+\|) ([^|]+) \|$", TABLE.read_text(), re.M)
    return dict(rows)


def write_table(results: dict[str, str]) -> None:
    head = TABLE.read_text().split(HEADING)[0]
    rows = [f"{removal.row} {results[removal.row]} |\n" for removal in REMOVALS]
    TABLE.write_text(head + HEADING + "".join(rows))


def main(*arguments: str) -> int:
    """Remove each line once and write the table."""
    if arguments == ("--check",):
        put_all_aside(ROOT)
        return 0
    folder, *options = arguments
    only = options[options.index("--only") + 1] if "--only" in options else ""
    tests = build_once(Path(folder), [option for option in options if option.startswith("-D")])
    kept = Path(folder) / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() and "--fresh" not in options else {}
    if failed := first_failure(tests, -1, ""):
        raise SystemExit(f"fails as it is: {failed}")
    known = read_table()
    for line, removal in enumerate(REMOVALS):
        if only not in removal.row or results.get(removal.row):
            continue
        likely = known.get(removal.row, "").partition(" ")[0]
        results[removal.row] = first_failure(tests, line, likely if "." in likely else "")
        print(f"{removal.row} {results[removal.row] or 'NONE: SURVIVED'} |", flush=True)
        kept.write_text(json.dumps(results, indent=1))
    survivors = [removal.row for removal in REMOVALS if not results.get(removal.row)]
    if not survivors:
        write_table(results)
    print(f"{len(REMOVALS)} lines, {len(survivors)} not missed or not tried", *survivors, sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
