#include "emulator/program.h"

#include "base/diagnostic.h"
#include "base/numeric_value.h"
#include "ir/analysis.h"
#include "ir/make.h"
#include "ir/print.h"
#include "ir/walk.h"

namespace tilecopy::emulator {
namespace {

#define TILECOPY_INSTR(name, operands, effect, text) \
  static_assert(meaning_of(name).kind != Meaning::none, "the emulator needs a meaning for " name);
#include "isa/instructions.def"

class Assembler {
 public:
  explicit Assembler(const lower::SimtKernel& lowered)
      : lowered_(lowered), kernel_(lowered.kernel) {}

  Program take() {
    parameters();
    statement(kernel_.body);
    emit({StepKind::stop});
    program_.slots = slots_;
    program_.shared_bytes = lowered_.shared_bytes;
    return std::move(program_);
  }

 private:
  // ---- Slots and places ----

  Slot new_slot() {
    Slot slot = next_++;
    slots_ = std::max(slots_, next_);
    return slot;
  }

  Slot constant(std::uint64_t bits) {
    auto [it, fresh] = constants_.try_emplace(bits, 0);
    if (fresh) {
      // Constants live beyond all others, so that temporaries can be given back.
      it->second = -2 - static_cast<int>(program_.constants.size());
      program_.constants.emplace_back(it->second, bits);
    }
    return it->second;
  }

  void parameters() {
    program_.threads = kernel_.threads;
    auto bind = [&](const Var& var) { return vars_[var.node()] = new_slot(); };
    program_.thread = bind(kernel_.thread);
    for (const Var& var : kernel_.block) program_.block.push_back(bind(var));
    for (const Var& symbol : kernel_.symbols) program_.symbols.push_back(bind(symbol));
    int tensor = 0;
    for (const ir::Param& param : kernel_.params) {
      if (const auto* scalar = std::get_if<Var>(&param)) {
        program_.scalars.push_back(bind(*scalar));
      } else {
        const Buffer& buffer = std::get<Buffer>(param);
        add_place({buffer, tensor++, 0, 0});
      }
    }
  }

  void add_place(Place place) {
    places_[place.buffer.node()] = static_cast<int>(program_.places.size());
    program_.places.push_back(std::move(place));
  }

  int place_of(const Buffer& buffer) const { return places_.at(buffer.node()); }

  static std::int64_t size_of(const Buffer& buffer, const std::optional<TileLayout>& layout) {
    if (layout) return layout->cosize() * bytes(buffer.dtype());
    std::int64_t elements = 1;
    for (const Expr& extent : buffer.shape()) elements *= *ir::const_int(extent);
    return elements * bytes(buffer.dtype());
  }

  void allocate(const ir::Alloc& alloc) {
    const Buffer& buffer = alloc.buffer;
    std::int64_t size = size_of(buffer, alloc.layout);
    if (buffer.scope() == Scope::shared) {
      return add_place({buffer, -1, lowered_.shared_offsets.at(buffer.node()), size});
    }
    constexpr std::int64_t alignment = 32;
    std::int64_t offset = program_.register_bytes;
    program_.register_bytes += (size + alignment - 1) / alignment * alignment;
    add_place({buffer, -1, offset, size});
    Step step{StepKind::fresh};
    step.buffer = place_of(buffer);
    emit(step);
  }

  int emit(Step step) {
    step.site = site_;
    program_.steps.push_back(step);
    return static_cast<int>(program_.steps.size()) - 1;
  }

  int here() const { return static_cast<int>(program_.steps.size()); }
  void land(int step) { program_.steps[static_cast<std::size_t>(step)].target = here(); }

  // ---- Expressions ----

  static std::uint64_t bits_of(const Expr& e) {
    if (const auto* c = ir::as<ir::IntConst>(e)) return numeric::from_int(c->value, c->dtype).bits;
    return numeric::from_double(ir::get<ir::FloatConst>(e).value, e.dtype()).bits;
  }

  static bool loads(const Expr& e) {
    bool found = false;
    ir::for_each_expr(e, [&](const Expr& part) { found |= ir::as<ir::Load>(part) != nullptr; });
    return found;
  }

