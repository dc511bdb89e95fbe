# `cmake --install`: the libraries with their headers, the files by which CMake and pkg-config find it, and,
# if built, the program weft with its manual pages. All paths are relative to the prefix, which may be
# chosen at installation and moved afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set(installed_libraries weft_shared)
if(has_fiber)
    list(APPEND installed_libraries weft_fiber)
endif()
install(TARGETS ${installed_libraries} EXPORT weft-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY compat/nbc/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES src/select/shipped.table DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Below README as in the source, so that its links work.
file(GLOB doc_pages CONFIGURE_DEPENDS docs/*.md docs/*.svg)
install(FILES ${doc_pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY docs/algorithms DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        FILES_MATCHING PATTERN "*.svg")

install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})
configure_package_config_file(cmake/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})

# pkg-config: the prefix is relative to weft.pc, unless the folders were given as absolute paths.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(has_fiber)
    configure_file(cmake/weft_fiber.pc.in ${PROJECT_BINARY_DIR}/weft_fiber.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/weft_fiber.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The parts are found beside the library to preload.
if(dropin_targets)
    install(TARGETS ${dropin_targets} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET weft_program)
    file(RELATIVE_PATH library_folder ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    target_compile_definitions(weft_options PRIVATE WEFT_LIBRARY_FOLDER="${library_folder}")
    if(WEFT_PROGRAM_IN_LIBRARY)
        set_target_properties(weft_program PROPERTIES INSTALL_RPATH "$ORIGIN/${library_folder}")
    endif()
    install(TARGETS weft_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1)
    install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
