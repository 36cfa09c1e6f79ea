// What the rows of the instruction catalogue mean (isa/instructions.def), lane by lane.
#include <fmt/format.h>

#include "emulator/block.h"

namespace tilecopy::emulator {
namespace {

constexpr std::int64_t mbarrier_bytes = 8;
constexpr int widest_move = 32, widest_cp_async = 16;  // PTX ISA, ld, st and cp.async
// cp.async.bulk: addresses and sizes. PTX ISA.
constexpr std::int64_t bulk_granule = 16;
// Offsets of a filter tap in two dimensions have 8 bits each. PTX ISA, im2col mode.
constexpr std::int64_t most_tap = 255;
// The transaction count of an mbarrier phase. PTX ISA.
constexpr std::int64_t most_transaction_bytes = (1 << 20) - 1;

}  // namespace

std::int64_t Block::number(Warp& warp, const Operand& operand, int lane) {
  return static_cast<std::int64_t>(slot(warp, operand.slot).bits[static_cast<std::size_t>(lane)]);
}

std::int64_t Block::offset(Warp& warp, const Operand& operand, int lane) {
  return byte_offset(number(warp, operand, lane), bytes(place(operand.buffer).buffer.dtype()));
}

void Block::instruction(Warp& warp, const Step& step) {
  const Instruction& instr = program_.instructions[static_cast<std::size_t>(step.index)];
  for (const Operand& operand : instr.operands) {
    if (operand.slot < 0) continue;
    require_written(warp, slot(warp, operand.slot), warp.mask, step.site, "an operand");
  }
  auto each_lane = [&](auto member) {
    for_lanes(warp.mask, [&](int lane) { (this->*member)(warp, lane, step, instr); });
  };
  auto each_thread = [&](auto&& body) {
    for_lanes(warp.mask, [&](int lane) {
      const auto thread = static_cast<Agent>(warp.first_thread + lane);
      body(thread, threads_[thread], lane);
    });
  };
  switch (instr.meaning.kind) {
    case Meaning::move: return move(warp, step, instr);
    case Meaning::cp_async: return cp_async(warp, step, instr);
    case Meaning::ldmatrix:
    case Meaning::stmatrix: return matrices(warp, step, instr);
    case Meaning::bulk_load:
    case Meaning::bulk_store: return each_lane(&Block::bulk);
    case Meaning::tensor_load:
    case Meaning::tensor_im2col:
    case Meaning::tensor_store: return each_lane(&Block::tensor);
    case Meaning::barrier: return barrier(warp, step);
    case Meaning::fence_async:
    case Meaning::mbarrier_fence:
      return each_thread([&](Agent thread, Thread&, int) { fence(thread); });
    case Meaning::cp_async_commit:
      return each_thread([&](Agent, Thread& thread, int) { thread.cp_async.commit(); });
    case Meaning::cp_async_wait:
      return each_thread([&](Agent agent, Thread& thread, int lane) {
        wait_groups(agent, thread.cp_async, number(warp, instr.operands[0], lane));
      });
    case Meaning::bulk_commit:
      return each_thread([&](Agent, Thread& thread, int) {
        thread.bulk_reads.commit();
        thread.bulk_writes.commit();
      });
    case Meaning::bulk_wait:
      return each_thread([&](Agent agent, Thread& thread, int lane) {
        const std::int64_t keep = number(warp, instr.operands[0], lane);
        wait_groups(agent, thread.bulk_reads, keep);
        if (!instr.meaning.read) wait_groups(agent, thread.bulk_writes, keep);
      });
    case Meaning::mbarrier_init: return each_lane(&Block::mbarrier_init);
    case Meaning::expect_tx: return each_lane(&Block::expect_tx);
    case Meaning::mbarrier_wait: return mbarrier_wait(warp, step, instr);
    case Meaning::prefetch_map:
    case Meaning::host:
    case Meaning::none: return;
  }
}

// ---- By threads ----

int Block::access_size(Warp& warp, const Operand& operand, int lane, int least, int most,
                       int site_index) {
  const std::int64_t size = number(warp, operand, lane);
  if (size < least || size > most || !std::has_single_bit(static_cast<std::uint64_t>(size))) {
    reporter_.halt(Fault::illegal_copy, site(site_index),
                   fmt::format("an access of {} bytes; needed a power of two from {} to {}", size,
                               least, most));
  }
  return static_cast<int>(size);
}

void Block::move(Warp& warp, const Step& step, const Instruction& instr) {
  std::array<Bytes, lanes> values;
  for_lanes(warp.mask, [&](int lane) {
    const int size = access_size(warp, instr.operands[2], lane, 1, widest_move, step.site);
    values[static_cast<std::size_t>(lane)] =
        read(warp, lane, instr.operands[1].buffer, offset(warp, instr.operands[1], lane), size,
             step.site);
  });
  for_lanes(warp.mask, [&](int lane) {
    write(warp, lane, instr.operands[0].buffer, offset(warp, instr.operands[0], lane),
          values[static_cast<std::size_t>(lane)], step.site);
  });
}

void Block::cp_async(Warp& warp, const Step& step, const Instruction& instr) {
  for_lanes(warp.mask, [&](int lane) {
    const auto thread = static_cast<Agent>(warp.first_thread + lane);
    const int size = access_size(warp, instr.operands[2], lane, 4, widest_cp_async, step.site);
    const std::int64_t taken = number(warp, instr.operands[3], lane);
    const std::int64_t to = offset(warp, instr.operands[0], lane);
    const std::int64_t from = offset(warp, instr.operands[1], lane);
    const Place& tile = place(instr.operands[0].buffer);
    const Place& tensor = place(instr.operands[1].buffer);
    if (taken < 0 || taken > size) {
      reporter_.halt(Fault::illegal_copy, site(step.site),
                     fmt::format("{} takes {} of {} bytes", agent_text(thread), taken, size));
    }
    check_place(tile, to, size, step.site, thread);
    check_aligned(tile, to, size, step.site, thread);
    if (taken > 0) {
      check_place(tensor, from, taken, step.site, thread);
      check_aligned(tensor, from, size, step.site, thread);
    }
    Groups& groups = threads_[thread].cp_async;
    if (groups.open.empty()) {
      groups.open.push_back(new_number(thread, step.site, Operation::cp_async));
    }
    Operation operation;
    operation.kind = Operation::cp_async;
    operation.number = operation.tensor_number = groups.open[0];
    operation.issuer = thread;
    operation.site = step.site;
    operation.view = threads_[thread].view;
    operation.place = instr.operands[0].buffer;
    operation.tensor = tensor.tensor;
    const std::int64_t address = tile.offset + to;
    if (taken > 0) operation.pieces.push_back({address, from, static_cast<int>(taken), true});
    if (taken < size) {
      operation.pieces.push_back({address + taken, 0, static_cast<int>(size - taken), false});
    }
    issue(std::move(operation));
  });
}

void Block::matrices(Warp& warp, const Step& step, const Instruction& instr) {
  if (warp.mask != ~Mask{0}) {
    reporter_.halt(Fault::warp_divergence, site(step.site),
                   fmt::format("{} of 32 lanes of warp {} take part in {}",
                               std::popcount(warp.mask), warp.first_thread / lanes, instr.name));
  }
  constexpr int row_bytes = 16, pair_bytes = 4, element = 2;
  const bool loads = instr.meaning.kind == Meaning::ldmatrix;
  const Operand& registers = instr.operands[loads ? 0 : 1];
  const Operand& rows = instr.operands[loads ? 1 : 0];
  // Lane l holds elements (l / 4, 2 (l % 4)) and the next of each matrix, or with .trans those of
  // the transposed one. PTX ISA, ldmatrix.
  auto place_of = [&](int lane, int k) {
    int row = lane / 4, column = 2 * (lane % 4) + k;
    return instr.meaning.trans ? std::pair(column, row) : std::pair(row, column);
  };
  for (int matrix = 0; matrix < instr.meaning.number; ++matrix) {
    std::array<Bytes, 8> held{};
    if (loads) {
      for (int row = 0; row < 8; ++row) {
        const int lane = 8 * matrix + row;
        held[static_cast<std::size_t>(row)] =
            read(warp, lane, rows.buffer, offset(warp, rows, lane), row_bytes, step.site);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t at = offset(warp, registers, lane) + matrix * pair_bytes;
      Bytes pair;
      pair.count = pair_bytes;
      if (!loads) pair = read(warp, lane, registers.buffer, at, pair_bytes, step.site);
      for (int k = 0; k < 2; ++k) {
        const auto [row, column] = place_of(lane, k);
        Bytes& line = held[static_cast<std::size_t>(row)];
        for (int b = 0; b < element; ++b) {
          const auto in_row = static_cast<std::size_t>(column * element + b);
          const auto in_pair = static_cast<std::size_t>(k * element + b);
          if (loads) {
            pair.data[in_pair] = line.data[in_row];
            pair.written[in_pair] = line.written[in_row];
          } else {
            line.data[in_row] = pair.data[in_pair];
            line.written[in_row] = pair.written[in_pair];
          }
        }
      }
      if (loads) write(warp, lane, registers.buffer, at, pair, step.site);
    }
    for (int row = 0; row < 8 && !loads; ++row) {
      const int lane = 8 * matrix + row;
      held[static_cast<std::size_t>(row)].count = row_bytes;
      write(warp, lane, rows.buffer, offset(warp, rows, lane), held[static_cast<std::size_t>(row)],
            step.site);
    }
  }
}

// ---- By the engines ----

void Block::bulk(Warp& warp, int lane, const Step& step, const Instruction& instr) {
  const auto thread = static_cast<Agent>(warp.first_thread + lane);
  const bool loads = instr.meaning.kind == Meaning::bulk_load;
  const Operand& shared = instr.operands[loads ? 0 : 1];
  const Operand& global = instr.operands[loads ? 1 : 0];
  const std::int64_t size = number(warp, instr.operands[2], lane);
  const std::int64_t tile_at = offset(warp, shared, lane);
  const std::int64_t tensor_at = offset(warp, global, lane);
  if (size <= 0 || size % bulk_granule != 0) {
    reporter_.halt(Fault::illegal_copy, site(step.site),
                   fmt::format("{} copies {} bytes; needed a positive multiple of {}",
                               agent_text(thread), size, bulk_granule));
  }
  for (const auto& [operand, at] : {std::pair(&shared, tile_at), std::pair(&global, tensor_at)}) {
    check_place(place(operand->buffer), at, size, step.site, thread);
    check_aligned(place(operand->buffer), at, bulk_granule, step.site, thread);
  }
  Operation operation;
  operation.kind = loads ? Operation::load : Operation::store;
  operation.issuer = thread;
  operation.site = step.site;
  operation.place = shared.buffer;
  operation.tensor = place(global.buffer).tensor;
  operation.bytes = size;
  for (std::int64_t at = 0; at < size; at += bulk_granule) {
    operation.pieces.push_back({place(shared.buffer).offset + tile_at + at, tensor_at + at,
                                static_cast<int>(bulk_granule), true});
  }
  if (loads) operation.mbarrier = mbarrier_at(warp, instr.operands[3], lane, step.site);
  issue(std::move(operation));
}

void Block::tensor(Warp& warp, int lane, const Step& step, const Instruction& instr) {
  const auto thread = static_cast<Agent>(warp.first_thread + lane);
  const bool loads = instr.meaning.kind != Meaning::tensor_store;
  const Operand& shared = instr.operands[loads ? 0 : 1];
  const Operand& described = instr.operands[loads ? 1 : 0];
  const run::BoundMap& map = inputs_.maps[static_cast<std::size_t>(described.map)];
  std::size_t next = loads ? 3 : 2;
  auto take = [&](std::size_t count) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers.push_back(number(warp, instr.operands[next++], lane));
    }
    return numbers;
  };
  const std::vector<std::int64_t> start = take(static_cast<std::size_t>(instr.meaning.number));
  const Place& tile = place(shared.buffer);
  const std::int64_t address = tile.offset + offset(warp, shared, lane);
  const bool im2col = instr.meaning.kind == Meaning::tensor_im2col;
  std::string broken;
  if (im2col != map.recipe->im2col) {
    broken = fmt::format("needed a tensor map {} corners, found {}", im2col ? "with" : "without",
                         map.recipe->name);
  } else if (map.dims.size() != start.size()) {
    broken = fmt::format("needed {} coordinates, found {}", map.dims.size(), start.size());
  } else {
    broken = broken_rule(map, start, address, !loads);
  }
  if (!broken.empty()) {
    reporter_.halt(Fault::illegal_copy, site(step.site),
                   fmt::format("{} with {}: {}", agent_text(thread), instr.name, broken));
  }
  const std::vector<std::int64_t> tap = im2col ? take(2) : std::vector<std::int64_t>();
  for (std::int64_t offset : tap) {
    if (offset >= 0 && offset <= most_tap) continue;
    reporter_.halt(Fault::illegal_copy, site(step.site),
                   fmt::format("a tap at {}; needed 0 to {}", offset, most_tap));
  }
  // Before the walk, which a wild box could make endless.
  check_place(tile, address - tile.offset, box_bytes(map), step.site, thread);
  Operation operation;
  operation.kind = loads ? Operation::load : Operation::store;
  operation.issuer = thread;
  operation.site = step.site;
  operation.place = shared.buffer;
  operation.tensor = static_cast<int>(map.recipe->tensor);
  operation.bytes = box_bytes(map);
  operation.pieces =
      im2col ? im2col_pieces(map, start, tap, address) : tile_pieces(map, start, address);
  for (const Piece& piece : operation.pieces) {
    check_place(tile, piece.shared - tile.offset, piece.bytes, step.site, thread);
    if (!piece.inside) continue;
    check_place(place(operation.tensor), piece.tensor, piece.bytes, step.site, thread);
  }
  if (loads) operation.mbarrier = mbarrier_at(warp, instr.operands[2], lane, step.site);
  // Eight rows of a span are the pattern: docs/hardware-facts.md.
  if (const std::int64_t period = 8 * map.recipe->swizzle_bytes;
      period > 0 && tile.offset % period != 0) {
    SwizzleUse& use = swizzles_[static_cast<std::size_t>(shared.buffer)];
    use.copy_site = step.site;
    use.period = period;
    check_swizzle_base(shared.buffer, step.site);
  }
  issue(std::move(operation));
}

