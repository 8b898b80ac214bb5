# SPDX-License-Identifier: Apache-2.0
"""Arrays on their way to other processes: clusters, what they do, and what must arrive."""
