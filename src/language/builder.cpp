// Declarations, scopes and control flow of the Builder; the tile operations are in tile_ops.cpp.
#include "language/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>

#include "base/diagnostic.h"
#include "ir/walk.h"
#include "language/hints.h"
#include "language/regions.h"

namespace tilecopy::language {
namespace {

constexpr std::size_t max_rank = 8;
// Walking and freeing a program recurses this deep.
constexpr std::size_t max_nesting = 256;

bool is_identifier(const std::string& name) {
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), word);
}

// Bytes up to the last element of a tensor whose sizes are all constant; raises E0410 on overflow.
void check_address_range(const Buffer& buffer, Location where) {
  bool overflow = false;
  std::int64_t bytes_in_all = bytes(buffer.dtype());
  // Symbols may turn out to be 1: the constant extents alone have to fit.
  std::int64_t product = bytes_in_all;
  for (const Expr& extent : buffer.shape()) {
    auto value = ir::const_int(extent);
    if (value && *value > 0) overflow |= __builtin_mul_overflow(product, *value, &product);
  }
  std::vector<Expr> strides = ir::strides_of(buffer);
  for (std::size_t d = 0; d < strides.size(); ++d) {
    auto extent = ir::const_int(buffer.shape()[d]);
    auto stride = ir::const_int(strides[d]);
    std::int64_t span = 0;
    if (!extent || !stride || *extent == 0) continue;
    overflow |= __builtin_mul_overflow(*extent - 1, std::abs(*stride), &span) ||
                __builtin_mul_overflow(span, bytes(buffer.dtype()), &span) ||
                __builtin_add_overflow(bytes_in_all, span, &bytes_in_all);
  }
  if (overflow) {
    raise(ErrorCode::E0410, where,
          {.needed = "a tensor of less than 2^63 bytes",
           .found = fmt::format("{} of shape {} with strides {}", buffer.name(),
                                shape_text(buffer.shape()), shape_text(strides))});
  }
}

}  // namespace

Builder::Builder(const std::string& name, Location where)
    : kernel_(std::make_shared<ir::Kernel>()) {
  if (!is_identifier(name)) {
    raise(ErrorCode::E0405, where,
          {.needed = "an identifier", .found = fmt::format("\"{}\"", name)});
  }
  static std::atomic<std::uint64_t> next_serial{1};
  kernel_->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  kernel_->name = name;
  kernel_->where = where;
}

// ---- Rules shared by the statements ----

void Builder::require_statement(Location where) const {
  if (!frames_.empty()) return;
  raise(ErrorCode::E0401, where,
        {.needed = "a call after kernel({...})", .found = "no kernel yet"});
}

void Builder::require_before_kernel(Location where) const {
  if (!has_kernel_) return;
  raise(ErrorCode::E0403, where,
        {.needed = "declarations before kernel({...})", .found = "one after it"});
}

const Builder::Frame* Builder::enclosing_parallel() const {
  for (const Frame& frame : frames_) {
    if (frame.kind == Frame::Kind::parallel) return &frame;
  }
  return nullptr;
}

void Builder::require_outside_parallel(std::string_view what, Location where) const {
  if (!enclosing_parallel()) return;
  raise(ErrorCode::E0418, where,
        {.needed = "loads, stores, loops, branches and local buffers", .found = std::string(what)});
}

void Builder::require_visible(const Buffer& buffer, Location where) const {
  if (!buffer.defined())
    raise(ErrorCode::E0411, where, {.needed = "a buffer", .found = "an empty buffer"});
  if (visible_.count(buffer.node())) return;
  raise(ErrorCode::E0111, where,
        {.needed =
             fmt::format("a buffer of function {}, in the loop that allocates it", kernel_->name),
         .found = buffer.name()});
}

void Builder::require_visible(const Expr& e, Location where) const {
  if (!e.defined()) return;
  ir::for_each_expr(e, [&](const Expr& part) {
    if (const auto* load = ir::as<ir::Load>(part)) require_visible(load->buffer, where);
    const auto* var = ir::as<ir::VarNode>(part);
    if (!var || visible_.count(var)) return;
    if (var->symbol) {
      raise(ErrorCode::E0406, where,
            {.needed = "a symbol that is a dimension or stride of a tensor", .found = var->name});
    }
    raise(ErrorCode::E0111, where,
          {.needed =
               fmt::format("a variable of function {}, in the loop that makes it", kernel_->name),
           .found = var->name});
  });
}

