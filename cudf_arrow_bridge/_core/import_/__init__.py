# SPDX-License-Identifier: Apache-2.0
"""Import of Arrow device arrays as pylibcudf columns, and construction of these columns."""
