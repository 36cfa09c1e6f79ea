// The C++ surface: each function finds the builder of the function being written and records there.
#include "base/diagnostic.h"
#include "language/builder.h"
#include "tilecopy/cuda.h"

namespace tilecopy {
namespace {

using language::Builder;
using language::HintValues;

// Functions being written on this thread, innermost last.
thread_local std::vector<Builder*> builders;

Builder& builder(ErrorCode outside, Location where) {
  if (builders.empty()) {
    raise(outside, where, {.needed = "a call inside tilecopy::function", .found = "no function"});
  }
  return *builders.back();
}

Builder& statement_builder(Location where) { return builder(ErrorCode::E0401, where); }
Builder& declaration_builder(Location where) { return builder(ErrorCode::E0402, where); }

HintValues common_hints(const CopyOptions& options) {
  return {.coalesced_width = options.coalesced_width,
          .loop_layout = options.loop_layout,
          .annotations = options.annotations};
}

HintValues cuda_hints(const cuda::CopyOptions& options) {
  return {.coalesced_width = options.coalesced_width,
          .disable_tma = options.disable_tma,
          .eviction_policy = options.eviction_policy.name,
          .prefer_instruction = options.prefer_instruction.name,
          .loop_layout = options.loop_layout,
          .annotations = options.annotations};
}

}  // namespace

Builder* language::current_builder() { return builders.empty() ? nullptr : builders.back(); }

Function function(const std::string& name, const std::function<void()>& body, SourceLocation at) {
  if (!body) {
    raise(ErrorCode::E0411, at, {.needed = "a body for the function", .found = "an empty one"});
  }
  Builder recorder(name, at);
  struct Entered {
    explicit Entered(Builder* b) { builders.push_back(b); }
    ~Entered() { builders.pop_back(); }
  } entered(&recorder);
  body();
  return recorder.finish();
}

const std::string& Function::name() const { return kernel_->name; }

Var symbol(const std::string& name, SourceLocation) { return ir::make_var(name, int64, true); }

Buffer tensor(const std::string& name, const std::vector<Expr>& shape, DType dtype,
              const std::vector<Expr>& strides, SourceLocation at) {
  return declaration_builder(at).tensor(name, shape, dtype, strides, at);
}

Var scalar(const std::string& name, DType dtype, SourceLocation at) {
  return declaration_builder(at).scalar(name, dtype, at);
}

std::vector<Var> kernel_grid(const std::vector<Expr>& grid, const KernelOptions& options,
                             SourceLocation at) {
  return declaration_builder(at).kernel(grid, options.threads, {}, at);
}

Buffer alloc_shared(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                    SourceLocation at) {
  return statement_builder(at).alloc(Scope::shared, name, shape, dtype, at);
}
Buffer alloc_fragment(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                      SourceLocation at) {
  return statement_builder(at).alloc(Scope::fragment, name, shape, dtype, at);
}
Buffer alloc_local(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                   SourceLocation at) {
  return statement_builder(at).alloc(Scope::local, name, shape, dtype, at);
}

void annotate_layout(const Buffer& tile, const TileLayout& layout, SourceLocation at) {
  statement_builder(at).annotate_layout(tile, layout, at);
}
void annotate_layout(const Buffer& tile, const Fragment& layout, SourceLocation at) {
  statement_builder(at).annotate_layout(tile, layout, at);
}
void annotate_safe_value(const Buffer& buffer, const Expr& value, SourceLocation at) {
  statement_builder(at).annotate_safe_value(buffer, value, at);
}

CopyHandle copy(const Operand& src, const Operand& dst, const CopyOptions& options,
                SourceLocation at) {
  return statement_builder(at).copy(src, dst, common_hints(options), at);
}
CopyHandle cuda::copy(const Operand& src, const Operand& dst, const CopyOptions& options,
                      SourceLocation at) {
  return statement_builder(at).copy(src, dst, cuda_hints(options), at);
}

CopyHandle im2col(const Buffer& img, const Operand& col, const Expr& nhw_step, const Expr& c_step,
                  HeightWidth kernel, HeightWidth stride, HeightWidth dilation, HeightWidth pad,
                  const Im2colOptions& options, SourceLocation at) {
  return statement_builder(at).im2col(img, col, nhw_step, c_step, {kernel, stride, dilation, pad},
                                      {.annotations = options.annotations}, at);
}
CopyHandle cuda::im2col(const Buffer& img, const Operand& col, const Expr& nhw_step,
                        const Expr& c_step, HeightWidth kernel, HeightWidth stride,
                        HeightWidth dilation, HeightWidth pad, const Im2colOptions& options,
                        SourceLocation at) {
  return statement_builder(at).im2col(
      img, col, nhw_step, c_step, {kernel, stride, dilation, pad},
      {.eviction_policy = options.eviction_policy.name, .annotations = options.annotations}, at);
}

CopyHandle transpose(const Operand& src, const Operand& dst, SourceLocation at) {
  return statement_builder(at).transpose(src, dst, at);
}
void fill(const Operand& dst, const Expr& value, SourceLocation at) {
  statement_builder(at).fill(dst, value, at);
}
void clear(const Operand& dst, SourceLocation at) { statement_builder(at).fill(dst, 0, at); }

void parallel_loop(const std::vector<Expr>& extents,
                   const std::function<void(const std::vector<Var>&)>& body,
                   const ParallelOptions& options, SourceLocation at) {
  Builder& recorder = statement_builder(at);
  HintValues hints{.coalesced_width = options.coalesced_width, .loop_layout = options.loop_layout};
  std::vector<Var> vars = recorder.open_parallel({}, extents, hints, at);
  body(vars);
  recorder.close();
}

void serial(const Expr& extent, const std::function<void(Var)>& body, SourceLocation at) {
  serial(0, extent, body, at);
}
void serial(const Expr& begin, const Expr& end, const std::function<void(Var)>& body,
            SourceLocation at) {
  Builder& recorder = statement_builder(at);
  body(recorder.open_for(ir::LoopKind::serial, {}, begin, end, at));
  recorder.close();
}
void unrolled(const Expr& extent, const std::function<void(Var)>& body, SourceLocation at) {
  Builder& recorder = statement_builder(at);
  body(recorder.open_for(ir::LoopKind::unrolled, {}, 0, extent, at));
  recorder.close();
}

void if_then(const Expr& condition, const std::function<void()>& then_body,
             const std::function<void()>& else_body, SourceLocation at) {
  Builder& recorder = statement_builder(at);
  recorder.open_if(condition, at);
  then_body();
  if (else_body) {
    recorder.open_else(at);
    else_body();
  }
  recorder.close();
}

// ---- Accesses ----

Access Buffer::operator()(std::source_location where) const { return {*this, {}, where}; }
Access Buffer::operator()(Index i) const { return {*this, {i}}; }
Access Buffer::operator()(Index i, Index j) const { return {*this, {i, j}}; }
Access Buffer::operator()(Index i, Index j, Index k) const { return {*this, {i, j, k}}; }
Access Buffer::operator()(Index i, Index j, Index k, Index l) const {
  return {*this, {i, j, k, l}};
}
Access Buffer::operator()(Index i, Index j, Index k, Index l, Index m) const {
  return {*this, {i, j, k, l, m}};
}
Access Buffer::operator()(Index i, Index j, Index k, Index l, Index m, Index n) const {
  return {*this, {i, j, k, l, m, n}};
}
Access Buffer::operator()(Index i, Index j, Index k, Index l, Index m, Index n, Index o) const {
  return {*this, {i, j, k, l, m, n, o}};
}
Access Buffer::operator()(Index i, Index j, Index k, Index l, Index m, Index n, Index o,
                          Index p) const {
  return {*this, {i, j, k, l, m, n, o, p}};
}

Access::operator Expr() const { return statement_builder(where_).load(buffer_, indices_, where_); }

const Access& Access::operator=(const ExprAt& value) const {
  statement_builder(value.at).store(buffer_, indices_, value.expr, value.at);
  return *this;
}
const Access& Access::operator=(const Access& value) {
  statement_builder(where_).store(buffer_, indices_, Expr(value), where_);
  return *this;
}
const Access& Access::operator+=(const ExprAt& value) const {
  return *this = ExprAt(Expr(*this) + value, value.at);
}
const Access& Access::operator-=(const ExprAt& value) const {
  return *this = ExprAt(Expr(*this) - value, value.at);
}
const Access& Access::operator*=(const ExprAt& value) const {
  return *this = ExprAt(Expr(*this) * value, value.at);
}

}  // namespace tilecopy
