// The grammar that both levels of kernel text share; what a rule makes of its words is the level's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "language/cursor.h"
#include "language/parse_expr.h"
#include "language/text_names.h"

namespace tilecopy::language {

class KernelParser {
 public:
  explicit KernelParser(Cursor& cursor);
  virtual ~KernelParser() = default;

  /// Reads from the parameters to the end of the text.
  std::shared_ptr<const ir::Kernel> parse();

 protected:
  // Declarations.
  virtual Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                        const std::vector<Expr>& strides, Location where) = 0;
  virtual Var scalar(const std::string& name, DType dtype, Location where) = 0;
  /// One name for each extent.
  virtual std::vector<Var> kernel(const std::vector<Expr>& grid, int threads,
                                  const std::vector<std::string>& names, Location where) = 0;
  /// The kernel, with the symbols that it uses.
  virtual std::shared_ptr<ir::Kernel> finish() = 0;

  // Statements.
  virtual Buffer alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape,
                       DType dtype, Location where) = 0;
  virtual void layout(const Buffer& tile, const TileLayout& layout, Location where) = 0;
  virtual void layout(const Buffer& tile, const Fragment& layout, Location where) = 0;
  virtual Expr load(const Buffer& buffer, const std::vector<Index>& indices, const Expr& safe,
                    Location where) = 0;
  virtual void store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
                     Location where) = 0;
  virtual Var open_for(ir::LoopKind loop, const std::string& name, const Expr& begin,
                       const Expr& end, Location where) = 0;
  virtual void open_if(const Expr& condition, Location where) = 0;
  virtual void open_else(Location where) = 0;
  virtual void close() = 0;
  virtual void open_block(Location where) = 0;
  virtual void close_block() = 0;
  /// Names the index of the thread, which only the device level has.
  virtual void thread(const Token& name) = 0;
  /// Reads a statement that only this level has; false when there is none.
  virtual bool own_statement() = 0;

  /// `{` statements `}`, in a scope of its own.
  void body();
  void declare(const Token& name, Named meaning) { names_.declare(name.text, std::move(meaning)); }
  /// `(name: extent, ...)`
  void named_extents(std::vector<Token>& names, std::vector<Expr>& extents);
  void layout_of(const Buffer& tile);
  Fragment fragment();

  Cursor& cursor_;
  TextNames names_;
  ExprParser expr_;
  std::vector<Var> declared_symbols_;

 private:
  Expr undeclared(const Token& name);
  void params();
  void param();
  void tensor_param(const Token& name);
  void kernel_header();
  void statement();
  bool common_statement();
  void assignment();
  void alloc_statement(const Token& name);
  void for_statement();
  void if_statement();

  bool in_shape_ = false;  // where names that nothing declares are symbols
  int depth_ = 0;
};

std::unique_ptr<KernelParser> make_tile_parser(Cursor& cursor, const std::string& name,
                                               Location where);
std::unique_ptr<KernelParser> make_device_parser(Cursor& cursor, const std::string& name,
                                                 Location where);

}  // namespace tilecopy::language
