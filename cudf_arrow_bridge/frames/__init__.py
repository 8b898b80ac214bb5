# SPDX-License-Identifier: Apache-2.0
"""cuDF's frames, series and indexes: apart into pylibcudf columns, and together again."""
