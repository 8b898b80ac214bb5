# SPDX-License-Identifier: Apache-2.0
from typing import Final

__version__: Final[str]
LIBCUDF_VERSION: Final[str]
CUDA_MAJOR: Final[int]
PACKAGE_SUFFIX: Final[str]
NANOARROW_VERSION: Final[str]
LINKED_WHEELS: Final[list[str]]
