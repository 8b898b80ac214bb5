# SPDX-License-Identifier: Apache-2.0
"""Device arrays on a Ray cluster."""
