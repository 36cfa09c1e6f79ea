// A warp in lock step: each step for all active lanes.
#include <fmt/format.h>

#include "base/numeric.h"
#include "emulator/block.h"
#include "ir/scalar.h"

namespace tilecopy::emulator {
namespace {

std::uint64_t of_int64(ir::BinaryOp op, std::uint64_t a, std::uint64_t b) {
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  using ir::BinaryOp;
  switch (op) {  // what index arithmetic is made of; the rest is not frequent
    case BinaryOp::add: return a + b;
    case BinaryOp::sub: return a - b;
    case BinaryOp::mul: return a * b;
    case BinaryOp::div: return static_cast<std::uint64_t>(tc_floordiv_i64(x, y));
    case BinaryOp::mod: return static_cast<std::uint64_t>(tc_floormod_i64(x, y));
    case BinaryOp::min: return static_cast<std::uint64_t>(std::min(x, y));
    case BinaryOp::max: return static_cast<std::uint64_t>(std::max(x, y));
    case BinaryOp::lt: return x < y;
    case BinaryOp::le: return x <= y;
    case BinaryOp::gt: return x > y;
    case BinaryOp::ge: return x >= y;
    case BinaryOp::eq: return x == y;
    case BinaryOp::ne: return x != y;
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::bit_and:
    case BinaryOp::bit_xor:
    case BinaryOp::bit_or:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: break;
  }
  return ir::apply(op, {int64, a}, {int64, b}).bits;
}

// Lanes where what was never written decides the result of `a && b` and `a || b`: not where the
// other side decides alone.
Mask undecided(const Step& step, const Lanes& a, const Lanes& b) {
  Mask both = a.unwritten | b.unwritten;
  bool conjunction = step.binary == ir::BinaryOp::logical_and;
  bool disjunction = step.binary == ir::BinaryOp::logical_or;
  if (both == 0 || (!conjunction && !disjunction)) return both;
  for_lanes(both, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    for (const Lanes* side : {&a, &b}) {
      bool known = !(side->unwritten >> lane & 1);
      if (known && (side->bits[i] != 0) == disjunction) both &= ~(Mask{1} << lane);
    }
  });
  return both;
}

}  // namespace

void Block::require_written(const Warp& warp, const Lanes& value, Mask mask, int site,
                            const char* what) {
  const Mask bad = value.unwritten & mask;
  if (bad == 0) return;
  const int thread = warp.first_thread + std::countr_zero(bad);
  // Ignored, the value is whatever the memory holds.
  if (reporter_.ignores(Fault::unwritten)) return;
  reporter_.add(Fault::unwritten, this->site(site),
                fmt::format("thread {} takes {} from memory that was never written", thread, what));
}

void Block::expression(Warp& warp, const Step& step) {
  Lanes& dst = slot(warp, step.dst);
  const Lanes& a = slot(warp, step.a);
  // Lanes that are not active may hold anything: they are computed along, without effect.
  switch (step.kind) {
    case StepKind::unary:
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        dst.bits[i] = ir::apply(step.unary, {step.dtype, a.bits[i]}).bits;
      });
      dst.unwritten = a.unwritten;
      return;
    case StepKind::binary: {
      const Lanes& b = slot(warp, step.b);
      const Mask unwritten = undecided(step, a, b);
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        dst.bits[i] =
            step.dtype == int64
                ? of_int64(step.binary, a.bits[i], b.bits[i])
                : ir::apply(step.binary, {step.dtype, a.bits[i]}, {step.dtype, b.bits[i]}).bits;
      });
      dst.unwritten = unwritten;
      return;
    }
    case StepKind::cast:
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        dst.bits[i] = numeric::cast({step.dtype, a.bits[i]}, static_cast<DType>(step.index)).bits;
      });
      dst.unwritten = a.unwritten;
      return;
    case StepKind::choose: {
      const Lanes& b = slot(warp, step.b);
      const Lanes& c = slot(warp, step.c);
      Mask unwritten = a.unwritten;
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        const Lanes& from = a.bits[i] != 0 ? b : c;
        dst.bits[i] = from.bits[i];
        unwritten |= from.unwritten & Mask{1} << lane;
      });
      dst.unwritten = unwritten;
      return;
    }
    case StepKind::move:
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        dst.bits[i] = a.bits[i];
      });
      dst.unwritten = (dst.unwritten & ~warp.mask) | (a.unwritten & warp.mask);
      return;
    default: return;
  }
}