void Builder::require_visible(const ir::Region& region, Location where) const {
  require_visible(region.buffer, where);
  for (const Expr& e : region.origin) require_visible(e, where);
  for (const Expr& e : region.extent) require_visible(e, where);
}

Expr Builder::index_expr(const Expr& e, std::string_view what, Location where) const {
  if (!e.defined())
    raise(ErrorCode::E0411, where, {.needed = std::string(what), .found = "an empty expression"});
  if (!is_int(e.dtype())) {
    raise(ErrorCode::E0420, where,
          {.needed = fmt::format("an integer for {}", what),
           .found = fmt::format("{} of dtype {}", e.to_string(), to_string(e.dtype()))});
  }
  require_visible(e, where);
  return facts_.simplify(ir::coerce(e, int64, where));
}

std::string Builder::claim_name(const std::string& name, Location where) {
  if (!is_identifier(name)) {
    raise(ErrorCode::E0405, where,
          {.needed = "an identifier", .found = fmt::format("\"{}\"", name)});
  }
  if (!names_.insert(name).second) {
    raise(ErrorCode::E0405, where,
          {.needed = "a new name", .found = fmt::format("\"{}\", which is taken", name)});
  }
  return name;
}

std::string Builder::fresh_name(const std::string& stem) const {
  // Terms of a sum are ordered by their variables' names: two loops inside each other need two
  // names for a kernel to print alike when it is read back.
  auto taken = [&](const std::string& name) {
    auto has_name = [&](const Var& var) { return var.name() == name; };
    return names_.count(name) > 0 ||
           std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) {
             return std::any_of(frame.vars.begin(), frame.vars.end(), has_name);
           });
  };
  std::string name = stem;
  for (int i = 1; taken(name); ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

void Builder::introduce(const void* node) {
  visible_.insert(node);
  if (!frames_.empty()) frames_.back().introduced.push_back(node);
}

// ---- Declarations ----

Var Builder::symbol(const std::string& name, Location where) {
  for (const Var& known : kernel_->symbols) {
    if (known.name() == name) return known;
  }
  if (!is_identifier(name)) {
    raise(ErrorCode::E0405, where,
          {.needed = "an identifier", .found = fmt::format("\"{}\"", name)});
  }
  return tilecopy::symbol(name);
}

void Builder::adopt_symbols(const Expr& e, Location where) {
  ir::for_each_expr(e, [&](const Expr& part) {
    const auto* var = ir::as<ir::VarNode>(part);
    if (!var || !var->symbol || visible_.count(var)) return;
    claim_name(var->name, where);
    kernel_->symbols.push_back(Var(part));
    visible_.insert(var);
  });
}

Buffer Builder::tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                       const std::vector<Expr>& strides, Location where) {
  require_before_kernel(where);
  if (shape.size() > max_rank) {
    raise(ErrorCode::E0412, where,
          {.needed = fmt::format("at most {} dimensions", max_rank),
           .found = fmt::format("{} for {}", shape.size(), name)});
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    raise(ErrorCode::E0413, where,
          {.needed = fmt::format("{} strides for {}", shape.size(), name),
           .found = fmt::format("{}", strides.size())});
  }
  claim_name(name, where);
  auto node = std::make_shared<ir::BufferNode>();
  *node = {name, dtype, Scope::global, {}, {}, where};
  for (const Expr& extent : shape) {
    if (extent.defined()) adopt_symbols(extent, where);
    node->shape.push_back(index_expr(extent, "a dimension", where));
    if (auto value = ir::const_int(node->shape.back()); value && *value < 0) {
      raise(ErrorCode::E0414, where,
            {.needed = "0 or more", .found = fmt::format("{} in {}", *value, name)});
    }
  }
  for (const Expr& stride : strides) {
    if (stride.defined()) adopt_symbols(stride, where);
    node->strides.push_back(index_expr(stride, "a stride", where));
  }
  Buffer buffer{std::move(node)};
  check_address_range(buffer, where);
  introduce(buffer.node());
  kernel_->params.emplace_back(buffer);
  return buffer;
}

