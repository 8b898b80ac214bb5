# SPDX-License-Identifier: Apache-2.0
"""What is measured on a GPU alone."""
