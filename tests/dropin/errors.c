#include "corpus.h"
const Section error_sections[] = {{NULL, NULL, NULL}};
