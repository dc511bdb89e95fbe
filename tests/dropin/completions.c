#include "corpus.h"
const Section completion_sections[] = {{NULL, NULL, NULL}};
