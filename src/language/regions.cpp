#include "language/regions.h"

#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ir/make.h"

namespace tilecopy::language {
namespace {

using ir::BinaryOp;
using ir::is_const_int;
using ir::make_binary;
using ir::make_int;

Expr integer(const Expr& e, std::string_view what, Location where) {
  if (!e.defined())
    raise(ErrorCode::E0411, where, {.needed = std::string(what), .found = "an empty expression"});
  if (!is_int(e.dtype())) {
    raise(ErrorCode::E0420, where,
          {.needed = fmt::format("an integer for {}", what),
           .found = fmt::format("{} of dtype {}", e.to_string(), to_string(e.dtype()))});
  }
  return ir::coerce(e, int64, where);
}

void check_step(const Index& index, const Buffer& buffer, Location where) {
  if (!index.step.defined() || is_const_int(index.step, 1)) return;
  raise(ErrorCode::E0103, where,
        {.needed = "a step of 1",
         .found =
             fmt::format("a step of {} in a region of {}", index.step.to_string(), buffer.name())});
}

Expr range_extent(const Index& index, const Expr& begin, const ir::Facts& facts,
                  const Buffer& buffer, Location where) {
  Expr end = integer(index.end, "the end of a range", where);
  Expr extent = facts.simplify(make_binary(BinaryOp::sub, end, begin, where));
  if (facts.proves(make_binary(BinaryOp::lt, extent, make_int(0)))) {
    raise(ErrorCode::E0104, where,
          {.needed = "an extent of 0 or more",
           .found = fmt::format("range({}, {}), of extent {}, in a region of {}", begin.to_string(),
                                end.to_string(), extent.to_string(), buffer.name())});
  }
  return extent;
}

void borrow(ResolvedOperand& element, const ResolvedOperand& other, Location where) {
  std::vector<Expr>& extent = element.region.extent;
  std::vector<Expr> lent = other.region.extent;
  if (lent.size() > extent.size()) {
    lent = non_unit(lent);
    if (lent.size() != extent.size()) {
      raise(ErrorCode::E0106, where,
            {.needed = fmt::format("as many extents as {} has dimensions: {}",
                                   element.region.buffer.name(), extent.size()),
             .found = fmt::format("{} of {}, {} of them not 1", shape_text(other.region.extent),
                                  other.region.buffer.name(), lent.size())});
    }
  }
  std::copy(lent.begin(), lent.end(),
            extent.begin() + static_cast<std::ptrdiff_t>(extent.size() - lent.size()));
  // The end of the region has to exist as well.
  for (std::size_t d = 0; d < extent.size(); ++d) {
    make_binary(BinaryOp::add, element.region.origin[d], extent[d], where);
  }
}

}  // namespace

std::vector<Expr> non_unit(const std::vector<Expr>& extents) {
  std::vector<Expr> result;
  for (const Expr& e : extents) {
    if (!is_const_int(e, 1)) result.push_back(e);
  }
  return result;
}

std::string shape_text(const std::vector<Expr>& extents) {
  std::string text;
  for (const Expr& e : extents) {
    if (!text.empty()) text += ", ";
    text += e.to_string();
  }
  return "(" + text + ")";
}

Expr element_index(const Index& index, Location where) {
  if (index.is_range()) {
    raise(ErrorCode::E0113, where,
          {.needed = "an index",
           .found = fmt::format("range({}, {})", index.begin.to_string(), index.end.to_string())});
  }
  return integer(index.begin, "an index", where);
}

ResolvedOperand resolve_operand(const Operand& operand, const ir::Facts& facts, Location where) {
  const Buffer& buffer = operand.buffer();
  if (!buffer.defined())
    raise(ErrorCode::E0411, where, {.needed = "a buffer", .found = "an empty buffer"});
  ResolvedOperand result;
  result.region.buffer = buffer;
  if (operand.whole()) {
    result.region.origin.assign(buffer.shape().size(), make_int(0));
    result.region.extent = buffer.shape();
    return result;
  }
  const std::vector<Index>& indices = operand.indices();
  if (indices.size() != buffer.shape().size()) {
    raise(ErrorCode::E0102, where,
          {.needed = fmt::format("{} indices for {}{}", buffer.rank(), buffer.name(),
                                 shape_text(buffer.shape())),
           .found = fmt::format("{}", indices.size())});
  }
  result.bare_element = true;
  for (const Index& index : indices) {
    Expr begin = integer(index.begin, "an index", where);
    result.region.origin.push_back(facts.simplify(begin));
    if (index.is_range()) {
      check_step(index, buffer, where);
      result.region.extent.push_back(range_extent(index, begin, facts, buffer, where));
      result.bare_element = false;
    } else {
      result.region.extent.push_back(make_int(1));
    }
  }
  return result;
}

void match_extents(ResolvedOperand& src, ResolvedOperand& dst, const ir::Facts& facts,
                   Location where) {
  const std::string src_name = src.region.buffer.name();
  const std::string dst_name = dst.region.buffer.name();
  if (src.bare_element && dst.bare_element) {
    if (src.region.extent.size() == dst.region.extent.size()) return;
    raise(ErrorCode::E0105, where,
          {.needed = "elements of equal rank, or a region on one side",
           .found = fmt::format("{} with {} indices and {} with {}", src_name,
                                src.region.extent.size(), dst_name, dst.region.extent.size())});
  }
  if (src.bare_element) borrow(src, dst, where);
  if (dst.bare_element) borrow(dst, src, where);
  std::vector<Expr> a = non_unit(src.region.extent);
  std::vector<Expr> b = non_unit(dst.region.extent);
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = facts.proves_equal(a[i], b[i]);
  if (!same) {
    raise(ErrorCode::E0101, where,
          {.needed = "equal extents, dimensions of 1 apart",
           .found = fmt::format("{} of {} and {} of {}", shape_text(src.region.extent), src_name,
                                shape_text(dst.region.extent), dst_name)});
  }
}

bool provably_disjoint(const ir::Region& a, const ir::Region& b, const ir::Facts& facts) {
  if (a.buffer.node() != b.buffer.node()) return true;
  for (std::size_t d = 0; d < a.origin.size(); ++d) {
    Expr a_end = make_binary(BinaryOp::add, a.origin[d], a.extent[d]);
    Expr b_end = make_binary(BinaryOp::add, b.origin[d], b.extent[d]);
    if (facts.proves(make_binary(BinaryOp::le, a_end, b.origin[d])) ||
        facts.proves(make_binary(BinaryOp::le, b_end, a.origin[d]))) {
      return true;
    }
  }
  return false;
}

}  // namespace tilecopy::language