Var Builder::scalar(const std::string& name, DType dtype, Location where) {
  require_before_kernel(where);
  Var var(claim_name(name, where), dtype);
  introduce(var.node());
  kernel_->params.emplace_back(var);
  return var;
}

std::vector<Var> Builder::kernel(const std::vector<Expr>& grid, int threads,
                                 const std::vector<std::string>& names, Location where) {
  if (has_kernel_) {
    raise(ErrorCode::E0403, where,
          {.needed = "one kernel in a function", .found = "a second call of kernel"});
  }
  if (grid.empty() || grid.size() > 3) {
    raise(ErrorCode::E0408, where,
          {.needed = "1 to 3 extents", .found = fmt::format("{}", grid.size())});
  }
  if (threads < 1 || threads > 1024) {
    raise(ErrorCode::E0407, where,
          {.needed = "1 to 1024 threads", .found = fmt::format("{}", threads)});
  }
  constexpr const char* default_names[] = {"bx", "by", "bz"};
  for (std::size_t d = 0; d < grid.size(); ++d) {
    Expr extent = index_expr(grid[d], "a grid extent", where);
    if (auto value = ir::const_int(extent); value && *value < 0) {
      raise(ErrorCode::E0408, where,
            {.needed = "extents of 0 or more",
             .found = fmt::format("{}", *value),
             .help = "check the sizes that the extent is made of"});
    }
    Var var(names.empty() ? fresh_name(default_names[d]) : names[d], int64);
    kernel_->grid.push_back(extent);
    kernel_->block.push_back(var);
    visible_.insert(var.node());
  }
  kernel_->threads = threads;
  has_kernel_ = true;
  facts_ = ir::kernel_facts(*kernel_);
  open({.kind = Frame::Kind::kernel, .where = where});
  return kernel_->block;
}

Buffer Builder::alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape,
                      DType dtype, Location where) {
  require_statement(where);
  if (scope != Scope::local) {
    require_outside_parallel(fmt::format("a {} tile", to_string(scope)), where);
  }
  if (shape.empty() || shape.size() > max_rank) {
    raise(ErrorCode::E0107, where,
          {.needed = fmt::format("1 to {} dimensions", max_rank),
           .found = fmt::format("{}", shape.size()),
           .help = "give a single element the shape {1}, and merge dimensions past the eighth"});
  }
  auto node = std::make_shared<ir::BufferNode>();
  std::string stem = std::string(to_string(scope));
  *node = {claim_name(name.empty() ? fresh_name(stem) : name, where), dtype, scope, {}, {}, where};
  for (const Expr& extent : shape) {
    node->shape.push_back(index_expr(extent, "an extent", where));
    auto value = ir::const_int(node->shape.back());
    if (!value || *value < 1) {
      raise(ErrorCode::E0107, where,
            {.needed = "positive constants",
             .found = fmt::format("{} for {}", shape_text(shape), node->name)});
    }
  }
  Buffer buffer{std::move(node)};
  check_address_range(buffer, where);
  introduce(buffer.node());
  auto statement = ir::make_stmt<ir::Alloc>(where);
  statement->buffer = buffer;
  append(std::move(statement));
  return buffer;
}

// ---- Annotations ----

ir::Alloc& Builder::find_alloc(const Buffer& tile, Location where) {
  require_statement(where);
  require_visible(tile, where);
  for (Frame& frame : frames_) {
    for (ir::Stmt& statement : frame.body) {
      const auto* alloc = ir::as<ir::Alloc>(statement);
      if (!alloc || alloc->buffer.node() != tile.node()) continue;
      auto copy = std::make_shared<ir::Alloc>(*alloc);
      statement = copy;
      return *copy;
    }
  }
  raise(ErrorCode::E0415, where,
        {.needed = "a shared, fragment or local tile",
         .found = fmt::format("{} in {} memory", tile.name(), to_string(tile.scope())),
         .help = "annotate a tile; the layout of a tensor is what its strides say"});
}

