# What is installed, and the Debian packages. Below RADDLE_INSTALL_ROOT lies what a build directory has, so that the command
# finds its libraries in ../lib and its headers in ../include wherever that is: /usr/lib/raddle in a Debian package, which
# leaves /usr/lib to NVIDIA's libcuda.so.1, and the package's own folder in a wheel.
#   component cuda: what CUDA programs load; raddle: the command and the C++ API; python: the Python module
set(root ${RADDLE_INSTALL_ROOT})
set(cuda_libraries "")
foreach(library raddle_driver raddle_cudart raddle_nvrtc raddle_nvjitlink raddle_nvvm raddle_nvml)
  if(TARGET ${library})
    list(APPEND cuda_libraries ${library})
  endif()
endforeach()
if(RADDLE_PORTABLE)  # wheels have no symbolic links: a file by the name that is loaded, and one for linkers
  foreach(library ${cuda_libraries})
    install(FILES $<TARGET_FILE:${library}> DESTINATION ${root}/lib RENAME $<TARGET_SONAME_FILE_NAME:${library}> COMPONENT cuda
            PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    set(script ${PROJECT_BINARY_DIR}/linker_scripts/$<TARGET_LINKER_FILE_NAME:${library}>)
    file(GENERATE OUTPUT ${script} CONTENT "INPUT(-l:$<TARGET_SONAME_FILE_NAME:${library}>)\n")
    install(FILES ${script} DESTINATION ${root}/lib COMPONENT cuda)
  endforeach()
else()
  install(TARGETS ${cuda_libraries} LIBRARY DESTINATION ${root}/lib COMPONENT cuda)
endif()
install(TARGETS raddle_cudart_static ARCHIVE DESTINATION ${root}/lib COMPONENT cuda)

install(TARGETS raddle RUNTIME DESTINATION ${root}/bin COMPONENT raddle)
foreach(name ptxas nvcc)
  install(PROGRAMS ${CMAKE_CURRENT_LIST_DIR}/compiler.sh DESTINATION ${root}/libexec/raddle RENAME ${name} COMPONENT raddle)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/cli/python/raddle_bindings.py ${PROJECT_SOURCE_DIR}/src/cli/python/sitecustomize.py
        DESTINATION ${root}/libexec/raddle/python COMPONENT raddle)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${root}/include COMPONENT raddle)
install(FILES ${PROJECT_SOURCE_DIR}/src/base/result.h DESTINATION ${root}/include/base COMPONENT raddle)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/RaddleToolchain.cmake DESTINATION ${root}/cmake COMPONENT raddle)
install(TARGETS raddle_shared EXPORT raddle LIBRARY DESTINATION ${root}/lib COMPONENT raddle)
if(TARGET raddle_python)
  install(TARGETS raddle_python LIBRARY DESTINATION ${root} COMPONENT python)
  install(FILES ${PROJECT_BINARY_DIR}/python/raddle/_raddle.pyi DESTINATION ${root} COMPONENT python)
endif()

if(NOT RADDLE_PORTABLE)
  include(CMakePackageConfigHelpers)
  set(config lib/cmake/raddle)
  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/raddleConfig.cmake.in ${PROJECT_BINARY_DIR}/raddleConfig.cmake
                                INSTALL_DESTINATION ${config})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/raddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT raddle FILE raddleTargets.cmake NAMESPACE raddle:: DESTINATION ${config} COMPONENT raddle)
  install(FILES ${PROJECT_BINARY_DIR}/raddleConfig.cmake ${PROJECT_BINARY_DIR}/raddleConfigVersion.cmake DESTINATION ${config}
          COMPONENT raddle)
  # `raddle` in the path; where the link leads is where it looks for its libraries.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/links)
  file(CREATE_LINK ../${root}/bin/raddle ${PROJECT_BINARY_DIR}/links/raddle SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/links/raddle DESTINATION bin COMPONENT raddle)
endif()

# cpack -G DEB --config build/CPackConfig.cmake
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests need not be built first
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Raddle <raddle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPU made of software: runs CUDA programs on CPU cores")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cuda raddle)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RADDLE_PACKAGE_NAME raddle)
set(CPACK_DEBIAN_RADDLE_PACKAGE_DEPENDS "libraddle-cuda1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_RADDLE_PACKAGE_RECOMMENDS clang-19)
set(CPACK_DEBIAN_RADDLE_PACKAGE_SUGGESTS "libfmt-dev")
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME libraddle-cuda1)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RADDLE_DESCRIPTION "The raddle command, the C++ API and its package for CMake.")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "CUDA's driver, runtime and NVRTC libraries by Raddle, in /usr/lib/raddle/lib, where NVIDIA's are not.")
include(CPack)