void Block::load(Warp& warp, const Step& step) {
  const Lanes& at = slot(warp, step.a);
  require_written(warp, at, warp.mask, step.site, "an address");
  const int size = bytes(place(step.buffer).buffer.dtype());
  Lanes& dst = slot(warp, step.dst);
  const Lanes offsets = at;  // dst may be the same
  for_lanes(warp.mask, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    Bytes value =
        read(warp, lane, step.buffer, byte_offset(static_cast<std::int64_t>(offsets.bits[i]), size),
             size, step.site);
    dst.bits[i] = 0;
    std::memcpy(&dst.bits[i], value.data.data(), static_cast<std::size_t>(size));
    bool written = std::all_of(value.written.begin(), value.written.begin() + size,
                               [](bool one) { return one; });
    dst.unwritten = (dst.unwritten & ~(Mask{1} << lane)) | (written ? 0 : Mask{1} << lane);
  });
}

void Block::store(Warp& warp, const Step& step) {
  const Lanes& at = slot(warp, step.a);
  const Lanes& value = slot(warp, step.b);
  require_written(warp, at, warp.mask, step.site, "an address");
  const int size = bytes(place(step.buffer).buffer.dtype());
  for_lanes(warp.mask, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    Bytes stored;
    stored.count = size;
    std::memcpy(stored.data.data(), &value.bits[i], static_cast<std::size_t>(size));
    stored.written.fill(!(value.unwritten >> lane & 1));
    write(warp, lane, step.buffer, byte_offset(static_cast<std::int64_t>(at.bits[i]), size), stored,
          step.site);
  });
}

void Block::run_warp(Warp& warp, int steps) {
  for (; steps > 0 && warp.state == Warp::ready; --steps) {
    ++counts_.steps;
    const Step& step = program_.steps[static_cast<std::size_t>(warp.pc++)];
    if (trace_) trace_->step(warp.first_thread / lanes, site(step.site));
    run_step(warp, step);
  }
  if (trace_) trace_->end_turn(warp.first_thread / lanes);
}

void Block::run_step(Warp& warp, const Step& step) {
  switch (step.kind) {
    case StepKind::unary:
    case StepKind::binary:
    case StepKind::cast:
    case StepKind::choose:
    case StepKind::move: expression(warp, step); break;
    case StepKind::load: load(warp, step); break;
    case StepKind::store: store(warp, step); break;
    case StepKind::fresh: {
      const Place& place = this->place(step.buffer);
      for_lanes(warp.mask, [&](int lane) {
        auto begin = warp.written.begin() +
                     static_cast<std::ptrdiff_t>(lane * program_.register_bytes + place.offset);
        std::fill(begin, begin + static_cast<std::ptrdiff_t>(place.bytes), std::uint8_t{0});
      });
      break;
    }
    case StepKind::instruction: instruction(warp, step); break;
    case StepKind::mask_push: {
      const Lanes& condition = slot(warp, step.a);
      require_written(warp, condition, warp.mask, step.site, "a branch");
      Mask taken = 0;
      for_lanes(warp.mask, [&](int lane) {
        if (condition.bits[static_cast<std::size_t>(lane)] != 0) taken |= Mask{1} << lane;
      });
      warp.frames.push_back({warp.mask, taken});
      warp.mask = taken;
      if (taken == 0) warp.pc = step.target;
      break;
    }
    case StepKind::mask_else: {
      const MaskFrame& frame = warp.frames.back();
      warp.mask = frame.before & ~frame.taken;
      if (warp.mask == 0) warp.pc = step.target;
      break;
    }
    case StepKind::mask_pop:
      warp.mask = warp.frames.back().before;
      warp.frames.pop_back();
      break;
    case StepKind::loop_test: {
      const Lanes& at = slot(warp, step.a);
      const Lanes& end = slot(warp, step.b);
      require_written(warp, end, warp.mask, step.site, "the end of a loop");
      for_lanes(warp.mask, [&](int lane) {
        const auto i = static_cast<std::size_t>(lane);
        bool more = static_cast<std::int64_t>(at.bits[i]) < static_cast<std::int64_t>(end.bits[i]);
        if (!more) warp.mask &= ~(Mask{1} << lane);
      });
      if (warp.mask == 0) warp.pc = step.target;
      break;
    }
    case StepKind::loop_next: {
      Lanes& at = slot(warp, step.a);
      for_lanes(warp.mask, [&](int lane) { ++at.bits[static_cast<std::size_t>(lane)]; });
      warp.pc = step.target;
      break;
    }
    case StepKind::stop:
      warp.state = Warp::done;
      for_lanes(warp.all, [&](int lane) {
        threads_[static_cast<std::size_t>(warp.first_thread + lane)].done = true;
      });
      break;
  }
}

}  // namespace tilecopy::emulator
