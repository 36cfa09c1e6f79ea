// All of tilecopy.
#pragma once

#include "tilecopy/compile.h"
#include "tilecopy/cuda.h"
#include "tilecopy/error.h"
#include "tilecopy/expr.h"
#include "tilecopy/language.h"
#include "tilecopy/layout.h"
#include "tilecopy/tensor.h"
#include "tilecopy/types.h"
