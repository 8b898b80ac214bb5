# SPDX-License-Identifier: Apache-2.0
"""Messages to and from memory, files, pipes and sockets."""
