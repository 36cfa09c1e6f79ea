// The tile level of kernel text: every rule of it goes through the Builder.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/diagnostic.h"
#include "language/builder.h"
#include "language/kernel_parser.h"

namespace tilecopy::language {
namespace {

class TileParser : public KernelParser {
 public:
  TileParser(Cursor& cursor, const std::string& name, Location where)
      : KernelParser(cursor), builder_(name, where) {}

 protected:
  Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                const std::vector<Expr>& strides, Location where) override {
    return builder_.tensor(name, shape, dtype, strides, where);
  }
  Var scalar(const std::string& name, DType dtype, Location where) override {
    return builder_.scalar(name, dtype, where);
  }
  std::vector<Var> kernel(const std::vector<Expr>& grid, int threads,
                          const std::vector<std::string>& names, Location where) override {
    return builder_.kernel(grid, threads, names, where);
  }
  std::shared_ptr<ir::Kernel> finish() override {
    return std::make_shared<ir::Kernel>(builder_.finish().kernel());
  }

  Buffer alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape, DType dtype,
               Location where) override {
    return builder_.alloc(scope, name, shape, dtype, where);
  }
  void layout(const Buffer& tile, const TileLayout& layout, Location where) override {
    builder_.annotate_layout(tile, layout, where);
  }
  void layout(const Buffer& tile, const Fragment& layout, Location where) override {
    builder_.annotate_layout(tile, layout, where);
  }
  void store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
             Location where) override {
    builder_.store(buffer, indices, value, where);
  }
  Expr load(const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
            Location where) override;

  Var open_for(ir::LoopKind loop, const std::string& name, const Expr& begin, const Expr& end,
               Location where) override {
    safe_values_.emplace_back();
    return builder_.open_for(loop, name, begin, end, where);
  }
  void open_if(const Expr& condition, Location where) override {
    safe_values_.emplace_back();
    builder_.open_if(condition, where);
  }
  void open_else(Location where) override {
    safe_values_.back().clear();
    builder_.open_else(where);
  }
  void close() override {
    safe_values_.pop_back();
    builder_.close();
  }
  // The language has no blocks: their statements join those around them.
  void open_block(Location) override {}
  void close_block() override {}
  void thread(const Token& name) override {
    cursor_.fail("a tile-level kernel, which has no thread index", name);
  }
  bool own_statement() override;

 private:
  template <typename Statement>
  void with_safe(const Buffer& source, const Expr& safe, Location where, Statement statement);
  void annotate_safe(const Buffer& buffer, const Expr& value, Location where);
  Expr annotated_safe(const Buffer& buffer) const;

  void copy(Location where);
  void im2col(Location where);
  void transpose(Location where);
  void fill(Location where);
  void parallel(Location where);
  void annotate_layout(Location where);
  void annotate_safe_value(Location where);

  Expr safe_clause();
  HeightWidth pair();
  HintValues hints();
  void hint(HintValues& values);

  Builder builder_;
  // What annotate_safe_value has said, body by body.
  std::vector<std::map<const ir::BufferNode*, Expr>> safe_values_{1};
};

// ---- Safe values ----

Expr TileParser::annotated_safe(const Buffer& buffer) const {
  for (auto body = safe_values_.rbegin(); body != safe_values_.rend(); ++body) {
    if (auto at = body->find(buffer.node()); at != body->end()) return at->second;
  }
  return ir::make_zero(buffer.dtype());
}

void TileParser::annotate_safe(const Buffer& buffer, const Expr& value, Location where) {
  builder_.annotate_safe_value(buffer, value, where);
}

// The Builder knows annotations only; one that a single statement sees is set around it.
template <typename Statement>
void TileParser::with_safe(const Buffer& source, const Expr& safe, Location where,
                           Statement statement) {
  if (safe.defined()) annotate_safe(source, safe, where);
  statement();
  if (safe.defined()) annotate_safe(source, annotated_safe(source), where);
}

Expr TileParser::load(const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
                      Location where) {
  Expr result;
  with_safe(buffer, safe, where, [&] { result = builder_.load(buffer, indices, where); });
  return result;
}

Expr TileParser::safe_clause() {
  return cursor_.accept_keyword("safe") ? expr_.expression() : Expr();
}

void TileParser::annotate_safe_value(Location where) {
  const Buffer buffer = expr_.buffer();
  cursor_.expect(",");
  const Expr value = expr_.expression();
  annotate_safe(buffer, value, where);
  safe_values_.back().insert_or_assign(buffer.node(), value);
}

// ---- Hints ----

