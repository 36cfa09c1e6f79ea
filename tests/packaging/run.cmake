# Builds and runs the downstream project of one WAY to use tilecopy: `cmake -D WAY=... -P run.cmake`.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags "${CXX_FLAGS}")
if(WAY STREQUAL find_package)
  # Only what was installed may be found, so nothing of an earlier run may be left.
  file(REMOVE_RECURSE ${WORK_DIR})
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
  file(STRINGS ${SOURCE_DIR}/VERSION version)
  set(where -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix -D VERSION=${version})
else()
  # How fast the library is does not matter here, and this build is the longest part of the test;
  # its folder is kept, so that a second run is short.
  string(APPEND flags " -O0")
  set(where -D TILECOPY_SOURCE_DIR=${SOURCE_DIR})
endif()

run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/packaging/${WAY} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    -D CMAKE_CXX_FLAGS=${flags} ${where})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --parallel 2)
run(${WORK_DIR}/build/downstream)
