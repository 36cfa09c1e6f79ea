// The grammar that both levels share, and the entry points.
#include "language/parse.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "base/diagnostic.h"
#include "ir/print.h"
#include "language/kernel_parser.h"

namespace tilecopy::language {
namespace {

constexpr int max_statement_depth = 256;

// Locations outlive the text and everything made from it.
const char* intern(const std::string& file) {
  static std::mutex mutex;
  static std::set<std::string> files;
  const std::lock_guard lock(mutex);
  return files.insert(file).first->c_str();
}

}  // namespace

KernelParser::KernelParser(Cursor& cursor)
    : cursor_(cursor),
      expr_(cursor, names_,
            {[this](const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
                    Location where) { return load(buffer, indices, safe, where); },
             [this](const Token& name) { return undeclared(name); }}) {}

std::shared_ptr<const ir::Kernel> KernelParser::parse() {
  params();
  cursor_.expect("{");
  kernel_header();
  body();
  cursor_.expect("}");
  if (cursor_.peek().kind != TokenKind::end) cursor_.fail("the end of the text");
  std::shared_ptr<ir::Kernel> kernel = finish();
  for (const Var& symbol : declared_symbols_) {
    const auto& used = kernel->symbols;
    if (std::none_of(used.begin(), used.end(),
                     [&](const Var& known) { return known.node() == symbol.node(); })) {
      raise(ErrorCode::E0406, kernel->where,
            {.needed = "a tensor that uses the symbol", .found = symbol.name()});
    }
  }
  // In the order in which the text first names them.
  kernel->symbols = declared_symbols_;
  return kernel;
}

// ---- Parameters and grid ----

Expr KernelParser::undeclared(const Token& name) {
  if (!in_shape_) names_.raise_unknown(name.text, name.where);
  const Var symbol = tilecopy::symbol(std::string(name.text));
  declare(name, symbol);
  declared_symbols_.push_back(symbol);
  return symbol;
}

void KernelParser::params() {
  cursor_.expect("(");
  if (cursor_.accept(")")) return;
  do {
    param();
  } while (cursor_.accept(","));
  cursor_.expect(")");
}

void KernelParser::param() {
  const Token name = cursor_.name("a parameter");
  cursor_.expect(":");
  if (cursor_.accept_word("symbol")) {
    if (names_.find(name.text)) {
      raise(ErrorCode::E0405, name.where,
            {.needed = "a new name", .found = describe(name) + ", which is taken"});
    }
    in_shape_ = true;
    undeclared(name);
    in_shape_ = false;
    return;
  }
  const DType dtype = expr_.dtype();
  if (!cursor_.at("[")) {
    declare(name, scalar(std::string(name.text), dtype, name.where));
    return;
  }
  cursor_.take();
  in_shape_ = true;
  const std::vector<Expr> shape = expr_.list("]");
  std::vector<Expr> strides;
  if (cursor_.accept_word("strides")) {
    cursor_.expect("[");
    strides = expr_.list("]");
  }
  in_shape_ = false;
  declare(name, tensor(std::string(name.text), shape, dtype, strides, name.where));
}

void KernelParser::named_extents(std::vector<Token>& names, std::vector<Expr>& extents) {
  cursor_.expect("(");
  if (cursor_.accept(")")) return;
  do {
    names.push_back(cursor_.name("a variable"));
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
      if (names[i].text == names.back().text) {
        raise(ErrorCode::E0405, names.back().where,
              {.needed = "a new name", .found = describe(names.back()) + ", which is taken"});
      }
    }
    cursor_.expect(":");
    extents.push_back(expr_.expression());
  } while (cursor_.accept(","));
  cursor_.expect(")");
}

void KernelParser::kernel_header() {
  const Location where = cursor_.expect_word("kernel").where;
  std::vector<Token> tokens;
  std::vector<Expr> grid;
  named_extents(tokens, grid);
  std::int64_t threads = KernelOptions().threads;
  if (cursor_.accept_word("threads")) {
    const Token count = cursor_.peek();
    threads = cursor_.integer("a number of threads");
    if (!std::in_range<int>(threads)) cursor_.fail("a number of threads", count);
  }
  std::vector<std::string> names;
  for (const Token& token : tokens) names.emplace_back(token.text);
  const std::vector<Var> vars = kernel(grid, static_cast<int>(threads), names, where);
  names_.open_scope();
  for (std::size_t i = 0; i < vars.size(); ++i) declare(tokens[i], vars[i]);
  if (cursor_.accept_word("as")) thread(cursor_.name("a name for the thread index"));
}

// ---- Statements ----

void KernelParser::body() {
  const Nesting nesting(depth_, max_statement_depth, cursor_);
  cursor_.expect("{");
  names_.open_scope();
  while (!cursor_.at("}")) statement();
  names_.close_scope();
  cursor_.take();
}

