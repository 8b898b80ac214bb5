# SPDX-License-Identifier: Apache-2.0
"""Arrays on their way to another process: a header, and the buffers as they are."""