// ---- Waits and fences ----

void Block::fence(Agent thread) {
  View& view = threads_[thread].view;
  view.fenced = join(view.fenced, view.known);
  view.fenced_clock = view.clock++;
}

void Block::release(Agent thread, Known& known, Known& fenced) {
  View& view = threads_[thread].view;
  auto with_self = [&](const Known& to, const Known& from, std::uint32_t clock) -> Known {
    auto result = std::make_shared<Knowledge>(*join(to, from));
    result->add_thread(thread, clock);
    return result;
  };
  known = with_self(known, view.known, view.clock);
  fenced = with_self(fenced, view.fenced, view.fenced_clock);
  ++view.clock;
}

void Block::barrier(Warp& warp, const Step& step) {
  if (warp.mask != warp.all) {
    reporter_.halt(
        Fault::barrier_divergence, site(step.site),
        fmt::format("{} of {} threads of warp {} reach the barrier", std::popcount(warp.mask),
                    std::popcount(warp.all), warp.first_thread / lanes));
  }
  warp.state = Warp::at_barrier;
  warp.site = step.site;
  if (trace_) trace_->start_wait(warp.first_thread / lanes, "waits at a barrier");
}

std::int64_t Block::mbarrier_at(Warp& warp, const Operand& operand, int lane, int site_index) {
  const auto thread = static_cast<Agent>(warp.first_thread + lane);
  const Place& tile = place(operand.buffer);
  const std::int64_t at = offset(warp, operand, lane);
  check_place(tile, at, mbarrier_bytes, site_index, thread);
  const std::int64_t address = tile.offset + at;
  auto known = mbarriers_.find(address);
  if (known == mbarriers_.end() || !threads_[thread].view.knows(known->second.initialised)) {
    reporter_.halt(
        Fault::mbarrier, site(site_index),
        fmt::format("{} uses {}, which {}", agent_text(thread), element_text(tile, at),
                    known == mbarriers_.end()
                        ? "is no mbarrier yet"
                        : "another thread initialises, with nothing that orders the two"));
  }
  return address;
}

