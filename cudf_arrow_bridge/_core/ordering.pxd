# SPDX-License-Identifier: Apache-2.0

from rmm.librmm.cuda_stream_ref cimport stream_ref


cdef stream_ref stream_of(object stream) except *
