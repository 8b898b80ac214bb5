# SPDX-License-Identifier: Apache-2.0
"""External and lazy sources of exports: files, datasets, Dask collections, Ray objects."""
