# cmake -DCOMPILER=clang++-19 -DSOURCE=root -DOUTPUT=libdevice_ptx.cpp -P libdevice.cmake
# Compiles libdevice's functions to PTX, and writes that as a string in a C++ file.
set(ptx ${OUTPUT}.ptx)
execute_process(COMMAND ${COMPILER} -x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-gpu-arch=sm_50 -std=c++17
    -isystem ${SOURCE}/include --cuda-device-only -O3 -ffp-contract=fast -S ${SOURCE}/src/linking/libdevice/libdevice.cu -o ${ptx}
  COMMAND_ERROR_IS_FATAL ANY)
file(READ ${ptx} text)
string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n[ \t]+" "\n\t" text "${text}")
string(REGEX REPLACE "\n+" "\n" text "${text}")
# Literals of one length: compilers limit it.
set(code "// Written by cmake/libdevice.cmake.\n#include \"linking/libdevice.h\"\n\nnamespace raddle::linking {\n\nconst std::string_view kLibdevice =\n")
string(LENGTH "${text}" length)
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${text}" ${begin} 32000 part)
  string(APPEND code "R\"ptx(${part})ptx\"\n")
  math(EXPR begin "${begin} + 32000")
endwhile()
file(WRITE ${OUTPUT} "${code};\n\n}  // namespace raddle::linking\n")
