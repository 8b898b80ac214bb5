# SPDX-License-Identifier: Apache-2.0

from libcpp.memory cimport unique_ptr
from pylibcudf.column cimport Column
from pylibcudf.libcudf.column.column cimport column
from pylibcudf.libcudf.types cimport size_type


cdef Column wrap_column(unique_ptr[column] storage, size_type offset, size_type size, tuple kept)
