# raddle_library(<folder> DEPS <targets...>): one static library per folder of src/,
# named raddle_<folder>, warnings as errors, from every .cpp below the folder.
function(raddle_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(APPEND sources ${ARG_SOURCES})
  if(name STREQUAL "isa")  # executors' halves of a chapter belong to interp and jit
    list(FILTER sources EXCLUDE REGEX "/(reference|lowering)[^/]*\\.cpp$")
  endif()
  if(NOT sources)  # a folder whose first source is still to come
    add_library(raddle_${name} INTERFACE)
    target_link_libraries(raddle_${name} INTERFACE ${ARG_DEPS})
    return()
  endif()
  add_library(raddle_${name} STATIC ${sources})
  target_include_directories(raddle_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(raddle_${name} PRIVATE -Wall -Wextra -Werror -Wno-missing-field-initializers)
  target_link_libraries(raddle_${name} PUBLIC ${ARG_DEPS})
endfunction()