void Builder::annotate_layout(const Buffer& tile, const TileLayout& layout, Location where) {
  ir::Alloc& alloc = find_alloc(tile, where);
  std::string shape = shape_text(tile.shape());
  auto require = [&](bool ok, std::string needed) {
    if (ok) return;
    raise(ErrorCode::E0415, where, {.needed = std::move(needed), .found = to_string(layout)});
  };
  require(tile.scope() != Scope::fragment, "a fragment layout for fragment tile " + tile.name());
  bool fits = layout.rank() == tile.rank();
  for (int d = 0; fits && d < tile.rank(); ++d) {
    auto i = static_cast<std::size_t>(d);
    fits = ir::is_const_int(tile.shape()[i], layout.shape()[i]);
  }
  require(fits, fmt::format("the shape {} of {}", shape, tile.name()));
  require(layout.is_injective(), "a place of its own for each element");
  alloc.layout = layout;
}

void Builder::annotate_layout(const Buffer& tile, const Fragment& layout, Location where) {
  ir::Alloc& alloc = find_alloc(tile, where);
  if (tile.scope() != Scope::fragment) {
    raise(ErrorCode::E0415, where,
          {.needed =
               fmt::format("a tile layout for {} tile {}", to_string(tile.scope()), tile.name()),
           .found = to_string(layout)});
  }
  bool fits = layout.shape().size() == tile.shape().size();
  for (std::size_t d = 0; fits && d < layout.shape().size(); ++d) {
    fits = ir::is_const_int(tile.shape()[d], layout.shape()[d]);
  }
  if (!fits || !layout.is_injective() || layout.threads() > kernel_->threads) {
    raise(ErrorCode::E0415, where,
          {.needed = fmt::format("a one-to-one fragment of shape {} over at most {} threads",
                                 shape_text(tile.shape()), kernel_->threads),
           .found = to_string(layout)});
  }
  alloc.fragment = layout;
}

void Builder::annotate_safe_value(const Buffer& buffer, const Expr& value, Location where) {
  require_statement(where);
  require_visible(buffer, where);
  if (!value.defined())
    raise(ErrorCode::E0411, where, {.needed = "a safe value", .found = "an empty expression"});
  Expr safe = ir::coerce(value, buffer.dtype(), where);
  bool constant = ir::as<ir::IntConst>(safe) || ir::as<ir::FloatConst>(safe);
  auto given = ir::const_int(value);
  if (!constant || (is_int(buffer.dtype()) && given != ir::const_int(safe))) {
    raise(ErrorCode::E0416, where,
          {.needed = fmt::format("a constant of dtype {}", to_string(buffer.dtype())),
           .found = fmt::format("{} for {}", value.to_string(), buffer.name())});
  }
  frames_.back().safe_values.emplace_back(buffer.node(), safe);
}

Expr Builder::safe_value_of(const Buffer& buffer) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const auto& values = frame->safe_values;
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      if (value->first == buffer.node()) return value->second;
    }
  }
  return {};
}

// ---- Control flow ----

void Builder::open(Frame frame) {
  if (frames_.size() >= max_nesting) {
    raise(ErrorCode::E0429, frame.where,
          {.needed = fmt::format("at most {} loops and branches inside each other", max_nesting),
           .found = "one more"});
  }
  frames_.push_back(std::move(frame));
}

Var Builder::open_for(ir::LoopKind loop, const std::string& name, const Expr& begin,
                      const Expr& end, Location where) {
  require_statement(where);
  Expr first = index_expr(begin, "the begin of a loop", where);
  Expr last = index_expr(end, "the end of a loop", where);
  if (loop == ir::LoopKind::unrolled && (!ir::const_int(first) || !ir::const_int(last))) {
    raise(ErrorCode::E0419, where,
          {.needed = "constant limits for an unrolled loop",
           .found = fmt::format("{} .. {}", first.to_string(), last.to_string())});
  }
  Var var(name.empty() ? fresh_name("k") : name, int64);
  open({.kind = Frame::Kind::loop,
        .where = where,
        .loop = loop,
        .vars = {var},
        .limits = {first, last}});
  introduce(var.node());
  facts_.bind_loop(var, first, last);
  return var;
}

