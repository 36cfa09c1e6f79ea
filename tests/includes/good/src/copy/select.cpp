#include "copy/select.h"

#include <fmt/format.h>

#include "ir/nodes.h"
#include "tilecopy/types.h"
