# SPDX-License-Identifier: Apache-2.0
"""The partitions of Dask collections: each task runs once, in order, a bounded number ahead.

The graph of all partitions is dealt out: a step has the tasks that its partition is the first to
need. Results that a later step needs are kept until the last such step is done, and nothing else
is, so that neither is computed again what partitions share, nor is the whole collection held.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

__all__ = ["compute_partitions", "partitions_of"]

#: The number of partitions that are computed, or queued for it, before they are asked for.
AHEAD = 2


@dataclass
class Step:
    """What to compute for one partition.

    Attributes
    ----------
    key
        The key of the partition.
    tasks
        The tasks that no step before has.
    inputs
        Keys of results of earlier steps, kept by these.
    kept
        Keys of this step's results that later steps need.
    done
        Keys of results that no step after this one needs.
    """

    key: Any
    tasks: dict[Any, Any] = field(default_factory=dict)
    inputs: set[Any] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)


def partitions_of(source: Any) -> list[Any] | None:
    """Return the partitions of a Dask collection, or of a list of them, as delayed objects.

    Returns
    -------
    list or None
        None for anything else. Dask is not imported to find out.
    """
    if "dask" not in sys.modules:
        return None
    from dask.base import is_dask_collection
    from dask.delayed import Delayed

    if isinstance(source, Delayed):
        return [source]
    if isinstance(source, (list, tuple)) and source and all(map(is_dask_collection, source)):
        return [part for collection in source for part in partitions_of(collection) or []]
    if not (is_dask_collection(source) and hasattr(source, "to_delayed")):
        return None
    parts = source.to_delayed()
    return [parts] if isinstance(parts, Delayed) else list(parts)


def compute_partitions(partitions: Sequence[Any]) -> Iterator[Any]:
    """Compute delayed objects, in order, on the scheduler that Dask has chosen.

    With a client the results stay on the workers until they are asked for. Without one, partitions
    are computed one after the other by a thread, whose scheduler shares out the tasks of each.
    Closing the iterator cancels what has not begun.
    """
    from dask.base import get_scheduler

    get: Any = get_scheduler(collections=partitions)
    client = getattr(get, "__self__", None)
    # The partitions of one collection share a graph.
    graphs = list({id(partition.dask): partition.dask for partition in partitions}.values())
    steps = iter(_steps_of([partition.key for partition in partitions], graphs))
    if client is None:
        return _on_this_machine(get, steps)
    return _on_workers(client, steps, _annotations_of(graphs))


def _steps_of(keys: Sequence[Any], graphs: Sequence[Any]) -> list[Step]:
    from dask._task_spec import convert_legacy_graph
    from dask.utils import ensure_dict

    legacy: dict[Any, Any] = {}
    for graph in graphs:
        legacy.update(ensure_dict(graph))
    tasks = convert_legacy_graph(legacy)

    steps = [Step(key) for key in keys]
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for index, step in enumerate(steps):
        needed = [step.key]
        while needed:
            key = needed.pop()
            # Futures that the graph refers to are not in it.
            if key not in tasks:
                continue
            last[key] = index
            if key not in first:
                first[key] = index
                step.tasks[key] = tasks[key]
                needed.extend(tasks[key].dependencies)
            elif first[key] < index:
                step.inputs.add(key)
    for key, index in last.items():
        if index > first[key]:
            steps[first[key]].kept.append(key)
            steps[index].done.append(key)
    return steps


def _annotations_of(graphs: Sequence[Any]) -> dict[Any, Any]:
    """Return what `dask.annotate` says of tasks: which workers or resources they need."""
    from dask.highlevelgraph import HighLevelGraph

    return {
        key: layer.annotations
        for graph in graphs
        if isinstance(graph, HighLevelGraph)
        for layer in graph.layers.values()
        if layer.annotations
        for key in layer
    }


def _on_this_machine(get: Callable[..., Any], steps: Iterator[Step]) -> Iterator[Any]:
    from dask._task_spec import DataNode

    results: dict[Any, Any] = {}

    def compute(step: Step) -> Any:
        inputs = {key: DataNode(key, results[key]) for key in step.inputs}
        partition, *kept = get({**step.tasks, **inputs}, [step.key, *step.kept])
        results.update(zip(step.kept, kept, strict=True))
        for key in step.done:
            del results[key]
        return partition

    # One thread: a step finds the results of those before it.
    pool = ThreadPoolExecutor(1, "compute_partitions")
    try:
        pending = deque(pool.submit(compute, step) for step in islice(steps, 1 + AHEAD))
        while pending:
            # Not in a variable: the partition is alive as long as its consumer wants it.
            yield pending.popleft().result()
            pending.extend(pool.submit(compute, step) for step in islice(steps, 1))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _on_workers(client: Any, steps: Iterator[Step], annotations: dict[Any, Any]) -> Iterator[Any]:
    # A future that nobody refers to any more is released, and cancelled if it has not begun.
    results: dict[Any, Any] = {}

    def submit(step: Step) -> tuple[Step, Any]:
        # Each step before those after it, also where they wait for the same results.
        partition, *kept = client.get(
            _graph_of(step, annotations), [step.key, *step.kept], sync=False, fifo_timeout=0
        )
        results.update(zip(step.kept, kept, strict=True))
        return step, partition

    def gather(step: Step, partition: Any) -> Any:
        result = partition.result()
        for key in step.done:
            del results[key]
        return result

    pending = deque(submit(step) for step in islice(steps, 1 + AHEAD))
    try:
        while pending:
            yield gather(*pending.popleft())
            pending.extend(submit(step) for step in islice(steps, 1))
    finally:
        # Dask keeps the exceptions of tasks, and by their tracebacks this frame.
        pending.clear()
        results.clear()


def _graph_of(step: Step, annotations: dict[Any, Any]) -> Any:
    """Return the tasks of a step, in a layer for each of their annotations."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    layers: dict[str, Any] = {}
    for key, task in step.tasks.items():
        annotation = annotations.get(key)
        name = str(id(annotation))
        layers.setdefault(name, MaterializedLayer({}, annotation)).mapping[key] = task
    return HighLevelGraph(layers, {name: set() for name in layers})
