# Imported targets for libcudf and its dependencies from Python wheels.
#
# This module ignores installed CUDA toolkits. It does not use libcudf's own CMake package, which
# requires a toolkit. It searches RapidsWheels_ROOTS if set, otherwise the import path of Python.
#
#   RapidsWheels::cudf       libcudf, librmm, rapids_logger and all headers they include
#   RapidsWheels::cudart     the static CUDA runtime
#   RapidsWheels::nanoarrow  the static nanoarrow library that libcudf builds
#   RapidsWheels::loader     libraries that an executable needs to load libcudf without Python
#
# Sets RapidsWheels_VERSION (libcudf's version) and RapidsWheels_CUDA (the major version of CUDA).
include_guard(DIRECTORY)

if(NOT RapidsWheels_ROOTS)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sys; print(*filter(None, sys.path), sep=';')"
    OUTPUT_VARIABLE RapidsWheels_ROOTS
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY
  )
endif()

function(rapids_wheels_find result name)
  find_file(found NAMES ${name} PATHS ${RapidsWheels_ROOTS} PATH_SUFFIXES ${ARGN} NO_DEFAULT_PATH NO_CACHE)
  if(NOT found)
    message(FATAL_ERROR "No ${name} in ${ARGN} under ${RapidsWheels_ROOTS}: install cudf with pip")
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

rapids_wheels_find(version_file VERSION libcudf)
file(STRINGS "${version_file}" RapidsWheels_VERSION LIMIT_COUNT 1)
cmake_path(GET version_file PARENT_PATH libcudf_dir)
file(GLOB flavour "${libcudf_dir}_cu*.dist-info")
string(REGEX REPLACE ".*/libcudf_cu([0-9]+)-.*" "\\1" RapidsWheels_CUDA "${flavour}")
if(CUDF_ARROW_BRIDGE_CUDA AND NOT CUDF_ARROW_BRIDGE_CUDA STREQUAL RapidsWheels_CUDA)
  message(FATAL_ERROR "Wanted CUDA ${CUDF_ARROW_BRIDGE_CUDA}; the wheels have ${flavour}")
endif()
string(REGEX REPLACE "^([0-9]+)\\.0?([0-9]+).*" "\\1.\\2" release "${RapidsWheels_VERSION}")
if(CUDF_ARROW_BRIDGE_RAPIDS AND NOT CUDF_ARROW_BRIDGE_RAPIDS STREQUAL release)
  message(FATAL_ERROR "Wanted RAPIDS ${CUDF_ARROW_BRIDGE_RAPIDS}; the wheels have ${RapidsWheels_VERSION}")
endif()
message(STATUS "libcudf ${RapidsWheels_VERSION} for CUDA ${RapidsWheels_CUDA} in ${libcudf_dir}")

# The CUDA 12 wheels have one folder per component. The CUDA 13 wheels share one folder.
set(cuda_dirs nvidia/cu${RapidsWheels_CUDA})
if(RapidsWheels_CUDA EQUAL 12)
  set(cuda_dirs nvidia/cuda_runtime nvidia/cuda_nvcc nvidia/nvjitlink nvidia/cuda_nvrtc)
endif()
list(TRANSFORM cuda_dirs APPEND /include OUTPUT_VARIABLE cuda_include)
list(TRANSFORM cuda_dirs APPEND /lib OUTPUT_VARIABLE cuda_lib)

function(rapids_wheels_include result header)
  rapids_wheels_find(file ${header} ${ARGN})
  string(REGEX REPLACE "/${header}$" "" dir "${file}")
  list(APPEND ${result} "${dir}")
  set(${result} "${${result}}" PARENT_SCOPE)
endfunction()

rapids_wheels_include(include_dirs cudf/types.hpp libcudf/include)
rapids_wheels_include(include_dirs cuda/std/version libcudf/include/rapids)
rapids_wheels_include(include_dirs rmm/device_buffer.hpp librmm/include)
rapids_wheels_include(include_dirs rapids_logger/logger.hpp rapids_logger/include)
rapids_wheels_include(include_dirs cuda_runtime_api.h ${cuda_include})
rapids_wheels_include(include_dirs crt/host_defines.h ${cuda_include})
rapids_wheels_include(nanoarrow_include nanoarrow/nanoarrow.h include)

function(rapids_wheels_library target type name)
  rapids_wheels_find(file ${name} ${ARGN})
  if(NOT TARGET RapidsWheels::${target})
    add_library(RapidsWheels::${target} ${type} IMPORTED)
    set_target_properties(RapidsWheels::${target} PROPERTIES IMPORTED_LOCATION "${file}")
  endif()
endfunction()

rapids_wheels_library(rapids_logger SHARED librapids_logger.so rapids_logger/lib64)
rapids_wheels_library(rmm SHARED librmm.so librmm/lib64)
rapids_wheels_library(cudf SHARED libcudf.so libcudf/lib64)
rapids_wheels_library(kvikio SHARED libkvikio.so libkvikio/lib64)
rapids_wheels_library(nvcomp SHARED libnvcomp.so.5 nvidia/libnvcomp/lib64)
rapids_wheels_library(nvjitlink SHARED libnvJitLink.so.${RapidsWheels_CUDA} ${cuda_lib})
rapids_wheels_library(nvrtc SHARED libnvrtc.so.${RapidsWheels_CUDA} ${cuda_lib})
rapids_wheels_library(cudart STATIC libcudart_static.a ${cuda_lib})
rapids_wheels_library(nanoarrow STATIC libnanoarrow_static.a lib64 lib)

find_package(Threads REQUIRED)
set_target_properties(
  RapidsWheels::cudf
  PROPERTIES
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${include_dirs}"
    INTERFACE_LINK_LIBRARIES "RapidsWheels::rmm;RapidsWheels::rapids_logger"
)
set_target_properties(
  RapidsWheels::cudart PROPERTIES INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};rt"
)
set_target_properties(
  RapidsWheels::nanoarrow PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${nanoarrow_include}"
)

# libcudf.so has a RUNPATH, so the dynamic loader searches its dependencies only there. It also finds
# those that the executable has already loaded.
if(NOT TARGET RapidsWheels::loader)
  add_library(RapidsWheels::loader INTERFACE IMPORTED)
  set_target_properties(
    RapidsWheels::loader
    PROPERTIES
      INTERFACE_LINK_LIBRARIES
      "RapidsWheels::kvikio;RapidsWheels::nvcomp;RapidsWheels::nvjitlink;RapidsWheels::nvrtc"
      INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed,--disable-new-dtags"
  )
endif()
