#include "emulator/mutate.h"

#include <fmt/format.h>

#include "ir/make.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "isa/isa.h"

namespace tilecopy::emulator::test {
namespace {

using ir::Stmt;
using Statements = std::vector<Stmt>;

// The tree with `target`, by identity, replaced.
class Replacer {
 public:
  Replacer(const ir::StmtNode* target, const Statements& with) : target_(target), with_(with) {}

  Stmt run(const Stmt& s) const {
    if (s.get() == target_) return with_.size() == 1 ? with_[0] : ir::make_block(with_, s->where);
    if (const auto* block = ir::as<ir::Block>(s)) {
      auto result = std::make_shared<ir::Block>(*block);
      result->body.clear();
      for (const Stmt& part : block->body) {
        if (part.get() == target_) {
          result->body.insert(result->body.end(), with_.begin(), with_.end());
        } else {
          result->body.push_back(run(part));
        }
      }
      return result;
    }
    if (const auto* loop = ir::as<ir::For>(s)) {
      auto result = std::make_shared<ir::For>(*loop);
      result->body = run(loop->body);
      return result;
    }
    if (const auto* choice = ir::as<ir::If>(s)) {
      auto result = std::make_shared<ir::If>(*choice);
      result->then_body = run(choice->then_body);
      if (choice->else_body) result->else_body = run(choice->else_body);
      return result;
    }
    return s;
  }

 private:
  const ir::StmtNode* target_;
  const Statements& with_;
};

Expr plus(const Expr& e, std::int64_t number) {
  return ir::make_binary(ir::BinaryOp::add, e, ir::make_int(number));
}

class Mutator {
 public:
  explicit Mutator(const ir::Kernel& kernel) : kernel_(kernel) {
    ir::for_each_stmt(kernel.body, [&](const Stmt& s) { visit(s); });
  }

  std::vector<Mutant> take() { return std::move(mutants_); }

 private:
  void add(const std::string& kind, const Stmt& target, const Statements& with) {
    Mutant& mutant = mutants_.emplace_back();
    mutant.kind = kind;
    std::string text = ir::print(target);
    mutant.statement = text.substr(0, text.find('\n'));
    mutant.where = target->where;
    mutant.kernel = kernel_;
    mutant.kernel.body = Replacer(target.get(), with).run(kernel_.body);
  }

  void visit(const Stmt& s) {
    if (const auto* instr = ir::as<ir::Instr>(s)) instruction(s, *instr);
    if (const auto* choice = ir::as<ir::If>(s)) one_thread(s, *choice);
    if (const auto* map = ir::as<ir::TensorMap>(s)) tensor_map(s, *map);
    if (const auto* block = ir::as<ir::Block>(s)) swaps(s, *block);
  }

  static bool begins(const ir::Instr& instr, std::string_view with) {
    return instr.name.starts_with(with);
  }

  // The instruction with operand `index` changed by `change`.
  template <typename Change>
  void changed(const std::string& kind, const Stmt& s, const ir::Instr& instr, std::size_t index,
               Change&& change) {
    auto result = std::make_shared<ir::Instr>(instr);
    change(result->operands[index]);
    add(kind, s, {result});
  }

  void number(const std::string& kind, const Stmt& s, const ir::Instr& instr, std::size_t index,
              std::int64_t step) {
    changed(kind, s, instr, index, [&](ir::InstrOperand& o) { o = plus(std::get<Expr>(o), step); });
  }

  void address(const std::string& kind, const Stmt& s, const ir::Instr& instr, std::size_t index,
               std::int64_t bytes_moved) {
    changed(kind, s, instr, index, [&](ir::InstrOperand& o) {
      auto& place = std::get<ir::Address>(o);
      place.offset = plus(place.offset, bytes_moved / bytes(place.buffer.dtype()));
    });
  }

  void instruction(const Stmt& s, const ir::Instr& instr) {
    const std::string name = instr.name.substr(instr.name.find('.') + 1);
    // Without it.
    if (name != "prefetch_map") add("drop " + name, s, {});
    if (begins(instr, "cuda.expect_tx")) {
      number("expect 16 bytes more", s, instr, 1, 16);
      number("expect 16 bytes less", s, instr, 1, -16);
      add("arrive twice", s, {s, s});
    }
    if (begins(instr, "cuda.mbarrier_wait")) {
      changed("wait for the other parity", s, instr, 1, [&](ir::InstrOperand& o) {
        o = ir::make_binary(ir::BinaryOp::sub, ir::make_int(1), std::get<Expr>(o));
      });
    }
    if (begins(instr, "cuda.mbarrier_init")) number("one arrival more", s, instr, 1, 1);
    if (begins(instr, "cuda.cp_async_wait") || begins(instr, "cuda.bulk_wait")) {
      number("keep one group more", s, instr, 0, 1);
    }
    if (begins(instr, "cuda.bulk_load") || begins(instr, "cuda.bulk_store")) {
      number("16 bytes less", s, instr, 2, -16);
      number("8 bytes more", s, instr, 2, 8);
      address("destination 16 bytes further", s, instr, 0, 16);
      address("source 8 bytes further", s, instr, 1, 8);
    }
    if (begins(instr, "cuda.tma_load") || begins(instr, "cuda.tma_im2col")) {
      address("destination 16 bytes further", s, instr, 0, 16);
      number("innermost coordinate plus 1", s, instr, 3, 1);
      number("innermost coordinate plus 16", s, instr, 3, 16);
      if (instr.operands.size() > 4) number("second coordinate plus 1", s, instr, 4, 1);
    }
    if (begins(instr, "cuda.tma_store")) {
      address("source 16 bytes further", s, instr, 1, 16);
      number("innermost coordinate plus 1", s, instr, 2, 1);
      if (instr.operands.size() > 3) number("second coordinate minus 1", s, instr, 3, -1);
    }
    if (begins(instr, "cuda.cp_async") && instr.operands.size() >= 4) {
      number("takes a byte less", s, instr, 3, -1);
      address("destination one access further", s, instr, 0, 16);
      address("source one element further", s, instr, 1,
              bytes(std::get<ir::Address>(instr.operands[1]).buffer.dtype()));
    }
    if (begins(instr, "cuda.move")) {
      address("destination one element further", s, instr, 0,
              bytes(std::get<ir::Address>(instr.operands[0]).buffer.dtype()));
    }
    if (begins(instr, "cuda.ldmatrix") || begins(instr, "cuda.stmatrix")) {
      const std::size_t rows = begins(instr, "cuda.ldmatrix") ? 1 : 0;
      address("rows 8 bytes further", s, instr, rows, 8);
    }
  }

