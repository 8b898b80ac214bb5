# Imported targets for libcudf and its dependencies from Python wheels or conda packages.
#
# This module ignores installed CUDA toolkits. It does not use libcudf's own CMake package, which
# requires a toolkit. It searches RapidsPackages_ROOTS if set, otherwise the import path of Python
# and its prefix.
#
#   RapidsPackages::cudf       libcudf, librmm, rapids_logger and all headers they include
#   RapidsPackages::cudart     the static CUDA runtime
#   RapidsPackages::nanoarrow  the static nanoarrow library that libcudf builds
#   RapidsPackages::loader     libraries that an executable needs to load libcudf without Python
#
# Sets these variables:
#
#   RapidsPackages_VERSION    libcudf's version
#   RapidsPackages_CUDA       the major version of CUDA
#   RapidsPackages_SUFFIX     the end of the package names: "-cu12" for wheels, empty for conda packages
#   RapidsPackages_NANOARROW  nanoarrow's version
#   RapidsPackages_LINKED     the other wheels whose headers or static libraries become part of ours,
#                             as NAME-VERSION, separated by spaces; empty for conda packages
include_guard(DIRECTORY)

if(NOT RapidsPackages_ROOTS)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND
      "${Python_EXECUTABLE}" -c "import sys; print(*filter(None, sys.path), sys.prefix, sep=';')"
    OUTPUT_VARIABLE RapidsPackages_ROOTS
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY
  )
endif()

function(rapids_packages_find result name)
  find_file(found NAMES ${name} PATHS ${RapidsPackages_ROOTS} PATH_SUFFIXES ${ARGN} NO_DEFAULT_PATH NO_CACHE)
  if(NOT found)
    message(FATAL_ERROR "No ${name} in ${ARGN} under ${RapidsPackages_ROOTS}: install cudf with pip or conda")
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The records of pip and conda name the major version of CUDA.
set(records)
foreach(root IN LISTS RapidsPackages_ROOTS)
  file(GLOB matches "${root}/libcudf_cu*.dist-info" "${root}/conda-meta/libcudf-*-cuda*.json")
  list(APPEND records ${matches})
endforeach()
list(APPEND records "no record of libcudf under ${RapidsPackages_ROOTS}")
list(GET records 0 record)
if(record MATCHES "/libcudf_cu([0-9]+)-[^/]*$")
  set(RapidsPackages_CUDA ${CMAKE_MATCH_1})
  set(RapidsPackages_SUFFIX -cu${CMAKE_MATCH_1})
  cmake_path(GET record PARENT_PATH site)
  set(cu cu${RapidsPackages_CUDA})
  file(GLOB RapidsPackages_LINKED RELATIVE "${site}"
       "${site}/libcudf_${cu}-*.dist-info" "${site}/librmm_${cu}-*.dist-info"
       "${site}/nvidia_cuda_runtime_${cu}-*.dist-info"
       "${site}/nvidia_cuda_runtime-${RapidsPackages_CUDA}.*.dist-info")
  string(REGEX REPLACE "\\.dist-info;?" " " RapidsPackages_LINKED "${RapidsPackages_LINKED}")
  rapids_packages_find(version_file VERSION libcudf)
  file(STRINGS "${version_file}" RapidsPackages_VERSION LIMIT_COUNT 1)
  # The CUDA 12 wheels have one folder per component. The CUDA 13 wheels share one folder.
  set(cuda_dirs nvidia/cu${RapidsPackages_CUDA})
  if(RapidsPackages_CUDA EQUAL 12)
    set(cuda_dirs nvidia/cuda_runtime nvidia/cuda_nvcc nvidia/nvjitlink nvidia/cuda_nvrtc)
  endif()
elseif(record MATCHES "/libcudf-([0-9.]+)-cuda([0-9]+)_[^/]*$")
  set(RapidsPackages_VERSION ${CMAKE_MATCH_1})
  set(RapidsPackages_CUDA ${CMAKE_MATCH_2})
  set(RapidsPackages_SUFFIX "")
  set(RapidsPackages_LINKED "")
  set(cuda_dirs targets/${CMAKE_SYSTEM_PROCESSOR}-linux .)
else()
  message(FATAL_ERROR "Install cudf with pip or conda: ${record}")
endif()
if(CUDF_ARROW_BRIDGE_CUDA AND NOT CUDF_ARROW_BRIDGE_CUDA STREQUAL RapidsPackages_CUDA)
  message(FATAL_ERROR "Wanted CUDA ${CUDF_ARROW_BRIDGE_CUDA}, found ${record}")
