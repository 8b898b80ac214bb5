# SPDX-License-Identifier: Apache-2.0
"""What lies outside of this process, or is not computed yet: files, datasets, Dask collections."""
