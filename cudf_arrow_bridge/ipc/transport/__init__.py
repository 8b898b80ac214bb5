# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of messages in memory, files, pipes and sockets."""