endif()
string(REGEX REPLACE "^([0-9]+)\\.0?([0-9]+).*" "\\1.\\2" release "${RapidsPackages_VERSION}")
if(CUDF_ARROW_BRIDGE_RAPIDS AND NOT CUDF_ARROW_BRIDGE_RAPIDS STREQUAL release)
  message(FATAL_ERROR "Wanted RAPIDS ${CUDF_ARROW_BRIDGE_RAPIDS}, found ${record}")
endif()
message(STATUS "libcudf ${RapidsPackages_VERSION} for CUDA ${RapidsPackages_CUDA}: ${record}")
list(TRANSFORM cuda_dirs APPEND /include OUTPUT_VARIABLE cuda_include)
list(TRANSFORM cuda_dirs APPEND /lib OUTPUT_VARIABLE cuda_lib)

function(rapids_packages_include result header)
  rapids_packages_find(file ${header} ${ARGN})
  string(REGEX REPLACE "/${header}$" "" dir "${file}")
  list(APPEND ${result} "${dir}")
  set(${result} "${${result}}" PARENT_SCOPE)
endfunction()

rapids_packages_include(include_dirs cudf/types.hpp libcudf/include include)
rapids_packages_include(include_dirs cuda/std/version libcudf/include/rapids include/rapids)
rapids_packages_include(include_dirs rmm/device_buffer.hpp librmm/include include)
rapids_packages_include(include_dirs rapids_logger/logger.hpp rapids_logger/include include)
rapids_packages_include(include_dirs cuda_runtime_api.h ${cuda_include})
rapids_packages_include(include_dirs crt/host_defines.h ${cuda_include})
rapids_packages_include(nanoarrow_include nanoarrow/nanoarrow.h include)

file(STRINGS "${nanoarrow_include}/nanoarrow/nanoarrow_config.h" line REGEX "NANOARROW_VERSION \"")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" RapidsPackages_NANOARROW "${line}")

function(rapids_packages_library target type name)
  rapids_packages_find(file ${name} ${ARGN})
  if(NOT TARGET RapidsPackages::${target})
    add_library(RapidsPackages::${target} ${type} IMPORTED)
    set_target_properties(RapidsPackages::${target} PROPERTIES IMPORTED_LOCATION "${file}")
  endif()
endfunction()

rapids_packages_library(rapids_logger SHARED librapids_logger.so rapids_logger/lib64 lib)
rapids_packages_library(rmm SHARED librmm.so librmm/lib64 lib)
rapids_packages_library(cudf SHARED libcudf.so libcudf/lib64 lib)
rapids_packages_library(kvikio SHARED libkvikio.so libkvikio/lib64 lib)
rapids_packages_library(nvcomp SHARED libnvcomp.so.5 nvidia/libnvcomp/lib64 lib)
rapids_packages_library(nvjitlink SHARED libnvJitLink.so.${RapidsPackages_CUDA} ${cuda_lib})
rapids_packages_library(nvrtc SHARED libnvrtc.so.${RapidsPackages_CUDA} ${cuda_lib})
rapids_packages_library(cudart STATIC libcudart_static.a ${cuda_lib})
rapids_packages_library(nanoarrow STATIC libnanoarrow_static.a lib64 lib)

find_package(Threads REQUIRED)
set_target_properties(
  RapidsPackages::cudf
  PROPERTIES
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${include_dirs}"
    INTERFACE_LINK_LIBRARIES "RapidsPackages::rmm;RapidsPackages::rapids_logger"
)
set_target_properties(
  RapidsPackages::cudart PROPERTIES INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};rt"
)
set_target_properties(
  RapidsPackages::nanoarrow PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${nanoarrow_include}"
)

# libcudf.so has a RUNPATH, so the dynamic loader searches only there for its dependencies, unless the
# executable has already loaded them.
if(NOT TARGET RapidsPackages::loader)
  add_library(RapidsPackages::loader INTERFACE IMPORTED)
  set_target_properties(
    RapidsPackages::loader
    PROPERTIES
      INTERFACE_LINK_LIBRARIES
      "RapidsPackages::kvikio;RapidsPackages::nvcomp;RapidsPackages::nvjitlink;RapidsPackages::nvrtc"
      INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed,--disable-new-dtags"
  )
endif()
