# Every build runs this: writes OUTPUT, a header with the commit of SOURCE_DIR as a string, but only if
# it has changed. "-dirty": there are changes since the commit. "unknown": SOURCE_DIR is not the top of a
# git repository (a repository around it says nothing about this source).
set(commit unknown)
set(ENV{GIT_OPTIONAL_LOCKS} 0)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
    execute_process(COMMAND ${GIT} rev-parse HEAD WORKING_DIRECTORY ${SOURCE_DIR}
                    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE
                    RESULT_VARIABLE head_status ERROR_QUIET)
    execute_process(COMMAND ${GIT} status --porcelain WORKING_DIRECTORY ${SOURCE_DIR}
                    OUTPUT_VARIABLE changes RESULT_VARIABLE changes_status ERROR_QUIET)
    if(head_status EQUAL 0 AND changes_status EQUAL 0)
        set(commit ${head})
        if(changes)
            string(APPEND commit -dirty)
        endif()
    endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define WEFT_COMMIT \"${commit}\"\n")
