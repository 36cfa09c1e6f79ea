// The device level of kernel text: what lowering wrote, built as it stands. The checks here are the
// rules of ir/verify.h, stated for a reader of the text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/diagnostic.h"
#include "ir/make.h"
#include "language/kernel_parser.h"

namespace tilecopy::language {
namespace {

class DeviceParser : public KernelParser {
 public:
  DeviceParser(Cursor& cursor, const std::string& name, Location where)
      : KernelParser(cursor), kernel_(std::make_shared<ir::Kernel>()) {
    kernel_->name = name;
    kernel_->where = where;
    kernel_->level = ir::Level::device;
  }

 protected:
  Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                const std::vector<Expr>& strides, Location where) override;
  Var scalar(const std::string& name, DType dtype, Location where) override;
  std::vector<Var> kernel(const std::vector<Expr>& grid, int threads,
                          const std::vector<std::string>& names, Location where) override;
  void thread(const Token& name) override;
  std::shared_ptr<ir::Kernel> finish() override;

  Buffer alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape, DType dtype,
               Location where) override;
  void layout(const Buffer& tile, const TileLayout& layout, Location where) override;
  void layout(const Buffer& tile, const Fragment& layout, Location where) override;
  Expr load(const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
            Location where) override;
  void store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
             Location where) override;
  Var open_for(ir::LoopKind loop, const std::string& name, const Expr& begin, const Expr& end,
               Location where) override;
  void open_if(const Expr& condition, Location where) override;
  void open_else(Location where) override;
  void close() override;
  void open_block(Location where) override;
  void close_block() override { close(); }
  bool own_statement() override;

 private:
  // One open body, and what close() makes of it.
  struct Frame {
    enum class Kind { kernel, loop, then_branch, else_branch, block } kind;
    Location where;
    std::vector<ir::Stmt> body = {};
    ir::LoopKind loop = ir::LoopKind::serial;
    Var var = {};
    Expr begin = {}, end = {}, condition = {};
    ir::Stmt then_body = nullptr;
  };

  void append(ir::Stmt statement) { frames_.back().body.push_back(std::move(statement)); }
  void require_new_parameter(const std::string& name, Location where) const;
  ir::Alloc& last_alloc();
  Expr integer(const Expr& e, std::string_view what, Location where) const;
  Expr offset(const Buffer& buffer, const std::vector<Index>& indices, Location where) const;
  void let(Location where);
  std::vector<Expr> exprs(std::string_view word, std::size_t least, std::size_t most);
  std::vector<std::int64_t> numbers(std::string_view word, std::int64_t least, std::int64_t most);
  int bytes(std::string_view word, std::initializer_list<int> choices);
  void tensor_map(Location where);
  void instr(Location where);

  std::shared_ptr<ir::Kernel> kernel_;
  std::vector<Frame> frames_;
};

// ---- Rules ----

void DeviceParser::require_new_parameter(const std::string& name, Location where) const {
  if (!names_.find(name)) return;
  raise(ErrorCode::E0405, where,
        {.needed = "a new name", .found = fmt::format("\"{}\", which is taken", name)});
}

Expr DeviceParser::integer(const Expr& e, std::string_view what, Location where) const {
  if (!is_int(e.dtype())) {
    raise(ErrorCode::E0420, where,
          {.needed = fmt::format("an integer for {}", what),
           .found = fmt::format("{} of dtype {}", e.to_string(), to_string(e.dtype()))});
  }
  return ir::coerce(e, int64, where);
}

Expr DeviceParser::offset(const Buffer& buffer, const std::vector<Index>& indices,
                          Location where) const {
  if (indices.size() != 1 || indices[0].is_range()) {
    raise(ErrorCode::E0102, where,
          {.needed = "one offset at the device level",
           .found = fmt::format("{} indices or ranges of {}", indices.size(), buffer.name()),
           .help = "write the offset of the element, as in A[i * 64 + j]"});
  }
  return integer(indices[0].begin, "an offset", where);
}

