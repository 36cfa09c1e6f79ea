#include "emulator/block.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilecopy::emulator {
namespace {

constexpr int longest_turn = 64;  // steps of a warp before another may go on

Agent agent_of(const Operation& operation, std::uint32_t number) {
  return operation_flag | (operation.kind == Operation::cp_async ? 0 : async_flag) | number;
}

}  // namespace

Block::Block(const Program& program, Inputs& inputs, Reporter& reporter, Random& random,
             int schedule, Trace* trace)
    : program_(program),
      inputs_(inputs),
      reporter_(reporter),
      random_(random),
      trace_(trace),
      counts_(reporter.report()),
      shared_(program.shared_bytes),
      swizzles_(program.places.size()),
      // Copies that finish early, as late as they may, and in between.
      eagerness_(schedule % 3 == 0   ? 2
                 : schedule % 3 == 1 ? 0
                                     : 3) {}

std::size_t Block::below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

void Block::start(const std::vector<std::int64_t>& indices) {
  threads_.resize(static_cast<std::size_t>(program_.threads));
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].view.self = static_cast<Agent>(t);
    threads_[t].view.clock = 1;
  }
  for (int first = 0; first < program_.threads; first += lanes) {
    Warp& warp = warps_.emplace_back();
    const int count = std::min(lanes, program_.threads - first);
    warp.first_thread = first;
    warp.all = warp.mask = count == lanes ? ~Mask{0} : (Mask{1} << count) - 1;
    warp.slots.resize(static_cast<std::size_t>(program_.slots));
    warp.registers.resize(static_cast<std::size_t>(program_.register_bytes * lanes));
    warp.written.resize(warp.registers.size());
    auto set = [&](Slot index, std::uint64_t bits) { slot(warp, index).bits.fill(bits); };
    for (const auto& [index, bits] : program_.constants) set(index, bits);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      set(program_.block[i], static_cast<std::uint64_t>(indices[i]));
    }
    for (std::size_t i = 0; i < inputs_.symbols.size(); ++i) {
      set(program_.symbols[i], static_cast<std::uint64_t>(inputs_.symbols[i]));
    }
    for (std::size_t i = 0; i < inputs_.scalars.size(); ++i) {
      set(program_.scalars[i], inputs_.scalars[i]);
    }
    for (int lane = 0; lane < lanes; ++lane) {
      slot(warp, program_.thread).bits[static_cast<std::size_t>(lane)] =
          static_cast<std::uint64_t>(first + lane);
    }
  }
}

void Block::run(std::int64_t flat, const std::vector<std::int64_t>& indices) {
  flat_ = flat;
  ++counts_.blocks;
  reporter_.start_block(flat);
  for (TensorMemory& tensor : inputs_.tensors) tensor.start_block();
  start(indices);
  if (trace_) {
    trace_->start_block(fmt::format("block ({})", fmt::join(indices, ", ")),
                        static_cast<int>(warps_.size()));
  }
  const std::int64_t before = counts_.steps, most = reporter_.options().most_block_steps;
  while (advance()) {
    if (counts_.steps - before > most) {
      reporter_.halt(Fault::endless, nullptr, fmt::format("{} steps of one block", most));
    }
  }
  check_end();
}

// One turn of a warp, or of an engine. False when all has ended.
bool Block::advance() {
  std::vector<Warp*> ready;
  bool all_done = true;
  std::size_t waiting = 0;
  for (Warp& warp : warps_) {
    all_done = all_done && warp.state == Warp::done;
    if (warp.state == Warp::ready) ready.push_back(&warp);
    waiting += warp.state == Warp::at_barrier;
  }
  if (all_done && pending_.empty()) return false;
  if (waiting == warps_.size()) {
    release_barrier();
    return true;
  }
  const bool engine =
      !pending_.empty() && (ready.empty() || below(4) < static_cast<std::size_t>(eagerness_));
  if (engine) {
    perform(below(pending_.size()));
  } else if (!ready.empty()) {
    run_warp(*ready[below(ready.size())], 1 + static_cast<int>(below(longest_turn)));
  } else {
    report_deadlock();
  }
  return true;
}

