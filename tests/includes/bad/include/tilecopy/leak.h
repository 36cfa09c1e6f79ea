#pragma once
#include <fmt/format.h>
#include <stdint.h>
#include <vector>

#include "base/text.h"
#include "tilecopy/types.h"