void Block::mbarrier_init(Warp& warp, int lane, const Step& step, const Instruction& instr) {
  const auto thread = static_cast<Agent>(warp.first_thread + lane);
  const Operand& operand = instr.operands[0];
  const std::int64_t at = offset(warp, operand, lane);
  check_place(place(operand.buffer), at, mbarrier_bytes, step.site, thread);
  check_aligned(place(operand.buffer), at, mbarrier_bytes, step.site, thread);
  const std::int64_t arrivals = number(warp, instr.operands[1], lane);
  const std::int64_t address = place(operand.buffer).offset + at;
  if (arrivals < 1 || arrivals > most_transaction_bytes) {
    reporter_.halt(Fault::mbarrier, site(step.site),
                   fmt::format("{} arrivals in a phase; needed 1 to 2^20 - 1", arrivals));
  }
  if (mbarriers_.contains(address)) {
    reporter_.halt(Fault::mbarrier, site(step.site),
                   fmt::format("{} initialises {} a second time", agent_text(thread),
                               element_text(place(operand.buffer), at)));
  }
  Mbarrier& mbarrier = mbarriers_[address];
  mbarrier.arrivals = mbarrier.pending = static_cast<std::uint32_t>(arrivals);
  mbarrier.initialised = access_of(thread, step.site);
  mbarrier.name = fmt::format("{}[{}]", place(operand.buffer).buffer.name(),
                              at / bytes(place(operand.buffer).buffer.dtype()));
  trace_mbarrier(mbarrier);
}

