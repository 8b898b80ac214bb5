# Flags for our own C++; the headers of the wheels are SYSTEM and stay silent.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
  endif()
endif()

# GCC 12 sees overlaps in the concatenation of strings that are not there (its bug 105651).
add_library(cudf_arrow_bridge_warnings INTERFACE)
target_compile_options(
  cudf_arrow_bridge_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-restrict -Wno-unknown-pragmas
            -Werror
)

if(CUDF_ARROW_BRIDGE_SANITIZE)
  add_compile_options(
    -fsanitize=${CUDF_ARROW_BRIDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1
  )
  # With its instrumentation in the way, GCC no longer sees that optionals are filled before use.
  add_compile_options(-Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${CUDF_ARROW_BRIDGE_SANITIZE})
endif()

# Reading the headers of libcudf and CCCL is most of what a file costs: read them once for all targets
# that are compiled alike. What GCC makes of them takes 300 MB.
function(cudf_arrow_bridge_precompile target)
  target_precompile_headers(
    ${target}
    PRIVATE
      ${ARGN}
      <cudf/copying.hpp>
      <cudf/dictionary/dictionary_column_view.hpp>
      <cudf/lists/lists_column_view.hpp>
      <cudf/strings/strings_column_view.hpp>
      <cudf/table/table.hpp>
      <cudf/unary.hpp>
      <cudf/utilities/error.hpp>
      <cudf/utilities/type_dispatcher.hpp>
      <nanoarrow/nanoarrow.hpp>
      <rmm/cuda_device.hpp>
      <algorithm>
      <string>
      <vector>
  )
endfunction()

# With CMAKE_UNITY_BUILD=ON the files of a room are compiled as one: the headers cost more than the
# files do.
function(cudf_arrow_bridge_group_by_room target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${folder}" room)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${room})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
