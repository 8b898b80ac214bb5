# SPDX-License-Identifier: Apache-2.0
"""Importing this module lets the results of `to_arrow_device` report device memory.

Libraries that read host memory then need the copies that they need on a GPU.
"""

import ctypes
from functools import wraps
from weakref import WeakSet

import cudf_arrow_bridge as cab

#: The size of ArrowArray and of the device id, which come before the device type.
DEVICE_TYPE_OFFSET = 88

get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
on_device = WeakSet()
class_ = cab.DeviceArray
device_type, to_host = class_.device_type, class_.to_host
to_capsules, export = class_.__arrow_c_device_array__, cab.to_arrow_device


def report_device_type(array):
    return cab.DeviceType.CUDA if array in on_device else device_type.fget(array)


def propagate(derive):
    """Let the parts and the copies of arrays on the device be on the device."""

    @wraps(derive)
    def derived(array, *args):
        result = derive(array, *args)
        if array in on_device:
            on_device.add(result)
        return result

    return derived


@wraps(to_host)
def copy_to_host(array, **options):
    copy = to_host(array, **options)
    on_device.discard(copy)
    return copy


@wraps(to_capsules)
def export_capsules(array, *args, **options):
    schema, capsule = to_capsules(array, *args, **options)
    address = get_pointer(capsule, b"arrow_device_array") + DEVICE_TYPE_OFFSET
    ctypes.c_int32.from_address(address).value = report_device_type(array)
    return schema, capsule


@wraps(export)
def export_to_device(*args, **options):
    array = export(*args, **options)
    on_device.add(array)
    return array


class_.device_type = property(report_device_type)
class_._over, class_._of_part = propagate(class_._over), propagate(class_._of_part)
class_.to_host = copy_to_host
class_.__arrow_c_device_array__ = export_capsules
cab.to_arrow_device = export_to_device
