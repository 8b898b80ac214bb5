# SPDX-License-Identifier: Apache-2.0
"""Clusters, tasks and checks for tests that send arrays to other processes."""
