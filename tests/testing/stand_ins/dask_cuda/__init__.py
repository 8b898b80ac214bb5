# SPDX-License-Identifier: Apache-2.0
"""The parts of dask-cuda that store objects of workers, which can be imported without a GPU.

They have the names and the behaviour of dask-cuda 26.10 (commit 63a1ea97).
"""
