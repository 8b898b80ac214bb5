# Compiler flags for this project. Headers of the wheels are SYSTEM, so they cause no warnings.
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

# -Wno-restrict: GCC 12 reports nonexistent overlaps in string concatenations (GCC bug 105651).
add_library(cudf_arrow_bridge_warnings INTERFACE)
target_compile_options(
  cudf_arrow_bridge_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-restrict -Wno-unknown-pragmas
            -Werror
)

# pip builds in temporary folders. Their paths would make each build different.
foreach(root IN LISTS RapidsPackages_ROOTS ITEMS "${PROJECT_SOURCE_DIR}")
  add_compile_options("-ffile-prefix-map=${root}=.")
endforeach()

if(CUDF_ARROW_BRIDGE_SANITIZE)
  add_compile_options(
    -fsanitize=${CUDF_ARROW_BRIDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -Og
  )
  # With instrumentation, GCC does not detect that optionals are initialized before use.
  add_compile_options(-Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${CUDF_ARROW_BRIDGE_SANITIZE})
else()
  # dev/repair_wheel.sh checks wheels for all of these but _FORTIFY_SOURCE, which requires
  # optimization, and which some compilers define themselves.
  add_compile_options(
    -fstack-protector-strong
    "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
  )
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

# Parsing the headers of libcudf and CCCL takes most of the compile time of a file, so they are
# precompiled for each target. GCC's precompiled header takes 300 MB.
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

# With CMAKE_UNITY_BUILD=ON, compile the files of each folder as one file, since the headers take
# longer to compile than the files.
function(cudf_arrow_bridge_group_by_folder target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()
