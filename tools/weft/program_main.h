// The program weft as a function: its code may be in libweft.so (WEFT_PROGRAM_IN_LIBRARY).
#pragma once

extern "C" int weft_program_main(int argc, char** argv);
