# SPDX-License-Identifier: Apache-2.0
"""What is built and installed: the sdist, metadata of the wheel and conda, the CMake package."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

import pytest
import setuptools
import yaml

from cudf_arrow_bridge._load import build_info

backend = pytest.importorskip("scikit_build_core.setuptools.build_meta")

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "conda/recipe.yaml").read_text()
VARIANTS = yaml.safe_load((ROOT / "conda/variants.yaml").read_text())
NEEDS_CMAKE = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")


@pytest.fixture
def setup_py(monkeypatch):
    """Run setup.py with environment variables, and return the arguments of `setup`."""

    def setup_py(**variables):
        options = {}
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(setuptools, "setup", lambda **given: options.update(given))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return options | {"globals": runpy.run_path("setup.py")}

    return setup_py


@pytest.mark.parametrize(
    ("variable", "release"),
    [("26.8", "26.8"), ("26.08", "26.8"), ("26.10", "26.10"), ("", build_info.LIBCUDF_VERSION)],
)
def test_build_is_for_the_named_or_the_installed_release(setup_py, variable, release):
    release = ".".join(str(int(part)) for part in release.split(".")[:2])
    options = setup_py(CUDF_ARROW_BRIDGE_RAPIDS=variable)
    assert f"libcudf-cu12=={release}.*" in options["setup_requires"]
    assert re.fullmatch(rf"{re.escape(release)}\.\d+", options["version"])


def test_unsupported_builds_are_refused(setup_py, monkeypatch):
    with pytest.raises(SystemExit, match=r"expected a release in .*, got 26\.4"):
        setup_py(CUDF_ARROW_BRIDGE_RAPIDS="26.04")
    monkeypatch.setattr("sysconfig.get_config_var", lambda name: name == "Py_GIL_DISABLED")
    with pytest.raises(SystemExit, match="Free-threaded"):
        setup_py()


def test_extras_are_those_that_the_documentation_lists(setup_py):
    page = (ROOT / "docs" / "versions.md").read_text()
    section = page.partition("## Optional libraries")[2].partition("\n## ")[0]
    extras = setup_py()["extras_require"]
    assert {*re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)} == {*extras}
    for libraries in extras.values():
        for library in libraries:
            assert re.split(r"[=>]|-cu1", library)[0] in section


@pytest.mark.parametrize("url", [None, "https://example.org/bridge"])
def test_links_of_the_readme_have_targets_on_a_package_index(setup_py, url):
    targets = re.findall(r"\]\(([^)]*)\)", setup_py()["globals"]["long_description"](url))
    assert targets
    for target in targets:
        assert target.startswith("https://")
        path = re.match(rf"{url}/(?:blob|raw)/HEAD/([^#]*)", target)
        assert path is None or (ROOT / path[1]).exists()


@pytest.mark.parametrize("cuda", VARIANTS["cuda"])
@pytest.mark.parametrize("rapids", VARIANTS["rapids"])
def test_conda_package_requires_what_the_wheel_requires(setup_py, cuda, rapids):
    recipe = RECIPE.replace("${{ rapids }}", rapids).replace("${{ cuda }}", cuda)
    rendered = yaml.load(recipe, Loader=yaml.BaseLoader)
    options = setup_py(**rendered["build"]["script"]["env"], CONDA_BUILD="1")
    assert options["name"] == rendered["package"]["name"]
    assert options["version"] == rendered["context"]["version"]
    wheel = [text.replace("_", "-") for text in options["install_requires"]]
    run = [text for text in rendered["requirements"]["run"] if "pin_compatible" not in text]
    conda = [re.sub(r"^(\S+) =(\d\S*)$", r"\1==\2.*", text).replace(" ", "") for text in run]
    assert sorted([*wheel, "python"]) == sorted(conda)
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    required = {re.sub(r"\[.*\]", "", text) for text in system["requires"]}
    assert required <= {text.replace(" ", "") for text in rendered["requirements"]["host"]}


def test_source_distribution_has_all_that_the_build_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / backend.build_sdist(str(tmp_path))) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    kinds = ".cmake .cpp .hpp .in .pxd .py .pyi .pyx .txt"
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    read = {
        name
        for name in listed.stdout.splitlines()
        if re.match("cmake/|csrc/(include|src)/|cudf_arrow_bridge/", name)
        and Path(name).suffix in kinds.split()
    }
    assert len(read) > 100
    assert read | {"CMakeLists.txt", "cudf_arrow_bridge/VERSION", "README.md"} <= names
    assert not [name for name in names if name.startswith(("benchmarks", "tests"))]


def test_installed_package_has_licenses_and_stubs():
    files = metadata.files(f"cudf-arrow-bridge-cu{build_info.CUDA_MAJOR}") or []
    assert {path.name for path in files if "licenses" in path.parts} == {"LICENSE", "NOTICE"}
    core = [path for path in files if path.parts[:2] == ("cudf_arrow_bridge", "_core")]
    modules = {path.with_suffix("").with_suffix("") for path in core if path.suffix == ".so"}
    assert modules
    assert modules <= {path.with_suffix("") for path in core if path.suffix == ".pyi"}


def test_package_records_the_wheels_that_it_links():
    versions = dict(wheel.rsplit("-", 1) for wheel in build_info.LINKED_WHEELS)
    assert {name.split("_cu1")[0] for name in versions} == {
        "libcudf", "librmm", "nvidia_cuda_runtime",
    }  # fmt: skip
    assert versions == {name: metadata.version(name) for name in versions}


def test_ci_runs_the_two_commands_of_the_quick_start():
    readme = (ROOT / "README.md").read_text()
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    commands = [step["run"] for step in workflow["jobs"]["readme"]["steps"] if "run" in step]
    assert "\n".join(["## Quick start", "", "```", *commands, "```", "", "## "]) in readme


def package_folder():
    [folder] = find_spec("cudf_arrow_bridge").submodule_search_locations
    return Path(folder)


def blocks(page, language):
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.exhaustive
@NEEDS_CMAKE
def test_cpp_programs_of_the_pages_find_the_installed_package(tmp_path):
    printed = {
        "export_import": "number: 25 rows of format i\n25 rows, shared\n",
        "async_consumer": "".join(f"{rows} rows of format i\n" for rows in (10, 10, 5)),
    }
    [links] = blocks("how-to/cpp.md", "cmake")
    project = "cmake_minimum_required(VERSION 3.26)\nproject(consumers LANGUAGES CXX)\n"
    for page, name in zip(("how-to/cpp.md", "async.md"), printed, strict=True):
        source = ROOT / f"examples/{name}.cpp"
        project += f"add_executable({name} {source})\n{links.replace('my_program', name)}"
        [shown] = blocks(page, "cpp")
        assert indent(shown, "  ") in source.read_text()
    (tmp_path / "CMakeLists.txt").write_text(project)
    build = tmp_path / "build"
    options = [f"-DCMAKE_PREFIX_PATH={package_folder()}", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, *options], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    assert printed == {
        name: subprocess.run([build / name], check=True, capture_output=True, text=True).stdout
        for name in printed
    }


def link_as_in_conda(prefix):
    """Fill a folder with links to the wheels' files, in the layout of a conda environment."""
    site = package_folder().parent
    targets = prefix / "targets/x86_64-linux"
    for folder in (prefix, targets):
        (folder / "include").mkdir(parents=True)
        (folder / "lib").mkdir()
    parts = [(site, prefix)]
    parts += [(site / name, prefix) for name in ("libcudf", "librmm", "rapids_logger", "libkvikio")]
    parts += [(folder, prefix) for folder in site.glob("nvidia/libnvcomp")]
    parts += [(folder, targets) for folder in site.glob("nvidia/*")]
    for source, target in parts:
        for kind in ("include", "lib", "lib64"):
            for path in source.glob(f"{kind}/*"):
                link = target / kind.removesuffix("64") / path.name
                if not link.exists():
                    link.symlink_to(path)
    record = f"libcudf-{build_info.LIBCUDF_VERSION}-cuda{build_info.CUDA_MAJOR}_0.json"
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / record).touch()


@NEEDS_CMAKE
def test_build_finds_the_packages_of_conda(tmp_path):
    prefix = tmp_path / "conda"
    link_as_in_conda(prefix)
    options = ["-B", tmp_path / "build", f"-DRapidsPackages_ROOTS={prefix}"]
    subprocess.run(["cmake", "-S", ROOT, *options], check=True)
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    folders = {
        path for entry in commands for path in re.findall(r"-isystem (\S+)", entry["command"])
    }
    assert folders == {
        str(prefix / folder)
        for folder in ("include", "include/rapids", "targets/x86_64-linux/include")
    }
