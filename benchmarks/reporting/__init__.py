# SPDX-License-Identifier: Apache-2.0
"""Reports of the results: tables, plots, records and pages."""
