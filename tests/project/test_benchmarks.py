import gc
import json
import os
import shutil
import subprocess
import sys
import time
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from cudf_arrow_bridge import has_gpu

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import device, memory
from benchmarks.exchanges import to_pylibcudf
from benchmarks.measure import Case, Contestant, Effort, measure
from benchmarks.reporting import plot, report, speed_page

ROOT = Path(__file__).parents[2]
OURS = "cudf_arrow_bridge"
PEERS = ("pylibcudf",) if has_gpu() else ("pyarrow", "nanoarrow")
#: The peers with which each group compares the bridge.
pytestmark = pytest.mark.exhaustive
GROUPS = (
    {
        **dict.fromkeys(("gpu export", "gpu import", "gpu round trip"), (*PEERS, "control")),
        **dict.fromkeys(("gpu frame export", "gpu frame import"), (*PEERS, "cuDF", "control")),
        "gpu frame upload": ("cuDF", "control"),
    }
    if has_gpu()
    else {
        **dict.fromkeys(("export", "import", "round trip"), PEERS),
        **dict.fromkeys(("column export", "column import"), PEERS),
        **dict.fromkeys(("frame export", "frame import"), (*PEERS, "cuDF")),
        **dict.fromkeys(("stream export", "stream import"), ("pyarrow",)),
        "stream to frames": ("pyarrow", "cuDF"),
        # Those of these peers that do the same work.
        "conversion": ("numpy", "pyarrow"),
    }
)
#: The group and the horizontal axis of each panel of the plot.
PANELS = {
    (group, "columns")
    for group in GROUPS
    if not group.startswith(("column", "stream", "conversion"))
} | (set() if has_gpu() else {("export", "rows"), ("import", "rows")})
PARTS = ("dropped", "kept", "kept_with_release")

PNG = b"\x89PNG\r\n\x1a\n"


