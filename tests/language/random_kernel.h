// Random kernels of either level, built as the language or lowering would. RapidCheck draws every
// choice, so that failures shrink.
#pragma once

#include <memory>

#include "ir/node.h"

namespace tilecopy::test {

std::shared_ptr<const ir::Kernel> random_tile_kernel();
std::shared_ptr<const ir::Kernel> random_device_kernel();

}  // namespace tilecopy::test