void Block::release_barrier() {
  const int first = warps_[0].site;
  for (const Warp& warp : warps_) {
    if (warp.site == first) continue;
    reporter_.halt(
        Fault::barrier_divergence, site(warp.site),
        fmt::format("warp {} waits here and warp 0 at another barrier", warp.first_thread / lanes));
  }
  ++counts_.barriers;
  auto known = std::make_shared<Knowledge>();
  auto fenced = std::make_shared<Knowledge>();
  Known last_known, last_fenced;
  for (const Thread& thread : threads_) {
    // Most threads share what the barrier before gave them.
    if (thread.view.known != last_known) known->add(*thread.view.known);
    if (thread.view.fenced != last_fenced) fenced->add(*thread.view.fenced);
    last_known = thread.view.known;
    last_fenced = thread.view.fenced;
  }
  for (const Thread& thread : threads_) {
    known->add_thread(thread.view.self, thread.view.clock);
    fenced->add_thread(thread.view.self, thread.view.fenced_clock);
  }
  for (Thread& thread : threads_) {
    thread.view.known = known;
    thread.view.fenced = fenced;
    ++thread.view.clock;
  }
  for (Warp& warp : warps_) {
    warp.state = Warp::ready;
    if (trace_) trace_->end_wait(warp.first_thread / lanes);
  }
}

void Block::wake_mbarrier_waiters(std::int64_t offset) {
  const Mbarrier& mbarrier = mbarriers_.at(offset);
  for (Warp& warp : warps_) {
    if (warp.state != Warp::at_mbarrier || warp.mbarrier != offset) continue;
    // The phase of a parity is complete while one of the other parity is under way. PTX ISA,
    // mbarrier.try_wait.parity.
    if ((mbarrier.phase & 1) == warp.parity) continue;
    warp.state = Warp::ready;
    if (trace_) trace_->end_wait(warp.first_thread / lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      if (!(warp.mask >> lane & 1)) continue;
      View& view = threads_[static_cast<std::size_t>(warp.first_thread + lane)].view;
      view.known = join(view.known, mbarrier.known);
      view.fenced = join(view.fenced, mbarrier.fenced);
    }
  }
}

void Block::report_deadlock() {
  std::string text;
  const Site *where = nullptr, *other = nullptr;
  Fault fault = Fault::deadlock;
  for (const Warp& warp : warps_) {
    if (!text.empty()) text += "; ";
    text += fmt::format("warp {} ", warp.first_thread / lanes);
    switch (warp.state) {
      case Warp::ready: text += "could go on"; break;
      case Warp::done: text += "has ended"; break;
      case Warp::at_barrier:
        text += "waits at a barrier";
        if (!where) where = site(warp.site);
        if (fault == Fault::deadlock) fault = Fault::barrier_divergence;
        break;
      case Warp::at_mbarrier: {
        const Mbarrier& mbarrier = mbarriers_.at(warp.mbarrier);
        text += fmt::format(
            "waits for parity {} of an mbarrier in phase {}, which lacks {} of {} "
            "arrivals and {} of {} bytes",
            warp.parity, mbarrier.phase, mbarrier.pending, mbarrier.arrivals, mbarrier.bytes,
            mbarrier.expected);
        where = site(warp.site);
        const bool lacks_bytes = mbarrier.pending == 0 && mbarrier.bytes != 0;
        fault = lacks_bytes ? Fault::transaction_bytes : Fault::deadlock;
        // What asks for more than comes: the expectation, or the number of arrivals.
        other = site(lacks_bytes ? mbarrier.expecting_site : mbarrier.initialised.site);
        break;
      }
    }
  }
  reporter_.halt(fault, where, text, other);
}

