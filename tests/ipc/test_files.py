# SPDX-License-Identifier: Apache-2.0
"""A file is replaced as a whole: its old content stays until the new one is complete."""

from __future__ import annotations

import gc
import os
import shutil
import stat
import subprocess
import sys
import threading

import fsspec
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc import write_file
from testing.processes import PYTHONPATH, ROOT

TABLE = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})


def read(path):
    return pa.ipc.open_file(path.read_bytes()).read_all()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def failing_batches():
    yield from TABLE.to_batches(max_chunksize=100)
    raise ZeroDivisionError


@pytest.fixture
def path(tmp_path):
    result = tmp_path / "table.arrow"
    write_file(TABLE, result)
    return result


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_error_of_a_missing_folder_names_the_given_path(scheme, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_file(TABLE, f"{scheme}{tmp_path}/missing/table.arrow")
    assert error.value.filename == f"{tmp_path}/missing/table.arrow"
    assert "tmp'" not in str(error.value)


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("form", ["file", "stream"])
def test_a_file_is_written_onto_itself(form, memory_map, tmp_path):
    path = tmp_path / "table.arrow"
    write, open_ = getattr(cab.ipc, f"write_{form}"), getattr(cab.ipc, f"open_{form}")
    write(TABLE, path)
    with open_(path, memory_map=memory_map) as opened:
        write(opened, path)
    write(cab.to_arrow_device_stream(path, memory_map=memory_map), path)
    with open_(path) as opened:
        assert pa.table(opened).equals(TABLE)


def test_arrays_of_a_mapped_file_keep_the_old_content(path):
    with cab.ipc.open_file(path, memory_map=True) as opened:
        (batch,) = opened
        write_file(pa.table({"a": [1]}), path)
        assert pa.table(batch).equals(TABLE)


def test_failed_write_keeps_the_old_file_and_creates_no_file(path):
    before = path.read_bytes()
    for target in (path, f"file://{path}", path.with_name("new.arrow")):
        with pytest.raises(ZeroDivisionError):
            write_file(failing_batches(), target)
    assert path.read_bytes() == before
    assert names_in(path.parent) == ["table.arrow"]


def test_write_flushes_the_file_and_then_its_folder(path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(os.fstat(fd).st_ino))
    write_file(TABLE, path)
    assert flushed == [path.stat().st_ino, path.parent.stat().st_ino]


@pytest.mark.parametrize(("mode", "expected"), [(0o664, 0o664), (0o200, 0o200), (0o6755, 0o755)])
def test_write_keeps_the_mode_of_the_file_without_setuid_and_setgid(path, mode, expected):
    path.chmod(mode)
    write_file(TABLE[:10], path)
    assert stat.S_IMODE(path.stat().st_mode) == expected
    path.chmod(0o600)
    assert read(path).equals(TABLE[:10])


def test_new_content_of_a_private_file_is_never_readable_for_others(path):
    path.chmod(0o600)
    modes = []

    def batches():
        for batch in TABLE.to_batches(max_chunksize=500):
            yield batch
            modes.append({stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()})

    before = os.umask(0)
    try:
        write_file(batches(), path)
    finally:
        os.umask(before)
    assert modes == [{0o600}] * 2


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(TABLE, tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_write_follows_symbolic_links(tmp_path, exists):
    folder = tmp_path / "data"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("data/target")
    write_file(TABLE, link)
    assert link.is_symlink()
    assert read(target).equals(TABLE)
    assert names_in(folder) == ["target"]


def test_write_and_open_expand_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_file(TABLE, "~/table")
    assert read(tmp_path / "table").equals(TABLE)
    with cab.ipc.open_file("~/table") as opened:
        assert pa.table(opened).equals(TABLE)


def test_write_does_not_replace_pipes_and_devices(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reading = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reading.start()
    write_file(TABLE, pipe)
    reading.join()
    assert pa.ipc.open_file(found[0]).read_all().equals(TABLE)
    assert names_in(tmp_path) == ["pipe"]
    with pytest.raises(OSError, match="No space left"):
        write_file(TABLE, "/dev/full")
    write_file(TABLE, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write to all files")
def test_a_read_only_file_or_folder_is_rejected(path):
    before = path.read_bytes()
    for target, mode, usual in ((path, 0o400, 0o600), (path.parent, 0o500, 0o700)):
        target.chmod(mode)
        with pytest.raises(PermissionError):
            write_file(TABLE[:10], path)
        target.chmod(usual)
    assert path.read_bytes() == before


def test_fault_during_a_write_keeps_the_old_or_the_new_content(tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "faulty_calls.so"
    source = ROOT / "tests" / "testing" / "ipc" / "faulty_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-P", "-m", "testing.ipc.write_faults", library, "20"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "none: new content 4 times" in result.stdout


def test_uploads_are_completed_or_aborted():
    url, new = "memory://folder/old.arrow", "memory://folder/new.arrow"
    store = fsspec.filesystem("memory")
    write_file(TABLE, url)
    before = store.cat(url)
    assert pa.ipc.open_file(before).read_all().equals(TABLE)
    for target in (url, new):
        with pytest.raises(ZeroDivisionError):
            write_file(failing_batches(), target)
        gc.collect()
    assert store.cat(url) == before
    assert not store.exists(new)
    write_file(cab.to_arrow_device_stream(url), url)
    assert pa.ipc.open_file(store.cat(url)).read_all().equals(TABLE)
