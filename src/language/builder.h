// Records one function. Both surfaces of the language, the C++ one and the text form, write through
// a Builder, so that each user rule is stated once.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/facts.h"
#include "ir/make.h"
#include "ir/node.h"
#include "tilecopy/language.h"

namespace tilecopy::language {

/// Hints as a user gave them: unchecked names and values. `annotations` beat the others.
struct HintValues {
  std::optional<std::int64_t> coalesced_width = {};
  bool disable_tma = false;
  std::optional<std::string> eviction_policy = {};
  std::optional<std::string> prefer_instruction = {};
  std::optional<Fragment> loop_layout = {};
  Annotations annotations = {};
};

class Builder {
 public:
  Builder(const std::string& name, Location where);

  // Declarations; each before `kernel`.
  Var symbol(const std::string& name, Location where);
  Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
                const std::vector<Expr>& strides, Location where);
  Var scalar(const std::string& name, DType dtype, Location where);

  /// Names may be empty (bx, by, bz are used) or one for each grid dimension.
  std::vector<Var> kernel(const std::vector<Expr>& grid, int threads,
                          const std::vector<std::string>& names, Location where);

  // Statements, in order of execution.
  Buffer alloc(Scope scope, const std::string& name, const std::vector<Expr>& shape, DType dtype,
               Location where);
  void annotate_layout(const Buffer& tile, const TileLayout& layout, Location where);
  void annotate_layout(const Buffer& tile, const Fragment& layout, Location where);
  void annotate_safe_value(const Buffer& buffer, const Expr& value, Location where);
  CopyHandle copy(const Operand& src, const Operand& dst, const HintValues& hints, Location where);
  CopyHandle im2col(const Operand& img, const Operand& col, const Expr& nhw_step,
                    const Expr& c_step, const ir::Im2colWindow& window, const HintValues& hints,
                    Location where);
  CopyHandle transpose(const Operand& src, const Operand& dst, Location where);
  void fill(const Operand& dst, const Expr& value, Location where);
  Expr load(const Buffer& buffer, const std::vector<Index>& indices, Location where);
  void store(const Buffer& buffer, const std::vector<Index>& indices, const Expr& value,
             Location where);

  // Control flow: each open_... is closed by close(). Names may be empty.
  Var open_for(ir::LoopKind loop, const std::string& name, const Expr& begin, const Expr& end,
               Location where);
  std::vector<Var> open_parallel(const std::vector<std::string>& names,
                                 const std::vector<Expr>& extents, const HintValues& hints,
                                 Location where);
  void open_if(const Expr& condition, Location where);
  /// Ends the then-branch of the innermost open_if and starts its else-branch.
  void open_else(Location where);
  void close();

  /// Checks the whole function and hands it out; the builder is empty afterwards.
  Function finish();

 private:
  // One open body: the statements so far, and what close() makes of them.
  struct Frame {
    enum class Kind { kernel, loop, parallel, then_branch, else_branch } kind;
    Location where;
    std::vector<ir::Stmt> body = {};
    std::vector<std::pair<const ir::BufferNode*, Expr>> safe_values = {};
    std::vector<const void*> introduced = {};  // variables and buffers that leave with the body
    ir::LoopKind loop = ir::LoopKind::serial;
    std::vector<Var> vars = {};
    std::vector<Expr> limits = {};  // loop: begin, end; parallel: extents; branches: the condition
    ir::Hints hints = {};
    ir::Stmt then_body = nullptr;
  };

  void require_statement(Location where) const;
  void require_before_kernel(Location where) const;
  void require_outside_parallel(std::string_view what, Location where) const;
  void require_visible(const Buffer& buffer, Location where) const;
  void require_visible(const Expr& e, Location where) const;
  void require_visible(const ir::Region& region, Location where) const;
  Expr index_expr(const Expr& e, std::string_view what, Location where) const;

  std::string claim_name(const std::string& name, Location where);
  std::string fresh_name(const std::string& stem) const;
  void adopt_symbols(const Expr& e, Location where);
  void introduce(const void* node);
  void open(Frame frame);
  void append(ir::Stmt statement) { frames_.back().body.push_back(std::move(statement)); }
  const Frame* enclosing_parallel() const;
  Expr safe_value_of(const Buffer& buffer) const;
  ir::Alloc& find_alloc(const Buffer& tile, Location where);
  std::vector<Expr> element_indices(const Buffer& buffer, const std::vector<Index>& indices,
                                    Location where) const;

  std::shared_ptr<ir::Kernel> kernel_;
  ir::Facts facts_;
  bool has_kernel_ = false;
  std::set<std::string> names_;
  std::set<const void*> visible_;
  std::vector<Frame> frames_;
  int next_op_ = 0;
};

/// The builder of the innermost function being written in C++ on this thread, or null.
Builder* current_builder();

}  // namespace tilecopy::language
