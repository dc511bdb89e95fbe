/* For programs of LibNBC, which include <nbc.h>. */
#include "weft/nbc.h"
