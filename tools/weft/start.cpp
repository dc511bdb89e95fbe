// The start of the program weft.
#include "weft/program_main.h"

int main(int argc, char** argv) { return weft_program_main(argc, argv); }
