# Headers that are compiled once for many targets, in unity builds, which start from nothing. A compiler cache does not know
# such headers, and file by file a forgotten include is to show.
set(RADDLE_PRECOMPILE OFF)
if(CMAKE_UNITY_BUILD AND NOT CCACHE)
  set(RADDLE_PRECOMPILE ON)
endif()

# raddle_precompile(<target> <headers> [OWNER <name>] [LIBRARIES <targets...>] [OPTIONS <options...>]): before everything else the
# target includes cmake/precompiled/<headers>.h, as precompiled_<name> (<headers>, if no name is given) compiled it with these
# libraries and options. Targets that share an owner compile alike: optimisation, processor, definitions of libraries.
function(raddle_precompile target headers)
  cmake_parse_arguments(ARG "" "OWNER" "LIBRARIES;OPTIONS" ${ARGN})
  if(NOT RADDLE_PRECOMPILE)
    return()
  endif()
  set(owner precompiled_${headers})
  if(ARG_OWNER)
    set(owner precompiled_${ARG_OWNER})
  endif()
  if(NOT TARGET ${owner})
    set(folder ${PROJECT_SOURCE_DIR}/cmake/precompiled)
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${folder}/empty.cpp)
    target_precompile_headers(${owner} PRIVATE ${folder}/${headers}.h)
    target_link_libraries(${owner} PRIVATE fmt::fmt ${ARG_LIBRARIES})
    target_compile_options(${owner} PRIVATE ${ARG_OPTIONS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
