# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of the flatbuffers of Arrow IPC. Input is untrusted."""
