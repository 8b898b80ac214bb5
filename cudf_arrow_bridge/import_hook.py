# SPDX-License-Identifier: Apache-2.0
"""A hook that runs a function after another module is imported."""

from __future__ import annotations

import importlib.abc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["PostImportHook"]


class PostImportHook(importlib.abc.MetaPathFinder):
    """A hook that runs a function directly after a module is imported by other code.

    Parameters
    ----------
    module
        The name of the module.
    run
        The function to run.
    """

    def __init__(self, module: str, run: Callable[[], None]) -> None:
        self._module = module
        self._run = run

    def start(self) -> None:
        """Run the function now if the module is loaded, otherwise after it is imported."""
        if self._module in sys.modules:
            self._run()
        elif self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module with the other finders and run the function after it is loaded."""
        if fullname != self._module:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((found for found in specs if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._run()

        # Set only on this loader instance, which keeps its class and other methods.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
