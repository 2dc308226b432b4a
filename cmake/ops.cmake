# cmake -DCOMPILER=c++ -DSOURCE=src -DOPS=ops.def -P ops.cmake
# Writes the names of all rows, in their order: the preprocessor strips the rest of each row. The file stays as
# it is if no name changes, so that nothing that includes it is compiled again.
execute_process(COMMAND ${COMPILER} -std=c++20 -E -P -x c++ -I${SOURCE} "-DPTX_OP(id,...)=PTX_OP(id)" ${SOURCE}/isa/rows.def
  OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
set(before "")
if(EXISTS ${OPS})
  file(READ ${OPS} before)
endif()
if(NOT before STREQUAL names)
  file(WRITE ${OPS} "${names}")
endif()
