# Builds what the wheel has besides the module: the library, its headers and the files for CMake, the program, and the
# library to preload with the parts for the MPIs that ./dev installs. All of it is below weft/, the package.
set(CMAKE_INSTALL_LIBDIR weft/lib)
set(CMAKE_INSTALL_BINDIR weft/bin)
set(CMAKE_INSTALL_INCLUDEDIR weft/include)
set(CMAKE_INSTALL_DATAROOTDIR weft/share)
set(WEFT_TESTS OFF)
set(WEFT_APPS OFF)
set(WEFT_FIBER OFF)  # its library has no user here

# The program would have the library a second time, which takes a third of the wheel.
set(WEFT_PROGRAM_IN_LIBRARY ON)

# What other systems may lack is linked statically. libcrypto would double the wheel.
set(WEFT_CRYPTO libsodium)
list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)

# Sections that nothing refers to are left out, most of the static libraries among them.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)

add_subdirectory(${PROJECT_SOURCE_DIR}/.. ${PROJECT_BINARY_DIR}/weft)

# Small code where time does not matter: options and printing. (Of weft_shared these are the program's files.)
foreach(target weft_options weft_shared weft_lab)
    if(TARGET ${target})
        target_compile_options(${target} PRIVATE -Os)
    endif()
endforeach()

# A wheel has no symbolic links: the library has one name.
set_target_properties(weft_shared PROPERTIES VERSION 0 SOVERSION 0)
if(NOT TARGET weft_program)
    message(FATAL_ERROR "The wheel has the program weft, which needs CLI11 and nlohmann-json; see above")
endif()
foreach(target weft_shared weft_program weft_dropin)
    if(TARGET ${target})
        add_dependencies(weft_wheel ${target})
    endif()
endforeach()
