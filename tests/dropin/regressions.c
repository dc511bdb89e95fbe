#include "corpus.h"
const Section regression_sections[] = {{NULL, NULL, NULL}};
