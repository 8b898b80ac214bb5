# SPDX-License-Identifier: Apache-2.0
"""Exchange cuDF data with any Arrow library in device memory."""

import lazy_loader

from .integrations.registration import register_all

_attribute, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

_EXTRAS = ("dask", "polars", "ray")
#: ``import *`` does not import the modules of extras, which may be missing.
__all__ = [name for name in _names if name not in _EXTRAS]


def __getattr__(name: str) -> object:
    try:
        return _attribute(name)
    except ModuleNotFoundError as error:
        if name not in _EXTRAS:
            raise
        raise AttributeError(str(error)) from error


register_all()
