# SPDX-License-Identifier: Apache-2.0
"""The workflows match the scripts, the README and the package. Linters cannot check this."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from configparser import ConfigParser
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cudf_arrow_bridge._load import build_info

ROOT = Path(__file__).parents[2]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
CIBUILDWHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
CONDA_VARIANTS = yaml.safe_load((ROOT / "conda" / "variants.yaml").read_text())
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def steps(workflow: str) -> list[dict[str, object]]:
    jobs = WORKFLOWS[workflow]["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


def calls_of_scripts() -> list[tuple[str, str]]:
    """Return each script that is called, with its arguments."""
    texts = [str(step.get("run")) for name in WORKFLOWS for step in steps(name)]
    texts.append(CIBUILDWHEEL["repair-wheel-command"].replace("{project}/", ""))
    return [call for text in texts for call in re.findall(r"\bbash (\S+)(.*)", text)]


def artifacts(action: str) -> set[str]:
    uses = [step for name in WORKFLOWS for step in steps(name) if "uses" in step]
    used = [step["with"] for step in uses if f"/{action}-artifact@" in step["uses"]]
    return {options["name"] for options in used if "name" in options}


def test_ci_runs_the_two_commands_of_the_readme():
    job = WORKFLOWS["ci"]["jobs"]["readme"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    quick_start = "\n".join(["## Quick start", "", "```", *commands, "```"])
    assert quick_start in (ROOT / "README.md").read_text()


def test_pull_requests_are_linted_and_sanitized():
    job = WORKFLOWS["ci"]["jobs"]["thorough"]
    assert "pull_request" in WORKFLOWS["ci"][True]  # "on": true
    assert "if" not in job
    script = job["steps"][-1]["run"].removeprefix("bash ")
    calls = (ROOT / script).read_text().splitlines()
    assert {"bash dev/lint.sh", "bash dev/sanitize.sh"} <= set(calls)


@pytest.mark.parametrize(("script", "arguments"), calls_of_scripts())
def test_called_scripts_define_the_options_in_the_call(script, arguments):
    source = (ROOT / script).read_text()
    for module in re.findall(r"python3 -m (\S+)", source):
        source += "".join(
            path.read_text() for path in ROOT.glob(f"{module.replace('.', '/')}/*.py")
        )
    for option in re.findall(r"--[\w-]+", arguments):
        assert re.search(rf"{option}\b", source)


def test_each_cuda_version_has_a_wheel_that_is_tested_on_a_gpu():
    [table] = re.findall(r"^CRT = ({.*})", (ROOT / "setup.py").read_text(), re.MULTILINE)
    accepted = list(ast.literal_eval(table))
    assert WORKFLOWS["wheels"]["jobs"]["wheel"]["strategy"]["matrix"]["cuda"] == accepted
    on_gpus = WORKFLOWS["gpu"]["jobs"]["gpu"]["strategy"]["matrix"]["cuda"]
    [default] = re.findall(r"'(.*)'", on_gpus)
    assert json.loads(default) == accepted
    assert (
        artifacts("download")
        == {
            "wheel-cu${{ matrix.cuda }}-rapids${{ matrix.rapids }}",
            "site",
        }
        <= artifacts("upload")
    )


def test_release_publishes_the_wheels_of_each_cuda_and_rapids_release():
    [pattern] = {
        step["with"]["pattern"] for step in steps("release") if "path" in step.get("with", {})
    }
    assert {name for name in artifacts("upload") if fnmatch(name, pattern)} == {
        "wheel-cu${{ matrix.cuda }}-rapids${{ matrix.rapids }}"
    }


def needed(job: str) -> set[str]:
    """Return the jobs of the release that succeed before this one starts."""
    names = WORKFLOWS["release"]["jobs"][job].get("needs", [])
    names = {names} if isinstance(names, str) else set(names)
    return names.union(*map(needed, names))


def test_release_uploads_wheels_after_the_tests_of_a_tag_that_names_the_version():
    jobs = WORKFLOWS["release"]["jobs"]
    assert needed("wheels") == needed("tests") == {"tag"}
    assert needed("publish") == {"tag", "tests", "wheels"}
    assert jobs["tests"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in WORKFLOWS["ci"][True]  # "on": true
    command = jobs["tag"]["steps"][-1]["run"]
    version = (ROOT / "cudf_arrow_bridge" / "VERSION").read_text().strip()
    for tag in (f"v{version}", f"v{version}1", version):
        environment = os.environ | {"GITHUB_REF_NAME": tag}
        result = subprocess.run(["bash", "-ec", command], cwd=ROOT, env=environment, check=False)
        assert (result.returncode == 0) == (tag == f"v{version}")


def test_release_attests_the_wheels_before_the_upload():
    steps = WORKFLOWS["release"]["jobs"]["publish"]["steps"]
    attest, upload = steps[-2:]
    assert attest["uses"].startswith("actions/attest@")
    assert attest["with"]["subject-path"] == "dist/*"
    assert "publish" in upload["run"]
    assert WORKFLOWS["release"]["jobs"]["publish"]["permissions"]["attestations"] == "write"


def test_tokens_are_not_part_of_the_addresses_that_git_stores():
    for name in WORKFLOWS:
        assert not any(re.search(r"://\S*[$]\S*@", str(step.get("run"))) for step in steps(name))


def test_dependabot_renews_the_pins_of_actions_and_packages():
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())
    updates = {update["package-ecosystem"]: update for update in config["updates"]}
    assert set(updates) == {"github-actions", "pip"}
    for update in updates.values():
        assert update["schedule"] == {"interval": "weekly"}
        assert [group["patterns"] for group in update["groups"].values()] == [["*"]]
    for folder in updates["pip"]["directories"]:
        names = ("setup.cfg", "requirements.txt")
        texts = [path.read_text() for path in (ROOT / folder[1:]).iterdir() if path.name in names]
        assert any("==" in text for text in texts)


def options_of_setup(**variables: str) -> dict[str, object]:
    code = """
