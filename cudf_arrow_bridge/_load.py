# SPDX-License-Identifier: Apache-2.0
"""Check the release of libcudf and load the libraries that the extension modules link to."""

from __future__ import annotations

__all__ = ["check_release", "load_libraries"]


def check_release(built: str, found: str) -> None:
    """Raise ImportError if libcudf is of another release than this package was built against.

    The C++ ABI is stable only within one release ``YY.MM`` of a version such as ``"26.10.02"``.
    """

    def release(version: str) -> list[int]:
        return [int(part) for part in version.split(".")[:2]]

    if release(built) != release(found):
        raise ImportError(
            f"cudf_arrow_bridge was built against libcudf {built} but found libcudf {found}: "
            "the C++ ABI of RAPIDS holds for one release only. Install both of the same release."
        )


def load_libraries() -> None:
    """Load libcudf and its dependencies, as pylibcudf does; see `check_release`."""
    import libcudf

    from cudf_arrow_bridge._build_info import LIBCUDF_VERSION

    check_release(LIBCUDF_VERSION, libcudf.__version__)
    libcudf.load_library()
