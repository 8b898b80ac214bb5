# SPDX-License-Identifier: Apache-2.0
"""The objects that count as device memory."""

from dask.utils import Dispatch

is_device_object = Dispatch(name="is_device_object")
is_device_object.register(object, lambda o: hasattr(o, "__cuda_array_interface__"))
is_device_object.register((list, tuple, set, frozenset), lambda o: any(map(is_device_object, o)))
is_device_object.register(dict, lambda o: any(map(is_device_object, o.items())))
