# What is made from functions.table for core/mpi: api.h, call_ids.h and call_ids.cc in the build
# tree. To be included by core/mpi/CMakeLists.txt, which adds ${SESAME_MPI_GENERATED} to the
# sources of sesame_mpi. Others that include api.h depend on the target sesame_mpi_generated.
set(_directory ${PROJECT_BINARY_DIR}/core/mpi)
set(SESAME_MPI_GENERATED ${_directory}/api.h ${_directory}/call_ids.h ${_directory}/call_ids.cc)
add_custom_command(
  OUTPUT ${SESAME_MPI_GENERATED}
  COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/core/mpi/generate_api.py
          ${PROJECT_SOURCE_DIR}/core/mpi/functions.table ${_directory}
  DEPENDS ${PROJECT_SOURCE_DIR}/core/mpi/generate_api.py
          ${PROJECT_SOURCE_DIR}/core/mpi/mpi_functions.py
          ${PROJECT_SOURCE_DIR}/core/mpi/functions.table
  COMMENT "Declaring the functions of MPI"
  VERBATIM)
add_custom_target(sesame_mpi_generated DEPENDS ${SESAME_MPI_GENERATED})
