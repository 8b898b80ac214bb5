# SPDX-License-Identifier: Apache-2.0
"""The Arrow PyCapsule protocols and their objects: device arrays, streams and schemas."""
