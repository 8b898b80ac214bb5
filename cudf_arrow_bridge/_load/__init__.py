# SPDX-License-Identifier: Apache-2.0
"""Check the release of libcudf, load libraries of the extension modules, and import extras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cudf_arrow_bridge._load.build_info import LIBCUDF_VERSION, PACKAGE_SUFFIX


def _release(version: str) -> str:
    """Return the release as in versions of wheels: ``"26.8"`` for ``"26.08.00"``."""
    return ".".join(str(int(part)) for part in version.split(".")[:2])


def required_cudf() -> str:
    """Return the requirement of the release of cuDF that this package was built for."""
    return f"cudf{PACKAGE_SUFFIX}=={_release(LIBCUDF_VERSION)}.*"


def check_release(built: str, found: str, name: str = "libcudf") -> None:
    """Raise ImportError if a package of RAPIDS is of another release than the build's libcudf.

    The C++ ABI is stable only within one release ``YY.MM`` of a version such as ``"26.10.02"``.
    """
    if _release(built) != _release(found):
        raise ImportError(
            f"cudf_arrow_bridge was built against libcudf {built} but found {name} {found}: "
            "the C++ ABI of RAPIDS holds for one release only. "
            f"Install {required_cudf()} "
            f"or cudf-arrow-bridge{PACKAGE_SUFFIX}=={_release(found)}.*."
        )


@contextmanager
def imports_of_extra(extra: str) -> Iterator[None]:
    """Name the extra to install in the error for a module that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"cudf_arrow_bridge.{extra} requires the module {error.name}: "
            f"install cudf-arrow-bridge{PACKAGE_SUFFIX}[{extra}]",
            name=error.name,
        ) from error


def load_libraries() -> None:
    """Load libcudf and its dependencies, as pylibcudf does; see `check_release`."""
    if not PACKAGE_SUFFIX:  # conda's libcudf has no Python package: the dynamic loader finds it
        from importlib import metadata

        check_release(LIBCUDF_VERSION, metadata.version("pylibcudf"))
        return
    try:
        import libcudf
    except ModuleNotFoundError as error:
        if error.name != "libcudf":
            raise
        raise ImportError(
            f"cudf_arrow_bridge was built against libcudf {LIBCUDF_VERSION} but found no libcudf: "
            f"install {required_cudf()}"
        ) from error

    check_release(LIBCUDF_VERSION, libcudf.__version__)
    libcudf.load_library()
