# SPDX-License-Identifier: Apache-2.0
"""Whatever holds cuDF data on its way out: taken apart, whole or in batches."""
