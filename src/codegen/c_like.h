// Device-level statements as C: what the C of the cpu target and CUDA C++ have in common.
#pragma once

#include <string>

#include "codegen/c_expr.h"
#include "codegen/code_writer.h"
#include "ir/facts.h"
#include "ir/names.h"
#include "ir/node.h"

namespace tilecopy::codegen {

/// A user's name for something, as a C name that no header of the C library can own: those are
/// macros in capitals, names that begin with an underscore or with a prefix of theirs, and types in
/// _t.
std::string c_name(const std::string& name);

/// A file name for a comment: neither a line end nor a backslash may carry it on into code.
std::string comment_text(std::string_view text);

class CLikeWriter {
 protected:
  CLikeWriter(const ir::Kernel& kernel, CodeWriter& out, IndexWidth width)
      : kernel_(kernel),
        out_(out),
        facts_(ir::kernel_facts(kernel)),
        exprs_(names_, facts_, width) {}
  virtual ~CLikeWriter() = default;

  virtual void alloc(const ir::Alloc& a) = 0;
  /// Whether a block with this statement gets braces of its own.
  virtual bool needs_scope(const ir::StmtNode& s) const { return s.kind == ir::StmtKind::Let; }
  /// The directive before a loop that says how far it unrolls; may be empty.
  virtual std::string unroll(const ir::For& loop) const = 0;

  /// The C name of a variable or buffer from here on.
  template <typename T>
  const std::string& declare(const T& thing) {
    return names_.declare(thing.node(), c_name(thing.name()));
  }
  /// "const int64_t name", or with the narrower type that the facts allow.
  std::string declaration(const Var& var);

  void stmt(const ir::Stmt& s);
  /// What stands in the braces of a loop or branch: a block, or blocks of a single block, brings
  /// none of its own.
  void braced(const ir::Stmt& s);
  /// A comment at the first statement of each of the user's lines.
  void mark_line(Location where);

  const ir::Kernel& kernel_;
  CodeWriter& out_;
  ir::Names names_;
  ir::Facts facts_;
  CExprWriter exprs_;

 private:
  void let(const ir::Let& let);
  void block(const ir::Block& b);
  void body(const ir::Block& b);
  void loop(const ir::For& f);
  void branch(const ir::If& i);
  void instr(const ir::Instr& i);

  Location marked_;
};

}  // namespace tilecopy::codegen
