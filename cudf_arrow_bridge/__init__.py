# SPDX-License-Identifier: Apache-2.0
"""Exchange cuDF data with other Arrow libraries, in device memory or host memory."""

import sys
from importlib.machinery import ModuleSpec, PathFinder


def _is_built(spec: ModuleSpec) -> bool:
    folders = [f"{folder}/_load" for folder in spec.submodule_search_locations or ()]
    return PathFinder.find_spec(f"{__name__}._load.build_info", folders) is not None


if _is_built(__spec__):
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
else:
    # Python was started in a clone, so that these sources are first on sys.path. This module
    # becomes the installed package.
    _found = (PathFinder.find_spec(__name__, [folder]) for folder in sys.path)
    _installed = next((spec for spec in _found if spec is not None and _is_built(spec)), None)
    if _installed is None:
        raise ImportError(
            f"{__name__} is not installed for {sys.executable}, and {__path__[0]} has only its "
            "sources: install it with python dev/install.py",
            name=__name__,
        )
    __path__ = __spec__.submodule_search_locations = _installed.submodule_search_locations
    __file__ = __spec__.origin = _installed.origin
    __loader__ = __spec__.loader = _installed.loader
    __loader__.exec_module(sys.modules[__name__])