import json, runpy, setuptools
setuptools.setup = lambda **options: print(json.dumps(options))
runpy.run_path("setup.py")
"""
    return json.loads(output_of(code, **variables))


@pytest.mark.parametrize("url", [None, "https://example.org/bridge"])
def test_links_of_readme_have_targets_on_a_package_index(url):
    code = f"""
import runpy, setuptools
setuptools.setup = lambda **options: None
print(runpy.run_path("setup.py")["long_description"]({url!r}))
"""
    text = output_of(code)
    assert "# cudf-arrow-bridge" in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert targets
    for target in targets:
        assert target.startswith("https://")
        path = re.match(rf"{url}/(?:blob|raw)/HEAD/([^#]*)", target)
        assert path is None or (ROOT / path[1]).exists()
    assert (f"]({url}/raw/HEAD/docs/_static/exchange.svg)" in text) == (url is not None)


def test_source_distribution_has_all_that_the_build_reads_and_no_python_tests(tmp_path):
    code = f"""
import scikit_build_core.setuptools.build_meta as backend
backend.build_sdist({str(tmp_path)!r})
"""
    output = output_of(code)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    folders = ("cmake", "csrc/include", "csrc/src", "cudf_arrow_bridge")
    sources = {path for folder in folders for path in (ROOT / folder).rglob("*.*")}
    kinds = {".cmake", ".cpp", ".hpp", ".in", ".pxd", ".py", ".pyi", ".pyx", ".txt"}
    read = {str(path.relative_to(ROOT)) for path in sources if path.suffix in kinds}
    assert read | {"CMakeLists.txt", "cudf_arrow_bridge/VERSION", "README.md"} <= names, output
    assert not [name for name in names if name.startswith(("benchmarks", "tests"))]


def test_packages_state_one_license_and_summary():
    about = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())["about"]
    assert about["license"] == SETUP["metadata"]["license_expression"]
    assert about["summary"] == SETUP["metadata"]["description"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["abstract"] == f"{about['summary']}."
    assert citation["authors"] == [{"name": SETUP["metadata"]["author"]}]


@pytest.mark.parametrize("cuda", CONDA_VARIANTS["cuda"])
@pytest.mark.parametrize("rapids", CONDA_VARIANTS["rapids"])
def test_conda_package_requires_what_the_wheel_requires(cuda, rapids):
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    recipe = recipe.replace("${{ rapids }}", rapids).replace("${{ cuda }}", cuda)
    rendered = yaml.load(recipe, Loader=yaml.BaseLoader)
    run = [text for text in rendered["requirements"]["run"] if "pin_compatible" not in text]
    variables = rendered["build"]["script"]["env"] | {"CONDA_BUILD": "1"}
    options = options_of_setup(**variables)
    assert options["name"] == rendered["package"]["name"]
    assert options["version"] == rendered["context"]["version"]
    assert options["setup_requires"] == []
    wheel = [text.replace("_", "-") for text in options["install_requires"]]
    conda = [re.sub(r"^(\S+) =(\d\S*)$", r"\1==\2.*", text).replace(" ", "") for text in run]
    assert sorted([*wheel, "python"]) == sorted(conda)


def test_conda_package_is_built_with_what_the_wheel_is_built_with():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    build_system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    required = {re.sub(r"\[.*\]", "", text) for text in build_system["requires"]}
    assert required <= {text.replace(" ", "") for text in recipe["requirements"]["host"]}


def test_conda_packages_are_built_for_the_releases_that_wheels_are_built_for():
    matrix = WORKFLOWS["wheels"]["jobs"]["wheel"]["strategy"]["matrix"]
    assert matrix == {name: CONDA_VARIANTS[name] for name in ("cuda", "rapids")}


def required_by_the_build(**variables: str) -> str:
    code = """