void Block::check_end() {
  for (const Thread& thread : threads_) {
    const bool async = !thread.cp_async.open.empty() || !thread.cp_async.committed.empty();
    const bool bulk = !thread.bulk_reads.open.empty() || !thread.bulk_reads.committed.empty();
    if (!async && !bulk) continue;
    const Groups& groups = async ? thread.cp_async : thread.bulk_reads;
    std::uint32_t number = 0;
    if (!groups.open.empty()) number = groups.open[0];
    for (const auto& group : groups.committed) {
      if (!group.empty()) number = group[0];
    }
    const bool any =
        !groups.open.empty() || std::any_of(groups.committed.begin(), groups.committed.end(),
                                            [](const auto& group) { return !group.empty(); });
    if (!any) continue;
    reporter_.add(Fault::in_flight, site(issued_[number].site),
                  fmt::format("thread {} ends without a wait for it", thread.view.self), nullptr,
                  async ? "wait with cuda.cp_async_wait" : "wait with cuda.bulk_wait_read");
  }
  for (std::uint32_t number = 0; number < issued_.size(); ++number) {
    if (issued_[number].kind != Operation::load) continue;
    bool known = std::any_of(threads_.begin(), threads_.end(), [&](const Thread& thread) {
      return thread.view.known->has_operation(number);
    });
    if (known) continue;
    reporter_.add(Fault::in_flight, site(issued_[number].site),
                  "the block ends without a wait for it", nullptr, "wait for its mbarrier");
  }
}

// ---- Asynchronous copies ----

void Block::issue(Operation operation) {
  ++counts_.operations;
  Thread& thread = threads_[operation.issuer];
  operation.view = thread.view;
  if (operation.kind == Operation::load) {
    operation.number = new_number(operation.issuer, operation.site, operation.kind);
    operation.tensor_number = operation.number;
    Mbarrier& mbarrier = mbarriers_.at(operation.mbarrier);
    if (!operation.view.has_fenced(mbarrier.initialised)) {
      reporter_.add(Fault::mbarrier, site(operation.site),
                    "the async proxy may not see that its mbarrier was initialised",
                    site(mbarrier.initialised.site),
                    "put cuda.mbarrier_fence after the initialisation");
    }
    ++mbarrier.operations;
  } else if (operation.kind == Operation::store) {
    operation.number = new_number(operation.issuer, operation.site, operation.kind);
    operation.tensor_number = new_number(operation.issuer, operation.site, operation.kind);
    thread.bulk_reads.open.push_back(operation.number);
    thread.bulk_writes.open.push_back(operation.tensor_number);
  }
  if (trace_) trace_->issue(operation.number, site(operation.site), operation.bytes);
  // Later accesses of the thread itself are not ordered with it.
  ++thread.view.clock;
  pending_.push_back(std::move(operation));
}

void Block::perform(std::size_t index) {
  Operation& operation = pending_[index];
  if (trace_) trace_->engine_step();
  if (operation.kind == Operation::store && operation.stage == Operation::issued) {
    read_source(operation);
    operation.stage = Operation::read;
    if (trace_) trace_->source_read(operation.number);
    return;
  }
  Operation ended = std::move(operation);
  if (index + 1 != pending_.size()) pending_[index] = std::move(pending_.back());
  pending_.pop_back();
  if (trace_) trace_->land(ended.number);
  if (ended.kind == Operation::store) return write_target(ended);
  land(ended);
  if (ended.mbarrier >= 0) signal(ended);
}

// Performs what is left of an operation's half with this number.
void Block::finish(std::uint32_t number) {
  for (std::size_t i = 0; i < pending_.size();) {
    Operation& operation = pending_[i];
    const bool half = operation.number == number && operation.kind == Operation::store &&
                      operation.stage == Operation::issued;
    const bool all = operation.tensor_number == number;
    if (half) {
      perform(i);
      ++i;
    } else if (all) {
      perform(i);  // a store may need a second turn; another one may have taken its place
    } else {
      ++i;
    }
  }
}

void Block::wait_groups(Agent thread, Groups& groups, std::int64_t keep) {
  std::vector<std::uint32_t> waited;
  while (static_cast<std::int64_t>(groups.committed.size()) > std::max<std::int64_t>(keep, 0)) {
    const auto& oldest = groups.committed.front();
    waited.insert(waited.end(), oldest.begin(), oldest.end());
    groups.committed.erase(groups.committed.begin());
  }
  for (std::uint32_t number : waited) finish(number);
  View& view = threads_[thread].view;
  view.known = with_operations(view.known, waited);
}

