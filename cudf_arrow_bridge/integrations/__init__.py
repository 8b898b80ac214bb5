# SPDX-License-Identifier: Apache-2.0
"""Methods and functions that this package registers with cuDF and Dask."""
