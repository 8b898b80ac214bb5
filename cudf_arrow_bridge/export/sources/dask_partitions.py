# SPDX-License-Identifier: Apache-2.0
"""Computation of the partitions of Dask collections in order, with bounded prefetch.

The graph of all partitions is split into steps. A step contains the tasks that its partition is the
first to need, so each task runs once. A result that later steps need is kept until the last of
these steps is done. Other results are dropped, so that memory does not hold the whole collection.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .prefetch import results_ahead


@dataclass
class Step:
    """The tasks of one partition that are not in an earlier step.

    Later steps need the results `kept`. No later step needs the kept results `done`.
    """

    key: Any
    tasks: dict[Any, Any] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)


def is_collection(obj: Any) -> bool:
    """Return whether an object is a Dask collection, without importing Dask."""
    if "dask" not in sys.modules:
        return False
    from dask.base import is_dask_collection

    return is_dask_collection(obj) and hasattr(obj, "to_delayed")


def compute_partitions(collections: Sequence[Any]) -> Iterator[Any]:
    """Compute the partitions of Dask collections in order.

    They are computed on the scheduler that Dask selects. With a client, results stay on the workers
    until they are requested. Without a client, a thread computes one partition at a time, and the
    local scheduler distributes the tasks of each. Closing the iterator cancels tasks that have not
    started.
    """
    from dask.base import get_scheduler
    from dask.delayed import Delayed

    partitions: list[Any] = []
    for collection in collections:
        parts = collection if isinstance(collection, Delayed) else collection.to_delayed()
        partitions += [parts] if isinstance(parts, Delayed) else parts
    get: Any = get_scheduler(collections=partitions)
    client = getattr(get, "__self__", None)
    # The partitions of one collection share a graph.
    graphs = list({id(partition.dask): partition.dask for partition in partitions}.values())
    steps = _steps_of([partition.key for partition in partitions], graphs)
    if client is None:
        return _on_this_machine(get, steps)
    return _on_workers(client, steps, _annotations_of(graphs))


def _steps_of(keys: Sequence[Any], graphs: Sequence[Any]) -> list[Step]:
    from dask._task_spec import convert_legacy_graph
    from dask.utils import ensure_dict

    whole: dict[Any, Any] = {}
    for graph in graphs:
        whole.update(ensure_dict(graph))
    # In legacy tasks, keys of results of earlier steps would be plain values.
    tasks = convert_legacy_graph(whole)
    steps = [Step(key) for key in keys]
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for index, step in enumerate(steps):
        needed = [step.key]
        while needed:
            key = needed.pop()
            # Futures that the graph refers to are not tasks of the graph.
            if key not in tasks:
                continue
            last[key] = index
            if key not in first:
                first[key] = index
                step.tasks[key] = tasks[key]
                needed.extend(tasks[key].dependencies)
    for key, index in last.items():
        if index > first[key]:
            steps[first[key]].kept.append(key)
            steps[index].done.append(key)
    return steps


def _annotations_of(graphs: Sequence[Any]) -> dict[Any, Any]:
    """Return the annotations of tasks from `dask.annotate`, such as workers or resources."""
    from dask.highlevelgraph import HighLevelGraph

    return {
        key: layer.annotations
        for graph in graphs
        if isinstance(graph, HighLevelGraph)
        for layer in graph.layers.values()
        if layer.annotations
        for key in layer
    }


def _on_this_machine(get: Callable[..., Any], steps: Sequence[Step]) -> Iterator[Any]:
    from dask._task_spec import DataNode

    results: dict[Any, Any] = {}

    def compute(step: Step) -> Any:
        inputs = {key: DataNode(key, result) for key, result in results.items()}
        partition, *kept = get({**step.tasks, **inputs}, [step.key, *step.kept])
        results.update(zip(step.kept, kept, strict=True))
        for key in step.done:
            del results[key]
        return partition

    # A single thread, since a step needs the results of earlier steps.
    pool = ThreadPoolExecutor(1, "compute_partitions")
    try:
        yield from results_ahead(steps, lambda step: pool.submit(compute, step), Future.result)
    finally:
        pool.shutdown(wait=False)


def _on_workers(client: Any, steps: Sequence[Step], annotations: dict[Any, Any]) -> Iterator[Any]:
    # Dask releases a future without references, and cancels it if it has not started.
    results: dict[Any, Any] = {}

    def submit(step: Step) -> tuple[Step, Any]:
        # fifo_timeout=0 gives earlier steps priority, also if later steps need the same results.
        partition, *kept = client.get(
            _graph_of(step, annotations), [step.key, *step.kept], sync=False, fifo_timeout=0
        )
        results.update(zip(step.kept, kept, strict=True))
        return step, partition

    def gather(submitted: tuple[Step, Any]) -> Any:
        step, partition = submitted
        result = partition.result()
        for key in step.done:
            del results[key]
        return result

    try:
        yield from results_ahead(steps, submit, gather)
    finally:
        results.clear()


def _graph_of(step: Step, annotations: dict[Any, Any]) -> Any:
    """Return the tasks of a step, with one layer for each annotation."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    layers: dict[str, Any] = {}
    for key, task in step.tasks.items():
        annotation = annotations.get(key)
        name = str(id(annotation))
        layers.setdefault(name, MaterializedLayer({}, annotation)).mapping[key] = task
    return HighLevelGraph(layers, {name: set() for name in layers})
