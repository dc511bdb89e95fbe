#include "corpus.h"
const Section communicator_sections[] = {{NULL, NULL, NULL}};