void Block::expect_tx(Warp& warp, int lane, const Step& step, const Instruction& instr) {
  const auto thread = static_cast<Agent>(warp.first_thread + lane);
  const std::int64_t address = mbarrier_at(warp, instr.operands[0], lane, step.site);
  Mbarrier& mbarrier = mbarriers_.at(address);
  const std::int64_t size = number(warp, instr.operands[1], lane);
  if (size < 0 || mbarrier.expected + size > most_transaction_bytes) {
    reporter_.halt(
        Fault::transaction_bytes, site(step.site),
        fmt::format("a phase expects {} bytes; needed 0 to 2^20 - 1", mbarrier.expected + size));
  }
  if (mbarrier.pending == 0) {
    reporter_.halt(Fault::mbarrier, site(step.site),
                   fmt::format("{} arrives at a phase that has all of its {} arrivals",
                               agent_text(thread), mbarrier.arrivals));
  }
  mbarrier.expecting_site = step.site;
  mbarrier.bytes += size;
  mbarrier.expected += size;
  --mbarrier.pending;
  release(thread, mbarrier.arriving, mbarrier.arriving_fenced);
  trace_mbarrier(mbarrier);
  complete_if_due(address, step.site);
}

void Block::mbarrier_wait(Warp& warp, const Step& step, const Instruction& instr) {
  const int first = std::countr_zero(warp.mask);
  const std::int64_t address = mbarrier_at(warp, instr.operands[0], first, step.site);
  const auto parity = static_cast<std::uint32_t>(number(warp, instr.operands[1], first));
  for_lanes(warp.mask, [&](int lane) {
    if (mbarrier_at(warp, instr.operands[0], lane, step.site) == address &&
        static_cast<std::uint32_t>(number(warp, instr.operands[1], lane)) == parity) {
      return;
    }
    reporter_.halt(Fault::warp_divergence, site(step.site),
                   "lanes of a warp wait for different phases or mbarriers");
  });
  if (parity > 1) {
    reporter_.halt(Fault::mbarrier, site(step.site),
                   fmt::format("a wait for parity {}; needed 0 or 1", parity));
  }
  warp.state = Warp::at_mbarrier;
  warp.site = step.site;
  warp.mbarrier = address;
  warp.parity = parity;
  if (trace_) {
    trace_->start_wait(warp.first_thread / lanes, fmt::format("waits for parity {} of {}", parity,
                                                              mbarriers_.at(address).name));
  }
  wake_mbarrier_waiters(address);
}

}  // namespace tilecopy::emulator