void TileParser::hint(HintValues& values) {
  const Token key = cursor_.name("a hint");
  cursor_.expect(":");
  const Token value = cursor_.peek();
  const std::string name(key.text);
  if (values.annotations.contains(name)) cursor_.fail("each hint once", key);
  if (cursor_.at_word("true") || cursor_.at_word("false")) {
    values.annotations.emplace(name, cursor_.take().text == "true");
  } else if (cursor_.at_word("fragment") && cursor_.at("(", 1)) {
    values.annotations.emplace(name, fragment());
  } else if (value.kind == TokenKind::name) {
    values.annotations.emplace(name, std::string(cursor_.take().text));
  } else {
    values.annotations.emplace(name, cursor_.integer("the value of a hint"));
  }
}

HintValues TileParser::hints() {
  HintValues values;
  if (!cursor_.accept("{") || cursor_.accept("}")) return values;
  do {
    hint(values);
  } while (cursor_.accept(","));
  cursor_.expect("}");
  return values;
}

// ---- Statements ----

void TileParser::copy(Location where) {
  const Operand src = expr_.operand();
  cursor_.expect("->");
  const Operand dst = expr_.operand();
  const Expr safe = safe_clause();
  const HintValues values = hints();
  with_safe(src.buffer(), safe, where, [&] { builder_.copy(src, dst, values, where); });
}

HeightWidth TileParser::pair() {
  if (!cursor_.accept("(")) return cursor_.integer("an integer or (height, width)");
  const std::int64_t h = cursor_.integer("a height");
  cursor_.expect(",");
  const std::int64_t w = cursor_.integer("a width");
  cursor_.expect(")");
  return {h, w};
}

void TileParser::im2col(Location where) {
  const Operand img = expr_.operand();
  cursor_.expect("->");
  const Operand col = expr_.operand();
  cursor_.expect_word("step");
  cursor_.expect("(");
  const std::vector<Expr> steps = expr_.list(")");
  if (steps.size() != 2) cursor_.fail("two steps, (nhw_step, c_step)");
  cursor_.expect_word("kernel");
  ir::Im2colWindow window{pair(), 1, 1, 0};
  if (cursor_.accept_keyword("stride")) window.stride = pair();
  if (cursor_.accept_keyword("dilation")) window.dilation = pair();
  if (cursor_.accept_keyword("pad")) window.pad = pair();
  builder_.im2col(img, col, steps[0], steps[1], window, hints(), where);
}

void TileParser::transpose(Location where) {
  const Operand src = expr_.operand();
  cursor_.expect("->");
  const Operand dst = expr_.operand();
  const Expr safe = safe_clause();
  with_safe(src.buffer(), safe, where, [&] { builder_.transpose(src, dst, where); });
}

void TileParser::fill(Location where) {
  const Operand dst = expr_.operand();
  cursor_.expect("=");
  builder_.fill(dst, expr_.expression(), where);
}

void TileParser::parallel(Location where) {
  std::vector<Token> tokens;
  std::vector<Expr> extents;
  named_extents(tokens, extents);
  HintValues values;
  if (cursor_.at("{") && cursor_.at(":", 2)) values = hints();
  for (const auto& [key, value] : values.annotations) {
    if (key == "coalesced_width" || key == "loop_layout") continue;
    raise(ErrorCode::E0202, where,
          {.needed = "coalesced_width or loop_layout for a parallel loop", .found = key});
  }
  std::vector<std::string> names;
  for (const Token& token : tokens) names.emplace_back(token.text);
  const std::vector<Var> vars = builder_.open_parallel(names, extents, values, where);
  safe_values_.emplace_back();
  names_.open_scope();
  for (std::size_t i = 0; i < vars.size(); ++i) declare(tokens[i], vars[i]);
  body();
  names_.close_scope();
  close();
}

void TileParser::annotate_layout(Location) {
  const Buffer tile = expr_.buffer();
  cursor_.expect(",");
  layout_of(tile);
}

bool TileParser::own_statement() {
  using Statement = std::pair<std::string_view, void (TileParser::*)(Location)>;
  static constexpr Statement statements[] = {
      {"copy", &TileParser::copy},
      {"im2col", &TileParser::im2col},
      {"transpose", &TileParser::transpose},
      {"fill", &TileParser::fill},
      {"parallel", &TileParser::parallel},
      {"annotate_layout", &TileParser::annotate_layout},
      {"annotate_safe_value", &TileParser::annotate_safe_value},
  };
  const Location where = cursor_.peek().where;
  for (const auto& [word, read] : statements) {
    if (!cursor_.accept_keyword(word)) continue;
    (this->*read)(where);
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<KernelParser> make_tile_parser(Cursor& cursor, const std::string& name,
                                               Location where) {
  return std::make_unique<TileParser>(cursor, name, where);
}

}  // namespace tilecopy::language
