#include <CLI/CLI.hpp>

#include "main.h"
#include "ir/nodes.h"
#include "../src/ir/nodes.h"
#include "tilecopy/tilecopy.h"
