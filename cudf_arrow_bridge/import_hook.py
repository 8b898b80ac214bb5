# SPDX-License-Identifier: Apache-2.0
"""Run a function after another module is imported."""

from __future__ import annotations

import importlib.abc
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def run_after_import(module: str, run: Callable[[], None]) -> None:
    """Run a function now if a module is loaded, otherwise directly after it is imported."""
    hook = _Hook(module, run)
    if module in sys.modules:
        run()
    elif hook not in sys.meta_path:
        sys.meta_path.insert(0, hook)


@dataclass(frozen=True)
class _Hook(importlib.abc.MetaPathFinder):
    module: str
    run: Callable[[], None]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module with the other finders and run the function after it is loaded."""
        if fullname != self.module:
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
            self.run()

        # Set only on this loader instance, which keeps its class and other methods.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