// ---- Declarations ----

Buffer DeviceParser::tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                            const std::vector<Expr>& strides, Location where) {
  require_new_parameter(name, where);
  if (!strides.empty() && strides.size() != shape.size()) {
    raise(ErrorCode::E0413, where,
          {.needed = fmt::format("{} strides for {}", shape.size(), name),
           .found = fmt::format("{}", strides.size())});
  }
  auto node = std::make_shared<ir::BufferNode>();
  *node = {name, dtype, Scope::global, {}, {}, where};
  for (const Expr& e : shape) node->shape.push_back(integer(e, "a dimension", where));
  for (const Expr& e : strides) node->strides.push_back(integer(e, "a stride", where));
  Buffer buffer{std::move(node)};
  kernel_->params.emplace_back(buffer);
  return buffer;
}

Var DeviceParser::scalar(const std::string& name, DType dtype, Location where) {
  require_new_parameter(name, where);
  Var var(name, dtype);
  kernel_->params.emplace_back(var);
  return var;
}

std::vector<Var> DeviceParser::kernel(const std::vector<Expr>& grid, int threads,
                                      const std::vector<std::string>& names, Location where) {
  if (grid.size() > 3) {
    raise(ErrorCode::E0408, where,
          {.needed = "at most 3 extents", .found = fmt::format("{}", grid.size())});
  }
  if (threads < 1 || threads > 1024) {
    raise(ErrorCode::E0407, where, {.needed = "1 to 1024", .found = fmt::format("{}", threads)});
  }
  for (std::size_t d = 0; d < grid.size(); ++d) {
    kernel_->grid.push_back(integer(grid[d], "a grid extent", where));
    kernel_->block.emplace_back(names[d], int64);
  }
  kernel_->threads = threads;
  frames_.push_back({.kind = Frame::Kind::kernel, .where = where});
  return kernel_->block;
}

void DeviceParser::thread(const Token& name) {
  kernel_->thread = Var(std::string(name.text), int64);
  declare(name, kernel_->thread);
}

std::shared_ptr<ir::Kernel> DeviceParser::finish() {
  kernel_->body = ir::make_block(std::move(frames_.back().body), frames_.back().where);
  kernel_->symbols = declared_symbols_;
  return kernel_;
}

Buffer DeviceParser::alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape,
                           DType dtype, Location where) {
  auto node = std::make_shared<ir::BufferNode>();
  *node = {name, dtype, scope, {}, {}, where};
  for (const Expr& extent : shape) {
    const auto value = ir::const_int(integer(extent, "an extent", where));
    if (!value || *value < 1) {
      raise(ErrorCode::E0107, where, {.needed = "positive constants", .found = extent.to_string()});
    }
    node->shape.push_back(ir::make_int(*value));
  }
  auto statement = ir::make_stmt<ir::Alloc>(where);
  statement->buffer = Buffer(std::move(node));
  Buffer tile = statement->buffer;
  append(std::move(statement));
  return tile;
}

// The grammar puts a layout right behind the allocation that it belongs to.
ir::Alloc& DeviceParser::last_alloc() {
  ir::Stmt& last = frames_.back().body.back();
  auto copy = std::make_shared<ir::Alloc>(ir::get<ir::Alloc>(last));
  last = copy;
  return *copy;
}

void DeviceParser::layout(const Buffer& tile, const TileLayout& layout, Location where) {
  bool fits = layout.rank() == tile.rank();
  for (std::size_t d = 0; fits && d < tile.shape().size(); ++d) {
    fits = ir::is_const_int(tile.shape()[d], layout.shape()[d]);
  }
  if (!fits) {
    raise(ErrorCode::E0415, where,
          {.needed = fmt::format("the shape of {}", tile.name()), .found = to_string(layout)});
  }
  last_alloc().layout = layout;
}

