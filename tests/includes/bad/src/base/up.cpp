#include <nlohmann/json.hpp>

#include "base/up.h"
#include "ir/nodes.h"
#include "up.h"
// #include "copy/select.h"
#include "tilecopy/types.h"
