# SPDX-License-Identifier: Apache-2.0
"""The records of the parts in a results folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .outcome import Outcome
from .run import write_json


class MixedError(Exception):
    """The folder contains results of another commit, device or set of packages."""


class Record:
    """The records of the parts in a results folder.

    Parameters
    ----------
    results
        The folder.
    """

    def __init__(self, results: Path) -> None:
        self._results = results

    def part(self, name: str) -> dict[str, Any] | None:
        """Return the record of a part, or None."""
        path = self._path(name)
        return json.loads(path.read_text()) if path.exists() else None

    def detail(self, name: str, key: str, default: Any) -> Any:
        """Return a detail of the record of a part, or `default`."""
        part = self.part(name)
        return default if part is None else part["details"].get(key, default)

    def keep(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Record the outcome of a part."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self._path(name).parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path(name), asdict(outcome) | {"seconds": round(seconds, 1), "date": date})

    def expect(self, name: str, key: str, value: Any) -> None:
        """Check that a recorded detail of a part, if any, has the given value.

        Raises
        ------
        MixedError
            If it has another value.
        """
        if self.detail(name, key, value) != value:
            message = (
                f"{self._results}: the {key} on record is not that of now: name another folder"
                " with --results, or begin again with --again"
            )
            raise MixedError(message)

    def forget(self, names: list[str]) -> None:
        """Delete the records of parts and the files that the parts wrote."""
        for name in names:
            folder = self._path(name).parent
            logs_of_tools = folder.glob(f"{name}-[0-9]*.txt")
            for path in [*folder.glob(f"{name}.*"), *logs_of_tools, self._results / f"{name}.json"]:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._results / "parts" / f"{name}.json"