void DeviceParser::layout(const Buffer& tile, const Fragment& layout, Location where) {
  bool fits = tile.scope() == Scope::fragment && layout.shape().size() == tile.shape().size();
  for (std::size_t d = 0; fits && d < tile.shape().size(); ++d) {
    fits = ir::is_const_int(tile.shape()[d], layout.shape()[d]);
  }
  if (!fits) {
    raise(ErrorCode::E0415, where,
          {.needed = fmt::format("a fragment tile, and the shape of {}", tile.name()),
           .found = to_string(layout)});
  }
  last_alloc().fragment = layout;
}

// ---- Statements ----

Expr DeviceParser::load(const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
                        Location where) {
  if (frames_.empty()) {
    raise(ErrorCode::E0401, where, {.needed = "a read inside the kernel", .found = buffer.name()});
  }
  if (safe.defined()) cursor_.fail("no safe value: accesses of the device level are in bounds");
  return ir::make_load(buffer, {offset(buffer, indices, where)}, {}, where);
}

void DeviceParser::store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
                         Location where) {
  append(ir::make_store(buffer, {offset(buffer, indices, where)},
                        ir::coerce(value, buffer.dtype(), where), where));
}

Var DeviceParser::open_for(ir::LoopKind loop, const std::string& name, const Expr& begin,
                           const Expr& end, Location where) {
  frames_.push_back({.kind = Frame::Kind::loop,
                     .where = where,
                     .loop = loop,
                     .var = Var(name, int64),
                     .begin = integer(begin, "the begin of a loop", where),
                     .end = integer(end, "the end of a loop", where)});
  return frames_.back().var;
}

void DeviceParser::open_if(const Expr& condition, Location where) {
  if (condition.dtype() != bool_) {
    raise(ErrorCode::E0420, where,
          {.needed = "a condition of dtype bool",
           .found =
               fmt::format("{} of dtype {}", condition.to_string(), to_string(condition.dtype()))});
  }
  frames_.push_back({.kind = Frame::Kind::then_branch, .where = where, .condition = condition});
}

void DeviceParser::open_else(Location) {
  Frame& frame = frames_.back();
  frame.kind = Frame::Kind::else_branch;
  frame.then_body = ir::make_block(std::exchange(frame.body, {}), frame.where);
}

void DeviceParser::open_block(Location where) {
  frames_.push_back({.kind = Frame::Kind::block, .where = where});
}

void DeviceParser::close() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  ir::Stmt body = ir::make_block(std::move(frame.body), frame.where);
  switch (frame.kind) {
    case Frame::Kind::kernel: break;  // finish() takes its body
    case Frame::Kind::loop:
      append(ir::make_for(frame.loop, frame.var, frame.begin, frame.end, std::move(body),
                          frame.where));
      break;
    case Frame::Kind::then_branch:
      append(ir::make_if(frame.condition, std::move(body), nullptr, frame.where));
      break;
    case Frame::Kind::else_branch:
      append(
          ir::make_if(frame.condition, std::move(frame.then_body), std::move(body), frame.where));
      break;
    case Frame::Kind::block: append(std::move(body)); break;
  }
}

void DeviceParser::let(Location where) {
  const Token name = cursor_.name("a variable");
  cursor_.expect(":");
  const DType dtype = expr_.dtype();
  cursor_.expect("=");
  const Expr value = ir::coerce(expr_.expression(), dtype, where);
  const Var var(std::string(name.text), dtype);
  declare(name, var);
  append(ir::make_let(var, value, where));
}

// word (expression, ...)
std::vector<Expr> DeviceParser::exprs(std::string_view word, std::size_t least, std::size_t most) {
  const Token start = cursor_.peek();
  cursor_.expect_word(word);
  cursor_.expect("(");
  std::vector<Expr> list;
  if (!cursor_.at(")")) {
    do {
      const Location where = cursor_.peek().where;
      list.push_back(integer(expr_.expression(), "a size", where));
    } while (cursor_.accept(","));
  }
  cursor_.expect(")");
  if (list.size() >= least && list.size() <= most) return list;
  cursor_.fail(fmt::format("{} to {} {}", least, most, word), start);
}