  Slot expression(const Expr& e) {
    switch (e.node()->kind) {
      case ir::ExprKind::IntConst:
      case ir::ExprKind::FloatConst: return constant(bits_of(e));
      case ir::ExprKind::VarNode: return vars_.at(e.node());
      case ir::ExprKind::Unary: {
        const auto& u = ir::get<ir::Unary>(e);
        Step step{StepKind::unary};
        step.a = expression(u.a);
        step.dtype = u.a.dtype();
        step.unary = u.op;
        return result(step);
      }
      case ir::ExprKind::Binary: return binary(ir::get<ir::Binary>(e));
      case ir::ExprKind::Select: {
        const auto& s = ir::get<ir::Select>(e);
        return choose(s.condition, s.a, s.b, e.dtype());
      }
      case ir::ExprKind::Cast: {
        const auto& cast = ir::get<ir::Cast>(e);
        Step step{StepKind::cast};
        step.a = expression(cast.a);
        step.dtype = cast.a.dtype();
        step.index = static_cast<int>(e.dtype());
        return result(step);
      }
      case ir::ExprKind::Load: {
        const auto& load = ir::get<ir::Load>(e);
        Step step{StepKind::load};
        step.a = expression(load.indices[0]);
        step.buffer = place_of(load.buffer);
        return result(step);
      }
    }
    return -1;
  }

  Slot result(Step& step) {
    step.dst = new_slot();
    emit(step);
    return step.dst;
  }

  Slot binary(const ir::Binary& b) {
    // What the left side rules out must not be read.
    bool lazy = b.op == ir::BinaryOp::logical_and || b.op == ir::BinaryOp::logical_or;
    if (lazy && loads(b.b)) {
      bool both = b.op == ir::BinaryOp::logical_and;
      return choose(b.a, both ? b.b : ir::make_bool(true), both ? ir::make_bool(false) : b.b,
                    bool_);
    }
    Step step{StepKind::binary};
    step.a = expression(b.a);
    step.b = expression(b.b);
    step.dtype = b.a.dtype();
    step.binary = b.op;
    return result(step);
  }

  Slot choose(const Expr& condition, const Expr& a, const Expr& b, DType dtype) {
    Step step{StepKind::choose};
    step.dtype = dtype;
    step.a = expression(condition);
    if (!loads(a) && !loads(b)) {
      step.b = expression(a);
      step.c = expression(b);
      return result(step);
    }
    Slot dst = new_slot();
    branch(
        step.a, [&] { move(dst, expression(a)); }, [&] { move(dst, expression(b)); });
    return dst;
  }

  void move(Slot dst, Slot from) {
    Step step{StepKind::move};
    step.dst = dst;
    step.a = from;
    emit(step);
  }

  template <typename Then, typename Else>
  void branch(Slot condition, Then&& then_part, Else&& else_part) {
    Step push{StepKind::mask_push};
    push.a = condition;
    int begin = emit(push);
    then_part();
    land(begin);
    int middle = emit({StepKind::mask_else});
    else_part();
    land(middle);
    emit({StepKind::mask_pop});
  }

  // ---- Statements ----

  // Sets what reports show for the steps of a statement, and gives back its temporaries.
  class Marked {
   public:
    Marked(Assembler& assembler, const ir::Stmt& s)
        : assembler_(assembler), next_(assembler.next_), site_(assembler.site_) {
      std::string text = ir::print(s);
      text = text.substr(0, text.find('\n'));
      assembler.site_ = static_cast<int>(assembler.program_.sites.size());
      assembler.program_.sites.push_back({s->where, std::move(text)});
    }
    Marked(const Marked&) = delete;
    Marked& operator=(const Marked&) = delete;
    ~Marked() {
      assembler_.next_ = next_;
      assembler_.site_ = site_;
    }

   private:
    Assembler& assembler_;
    int next_, site_;
  };

