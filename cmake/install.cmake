# `make install PREFIX=...` and `make package`: the program, the libraries that it loads, and its data files where base/installed_files.h
# looks for them. libtorch itself is not copied: it is found where `make setup-program` put it, or through LD_LIBRARY_PATH. In an image it
# lies beside the libraries (scripts/container_tree.py), so that is looked at first.
install(TARGETS kernelwright RUNTIME DESTINATION bin)
foreach(library kernelwright_torch kernelwright_model_gpu)
  if(TARGET ${library})
    set_target_properties(${library} PROPERTIES INSTALL_RPATH
      "$ORIGIN/site-packages/torch/lib;$ORIGIN/site-packages/nvidia/cu13/lib;${KW_TORCH_ROOT}/lib;${KW_CUDA_ROOT}/lib")
    install(TARGETS ${library} LIBRARY DESTINATION lib/kernelwright OPTIONAL)
  endif()
endforeach()
install(DIRECTORY tasks profiles prompts presets weights examples web DESTINATION share/kernelwright)
install(FILES README.md LICENSE DESTINATION share/doc/kernelwright)

set(CPACK_PACKAGE_NAME kernelwright)
set(CPACK_PACKAGE_VENDOR "Kernelwright")
set(CPACK_PACKAGE_CONTACT "Kernelwright's developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Judges CUDA kernels and trains agents that write them")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME "kernelwright-${CPACK_PACKAGE_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libstdc++6, libgomp1, zlib1g")
include(CPack)
