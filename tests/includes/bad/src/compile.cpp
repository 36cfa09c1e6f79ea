#include "../tools/main.h"
#include "lower/pass.h"
