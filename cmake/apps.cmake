# Applications: a folder of apps/ each, one program of all its files.
function(weft_app name)  # and the libraries that it needs
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/${name}/*.cpp)
    add_executable(app_${name} ${sources})
    set_target_properties(app_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/apps)
    target_link_libraries(app_${name} PRIVATE weft_apps ${ARGN})
    # Their loops rely on the vectoriser in every build.
    target_compile_options(app_${name} PRIVATE -O3 -fopenmp-simd)
    add_dependencies(weft_applications app_${name})
endfunction()

add_custom_target(weft_applications)
if(NOT WEFT_APPS)
    message(STATUS "weft: the applications are switched off (WEFT_APPS)")
    return()
endif()
find_package(CLI11 QUIET)
if(NOT CLI11_FOUND)
    message(STATUS "weft: CLI11 not found (libcli11-dev): no applications")
    return()
endif()

# What all applications share. (CLI11 takes most of the time of what includes it: compiled once, unoptimised.)
add_library(weft_apps STATIC EXCLUDE_FROM_ALL apps/common/app.cpp apps/common/exchange.cpp)
set_source_files_properties(apps/common/app.cpp PROPERTIES COMPILE_OPTIONS "-O0;-g1")
target_include_directories(weft_apps PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(weft_apps PUBLIC weft::weft PRIVATE CLI11::CLI11 ${CMAKE_DL_LIBS})

weft_app(cg)
weft_app(training)

find_path(WEFT_BZIP2_INCLUDE bzlib.h)
find_library(WEFT_BZIP2 bz2)
find_path(WEFT_ZLIB_INCLUDE zlib.h)
find_library(WEFT_ZLIB z)
mark_as_advanced(WEFT_BZIP2_INCLUDE WEFT_BZIP2 WEFT_ZLIB_INCLUDE WEFT_ZLIB)
if(WEFT_BZIP2_INCLUDE AND WEFT_BZIP2 AND WEFT_ZLIB_INCLUDE AND WEFT_ZLIB)
    weft_app(compression ${WEFT_BZIP2} ${WEFT_ZLIB})
    target_include_directories(app_compression SYSTEM PRIVATE ${WEFT_BZIP2_INCLUDE} ${WEFT_ZLIB_INCLUDE})
else()
    message(STATUS "weft: no bzip2 or zlib (libbz2-dev, zlib1g-dev): the application compression is left out")
endif()
