# Every tests/**/*_test.cpp has tests; its first folder is the suite, a ctest label. Every
# tests/**/*_program.cpp is a program that tests start with several ranks.
include(GoogleTest)

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS tests/support/*.cpp)
list(FILTER support_sources EXCLUDE REGEX "/(random/rank_run|reference|any_call|neighbors)\\.cpp$")
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/*_test.cpp)
file(GLOB_RECURSE test_programs CONFIGURE_DEPENDS tests/*_program.cpp)

add_library(weft_test_base INTERFACE)
target_include_directories(weft_test_base INTERFACE tests ${PROJECT_SOURCE_DIR})
target_compile_definitions(weft_test_base INTERFACE WEFT_BUILD_DIR="${CMAKE_BINARY_DIR}"
                           WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                           WEFT_C_COMPILER="${CMAKE_C_COMPILER}"
                           WEFT_CXX_COMPILER="${CMAKE_CXX_COMPILER}"
                           WEFT_C_FLAGS="${CMAKE_C_FLAGS}" WEFT_CXX_FLAGS="${CMAKE_CXX_FLAGS}"
                           WEFT_CMAKE="${CMAKE_COMMAND}" WEFT_NM="${CMAKE_NM}"
                           WEFT_GENERATOR="${CMAKE_GENERATOR}"
                           WEFT_MAKE_PROGRAM="${CMAKE_MAKE_PROGRAM}")
target_link_libraries(weft_test_base INTERFACE weft_lab weft_sim GTest::gtest)

# In preset dev the tests are less optimised than what they test: they compile faster.
set(test_options $<$<CONFIG:RelWithDebInfo>:-O1;-g1>)
target_compile_options(weft_test_base INTERFACE "${test_options}")

# A rank of a random program; also for programs that see only the public library.
set(rank_sources tests/support/random/rank_run.cpp tests/support/reference.cpp
                 tests/support/neighbors.cpp tests/support/any_call.cpp)
add_library(weft_test_rank STATIC ${rank_sources})
target_include_directories(weft_test_rank PRIVATE tests src include ${PROJECT_SOURCE_DIR})
target_compile_options(weft_test_rank PRIVATE "${test_options}")
target_precompile_headers(weft_test_rank PRIVATE ${standard_headers} <cstdio> <cstdlib> <fstream> <functional>)

# System headers took most of the compile time: the tests share them precompiled.
add_library(weft_test_support STATIC ${support_sources})
target_link_libraries(weft_test_support PUBLIC weft_test_rank weft_test_base)
target_precompile_headers(weft_test_support PRIVATE
                          ${PROJECT_SOURCE_DIR}/tests/support/test.h)
set_target_properties(weft_test_support PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)

# tests/unit/ring_test.cpp -> target test_unit_ring, executable <build>/tests/unit/ring_test
function(weft_test_names source folder_out stem_out target_out)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${source})
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(stem ${path} NAME_WE)
    string(REPLACE "/" "_" target "test_${folder}_${stem}")
    string(REGEX REPLACE "_test$" "" target "${target}")
    set(${folder_out} ${folder} PARENT_SCOPE)
    set(${stem_out} ${stem} PARENT_SCOPE)
    set(${target_out} ${target} PARENT_SCOPE)
endfunction()

if(NOT has_fiber)
    message(STATUS "weft: no fibers: their tests are left out")
    list(FILTER test_sources EXCLUDE REGEX "/fibers_test")
    list(FILTER test_programs EXCLUDE REGEX "/fibers_.*program")
endif()

set(started_targets weft_shared)
if(has_fiber)
    list(APPEND started_targets weft_fiber)
endif()
if(TARGET weft_program)
    list(APPEND started_targets weft_program)
endif()
foreach(source IN LISTS test_programs)
    weft_test_names(${source} folder stem target)
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${stem}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder})
    # From src it may only include headers without sources: it links only the public library.
    target_include_directories(${target} PRIVATE tests src ${PROJECT_SOURCE_DIR})
    target_compile_options(${target} PRIVATE "${test_options}")
    target_link_libraries(${target} PRIVATE weft_test_rank weft::weft Threads::Threads)
    target_precompile_headers(${target} REUSE_FROM weft_test_rank)
    # (Those that run in fibers, too: tests/conformance/in_fibers.h.)
    if(has_fiber AND stem MATCHES "^(fibers|fibers_long_work|comms|request|schedule|waiting|coroutines|cpp|opaque|reproducible|memory|mismatch)_program$")
        target_link_libraries(${target} PRIVATE weft::fiber)
        target_compile_definitions(${target} PRIVATE WEFT_TEST_HAS_FIBERS=1)
    endif()
    list(APPEND started_targets ${target})
endforeach()

if(NOT TARGET weft_program)
    message(STATUS "weft: no program weft: its tests, those of its manual and of the applications are left out")
    list(FILTER test_sources EXCLUDE REGEX "/tests/(tools/|apps/|install/man_|unit/emulated_)")
endif()

if(NOT tcp_libraries)
    list(FILTER test_sources EXCLUDE REGEX "/tests/unit/tcp_")
endif()
if(NOT has_ucx)
    list(FILTER test_sources EXCLUDE REGEX "/tests/unit/ucx_")
endif()

# Tests what the kernel engine relies on in the operating system, with io_uring alone.
if(kernel_libraries)
    add_library(weft_test_ring STATIC tests/kernel/ring.cpp)
    target_link_libraries(weft_test_ring PUBLIC weft_test_base ${kernel_libraries})
else()
    message(STATUS "weft: no kernel engine: the tests of io_uring (tests/kernel) are left out")
    list(FILTER test_sources EXCLUDE REGEX "/tests/kernel/")
endif()

# A suite is one executable, whose files are compiled several at a time; what a file names is in
# its own namespace, weft::test::<file>. A file that has a main or replaces a function of the whole
# program is an executable of its own.
function(weft_test_executable target label name)
    add_executable(${target} ${ARGN})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${label})
    target_link_libraries(${target} PRIVATE weft_test_support GTest::gtest_main)
    target_precompile_headers(${target} REUSE_FROM weft_test_support)
    # These tests start no other processes, and must not wait for the program to build.
    if(label STREQUAL "kernel")
        target_link_libraries(${target} PRIVATE weft_test_ring)
    elseif(NOT label MATCHES "^(unit|spec|sim)$")
        add_dependencies(${target} ${started_targets})
    endif()
    if(label MATCHES "^(dropin|install|apps)$" AND dropin_targets)
        add_dependencies(${target} ${dropin_targets})
    endif()
    gtest_discover_tests(${target} TEST_PREFIX "${label}/" DISCOVERY_MODE PRE_TEST
                         DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT}
                         LABELS ${label})
endfunction()

foreach(source IN LISTS test_sources)
    weft_test_names(${source} folder stem target)
    string(REGEX REPLACE "/.*" "" label "${folder}")
    file(STRINGS ${source} alone REGEX "^int main|_new[.]h\"|operator new|^extern \"C\"")
    # (The C++ interface has names of its own for what the library names, too.)
    file(STRINGS ${source} of_interface REGEX "include .weft/[a-z_]+[.]hpp")
    if(of_interface)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(alone)
        weft_test_executable(${target} ${label} ${stem} ${source})
    else()
        list(APPEND test_labels ${label})
        list(APPEND sources_of_${label} ${source})
    endif()
endforeach()
list(REMOVE_DUPLICATES test_labels)
foreach(label IN LISTS test_labels)
    weft_test_executable(test_${label} ${label} ${label}_test ${sources_of_${label}})
    set_target_properties(test_${label} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endforeach()

set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/install/symbols_test.cpp PROPERTIES
    COMPILE_DEFINITIONS WEFT_TEST_HOOKS=$<BOOL:${WEFT_TEST_HOOKS}>)

# Of the program, a unit test may link a file that needs only the library.
target_sources(test_unit PRIVATE ${PROJECT_SOURCE_DIR}/bench/loggp/fit.cpp
                                 ${PROJECT_SOURCE_DIR}/tools/weft/switch/frame.cpp
                                 ${PROJECT_SOURCE_DIR}/tools/weft/switch/report.cpp)
if(TARGET weft_program)
    target_sources(test_unit PRIVATE ${PROJECT_SOURCE_DIR}/bench/predict/emulated.cpp)
    target_link_libraries(test_unit PRIVATE nlohmann_json::nlohmann_json)
endif()
if(TARGET test_tools)
    target_sources(test_tools PRIVATE ${PROJECT_SOURCE_DIR}/bench/print/conclusion.cpp
                                      ${PROJECT_SOURCE_DIR}/bench/table.cpp)
    target_link_libraries(test_tools PRIVATE nlohmann_json::nlohmann_json)
endif()
if(TARGET test_apps)
    add_dependencies(test_apps weft_applications)
    target_link_libraries(test_apps PRIVATE nlohmann_json::nlohmann_json)
endif()

# mpi4py's own test suite without and with the drop-in library, in a run of all tests.
find_program(WEFT_PYTHON python3)
mark_as_advanced(WEFT_PYTHON)
if(WEFT_PYTHON)
    foreach(mpi mpich openmpi impi)
        foreach(ranks 1 2 3 4 5)
            set(name mpi4py/${mpi}.${ranks})
            add_test(NAME ${name} COMMAND ${WEFT_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/dropin/mpi4py/compare.py
                                          ${mpi} ${ranks} ${CMAKE_BINARY_DIR})
            set_tests_properties(${name} PROPERTIES LABELS mpi4py SKIP_RETURN_CODE 77 PROCESSORS ${ranks}
                                 TIMEOUT 3600)
        endforeach()
    endforeach()
endif()

# The report, in Python. Without matplotlib or a browser, what needs them is skipped, and says why.
file(GLOB report_tests CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests/report tests/report/*_test.py)
foreach(file IN LISTS report_tests)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" short ${name})
    if(WEFT_PYTHON)
        set(command ${WEFT_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/report/run.py ${name})
    else()
        set(command sh -c "echo 'skipped: no python3'; exit 77")
    endif()
    add_test(NAME report/${short} COMMAND ${command})
    set_tests_properties(report/${short} PROPERTIES LABELS report SKIP_RETURN_CODE 77 TIMEOUT 120)
endforeach()

# The Python module, which tests/python/run.py builds; not for a Python without the sanitizer's runtime.
foreach(which oldest newest between)
    if(NOT WEFT_PYTHON)
        set(command sh -c "echo 'skipped: no python3'; exit 77")
    elseif("${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
        set(command sh -c "echo 'skipped: Python is built without the sanitizer'; exit 77")
    else()
        set(command ${WEFT_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/python/run.py ${which} ${CMAKE_BINARY_DIR}
                    ${CMAKE_COMMAND} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM} ${CMAKE_CXX_COMPILER})
    endif()
    add_test(NAME python/${which} COMMAND ${command})
    set_tests_properties(python/${which} PROPERTIES LABELS python SKIP_RETURN_CODE 77 TIMEOUT ${WEFT_TEST_TIMEOUT})
endforeach()

# The back end of PyTorch, where a Python has torch.
foreach(which build table group training)
    if(NOT WEFT_PYTHON)
        set(command sh -c "echo 'skipped: no python3'; exit 77")
    elseif("${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize")
        set(command sh -c "echo 'skipped: Python is built without the sanitizer'; exit 77")
    else()
        set(command ${WEFT_PYTHON} -B ${PROJECT_SOURCE_DIR}/python/torch/tests/run.py ${which} ${CMAKE_BINARY_DIR}
                    ${CMAKE_COMMAND} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM} ${CMAKE_CXX_COMPILER})
    endif()
    add_test(NAME torch/${which} COMMAND ${command})
    set_tests_properties(torch/${which} PROPERTIES LABELS torch SKIP_RETURN_CODE 77 PROCESSORS 2 TIMEOUT 1100)
endforeach()