void Block::land(Operation& operation) {
  const Access writes{agent_of(operation, operation.number), 0, operation.site};
  const TensorMemory& tensor = inputs_.tensors[static_cast<std::size_t>(operation.tensor)];
  for (const Piece& piece : operation.pieces) {
    const auto size = static_cast<std::size_t>(piece.bytes);
    note_shared(piece.shared, piece.bytes, true, writes, operation.view, operation.place);
    if (piece.inside) {
      note_tensor(operation.tensor, piece.tensor, piece.bytes, false, writes, operation.view);
      std::memcpy(shared_.at(piece.shared), tensor.at(piece.tensor), size);
    } else {
      std::memset(shared_.at(piece.shared), 0, size);
    }
    for (std::int64_t b = 0; b < piece.bytes; ++b)
      shared_.set_written(piece.shared + b, operation.place, true);
  }
}

void Block::read_source(Operation& operation) {
  const Access reads{agent_of(operation, operation.number), 0, operation.site};
  bool reported = reporter_.ignores(Fault::unwritten);
  for (const Piece& piece : operation.pieces) {
    const std::size_t at = operation.data.size();
    operation.data.resize(at + static_cast<std::size_t>(piece.bytes));
    if (!piece.inside) continue;
    note_shared(piece.shared, piece.bytes, false, reads, operation.view, operation.place);
    std::memcpy(operation.data.data() + at, shared_.at(piece.shared),
                static_cast<std::size_t>(piece.bytes));
    for (std::int64_t b = 0; b < piece.bytes && !reported; ++b) {
      if (shared_.written(piece.shared + b, operation.place)) continue;
      reported = true;
      const Place& tile = place(operation.place);
      reporter_.add(Fault::unwritten, site(operation.site),
                    fmt::format("{} stores {}, which was never written", agent_text(reads.agent),
                                element_text(tile, piece.shared + b - tile.offset)));
    }
  }
}

void Block::write_target(Operation& operation) {
  const Access writes{agent_of(operation, operation.tensor_number), 0, operation.site};
  const TensorMemory& tensor = inputs_.tensors[static_cast<std::size_t>(operation.tensor)];
  std::size_t at = 0;
  for (const Piece& piece : operation.pieces) {
    if (piece.inside) {
      note_tensor(operation.tensor, piece.tensor, piece.bytes, true, writes, operation.view);
      std::memcpy(tensor.at(piece.tensor), operation.data.data() + at,
                  static_cast<std::size_t>(piece.bytes));
    }
    at += static_cast<std::size_t>(piece.bytes);
  }
}

void Block::signal(const Operation& operation) {
  Mbarrier& mbarrier = mbarriers_.at(operation.mbarrier);
  mbarrier.bytes -= operation.bytes;
  --mbarrier.operations;
  mbarrier.arriving = with_operations(mbarrier.arriving, {operation.number});
  trace_mbarrier(mbarrier);
  complete_if_due(operation.mbarrier, operation.site);
}

void Block::trace_mbarrier(const Mbarrier& mbarrier) {
  if (trace_) trace_->mbarrier(mbarrier.name, mbarrier.pending, mbarrier.bytes);
}

void Block::complete_if_due(std::int64_t offset, int site_index) {
  Mbarrier& mbarrier = mbarriers_.at(offset);
  if (mbarrier.pending != 0) return;
  if (mbarrier.bytes < 0) {
    reporter_.halt(
        Fault::transaction_bytes, site(site_index),
        fmt::format("copies brought {} bytes more than the {} that the phase expects: it "
                    "would never complete",
                    -mbarrier.bytes, mbarrier.expected),
        site(mbarrier.expecting_site));
  }
  if (mbarrier.bytes != 0) return;
  if (mbarrier.operations > 0) {
    reporter_.halt(Fault::transaction_bytes, site(site_index),
                   fmt::format("the phase completes after {} bytes, while {} of its copies are "
                               "under way",
                               mbarrier.expected, mbarrier.operations),
                   site(mbarrier.expecting_site));
  }
  ++counts_.barriers;
  ++mbarrier.phase;
  mbarrier.pending = mbarrier.arrivals;
  mbarrier.expected = 0;
  mbarrier.known = join(mbarrier.known, mbarrier.arriving);
  mbarrier.fenced = join(mbarrier.fenced, mbarrier.arriving_fenced);
  trace_mbarrier(mbarrier);
  wake_mbarrier_waiters(offset);
}

}  // namespace tilecopy::emulator
