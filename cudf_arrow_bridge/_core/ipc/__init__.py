# SPDX-License-Identifier: Apache-2.0
"""Bodies of IPC messages: description, decoding and transfer between memories."""