  void statement(const ir::Stmt& s) {
    switch (s->kind) {
      case ir::StmtKind::Block: {
        const int next = next_;
        for (const ir::Stmt& part : ir::get<ir::Block>(s).body) {
          // A name lives until the end of its block.
          if (const auto* let = ir::as<ir::Let>(part)) {
            name(part, *let);
          } else {
            statement(part);
          }
        }
        next_ = next;
        return;
      }
      case ir::StmtKind::Alloc: return allocate(ir::get<ir::Alloc>(s));
      case ir::StmtKind::Let: return name(s, ir::get<ir::Let>(s));
      case ir::StmtKind::For: return loop(s, ir::get<ir::For>(s));
      case ir::StmtKind::If: {
        const auto& choice = ir::get<ir::If>(s);
        Slot condition = -1;
        const int next = next_;
        {
          condition = new_slot();
          Marked scope(*this, s);
          move(condition, expression(choice.condition));
        }
        branch(
            condition, [&] { statement(choice.then_body); },
            [&] {
              if (choice.else_body) statement(choice.else_body);
            });
        next_ = next;
        return;
      }
      case ir::StmtKind::Store: {
        const auto& store = ir::get<ir::Store>(s);
        Marked scope(*this, s);
        Step step{StepKind::store};
        step.a = expression(store.indices[0]);
        step.b = expression(store.value);
        step.buffer = place_of(store.buffer);
        emit(step);
        return;
      }
      case ir::StmtKind::TensorMap: {
        const auto& map = ir::get<ir::TensorMap>(s);
        maps_[map.var.node()] = static_cast<int>(program_.maps.size());
        program_.maps.push_back(map.var.node() ? ir::get<ir::VarNode>(map.var).name : "");
        return;
      }
      case ir::StmtKind::Instr: return instruction(s, ir::get<ir::Instr>(s));
      case ir::StmtKind::Parallel:
      case ir::StmtKind::Copy:
      case ir::StmtKind::Im2col:
      case ir::StmtKind::Transpose:
      case ir::StmtKind::Fill: raise_internal("a tile operation at device level", s->where);
    }
  }

  void name(const ir::Stmt& s, const ir::Let& let) {
    Slot slot = new_slot();
    Marked scope(*this, s);
    move(slot, expression(let.value));
    vars_[let.var.node()] = slot;
  }

  void loop(const ir::Stmt& s, const ir::For& f) {
    const int next = next_;
    Slot var = new_slot(), end = new_slot();
    vars_[f.var.node()] = var;
    {
      Marked scope(*this, s);
      move(var, expression(f.begin));
      move(end, expression(f.end));
    }
    Step push{StepKind::mask_push};
    push.a = constant(1);
    int begin = emit(push);
    Step test{StepKind::loop_test};
    test.a = var;
    test.b = end;
    int top = emit(test);
    statement(f.body);
    Step again{StepKind::loop_next};
    again.a = var;
    again.target = top;
    emit(again);
    land(top);
    land(begin);
    emit({StepKind::mask_pop});
    next_ = next;
  }

  void instruction(const ir::Stmt& s, const ir::Instr& instr) {
    Marked scope(*this, s);
    Instruction result{meaning_of(instr.name), instr.name, {}};
    for (const ir::InstrOperand& operand : instr.operands) {
      if (const auto* address = std::get_if<ir::Address>(&operand)) {
        result.operands.push_back(
            {Operand::address, expression(address->offset), place_of(address->buffer), -1});
        continue;
      }
      const Expr& e = std::get<Expr>(operand);
      auto map = maps_.find(e.node());
      if (map != maps_.end()) {
        result.operands.push_back({Operand::tensor_map, -1, -1, map->second});
      } else {
        result.operands.push_back({Operand::number, expression(e), -1, -1});
      }
    }
    Step step{StepKind::instruction};
    step.index = static_cast<int>(program_.instructions.size());
    program_.instructions.push_back(std::move(result));
    emit(step);
  }

  const lower::SimtKernel& lowered_;
  const ir::Kernel& kernel_;
  Program program_;
  int next_ = 0, slots_ = 0, site_ = -1;
  std::map<std::uint64_t, Slot> constants_;
  std::map<const ir::ExprNode*, Slot> vars_;
  std::map<const ir::ExprNode*, int> maps_;
  std::map<const ir::BufferNode*, int> places_;
};

// Gives constants slots behind the others.
void number_constants(Program& program) {
  const int first = program.slots;
  auto renumber = [&](Slot& slot) {
    if (slot <= -2) slot = first + (-2 - slot);
  };
  for (Step& step : program.steps) {
    for (Slot* slot : {&step.dst, &step.a, &step.b, &step.c}) renumber(*slot);
  }
  for (Instruction& instruction : program.instructions) {
    for (Operand& operand : instruction.operands) renumber(operand.slot);
  }
  for (auto& [slot, bits] : program.constants) renumber(slot);
  program.slots += static_cast<int>(program.constants.size());
}

}  // namespace

Program assemble(const lower::SimtKernel& lowered) {
  Program program = Assembler(lowered).take();
  number_constants(program);
  return program;
}

}  // namespace tilecopy::emulator
