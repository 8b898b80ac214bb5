# SPDX-License-Identifier: Apache-2.0
"""Results for people and machines: tables, plots, records, pages."""
