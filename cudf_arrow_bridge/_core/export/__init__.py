# SPDX-License-Identifier: Apache-2.0
"""Export of pylibcudf columns as Arrow device arrays."""
