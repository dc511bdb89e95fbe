# Builds what the wheel has besides the module: the library, its headers and the files for CMake, the program, and the
# library to preload with the parts for the MPIs that ./dev installs. All of it is below weft/, the package.
set(CMAKE_INSTALL_LIBDIR weft/lib)
set(CMAKE_INSTALL_BINDIR weft/bin)
set(CMAKE_INSTALL_INCLUDEDIR weft/include)
set(CMAKE_INSTALL_DATAROOTDIR weft/share)
set(WEFT_TESTS OFF)
set(WEFT_FIBER OFF)  # its library has no user here

# A wheel brings what the manylinux systems do not have: linked statically, that is a part of each library.
list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)

add_subdirectory(${PROJECT_SOURCE_DIR}/.. ${PROJECT_BINARY_DIR}/weft)

# A wheel has no symbolic links: the library has one name.
set_target_properties(weft_shared PROPERTIES VERSION 0 SOVERSION 0)
if(NOT TARGET weft_program)
    message(FATAL_ERROR "The wheel has the program weft, which needs CLI11 and nlohmann-json; see above")
endif()
foreach(target weft_shared weft_program ${dropin_targets})
    if(TARGET ${target})
        add_dependencies(weft_wheel ${target})
    endif()
endforeach()
