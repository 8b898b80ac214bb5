# SPDX-License-Identifier: Apache-2.0
"""The flatbuffers of Arrow IPC, read without trust, and written."""
