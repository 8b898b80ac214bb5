# SPDX-License-Identifier: Apache-2.0
"""cuDF frames, series and indexes: to pylibcudf columns with Arrow metadata, and back."""
