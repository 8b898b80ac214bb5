# SPDX-License-Identifier: Apache-2.0
"""Take each line out of the core that orders or frees, and see which test on the simulation fails.

Run it from a clone:

    python dev/remove_lines.py build/removals -DPython_EXECUTABLE=... [--only drain]

Works on a copy of the sources in the folder given; the clone is left alone. Prints the table of
csrc/tests/sim/REMOVALS.md and exits with 1 if any line is not missed.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "cudf_arrow_bridge_sim_tests"
LIMIT = 40  # seconds: a test that hangs has failed


@dataclass(frozen=True)
class Removal:
    """One line, or a piece of it, that is replaced by something that does nothing."""

    file: str
    text: str
    role: str
    instead: str = ""


REMOVALS = [
    Removal("events.cpp", "cudaEventDisableTiming | ", "events without timing"),
    Removal("events.cpp", "        idle.pop_back();\n", "an event is lent to one at a time"),
    Removal(
        "events.cpp",
        "idle_[static_cast<std::size_t>(device)].push_back(event);",
        "events go back to the pool",
        "(void)device, (void)event;",
    ),
    Removal("events.cpp", "    --on_loan_;\n", "events given back are counted"),
    Removal("events.cpp", " && !in_forked_child()", "forked children give no event back"),
    Removal("export.cpp", "    RMM_CUDA_TRY(tree->ready.record(stream));\n", "record on export"),
    Removal(
        "export.cpp",
        "on_device(tree->location);",
        "export on the memory's device",
        "on_device(memory_location{});",
    ),
    Removal(
        "export.cpp", "std::move(owner);", "exports keep their source", "(void(owner), nullptr);"
    ),
    Removal(
        "array_tree.cpp",
        "tree->ready ? const_cast<cudaEvent_t*>(tree->ready.handle()) : nullptr",
        "consumers are told the event",
        "nullptr",
    ),
    Removal(
        "source_array.cpp",
        "  if (!on_host) { wait_for_producer(*array, stream); }\n",
        "wait on import",
        "  (void)&wait_for_producer;\n",
    ),
    Removal(
        "source_array.cpp",
        "if (status != cudaSuccess) {",
        "refused events are told",
        "if (false) {",
    ),
    Removal(
        "source_array.cpp", "    (void)cudaGetLastError();\n", "errors told are not left behind"
    ),
    Removal("source_array.cpp", "is_far && !options.copy", "other devices take a copy", "false"),
    Removal(
        "device_array.cpp",
        "  RMM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), *tree_->ready.handle()));\n",
        "wait before to_host",
    ),
    Removal(
        "tree_copy.cpp",
        "if (!from_host_ && to_host_) { "
        "RMM_CUDA_TRY(cudaStreamSynchronize(where_.stream.get())); }",
        "wait at the end of to_host",
    ),
    Removal(
        "tree_copy.cpp",
        "if (!from_host_ && !ends_.empty()) { RMM_CUDA_TRY("
        "cudaStreamSynchronize(where_.stream.get())); }",
        "wait for the sizes of strings",
    ),
    Removal(
        "tree_copy.cpp",
        "    (void)cudaStreamSynchronize(stream.get());\n",
        "wait after a copy that failed",
        "    (void)stream;\n",
    ),
    Removal(
        "staging.cpp",
        "    pass(stream);\n",
        "pinned memory waits for its copies",
        "    (void)stream;\n",
    ),
    Removal("staging.cpp", "    finish();\n", "pinned memory goes back"),
    Removal(
        "staging.cpp",
        "  if (reads_source_) { (void)cudaStreamSynchronize(stream_.get()); }\n",
        "uploads that read the source late are waited for",
    ),
    Removal(
        "staging.cpp", "        idle_.erase(found);\n", "pinned memory is lent to one at a time"
    ),
    Removal(
        "foreign_array.cpp",
        "    if (in_forked_child()) { return; }\n",
        "forked children release no device memory",
    ),
    Removal(
        "foreign_array.cpp",
        "    pass(stream);\n",
        "a share is dropped in stream order",
        "    (void)stream;\n",
    ),
    Removal("foreign_array.cpp", "if (!host_) {", "host memory is released at once", "if (true) {"),
    Removal("foreign_array.cpp", "{ finish(); }", "the last share releases", "{}"),
    Removal("foreign_array.hpp", "    array_->add_share();\n", "each buffer has a share"),
    Removal(
        "foreign_array.hpp",
        "~foreign_share() { drop(stream_); }",
        "the import's own share is dropped",
        "~foreign_share() = default;",
    ),
    Removal(
        "adopt.cpp",
        "    state_->share.drop(stream);\n",
        "buffers drop their share on the stream they are freed on",
    ),
    Removal("adopt.cpp", "    state_->memory = nullptr;\n", "foreign memory is freed once"),
    Removal("adopt.cpp", "std::exchange(state_->handed_out, true)", "and lent once", "false"),
    Removal("deferred.cpp", "  release_queue::instance().start();\n", "the queue's thread"),
    Removal(
        "deferred.cpp", "  spare_ = pooled_event::acquire();\n", "events are had before freeing"
    ),
    Removal(
        "deferred.cpp",
        "  (void)cudaStreamSynchronize(stream.get());\n",
        "without an event the free waits",
    ),
    Removal("deferred.cpp", "  (void)cudaGetLastError();\n", "and leaves no error behind"),
    Removal(
        "deferred.cpp",
        "return known->event.record(stream);",
        "the newest point of a stream counts",
        "return cudaSuccess;",
    ),
    Removal(
        "deferred.cpp",
        "  if (known != passages_.end()) { return known->event.record(stream); }\n",
        "one event per stream",
    ),
    Removal(
        "deferred.cpp",
        "event.record(stream);\n  if",
        "record when a buffer is freed",
        "cudaSuccess;\n  if",
    ),
    Removal("deferred.cpp", "passages_.push_back({id, std::move(event)});", "points are noted"),
    Removal("deferred.cpp", "    delete this;\n", "what waits for nothing is released"),
    Removal(
        "release_queue.cpp",
        "  std::atexit([] { instance().drain(); });\n",
        "exit waits for releases",
    ),
    Removal(
        "release_queue.cpp",
        "  if (worker_.joinable()) { return; }\n",
        "one thread, however many imports",
    ),
    Removal("release_queue.cpp", "  pushed_.notify_one();\n", "the thread wakes"),
    Removal(
        "release_queue.cpp",
        "  if (in_forked_child()) { return; }\n",
        "forked children drain nothing",
    ),
    Removal(
        "release_queue.cpp",
        "  if (std::this_thread::get_id() == worker_.get_id()) { return; }\n",
        "a release may drain",
    ),
    Removal(
        "release_queue.cpp",
        "  released_.wait_for(lock, patience_at_exit, [&] { return num_released_ >= target; });\n",
        "drain waits",
        "  (void)target, (void)patience_at_exit;\n",
    ),
    Removal("release_queue.cpp", "      ++num_released_;\n", "releases are counted"),
    Removal("release_queue.cpp", "    released_.notify_all();\n", "who drains wakes"),
    Removal(
        "release_queue.cpp",
        "if (first_ == nullptr) { last_ = nullptr; }",
        "the queue's end is reset",
    ),
    Removal(
        "release_queue.cpp",
        "(void)passage.event.wait();",
        "releases wait for every stream",
        "(void)passage;",
    ),
    Removal("release_queue.cpp", "  delete work;\n", "the thread releases"),
]


def first_failure(build: Path) -> str:
    """Build and run the tests. Returns the one that failed, or an empty string."""
    made = subprocess.run(
        ["cmake", "--build", build, "-j2", "--target", TARGET], capture_output=True, text=True
    )
    if made.returncode != 0:
        raise SystemExit(f"does not compile:\n{made.stdout[-3000:]}")
    tests = build / "csrc/tests/sim" / TARGET
    for suites in ("-schedules.*", "schedules.*"):
        command = [tests, "--gtest_fail_fast", f"--gtest_filter={suites}"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        if process.returncode != 0:
            started = re.findall(r"\[ RUN      \] (\S+)", output)
            failed = re.findall(r"\[  FAILED  \] (\S+) \(", output)
            return failed[0] if failed else f"{started[-1]} (crashed or hung)"
    return ""


def main(folder: str, *options: str) -> int:
    """Remove each line once and print the table."""
    only = options[options.index("--only") + 1] if "--only" in options else ""
    work, build = Path(folder) / "sources", Path(folder) / "build"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(ROOT, work, ignore=shutil.ignore_patterns(".git", ".venv", "build"))
    configure = [
        "cmake",
        "-S",
        work,
        "-B",
        build,
        "-G",
        "Ninja",
        "-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON",
    ]
    configure += [option for option in options if option.startswith("-D")]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    if failed := first_failure(build):
        raise SystemExit(f"fails as it is: {failed}")
    survivors = 0
    print("| file | what the line does | the test that fails without it |\n| --- | --- | --- |")
    for removal in REMOVALS:
        if only not in f"{removal.file} {removal.role}":
            continue
        path = work / "csrc/src" / removal.file
        text = path.read_text()
        if text.count(removal.text) != 1:
            raise SystemExit(f"{removal.file} has not just one {removal.text!r}")
        path.write_text(text.replace(removal.text, removal.instead))
        try:
            failed = first_failure(build)
        finally:
            path.write_text(text)
        survivors += not failed
        print(f"| {removal.file} | {removal.role} | {failed or 'NONE: SURVIVED'} |", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
