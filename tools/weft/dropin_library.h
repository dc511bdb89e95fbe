// The files of the drop-in library.
#pragma once

#include <filesystem>

namespace weft {

// Each has a file "weft_mpi_mpich.so" beside libweft_mpi.so.
constexpr const char* dropin_parts[] = {"mpich", "openmpi", "abi"};

// Where the library is: beside this program, or where both are installed. Empty: not built.
std::filesystem::path dropin_folder();

}  // namespace weft