std::vector<Var> Builder::open_parallel(const std::vector<std::string>& names,
                                        const std::vector<Expr>& extents, const HintValues& hints,
                                        Location where) {
  require_statement(where);
  require_outside_parallel("a parallel loop", where);
  if (extents.empty() || extents.size() > max_rank) {
    raise(ErrorCode::E0419, where,
          {.needed = fmt::format("1 to {} extents", max_rank),
           .found = fmt::format("{}", extents.size())});
  }
  Frame frame{.kind = Frame::Kind::parallel, .where = where, .hints = resolve_hints(hints, where)};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    frame.limits.push_back(index_expr(extents[d], "an extent", where));
    std::string stem(1, static_cast<char>('i' + d));
    frame.vars.emplace_back(names.empty() ? fresh_name(stem) : names[d], int64);
  }
  if (frame.hints.loop_layout) {
    check_loop_layout(*frame.hints.loop_layout, frame.limits, kernel_->threads, where);
  }
  open(std::move(frame));
  std::vector<Var> vars = frames_.back().vars;
  for (std::size_t d = 0; d < vars.size(); ++d) {
    introduce(vars[d].node());
    facts_.bind_loop(vars[d], ir::make_int(0), frames_.back().limits[d]);
  }
  return vars;
}

void Builder::open_if(const Expr& condition, Location where) {
  require_statement(where);
  if (!condition.defined())
    raise(ErrorCode::E0411, where, {.needed = "a condition", .found = "an empty expression"});
  if (condition.dtype() != bool_) {
    raise(ErrorCode::E0420, where,
          {.needed = "a condition of dtype bool",
           .found =
               fmt::format("{} of dtype {}", condition.to_string(), to_string(condition.dtype()))});
  }
  require_visible(condition, where);
  open({.kind = Frame::Kind::then_branch, .where = where, .limits = {condition}});
}

void Builder::open_else(Location where) {
  Frame& frame = frames_.back();
  frame.kind = Frame::Kind::else_branch;
  frame.then_body = ir::make_block(std::move(frame.body), frame.where);
  frame.body = {};
  frame.safe_values.clear();
  for (const void* node : frame.introduced) visible_.erase(node);
  frame.introduced.clear();
  frame.where = frame.where.known() ? frame.where : where;
}

void Builder::close() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  for (const void* node : frame.introduced) visible_.erase(node);
  ir::Stmt body = ir::make_block(std::move(frame.body), frame.where);
  switch (frame.kind) {
    case Frame::Kind::kernel: kernel_->body = std::move(body); break;
    case Frame::Kind::loop:
      append(ir::make_for(frame.loop, frame.vars[0], frame.limits[0], frame.limits[1],
                          std::move(body), frame.where));
      break;
    case Frame::Kind::parallel: {
      auto loop = ir::make_stmt<ir::Parallel>(frame.where);
      loop->vars = std::move(frame.vars);
      loop->extents = std::move(frame.limits);
      loop->hints = std::move(frame.hints);
      loop->body = std::move(body);
      append(std::move(loop));
      break;
    }
    case Frame::Kind::then_branch:
      append(ir::make_if(frame.limits[0], std::move(body), nullptr, frame.where));
      break;
    case Frame::Kind::else_branch:
      append(
          ir::make_if(frame.limits[0], std::move(frame.then_body), std::move(body), frame.where));
      break;
  }
}

Function Builder::finish() {
  if (!has_kernel_) {
    raise(ErrorCode::E0404, kernel_->where,
          {.needed = "one call of kernel", .found = fmt::format("none in {}", kernel_->name)});
  }
  close();
  for (const Var& symbol : kernel_->symbols) {
    bool bound = false;
    for (const ir::Param& param : kernel_->params) {
      const auto* tensor = std::get_if<Buffer>(&param);
      if (!tensor) continue;
      for (const Expr& e : tensor->shape()) bound |= e.node() == symbol.node();
      for (const Expr& e : tensor->node()->strides) bound |= e.node() == symbol.node();
    }
    if (!bound) {
      raise(ErrorCode::E0406, kernel_->where,
            {.needed = "a tensor with the symbol alone as a dimension or stride",
             .found = fmt::format("{} only inside larger expressions", symbol.name())});
    }
  }
  return Function(std::move(kernel_));
}

}  // namespace tilecopy::language
