# SPDX-License-Identifier: Apache-2.0
"""A record batch whose structs tests corrupt in one place, and a check of its import."""

from __future__ import annotations

import pyarrow as pa

from testing import samples
from testing.peers.arrays import Producer, refused

ITEM = pa.struct([("id", pa.int32()), ("price", pa.string())])
ORDERS = samples.values(pa.list_(ITEM), 40, "some")
CATEGORY = samples.values(samples.DICTIONARY[0], 40, "some")
BATCH = pa.record_batch([ORDERS, CATEGORY, pa.array(range(40))], ["orders", "kind", "n"])

#: Functions that return the struct of an array of the batch, by the array's path in errors.
PATHS = {
    "(top level)": lambda root: root,
    "orders": lambda root: child(root, 0),
    "orders[]": lambda root: child(root, 0, 0),
    "orders[].id": lambda root: child(root, 0, 0, 0),
    "orders[].price": lambda root: child(root, 0, 0, 1),
    "kind": lambda root: child(root, 1),
    "n": lambda root: child(root, 2),
}


def child(struct, *steps):
    for step in steps:
        struct = struct.children[step].contents
    return struct


def check(edit, error, path, *words):
    """Check that an import rejects the edited batch and releases it exactly once."""
    producer = Producer(BATCH, edit)
    message = refused(error, producer, kind=None)
    assert (producer.releases, producer.schema_releases) == (1, 1)
    for word in (f"'{path}'", *words):
        assert word in message
    return message