def run(*args, **env):
    # The benchmarks are not installed, but imported from the working directory. pytest-benchmark
    # measures nothing in a worker of pytest-xdist.
    hidden = ("PYTHONSAFEPATH", "PYTEST_XDIST_WORKER")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [sys.executable, *args],
        cwd=ROOT,
        env={**inherited, "COLUMNS": "120", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def printed_by(*args):
    done = run("-m", "benchmarks", *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("benchmarks")


@pytest.fixture(scope="module")
def result(folder):
    path = folder / "result.json"
    printed = printed_by("--quick", "--json", str(path))
    return json.loads(path.read_text()), printed


def test_quick_mode_prints_every_group(result):
    data, printed = result
    groups = {entry["group"] for entry in data["results"]}
    assert groups == GROUPS.keys()
    assert all(group in printed for group in groups)
    tables = printed.partition("Import times")[0]
    assert max(len(line) for line in tables.splitlines()) <= 120


def test_output_names_the_benchmarks_that_were_left_out(result):
    _, printed = result
    lines = [line for line in printed.splitlines() if line.startswith("Left out: ")]
    assert any(("host memory" if has_gpu() else "for want of a GPU") in line for line in lines)


def test_json_records_date_commit_machine_and_versions(result):
    data, _ = result
    assert data["quick"] is True
    assert {"date", "commit", "machine", "versions"} <= data.keys()
    assert {"pyarrow", "nanoarrow"} <= data["versions"].keys()


def test_each_case_compares_the_bridge_with_all_peers(result):
    data, _ = result
    for entry in data["results"]:
        ours, *others = entry["contestants"]
        assert ours == OURS
        expected = GROUPS[entry["group"]]
        if entry["group"] == "conversion":
            expected = tuple(peer for peer in expected if peer in others)
        assert tuple(others) == expected != ()
        assert list(entry["ratios"]) == others
        measured = PARTS[:1] if entry["group"] == "conversion" else PARTS
        for parts in entry["contestants"].values():
            assert parts.keys() == {*measured, "peak_kib"}
            for part in measured:
                lower, upper = parts[part]["quartiles_us"]
                assert 0 < lower <= parts[part]["median_us"] <= upper
        for name, ratio in entry["ratios"].items():
            for part in measured:
                ours, theirs = (
                    entry["contestants"][who][part]["median_us"] for who in (OURS, name)
                )
                assert ratio[part] == pytest.approx(ours / theirs, rel=0.02, abs=1e-3)


def test_contestants_take_turns():
    calls = []
    contestants = tuple(Contestant(name, lambda name=name: calls.append(name)) for name in "abc")
    case = Case("group", "case", contestants, converts=True)
    measure(case, Effort(rounds=30, sample_seconds=0))
    turns = calls[-90:]
    assert all({*turns[i : i + 3]} == {*"abc"} for i in range(0, 90, 3))


def test_each_case_on_a_gpu_measures_the_same_control(monkeypatch):
    """Here with tables in host memory, and without running the cases."""
    tables = SimpleNamespace(Table=SimpleNamespace(from_arrow=to_pylibcudf))
    monkeypatch.setattr(device, "plc", tables)
    cases = list(device.cases())
    assert len(cases) == 24
    controls = {case.contestants[-1] for case in cases}
    assert [control.name for control in controls] == ["control"]
    assert all(case.contestants[0].name == OURS for case in cases)


def test_reports_show_the_control_of_a_case():
    contestants = Contestant(OURS, lambda: time.sleep(0.002)), Contestant("control", lambda: None)
    case = Case("gpu export", "1 x int64", contestants, ("columns", 1), converts=True)
    entry = report.record(case, measure(case, Effort(3, 0)), dict.fromkeys((OURS, "control")))
    [table] = report.tables([entry])
    assert [column.header for column in table.columns] == ["what", "case", "ours", "control"]
    head, _, row = speed_page.table([entry]).splitlines()
    assert head == "| int64 columns | µs, ours | / control |"
    ratio = entry["ratios"]["control"]["dropped"]
    assert row.endswith(f" | {report.short(ratio, 2)} |")


class Thing:
    """The argument and the result of calls."""


def test_each_part_drops_or_keeps_the_results_of_calls():
    """Dropped results exist one at a time. Kept results exist together, without the collector."""
    arguments, results, seen = weakref.WeakSet(), weakref.WeakSet(), []

    def prepare():
        arguments.add(thing := Thing())
        return thing

    def call(argument):
        seen.append((len(results), len(arguments), gc.isenabled()))
        results.add(thing := Thing())
        return thing

    case = Case("group", "case", (Contestant("one", call, prepare),))
    measured = measure(case, Effort(rounds=2, sample_seconds=10))
    assert list(measured["one"]) == list(PARTS)
    dropped, kept = seen[:-200], seen[-200:]
    assert len(dropped) >= 200
    assert set(dropped) == {(0, 1, True)}
    assert kept == 2 * [(n, 100, False) for n in range(100)]
    assert gc.isenabled()


def test_measured_time_includes_releases_but_no_preparation():
    pause = 0.01

    class Slow:
        def __del__(self):
            time.sleep(pause)

    def prepare():
        time.sleep(pause)
        return Slow()

    contestants = (
        Contestant("call", lambda: time.sleep(pause)),
        Contestant("result", Slow),
        Contestant("argument", lambda argument: None, prepare),
    )
    effort = Effort(rounds=2, sample_seconds=pause)
    measured = measure(Case("group", "case", contestants, jobs=2), effort)
    slow = {
        (name, part)
        for name in measured
        for part in PARTS
        if measured[name][part].median > pause / 4
    }
    assert slow == {
        *(("call", part) for part in PARTS),
        ("result", "dropped"),
        ("result", "kept_with_release"),
        ("argument", "dropped"),
    }
    assert all(spread.median < pause for spread in measured["call"].values())


@pytest.mark.skipif(has_gpu(), reason="of host memory")
def test_series_cover_1_to_1000_columns_and_1e3_to_1e8_rows(result):
    data, _ = result
    places = {}
    for entry in data["results"]:
        for axis, place in entry["at"].items():
            places.setdefault((entry["group"], axis), []).append(place)
    assert places.keys() == PANELS
    for (_, axis), found in places.items():
        expected = [1, 10, 100, 1000] if axis == "columns" else [10**n for n in range(3, 9)]
        assert found == expected


def test_output_shows_the_import_time_of_the_package(result):
    data, printed = result
    for spread in data["import"].values():
        lower, upper = spread["quartiles_ms"]
        assert 0 < lower <= spread["median_ms"] <= upper
    median = data["import"][OURS]["median_ms"]
    assert f"{OURS} {median:.1f} ms" in printed
    assert list(data["import"]) == ["pyarrow", OURS, "pylibcudf", "first use"]
    assert median < data["import"]["first use"]["median_ms"]


@pytest.mark.skipif(has_gpu(), reason="of host memory")
def test_output_shows_the_peak_memory_of_streams(result):
    data, printed = result
    assert "Peak memory" in printed
    for entry in data["results"]:
        for contestant in entry["contestants"].values():
            assert contestant["peak_kib"] is None or contestant["peak_kib"] >= 0


@pytest.mark.skipif(has_gpu() or not shutil.which("cmake"), reason="no cmake, or on a GPU")
def test_output_shows_the_counts_of_tables_and_frames_in_python(result):
    data, printed = result
    assert "Python's tables and frames" in printed
    jobs = [entry["job"] for entry in data["python"]]
    assert jobs == ["table export", "table import", "frame export", "frame import"]


@pytest.mark.skipif(not memory.supported(), reason="no high-water mark of this process alone")
def test_peak_memory_includes_memory_that_the_call_frees():
    mebibyte = 1 << 20

    def passing():
        len(bytearray(b"\1") * (64 * mebibyte))

    def kept():
        return bytearray(b"\1") * (16 * mebibyte)

    contestants = (
        Contestant("passing", passing),
        Contestant("kept", kept),
        Contestant("prepared", len, kept),
    )
    peaks = memory.peaks(Case("group", "case", contestants))
    assert peaks["passing"] == pytest.approx(64 * 1024, rel=0.05)
    assert peaks["kept"] == pytest.approx(16 * 1024, rel=0.05)
    assert peaks["prepared"] < 1024


def test_only_option_selects_cases():
    only = "gpu export: 1 x" if has_gpu() else "frame export: 1 x"
    printed = printed_by("--quick", "--only", only)
    assert only.partition(":")[0] in printed
    assert "import" not in printed


JOBS = ("export", "export by schema", "import", "borrow")
CORE = [
    {
        "job": job,
        "columns": columns,
        "ours": {"median_ns": 30.0 * columns, "quartiles_ns": [29.0 * columns, 31.0 * columns]},
        "floor": {"median_ns": 10.0 * columns, "quartiles_ns": [9.0 * columns, 11.0 * columns]},
    }
    for columns in (1, 1000)
    for job in JOBS
]


def test_plot_shows_every_series(result):
    pytest.importorskip("matplotlib")
    data, _ = result
    drawn = plot.figure({**data, "core": CORE})
    *panels, core = drawn.axes
    assert {(axes.get_title(), axes.get_xlabel()) for axes in panels} == PANELS
    for axes in panels:
        at = axes.get_xlabel()
        for line in axes.get_lines():
            expected = [
                (entry["at"][at], entry["contestants"][line.get_label()]["dropped"]["median_us"])
                for entry in data["results"]
                if entry["group"] == axes.get_title() and at in entry["at"]
            ]
            assert [tuple(point) for point in line.get_xydata()] == expected
        assert [line.get_label() for line in axes.get_lines()] == [OURS, *GROUPS[axes.get_title()]]
        assert [axes.get_xscale(), axes.get_yscale()] == ["log", "log"]
    lines = {line.get_label(): line.get_ydata().tolist() for line in core.get_lines()}
    ours, floor = [0.03, 30], [0.01, 10]
    assert lines == {
        **dict.fromkeys(JOBS, ours),
        **dict.fromkeys(("export floor", "import floor"), floor),
    }


def test_a_plot_is_drawn_from_results_without_measuring(result, folder):
    pytest.importorskip("matplotlib")
    path = folder / "plot.png"
    printed = printed_by("--from", str(folder / "result.json"), "--plot", str(path))
    assert printed == result[1]
    image = path.read_bytes()
    assert image.startswith(PNG)
    width, height = (int.from_bytes(image[i : i + 4]) for i in (16, 20))
    assert (width, height) > (1000, 500)
    assert len(image) > 20_000


@pytest.mark.skipif(has_gpu(), reason="the page's table is of host memory")
def test_markdown_option_prints_the_table_of_the_page_from_results(result, folder):
    data, _ = result
    printed = printed_by("--from", str(folder / "result.json"), "--markdown").splitlines()
    [entry] = (
        one
        for one in data["results"]
        if (one["group"], one["case"]) == ("frame export", "100 x int64")
    )
    [row] = (line for line in printed if line.startswith("| export of a cuDF frame, 100 columns |"))
    _, _, ours, *ratios, _ = (cell.strip() for cell in row.split("|"))
    median = entry["contestants"][OURS]["dropped"]["median_us"]
    assert float(ours.replace(",", "")) == pytest.approx(median, rel=0.05)
    for peer, cell in zip([*PEERS, "cuDF"], ratios, strict=True):
        dropped, kept = (float(one) for one in cell.rstrip(")").split(" ("))
        assert dropped == pytest.approx(entry["ratios"][peer]["dropped"], rel=0.05)
        assert kept == pytest.approx(entry["ratios"][peer]["kept"], rel=0.05)


@pytest.mark.parametrize("more", [["--quick"], ["--only", "x"], ["--json", "other.json"]])
def test_from_option_rejects_options_that_measure(folder, more):
    done = run("-m", "benchmarks", "--from", "any.json", *more)
    assert done.returncode == 2
    assert "--from measures nothing" in done.stderr


def test_plot_without_a_series_raises_an_error(folder, result):
    pytest.importorskip("matplotlib")
    data, _ = result
    results = [entry for entry in data["results"] if not entry["at"]]
    with pytest.raises(ValueError, match="there is no series"):
        plot.figure({**data, "results": results, "core": []})


def test_plot_without_matplotlib_names_the_extra_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[benchmarks\]'"):
        plot.figure(result[0])


def test_the_same_cases_run_under_pytest_benchmark(result, folder):
    pytest.importorskip("pytest_benchmark")
    path = folder / "pytest-benchmark.json"
    briefly = ("--benchmark-max-time=0.01", "--benchmark-min-rounds=1")
    # With -P, Python imports the installed package, not the sources here. `pytest` does the same.
    command = ("-P", "-m", "pytest", "benchmarks", "-k", "trip")
    done = run(*command, f"--benchmark-json={path}", *briefly)
    assert done.returncode == 0, done.stdout
    measured = {
        (one["group"], one["extra_info"]["contestant"])
        for one in json.loads(path.read_text())["benchmarks"]
    }
    assert measured == {
        (f"{entry['group']}: {entry['case']}", name)
        for entry in result[0]["results"]
        if "trip" in entry["group"]
        for name in entry["contestants"]
    }


def test_skip_without_pytest_benchmark_names_the_extra_to_install():
    code = "import sys, pytest; sys.modules['pytest_benchmark'] = None; pytest.main(['benchmarks'])"
    done = run("-c", code, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "1 skipped" in done.stdout
    assert "pip install '.[benchmarks]'" in done.stdout


@pytest.mark.skipif(has_gpu(), reason="frames in host memory")
def test_flow_of_taxi_trips_shares_the_memory_of_frames(tmp_path):
    path = tmp_path / "taxi.json"
    done = run("-m", "benchmarks.workloads.taxi", "--rows", "1000", "--json", str(path))
    assert done.returncode == 0, done.stderr
    results = json.loads(path.read_text())["results"]
    assert results.keys() == {"frames", "tables"}
    assert results["frames"]["copied by exports, MB"] == 0