std::vector<std::int64_t> DeviceParser::numbers(std::string_view word, std::int64_t least,
                                                std::int64_t most) {
  cursor_.expect_word(word);
  cursor_.expect("(");
  std::vector<std::int64_t> list;
  do {
    const Token token = cursor_.peek();
    list.push_back(cursor_.integer("a number"));
    if (list.back() < least || list.back() > most) {
      cursor_.fail(fmt::format("{} to {}", least, most), token);
    }
  } while (cursor_.accept(","));
  cursor_.expect(")");
  return list;
}

int DeviceParser::bytes(std::string_view word, std::initializer_list<int> choices) {
  cursor_.expect_word(word);
  const Token token = cursor_.peek();
  const std::int64_t value = cursor_.integer("a number of bytes");
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    cursor_.fail(fmt::format("one of {}", fmt::join(choices, ", ")), token);
  }
  return static_cast<int>(value);
}

void DeviceParser::tensor_map(Location where) {
  const Token name = cursor_.name("a name for the tensor map");
  cursor_.expect("=");
  auto map = ir::make_stmt<ir::TensorMap>(where);
  const Token tensor = cursor_.peek();
  map->tensor = expr_.buffer();
  if (map->tensor.scope() != Scope::global) cursor_.fail("a tensor", tensor);
  map->dims = exprs("dims", 1, 5);
  const std::size_t rank = map->dims.size();
  map->strides = exprs("strides", rank - 1, rank - 1);
  map->box = numbers("box", 1, 1024);
  map->element_strides = numbers("element_strides", 1, 8);
  if (cursor_.at_word("lower")) {
    map->lower = numbers("lower", INT16_MIN, INT16_MAX);
    map->upper = numbers("upper", INT16_MIN, INT16_MAX);
  }
  map->swizzle_bytes = bytes("swizzle", {0, 32, 64, 128});
  map->l2_promotion_bytes = bytes("promotion", {0, 64, 128, 256});
  const std::size_t corners = map->im2col() ? rank - 2 : 0;
  const bool agree = map->box.size() == (map->im2col() ? 2 : rank) &&
                     map->element_strides.size() == rank && map->lower.size() == corners &&
                     map->upper.size() == corners;
  const auto wide = [](std::int64_t extent) { return extent > 256; };
  const auto pixels = map->box.begin() + (map->im2col() ? 1 : map->box.size());
  if (!agree) cursor_.fail(fmt::format("numbers for {} dimensions", rank), name);
  if (std::any_of(map->box.begin(), pixels, wide)) cursor_.fail("a box of at most 256", name);
  map->var = Var(std::string(name.text), uint64);
  declare(name, map->var);
  append(std::move(map));
}

void DeviceParser::instr(Location where) {
  const std::string name = cursor_.dotted_name("the name of an instruction");
  std::vector<ir::InstrOperand> operands;
  auto operand = [&]() -> ir::InstrOperand {
    if (!cursor_.accept("&")) return expr_.expression();
    const Buffer buffer = expr_.buffer();
    return ir::Address{buffer, offset(buffer, expr_.indices(), where)};
  };
  cursor_.expect("(");
  if (!cursor_.at(")")) {
    do {
      operands.push_back(operand());
    } while (cursor_.accept(","));
  }
  cursor_.expect(")");
  append(ir::make_instr(name, std::move(operands), where));
}

bool DeviceParser::own_statement() {
  const Location where = cursor_.peek().where;
  if (cursor_.accept_keyword("let")) {
    let(where);
  } else if (cursor_.accept_keyword("tensor_map")) {
    tensor_map(where);
  } else if (cursor_.accept_keyword("instr")) {
    instr(where);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<KernelParser> make_device_parser(Cursor& cursor, const std::string& name,
                                                 Location where) {
  return std::make_unique<DeviceParser>(cursor, name, where);
}

}  // namespace tilecopy::language