  // `if thread == 0`: by two threads, by another one, or by none.
  void one_thread(const Stmt& s, const ir::If& choice) {
    const auto* test = ir::as<ir::Binary>(choice.condition);
    bool elected = test && test->op == ir::BinaryOp::eq &&
                   test->a.node() == kernel_.thread.node() && ir::is_const_int(test->b, 0);
    if (!elected) return;
    auto with = [&](const std::string& kind, const Expr& condition) {
      auto result = std::make_shared<ir::If>(choice);
      result->condition = condition;
      add(kind, s, {result});
    };
    with("two threads", ir::make_binary(ir::BinaryOp::lt, kernel_.thread, ir::make_int(2)));
    with("no thread", ir::make_binary(ir::BinaryOp::lt, kernel_.thread, ir::make_int(0)));
  }

  static bool is_control(const Stmt& s) {
    const auto* instr = ir::as<ir::Instr>(s);
    return instr && isa::find_instruction(instr->name)->effect == isa::Effect::control;
  }

  static bool loads(const Stmt& s) {
    bool found = false;
    ir::for_each_stmt(s, [&](const Stmt& part) {
      const auto* instr = ir::as<ir::Instr>(part);
      found |= instr && isa::find_instruction(instr->name)->effect == isa::Effect::tx_load;
    });
    return found;
  }

  // A wait, fence or barrier the other way round with the statement beside it. A load may be issued
  // on either side of a barrier that has to come before its wait, and before its bytes are
  // expected.
  void swaps(const Stmt& s, const ir::Block& block) {
    for (std::size_t i = 0; i + 1 < block.body.size(); ++i) {
      const Stmt& first = block.body[i];
      const Stmt& second = block.body[i + 1];
      if (is_control(first) == is_control(second)) continue;
      if (ir::as<ir::Alloc>(first) || ir::as<ir::Alloc>(second)) continue;
      if (loads(first) || loads(second)) continue;
      const auto& moved = ir::get<ir::Instr>(is_control(first) ? first : second);
      if (begins(moved, "cuda.expect_tx")) continue;
      auto result = std::make_shared<ir::Block>(block);
      std::swap(result->body[i], result->body[i + 1]);
      const Stmt& control = is_control(first) ? first : second;
      add("swap " + moved.name, s, {result});
      mutants_.back().where = control->where;
      mutants_.back().statement = ir::print(control);
    }
  }

  void tensor_map(const Stmt& s, const ir::TensorMap& map) {
    auto with = [&](const std::string& kind, auto&& change) {
      auto result = std::make_shared<ir::TensorMap>(map);
      change(*result);
      add(kind, s, {result});
    };
    with("box of half the columns", [](ir::TensorMap& m) { m.box[0] /= 2; });
    if (map.box.size() > 1) {
      with("box of a row more", [](ir::TensorMap& m) { ++m.box[1]; });
    }
    with("another swizzle",
         [](ir::TensorMap& m) { m.swizzle_bytes = m.swizzle_bytes == 0 ? 128 : 0; });
    if (!map.strides.empty()) {
      with("pitch 16 bytes larger",
           [](ir::TensorMap& m) { m.strides[0] = plus(m.strides[0], 16); });
      with("pitch 8 bytes larger", [](ir::TensorMap& m) { m.strides[0] = plus(m.strides[0], 8); });
    }
    if (map.im2col()) {
      with("another lower corner", [](ir::TensorMap& m) { --m.lower[0]; });
      with("another upper corner", [](ir::TensorMap& m) { --m.upper[0]; });
    }
  }

  const ir::Kernel& kernel_;
  std::vector<Mutant> mutants_;
};

}  // namespace

std::vector<Mutant> mutants_of(const ir::Kernel& kernel) { return Mutator(kernel).take(); }

}  // namespace tilecopy::emulator::test
