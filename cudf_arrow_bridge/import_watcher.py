# SPDX-License-Identifier: Apache-2.0
"""What is done as soon as somebody imports a module, which we do not import for it."""

from __future__ import annotations

import importlib.abc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["ImportWatcher"]


class ImportWatcher(importlib.abc.MetaPathFinder):
    """Runs a function right after a module's own import, without importing it itself.

    Parameters
    ----------
    module
        The name of the module.
    run
        The function.
    """

    def __init__(self, module: str, run: Callable[[], None]) -> None:
        self._module = module
        self._run = run

    def start(self) -> None:
        """Run the function now if the module is loaded, else as soon as it is."""
        if self._module in sys.modules:
            self._run()
        elif self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as the other finders do, and run the function after it was loaded."""
        if fullname != self._module:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._run()

        # Set on this loader alone, which keeps its class and other methods.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
