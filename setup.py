"""The metadata that depends on the CUDA version. setup.cfg has the rest. CMake runs the build."""

import os

from setuptools import setup
from setuptools.config.setupcfg import read_configuration

CUDA = os.environ.get("CUDF_ARROW_BRIDGE_CUDA", "12")
# cuda_runtime.h includes the crt headers, which are part of nvcc in CUDA 12 and separate since 13.
CRT = {"12": "nvcc", "13": "crt"}.get(CUDA)
if CRT is None:
    raise SystemExit(f"CUDF_ARROW_BRIDGE_CUDA={CUDA}: expected 12 or 13")
EXTRAS = read_configuration("setup.cfg")["options"]["extras_require"]


def rapids(*names: str) -> list[str]:
    """Pin RAPIDS packages to the release whose C++ ABI this source supports."""
    return [f"{name}-cu{CUDA}==26.10.*" for name in names]


setup(
    name=f"cudf-arrow-bridge-cu{CUDA}",
    setup_requires=[*rapids("libcudf", "pylibcudf"), f"cuda-toolkit[cudart,{CRT}]=={CUDA}.*"],
    install_requires=[*rapids("cudf"), "lazy_loader>=0.4", "pyarrow>=19", "rich>=13"],
    # This argument replaces the section of setup.cfg, so it includes the extras from there.
    extras_require=EXTRAS
    | {
        "polars": rapids("cudf-polars"),
        "ucx": [f"{name}-cu{CUDA}==0.52.*" for name in ("ucxx", "distributed-ucxx")],
        # compute-sanitizer. The package for CUDA 12 is incomplete.
        "gpu": ["nvidia-cuda-sanitizer-api==13.*"] if CUDA == "13" else [],
    },
    cmake_args=[
        "-DCUDF_ARROW_BRIDGE_BUILD_PYTHON=ON",
        f"-DCUDF_ARROW_BRIDGE_CUDA={CUDA}",
        "-DCMAKE_UNITY_BUILD=ON",
    ],
)