import scikit_build_core.setuptools.build_meta as backend
print(backend.get_requires_for_build_wheel())
"""
    return output_of(code, **variables)


def output_of(code: str, **variables: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.stdout


def test_build_is_for_the_release_of_the_installed_libcudf():
    major, minor = Version(build_info.LIBCUDF_VERSION).release[:2]
    assert f"libcudf-cu12=={major}.{minor}.*'" in required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS="")


@pytest.mark.parametrize("release", ["26.8", "26.08", "26.10"])
def test_build_is_for_the_release_that_the_environment_names(release):
    pinned = f"pylibcudf-cu12=={release.replace('.0', '.')}.*'"
    assert pinned in required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS=release)


@pytest.mark.parametrize("release", ["26.8", "26.10"])
def test_version_begins_with_the_release_that_the_build_is_for(release):
    version = options_of_setup(CUDF_ARROW_BRIDGE_RAPIDS=release)["version"]
    assert re.fullmatch(rf"{re.escape(release)}\.\d+", version)


def test_build_for_free_threaded_python_is_refused():
    code = """
import runpy, sysconfig
sysconfig.get_config_var = lambda name: name == "Py_GIL_DISABLED"
runpy.run_path("setup.py")
"""
    assert "Free-threaded Python is not supported" in output_of(code)


def test_installed_package_has_the_licenses_of_its_libraries():
    files = metadata.files(f"cudf-arrow-bridge-cu{build_info.CUDA_MAJOR}") or []
    assert {path.name for path in files if "licenses" in path.parts} == {"LICENSE", "NOTICE"}


def test_installed_package_has_stubs_of_the_cython_modules():
    files = metadata.files(f"cudf-arrow-bridge-cu{build_info.CUDA_MAJOR}") or []
    core = {path for path in files if path.parent.parts[:2] == ("cudf_arrow_bridge", "_core")}
    modules = {path.with_suffix("").with_suffix("") for path in core if path.suffix == ".so"}
    assert modules
    assert modules <= {path.with_suffix("") for path in core if path.suffix == ".pyi"}


def test_package_records_the_wheels_that_it_links():
    versions = dict(wheel.rsplit("-", 1) for wheel in build_info.LINKED_WHEELS)
    names = {name.split("_cu1")[0] for name in versions}
    assert names == {"libcudf", "librmm", "nvidia_cuda_runtime"}
    assert versions == {name: metadata.version(name) for name in versions}
    [config] = [
        path
        for path in metadata.files(f"pylibcudf-cu{build_info.CUDA_MAJOR}") or []
        if path.name == "nanoarrow_config.h"
    ]
    version = f'#define NANOARROW_VERSION "{build_info.NANOARROW_VERSION}"'
    assert version in config.read_text().splitlines()


def test_build_for_an_unsupported_release_lists_the_supported_ones():
    error = required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS="26.04")
    assert "libcudf: expected a release in ['26.10', '26.8'], got 26.4" in error


def test_oldest_python_of_ci_is_that_of_the_package_and_the_wheels():
    python = WORKFLOWS["ci"]["jobs"]["readme"]["strategy"]["matrix"]["python"]
    oldest = min(map(Version, python))
    assert SpecifierSet(SETUP["options"]["python_requires"]) == SpecifierSet(f">={oldest}")
    tag = f"cp{oldest.major}{oldest.minor}"
    assert SETUP["bdist_wheel"]["py_limited_api"] == tag
    assert CIBUILDWHEEL["build"].startswith(f"{tag}-")


def test_self_hosted_runners_run_no_pull_requests():
    own = [name for name in WORKFLOWS if "self-hosted" in json.dumps(WORKFLOWS[name]["jobs"])]
    assert own == ["gpu"]
    assert set(WORKFLOWS["gpu"][True]) == {"push", "schedule", "workflow_dispatch"}  # "on": true


def test_each_job_has_a_timeout_of_at_most_150_minutes():
    for name, workflow in WORKFLOWS.items():
        for job, content in workflow["jobs"].items():
            assert "uses" in content or content["timeout-minutes"] <= 150, (name, job)


@pytest.fixture
def published(tmp_path):
    """Publish sites of several versions, in this order; return the folder of all versions."""
    publish = runpy.run_path(str(ROOT / "dev" / "publish_docs.py"))["publish"]

    def published(*versions):
        for version in versions:
            site = tmp_path / f"site-{version}"
            (site / "_static").mkdir(parents=True)
            (site / "_static" / "switcher.json").write_text("[]")
            (site / "index.html").write_text(version)
            publish(site, tmp_path / "pages", version, "https://example.org/docs/")
        return tmp_path / "pages"

    return published


def test_switcher_of_every_version_lists_all_versions(published):
    pages = published("dev", "v0.9.0", "v0.10.0", "v0.9.1")
    folders = ["0.10.0", "0.9.0", "0.9.1", "dev", "stable"]
    assert sorted(path.name for path in pages.iterdir() if path.is_dir()) == folders
    for folder in folders:
        assert json.loads((pages / folder / "_static" / "switcher.json").read_text()) == [
            {"name": "dev", "version": "dev", "url": "https://example.org/docs/dev/"},
            {
                "name": "0.10.0 (stable)",
                "version": "0.10.0",
                "url": "https://example.org/docs/stable/",
                "preferred": True,
            },
            {"name": "0.9.1", "version": "0.9.1", "url": "https://example.org/docs/0.9.1/"},
            {"name": "0.9.0", "version": "0.9.0", "url": "https://example.org/docs/0.9.0/"},
        ]
    assert (pages / "stable" / "index.html").read_text() == "v0.10.0"
    assert "url=stable/docs/index.html" in (pages / "index.html").read_text()


def test_site_without_a_release_begins_with_dev(published):
    pages = published("dev")
    assert "url=dev/docs/index.html" in (pages / "index.html").read_text()
    assert not (pages / "stable").exists()


def test_site_of_a_version_is_replaced(published, tmp_path):
    pages = published("dev")
    (pages / "dev" / "old.html").touch()
    shutil.rmtree(tmp_path / "site-dev")
    assert not (published("dev") / "dev" / "old.html").exists()


@pytest.mark.parametrize("version", ["main", "0.1", "0.1.0rc1", "stable"])
def test_site_of_another_branch_is_not_published(published, version):
    with pytest.raises(ValueError, match="expected 'dev' or a release"):
        published(version)


def test_published_tags_are_versions_of_the_package():
    on = WORKFLOWS["docs"][True]["push"]  # "on": true
    assert on == {"branches": ["main"], "tags": ["v[0-9]+.[0-9]+.[0-9]+"]}
    version = (ROOT / "cudf_arrow_bridge" / "VERSION").read_text().strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
