// Where the elements of a buffer are: offsets and strides through the buffer's layout.
#pragma once

#include <map>
#include <optional>

#include "ir/node.h"

namespace tilecopy::planner {

/// The layout of each tile that has one; the others are row-major.
using Layouts = std::map<const ir::BufferNode*, TileLayout>;

/// The element offset of an index, one entry per dimension.
Expr element_offset(const Buffer& buffer, const std::vector<Expr>& indices, const Layouts& layouts);

/// The value of a layout with these digits, fastest first, at an integer.
Expr layout_offset(const std::vector<Mode>& digits, const Expr& index);

/// Elements between neighbours along a dimension; empty where the distance varies.
std::optional<Expr> element_stride(const Buffer& buffer, int dim, const Layouts& layouts);

/// Elements that a tile takes, unused ones included.
std::int64_t tile_elements(const Buffer& tile, const Layouts& layouts);

}  // namespace tilecopy::planner
