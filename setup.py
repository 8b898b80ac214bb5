"""The metadata of the package. Some of it depends on RAPIDS and CUDA. CMake runs the build."""

import os
import re
import sysconfig
from importlib import metadata
from pathlib import Path

from setuptools import find_packages, setup

CUDA = os.environ.get("CUDF_ARROW_BRIDGE_CUDA", "12")
# cuda_runtime.h includes the crt headers, which are part of nvcc in CUDA 12 and separate since 13.
CRT = {"12": "nvcc", "13": "crt"}.get(CUDA)
if CRT is None:
    raise SystemExit(f"CUDF_ARROW_BRIDGE_CUDA={CUDA}: expected 12 or 13")
# conda's build tools set CONDA_BUILD. conda packages have no CUDA version in their names.
CONDA = os.environ.get("CONDA_BUILD") == "1"
SUFFIX = "" if CONDA else f"-cu{CUDA}"
# The supported releases of RAPIDS, the default first, with their releases of UCXX.
UCXX = {"26.10": "0.52", "26.8": "0.51"}
PATCH = Path("cudf_arrow_bridge/VERSION").read_text().strip().split(".")[2]
#: The public address of the repository, once it has one. Links are made with it.
URL: str | None = None


def rapids_release() -> str:
    """Return CUDF_ARROW_BRIDGE_RAPIDS, or the installed release of libcudf, or the default."""
    release = os.environ.get("CUDF_ARROW_BRIDGE_RAPIDS")
    if not release:
        try:
            release = metadata.version(f"libcudf-cu{CUDA}")
        except metadata.PackageNotFoundError:
            release = next(iter(UCXX))
    release = ".".join(str(int(part)) for part in release.split(".")[:2])
    if release not in UCXX:
        raise SystemExit(f"libcudf: expected a release in {list(UCXX)}, got {release}")
    return release


def long_description(url: str | None) -> str:
    """Return README for a package index: links to files begin with `url`. Without it they go."""
    text = Path("README.md").read_text()
    image, link = (rf"{mark}\[([^]]*)\]\((?!https:)([^)]*)\)" for mark in ("!", ""))
    text = re.sub(image, rf"![\1]({url}/raw/HEAD/\2)" if url else "", text)
    return re.sub(link, rf"[\1]({url}/blob/HEAD/\2)" if url else r"\1", text)


if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit("Free-threaded Python is not supported: cuDF has no wheels for it")
RAPIDS = rapids_release()


def rapids(*names: str) -> list[str]:
    """Pin RAPIDS packages to the release that this build is for, since it fixes the C++ ABI."""
    return [f"{name}{SUFFIX}=={RAPIDS}.*" for name in names]


setup(
    name=f"cudf-arrow-bridge{SUFFIX}",
    version=f"{RAPIDS}.{PATCH}",
    description="Exchange cuDF frames with other Arrow libraries, without a copy where the layouts "
    "are equal",
    long_description=long_description(URL),
    long_description_content_type="text/markdown",
    author="The developers of cudf-arrow-bridge",
    project_urls={"Issues": f"{URL}/issues", "Source": URL} if URL else {},
    # The license of wheels, which contain the libraries that NOTICE lists.
    license_expression="Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND "
    "LicenseRef-NVIDIA-Proprietary",
    license_files=["LICENSE", "NOTICE"],
    keywords=["arrow", "cudf", "cuda", "gpu", "rapids", "zero-copy"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: GPU :: NVIDIA CUDA",
        "Intended Audience :: Developers",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C++",
        "Programming Language :: Cython",
        "Programming Language :: Python :: 3",
        "Typing :: Typed",
    ],
    packages=find_packages(include=["cudf_arrow_bridge*"]),
    package_data={"": ["*.pxd", "*.pyi", "py.typed"]},
    zip_safe=False,
    entry_points={
        "console_scripts": ["cudf-arrow-bridge = cudf_arrow_bridge.__main__:main"],
        "cmake.prefix": ["cudf_arrow_bridge = cudf_arrow_bridge"],
    },
    python_requires=">=3.11",
    # For conda, conda/recipe.yaml has the requirements of the build.
    setup_requires=[]
    if CONDA
    else [*rapids("libcudf", "pylibcudf"), f"cuda-toolkit[cudart,{CRT}]=={CUDA}.*"],
    install_requires=[*rapids("cudf"), "lazy_loader>=0.4", "pyarrow>=19", "rich>=13"],
    extras_require={
        "dask": ["dask[dataframe,distributed]>=2026.1"],
        "polars": rapids("cudf-polars"),
        "ray": ["ray[data]>=2.50"],
        "ucx": [
            f"dask-cuda=={RAPIDS}.*",
            *(f"{name}{SUFFIX}=={UCXX[RAPIDS]}.*" for name in ("ucxx", "distributed-ucxx")),
        ],
    },
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    cmake_args=[
        "-DCUDF_ARROW_BRIDGE_BUILD_PYTHON=ON",
        f"-DCUDF_ARROW_BRIDGE_CUDA={CUDA}",
        f"-DCUDF_ARROW_BRIDGE_RAPIDS={RAPIDS}",
        "-DCMAKE_UNITY_BUILD=ON",
    ],
)
