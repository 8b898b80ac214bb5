# SPDX-License-Identifier: Apache-2.0
"""Exchange cuDF data with any Arrow library in device memory."""

import lazy_loader

from .registration import register_when_imported

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_when_imported()
