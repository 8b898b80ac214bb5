# SPDX-License-Identifier: Apache-2.0
"""What the tests share: peers, samples, checks, and strategies."""
