# Builds a CUDA project of CMake's (enable_language(CUDA), find_package(CUDAToolkit)) for Raddle, its sources unchanged:
#   cmake -DCMAKE_TOOLCHAIN_FILE=<raddle>/cmake/RaddleToolchain.cmake ...
# NVIDIA's nvcc compiles; Raddle's runtime, driver and NVRTC are linked in the place of NVIDIA's and found again when the
# program runs. RADDLE_LIBRARY_DIR names their folder where it is neither lib (installed) nor build/lib beside this one.
if(NOT RADDLE_LIBRARY_DIR)
  get_filename_component(RADDLE_LIBRARY_DIR ${CMAKE_CURRENT_LIST_DIR}/../lib ABSOLUTE)
  if(NOT EXISTS ${RADDLE_LIBRARY_DIR}/libcudart_static.a)
    get_filename_component(RADDLE_LIBRARY_DIR ${CMAKE_CURRENT_LIST_DIR}/../build/lib ABSOLUTE)
  endif()
endif()
if(NOT EXISTS ${RADDLE_LIBRARY_DIR}/libcudart_static.a)
  message(FATAL_ERROR "no libcudart_static.a in ${RADDLE_LIBRARY_DIR}: build Raddle first, or set RADDLE_LIBRARY_DIR")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RADDLE_LIBRARY_DIR)

# What comes early on the link line goes before the toolkit's own folders.
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -L${RADDLE_LIBRARY_DIR} -Wl,-rpath,${RADDLE_LIBRARY_DIR}")
endforeach()

# The targets of find_package(CUDAToolkit) name files; these are ours.
set(CUDA_CUDART ${RADDLE_LIBRARY_DIR}/libcudart.so CACHE FILEPATH "")
set(CUDA_cudart_LIBRARY ${RADDLE_LIBRARY_DIR}/libcudart.so CACHE FILEPATH "")
set(CUDA_cudart_static_LIBRARY ${RADDLE_LIBRARY_DIR}/libcudart_static.a CACHE FILEPATH "")
set(CUDA_cuda_driver_LIBRARY ${RADDLE_LIBRARY_DIR}/libcuda.so CACHE FILEPATH "")
set(CUDA_nvJitLink_LIBRARY ${RADDLE_LIBRARY_DIR}/libnvJitLink.so CACHE FILEPATH "")
set(CUDA_nvrtc_LIBRARY ${RADDLE_LIBRARY_DIR}/libnvrtc.so CACHE FILEPATH "")

# Code for a named architecture comes with its PTX; 90-real would be machine code only, which Raddle cannot run.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
