# SPDX-License-Identifier: Apache-2.0
"""docs/speed.md shows the results that are recorded in benchmarks/results."""

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import wide_tables
from benchmarks.reporting import cuda_calls, speed_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/speed.md").read_text()
TEXT = " ".join(PAGE.split())
RECORDED = ROOT / "benchmarks/results"
RESULTS = json.loads((RECORDED / "host.json").read_text())["results"]
ON_GPU = json.loads((RECORDED / "gpu-nvidia-h200.json").read_text())["speed"]["speed"]["results"]


@pytest.mark.parametrize("results", [RESULTS, ON_GPU], ids=["host", "gpu"])
def test_tables_of_the_page_show_the_recorded_results(results):
    """``python -m benchmarks --from benchmarks/results/host.json --markdown`` prints the first."""
    assert f"\n\n{speed_page.table(results)}\n\n" in PAGE


def test_table_of_cuda_calls_shows_the_recorded_counts():
    """``benchmarks.reporting.cuda_calls --check`` compares the counts with those of a build."""
    assert f"\n\n{cuda_calls.table(json.loads(cuda_calls.RECORD.read_text()))}\n\n" in PAGE


def test_table_of_wide_tables_shows_the_recorded_results():
    record = json.loads((RECORDED / "wide.json").read_text())
    assert f"\n\n{wide_tables.table(record['columns'], record['results'])}\n\n" in PAGE


def test_sentence_on_conversions_shows_the_recorded_results():
    # The ratio to the faster peer.
    ratios = [
        max(ratio["dropped"] for ratio in entry["ratios"].values())
        for entry in RESULTS
        if entry["group"] == "conversion"
    ]
    near = sum(ratio <= 1.1 for ratio in ratios)
    sentence = (
        f"Of {len(ratios)} conversions, {near} take at most 1.1 times as long as the faster of the"
        f" two, and the others at most {max(ratios):.2f} times as long."
    )
    assert sentence in TEXT


def ratio(results, group, case, peer, calls="dropped"):
    (entry,) = (entry for entry in results if (entry["group"], entry["case"]) == (group, case))
    return entry["ratios"][peer][calls]


def test_sentence_on_other_types_shows_the_recorded_results():
    kinds = ("int64 with nulls", "string", "list<int64>", "struct<int64, string>")
    kinds += ("dictionary<string>",)
    out, back = (
        [f"{ratio(RESULTS, group, f'100 x {kind}', 'pyarrow'):.2f} times" for kind in kinds]
        for group in ("export", "import")
    )
    sentence = (
        f"the export of 100 columns takes {out[0]} as long for int64 with nulls, {out[1]} for "
        f"strings, {out[2]} for lists, {out[3]} for structs and {out[4]} for dictionaries, and the "
        f"import {', '.join(back[:4])} and {back[4]}."
    )
    assert sentence in TEXT


def test_page_names_each_missed_goal():
    wide, every, one, uncounted = {100, 1000}, {1, 10, 100, 1000}, {1}, {None}
    goals = [
        ("frame import", every, "cuDF", 0.5),
        ("frame export", every, "cuDF", 0.6),
        ("stream to frames", uncounted, "cuDF", 1.2),
        ("import", wide, "pyarrow", 0.5),
        ("export", wide, "pyarrow", 0.6),
        ("import", one, "pyarrow", 2),
        ("export", one, "pyarrow", 2),
        ("column import", uncounted, "pyarrow", 2),
        ("column export", uncounted, "pyarrow", 2),
    ]
    missed, measured = {}, set()
    for entry in RESULTS:
        columns = entry["at"].get("columns")
        for group, counts, peer, goal in goals:
            if entry["group"] == group and columns in counts:
                measured.add((group, columns))
                if (found := entry["ratios"][peer]["dropped"]) > goal:
                    missed[group, columns] = f"{found:.2f}"
    assert measured == {(group, count) for group, counts, *_ in goals for count in counts}
    assert missed.keys() == {
        *(("frame export", 1), ("frame export", 10)),
        *(("export", 1), ("export", 100), ("column export", None)),
    }
    kept = ratio(RESULTS, "export", "100 x int64", "pyarrow", "kept")
    for sentence in (
        f"The export of a frame of 1 column takes {missed['frame export', 1]} times, and of 10 "
        f"columns {missed['frame export', 10]} times, as long as `to_pylibcudf`. For 100 columns "
        f"it is {ratio(RESULTS, 'frame export', '100 x int64', 'cuDF'):.2f}.",
        f"The export of a table of 100 columns takes {missed['export', 100]} times pyarrow's time.",
        f"If the results are kept, it takes {kept:.2f} times, and for 1,000 columns "
        f"{ratio(RESULTS, 'export', '1000 x int64', 'pyarrow'):.2f} times, pyarrow's time.",
        f"The export of a table of 1 column takes {missed['export', 1]} times, and of a column by "
        f"itself {missed['column export', None]} times, pyarrow's time.",
    ):
        assert sentence in TEXT


def test_page_states_the_control_of_the_results_on_a_gpu():
    exports = {
        entry["group"]: entry
        for entry in ON_GPU
        if entry["case"] == "1 x int64" and entry["group"].endswith("export")
    }
    table, frame = exports["gpu export"], exports["gpu frame export"]
    took = [
        f"{entry['contestants']['pylibcudf']['dropped']['median_us']:.1f} µs"
        for entry in (table, frame)
    ]
    ratios = [f"{entry['ratios']['pylibcudf']['dropped']:.2f}" for entry in (table, frame)]
    assert f"took {took[0]} beside our export of its table, and {took[1]} beside" in TEXT
    assert f"`/ pylibcudf`: {ratios[0]} for the table and {ratios[1]} for the frame." in TEXT
    assert not any("control" in entry["contestants"] for entry in ON_GPU)


def test_readme_shows_the_results_on_a_gpu():
    rows = []
    for call, columns in (("export", 100), ("import", 100), ("import", 1)):
        group, case = f"gpu {call}", f"{columns} x int64"
        [entry] = [entry for entry in ON_GPU if (entry["group"], entry["case"]) == (group, case)]
        microseconds = entry["contestants"]["cudf_arrow_bridge"]["dropped"]["median_us"]
        times = ratio(ON_GPU, group, case, "pylibcudf")
        name = f"{call} of {columns} column{'s' if columns > 1 else ''}"
        rows.append(f"| {name} | {microseconds:.1f} | {times:.2f} |\n")
    assert "".join(rows) in (ROOT / "README.md").read_text()
    assert times > 1


def test_table_of_the_taxi_flow_shows_the_recorded_results():
    flows = json.loads((RECORDED / "taxi.json").read_text())["results"]
    section = PAGE.partition("\n## A whole flow\n")[2]
    row = r"^\| ([a-zA-Z ]+?)(?:, .*)? \| ([\d.]+) \| ([\d.]+) \|$"
    rows = re.findall(row, section, re.MULTILINE)
    assert [name for name, *_ in rows] == list(flows["frames"]["seconds"])
    for name, *cells in rows:
        for cell, flow in zip(cells, ("frames", "tables"), strict=True):
            digits = len(cell.partition(".")[2])
            assert f"{flows[flow]['seconds'][name]:.{digits}f}" == cell
    peaks = {round(flow["peak memory, of the size of the IPC file"], 1) for flow in flows.values()}
    assert f"is {peaks.pop()} times the size of the IPC file in both flows." in TEXT
    assert not peaks
