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
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge

TABLE = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})

WRITERS = {"file": bridge.ipc.write_file, "stream": bridge.ipc.write_stream}
READERS = {"file": pa.ipc.open_file, "stream": pa.ipc.open_stream}

forms = pytest.mark.parametrize("form", WRITERS)


def read(path, form):
    return READERS[form](path.read_bytes()).read_all()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def failing_batches():
    yield from TABLE.to_batches(max_chunksize=100)
    raise ZeroDivisionError


@pytest.fixture
def path(tmp_path, form):
    result = tmp_path / "table.arrow"
    WRITERS[form](TABLE, result)
    return result


@forms
@pytest.mark.parametrize("memory_map", [False, True])
def test_frame_of_a_file_is_written_back_to_the_file(path, form, memory_map):
    stream = bridge.to_arrow_device_stream(path, memory_map=memory_map)
    frame = bridge.from_arrow_device_stream(stream)
    WRITERS[form](frame, path)
    assert read(path, form).to_pydict() == TABLE.to_pydict()


@forms
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_error_of_a_missing_folder_names_the_given_path(form, scheme, tmp_path):
    path = f"{scheme}{tmp_path}/missing/table.arrow"
    with pytest.raises(FileNotFoundError) as error:
        WRITERS[form](TABLE, path)
    assert error.value.filename == f"{tmp_path}/missing/table.arrow"
    assert "tmp'" not in str(error.value)


@forms
def test_error_of_a_replacement_names_the_given_path(path, form, monkeypatch):
    def fail(source, target):
        raise PermissionError(13, "Permission denied", source, None, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError) as error:
        WRITERS[form](TABLE, path)
    assert str(error.value) == f"[Errno 13] Permission denied: {str(path)!r}"


@forms
@pytest.mark.parametrize("memory_map", [False, True])
def test_a_file_is_written_onto_itself(path, form, memory_map):
    WRITERS[form](path, path)
    assert read(path, form).equals(TABLE)
    WRITERS[form](bridge.to_arrow_device_stream(path, memory_map=memory_map), path)
    assert read(path, form).equals(TABLE)
    opened = getattr(bridge.ipc, f"open_{form}")(path, memory_map=memory_map)
    WRITERS[form](opened, path)
    opened.release()
    assert read(path, form).equals(TABLE)


@forms
def test_arrays_of_a_mapped_file_keep_the_old_content(path, form):
    opened = getattr(bridge.ipc, f"open_{form}")(path, memory_map=True)
    (batch,) = opened
    WRITERS[form](pa.table({"a": [1]}), path)
    assert pa.table(batch).equals(TABLE)
    opened.release()


@forms
def test_failed_write_keeps_the_old_file(path, form):
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        WRITERS[form](failing_batches(), path)
    assert path.read_bytes() == before
    assert names_in(path.parent) == ["table.arrow"]


@forms
def test_failed_write_creates_no_file(tmp_path, form):
    with pytest.raises(ZeroDivisionError):
        WRITERS[form](failing_batches(), tmp_path / "new.arrow")
    assert names_in(tmp_path) == []


@forms
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755, 0o200])
def test_write_keeps_the_mode_of_the_file(path, form, mode):
    path.chmod(mode)
    WRITERS[form](TABLE[:10], path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o600)
    assert read(path, form).equals(TABLE[:10])


@forms
def test_new_content_of_a_private_file_is_never_readable_for_others(path, form):
    path.chmod(0o600)
    modes = []

    def batches():
        for batch in TABLE.to_batches(max_chunksize=500):
            yield batch
            modes.append({stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()})

    before = os.umask(0)
    try:
        WRITERS[form](batches(), path)
    finally:
        os.umask(before)
    assert modes == [{0o600}] * 2


@forms
def test_write_does_not_keep_setuid_and_setgid(path, form):
    path.chmod(0o6755)
    WRITERS[form](TABLE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@forms
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, form):
    before = os.umask(0o027)
    try:
        WRITERS[form](TABLE, tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@forms
@pytest.mark.parametrize("exists", [True, False])
def test_write_follows_symbolic_links(tmp_path, form, exists):
    folder = tmp_path / "data"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("data/target")
    WRITERS[form](TABLE, link)
    assert link.is_symlink()
    assert read(target, form).equals(TABLE)
    assert names_in(folder) == ["target"]


@forms
def test_write_and_open_expand_the_home_folder(tmp_path, form, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    WRITERS[form](TABLE, "~/table")
    assert read(tmp_path / "table", form).equals(TABLE)
    with getattr(bridge.ipc, f"open_{form}")("~/table") as opened:
        assert pa.table(opened).equals(TABLE)


@forms
def test_write_does_not_replace_pipes_and_devices(tmp_path, form):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reading = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reading.start()
    WRITERS[form](TABLE, pipe)
    reading.join()
    assert READERS[form](found[0]).read_all().equals(TABLE)
    assert names_in(tmp_path) == ["pipe"]
    with pytest.raises(OSError, match="No space left"):
        WRITERS[form](TABLE, "/dev/full")
    WRITERS[form](TABLE, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@forms
def test_a_read_only_file_or_folder_is_refused(path, form):
    if os.getuid() == 0:
        pytest.skip("root may write to all files")
    before = path.read_bytes()
    path.chmod(0o400)
    with pytest.raises(PermissionError):
        WRITERS[form](TABLE[:10], path)
    path.chmod(0o600)
    path.parent.chmod(0o500)
    with pytest.raises(PermissionError):
        WRITERS[form](TABLE[:10], path)
    path.parent.chmod(0o700)
    assert path.read_bytes() == before


@forms
def test_folders_are_refused(tmp_path, form):
    with pytest.raises(IsADirectoryError):
        WRITERS[form](TABLE, tmp_path)


def test_fault_during_a_write_keeps_the_old_or_the_new_content(tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    tests = Path(__file__).parents[1]
    library = tmp_path / "faulty_calls.so"
    source = tests / "testing" / "ipc" / "faulty_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    paths = [str(tests), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    command = [sys.executable, "-P", "-m", "testing.ipc.write_faults", library, "50"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "none: new content 10 times" in result.stdout


@forms
def test_uploads_are_completed_or_aborted(form):
    url = f"memory://folder/{form}.arrow"
    store = fsspec.filesystem("memory")
    WRITERS[form](TABLE, url)
    before = store.cat(url)
    assert READERS[form](before).read_all().equals(TABLE)
    with pytest.raises(ZeroDivisionError):
        WRITERS[form](failing_batches(), url)
    gc.collect()
    assert store.cat(url) == before
    with pytest.raises(ZeroDivisionError):
        WRITERS[form](failing_batches(), f"memory://folder/new-{form}.arrow")
    gc.collect()
    assert not store.exists(f"memory://folder/new-{form}.arrow")
    WRITERS[form](bridge.to_arrow_device_stream(url), url)
    assert READERS[form](store.cat(url)).read_all().equals(TABLE)


@forms
def test_failed_upload_to_a_local_file_keeps_the_old_file(tmp_path, form):
    url = f"file://{tmp_path}/table.arrow"
    WRITERS[form](TABLE, url)
    assert read(tmp_path / "table.arrow", form).equals(TABLE)
    with pytest.raises(ZeroDivisionError):
        WRITERS[form](failing_batches(), url)
    assert read(tmp_path / "table.arrow", form).equals(TABLE)
    assert names_in(tmp_path) == ["table.arrow"]
