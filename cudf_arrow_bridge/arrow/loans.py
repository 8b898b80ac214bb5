# SPDX-License-Identifier: Apache-2.0
"""`Loan`: a context in which other code uses a device array on a stream, ordered at its exit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from .._core.stream.fences import DeviceLoan

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from ..cuda.streams import Stream

__all__ = ["Loan"]


class _Shareable(Protocol):
    """What a loan uses of a `DeviceArray`."""

    _array: ExportedArray

    async def ready(self) -> Self: ...
    def release(self) -> None: ...
    def _on_stream(self, stream: Stream) -> Self: ...


Array = TypeVar("Array", bound=_Shareable)


class Loan(Generic[Array]):
    """The context manager that `DeviceArray.borrow` returns.

    Parameters
    ----------
    array
        The array to share.
    borrower
        The stream that uses the array.
    """

    def __init__(self, array: Array, borrower: Stream) -> None:
        self._array = array
        self._borrower = borrower
        self._lent: tuple[DeviceLoan, Array] | None = None

    def __enter__(self) -> Array:
        """Make the borrower's stream wait for the data and return the shared array."""
        if self._lent is not None:
            raise RuntimeError(
                "expected a loan that has not begun, got one that has: call borrow() again"
            )
        loan = DeviceLoan(self._array._array, self._borrower)
        view = self._array._on_stream(self._borrower)
        self._lent = loan, view
        return view

    def __exit__(self, *_: object) -> None:
        """Make the array's stream wait for the borrower's stream and release the shared array."""
        loan, view = self._end()
        loan.end()
        view.release()

    async def __aenter__(self) -> Array:
        """Wait for the data without blocking the event loop, then enter as `__enter__`."""
        await self._array.ready()
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        """Exit as `__exit__`, then wait for the borrower's work without blocking the event loop.

        If the task is cancelled during the wait, the loan has ended already.
        """
        # Importing asyncio is slow.
        from ..cuda.event_loops import fences_of_running_loop

        loan, view = self._end()
        try:
            loop = fences_of_running_loop()
            fence = loan.add_fence(loop.fences)
        finally:
            loan.end()
            view.release()
        await loop.wait(fence)

    def _end(self) -> tuple[DeviceLoan, Array]:
        if self._lent is None:
            raise RuntimeError(
                "expected a loan that has begun, got one that has not: use it in a with statement"
            )
        lent, self._lent = self._lent, None
        return lent
