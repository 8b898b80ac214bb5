# SPDX-License-Identifier: Apache-2.0
"""`Loan`: a device array lent to code that works on a stream, until an end that is ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.loans import DeviceLoan

if TYPE_CHECKING:
    from ..cuda.streams import Stream
    from .device_array import DeviceArray

__all__ = ["Loan"]


class Loan:
    """The context manager that `DeviceArray.borrow` returns; its context is the time of the loan.

    Parameters
    ----------
    array
        What is lent.
    borrower
        The stream that the borrower works on.
    """

    def __init__(self, array: DeviceArray, borrower: Stream) -> None:
        self._array = array
        self._borrower = borrower
        self._lent: tuple[DeviceLoan, DeviceArray] | None = None

    def __enter__(self) -> DeviceArray:
        """Make the borrower's stream wait for the data, and return the array that is lent."""
        if self._lent is not None:
            raise RuntimeError("a loan that has begun found; borrow() makes another one")
        loan = DeviceLoan(self._array._array, self._borrower)
        view = self._array._on_stream(self._borrower)
        self._lent = loan, view
        return view

    def __exit__(self, *_: object) -> None:
        """Make the array's stream wait for the borrower's, and release what was lent."""
        loan, view = self._end()
        loan.end()
        view.release()

    async def __aenter__(self) -> DeviceArray:
        """Wait for the data without blocking asyncio's event loop, and begin as `__enter__`."""
        await self._array.ready()
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        """End as `__exit__`, and wait for the borrower's work without blocking the event loop.

        If the task is cancelled while it waits, the loan has ended all the same.
        """
        # asyncio takes time to import.
        from ..cuda.event_loops import fences_of_running_loop

        loan, view = self._end()
        try:
            loop = fences_of_running_loop()
            fence = loan.add_fence(loop.fences)
        finally:
            loan.end()
            view.release()
        await loop.wait(fence)

    def _end(self) -> tuple[DeviceLoan, DeviceArray]:
        if self._lent is None:
            raise RuntimeError("a loan that has not begun found; use it in a with statement")
        lent, self._lent = self._lent, None
        return lent
