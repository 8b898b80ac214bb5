# SPDX-License-Identifier: Apache-2.0
"""Bodies of IPC messages: described, decoded, moved between memories."""