void KernelParser::statement() {
  if (cursor_.peek().kind != TokenKind::name) cursor_.fail("a statement or '}'");
  if (common_statement() || own_statement()) return;
  assignment();
}

bool KernelParser::common_statement() {
  const Location where = cursor_.peek().where;
  if (cursor_.at_keyword("for") || cursor_.at_keyword("unrolled")) {
    for_statement();
  } else if (cursor_.at_keyword("if")) {
    if_statement();
  } else if (cursor_.accept_keyword("block")) {
    open_block(where);
    body();
    close_block();
  } else {
    return false;
  }
  return true;
}

void KernelParser::assignment() {
  const Token name = cursor_.peek();
  if (cursor_.at("=", 1)) {
    cursor_.name("a name");
    cursor_.take();
    return alloc_statement(name);
  }
  if (!cursor_.at("[", 1)) cursor_.fail("a statement", name);
  const Buffer buffer = expr_.buffer();
  const std::vector<Index> indices = expr_.indices();
  cursor_.expect("=");
  store(buffer, indices, expr_.expression(), name.where);
}

void KernelParser::alloc_statement(const Token& name) {
  constexpr std::array<std::pair<std::string_view, Scope>, 3> words = {
      {{"alloc_shared", Scope::shared},
       {"alloc_fragment", Scope::fragment},
       {"alloc_local", Scope::local}}};
  const Token word = cursor_.take();
  const auto* scope = std::find_if(words.begin(), words.end(),
                                   [&](const auto& row) { return row.first == word.text; });
  if (scope == words.end()) cursor_.fail("alloc_shared, alloc_fragment or alloc_local", word);
  const DType dtype = expr_.dtype();
  cursor_.expect("[");
  const std::vector<Expr> shape = expr_.list("]");
  const Buffer tile = alloc(scope->second, std::string(name.text), shape, dtype, name.where);
  declare(name, tile);
  while (cursor_.accept_keyword("layout")) layout_of(tile);
}

void KernelParser::layout_of(const Buffer& tile) {
  const Location where = cursor_.peek().where;
  if (cursor_.at_word("fragment")) return layout(tile, fragment(), where);
  std::string text;
  if (cursor_.accept_word("swizzle")) {
    text = "swizzle<";
    cursor_.expect("<");
    for (std::string_view end : {",", ",", ">"}) {
      text += std::to_string(cursor_.integer("an integer"));
      text += cursor_.expect(end).text;
    }
    cursor_.expect_word("o");
    text += " o ";
  }
  text += cursor_.tuple_text();
  cursor_.expect(":");
  text += ":" + cursor_.tuple_text();
  layout(tile, parse_tile_layout(text, where), where);
}

Fragment KernelParser::fragment() {
  const Location where = cursor_.expect_word("fragment").where;
  if (!cursor_.at("(")) cursor_.fail("'('");
  return parse_fragment("fragment" + cursor_.tuple_text(), where);
}

void KernelParser::for_statement() {
  const Location where = cursor_.peek().where;
  const bool unrolled = cursor_.accept_word("unrolled");
  cursor_.expect_word("for");
  const Token name = cursor_.name("a loop variable");
  cursor_.expect_word("in");
  const Expr begin = expr_.expression();
  cursor_.expect("..");
  const Expr end = expr_.expression();
  const Var var = open_for(unrolled ? ir::LoopKind::unrolled : ir::LoopKind::serial,
                           std::string(name.text), begin, end, where);
  names_.open_scope();
  declare(name, var);
  body();
  names_.close_scope();
  close();
}

void KernelParser::if_statement() {
  const Location where = cursor_.expect_word("if").where;
  open_if(expr_.expression(), where);
  body();
  const Location otherwise = cursor_.peek().where;
  if (cursor_.accept_keyword("else")) {
    open_else(otherwise);
    if (cursor_.at_keyword("if")) {
      const Nesting nesting(depth_, max_statement_depth, cursor_);
      if_statement();
    } else {
      body();
    }
  }
  close();
}

// ---- Entry points ----

std::shared_ptr<const ir::Kernel> parse(const std::string& text, const std::string& file) {
  Cursor cursor(text, intern(file));
  const bool device = cursor.accept_word("device");
  cursor.expect_word("function");
  const Token name = cursor.name("the name of the function");
  auto make = device ? make_device_parser : make_tile_parser;
  return make(cursor, std::string(name.text), name.where)->parse();
}

}  // namespace tilecopy::language

namespace tilecopy {

std::string Function::text() const { return ir::print(*kernel_); }

Function parse(const std::string& text, const std::string& file) {
  return Function(language::parse(text, file));
}

}  // namespace tilecopy
