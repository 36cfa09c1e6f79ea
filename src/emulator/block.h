// One thread block at work: warps in lock step, memory, mbarriers, and the engines that copy
// asynchronously. Which warp or copy goes on next is drawn at random, so that a seed is a schedule.
#pragma once

#include <memory>
#include <random>
#include <unordered_map>

#include "emulator/memory.h"
#include "emulator/program.h"
#include "emulator/reporter.h"
#include "emulator/tensor_copy.h"
#include "emulator/trace.h"
#include "run/tensor_map.h"

namespace tilecopy::emulator {

using Random = std::mt19937_64;

/// Of an element; one beyond all memory, which is out of bounds, where it does not fit.
inline std::int64_t byte_offset(std::int64_t element, int bytes) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(element, bytes, &result) ? INT64_MAX : result;
}

/// What a launch binds.
struct Inputs {
  std::vector<TensorMemory> tensors;
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> scalars;
  std::vector<run::BoundMap> maps;
};

/// A value of every lane, and the lanes where it comes from memory that was never written.
struct Lanes {
  std::array<std::uint64_t, lanes> bits{};
  Mask unwritten = 0;
};

struct MaskFrame {
  Mask before, taken;
};

struct Warp {
  enum State : std::uint8_t { ready, at_barrier, at_mbarrier, done } state = ready;
  int first_thread = 0;
  Mask all = 0, mask = 0;
  int pc = 0;
  int site = -1;  ///< of what it waits at
  std::vector<MaskFrame> frames;
  std::vector<Lanes> slots;
  std::vector<std::byte> registers;  ///< of lane after lane
  std::vector<std::uint8_t> written;
  std::int64_t mbarrier = 0;  ///< what it waits for
  std::uint32_t parity = 0;
};

/// Groups of copies that a thread has issued, of cp.async or of bulk stores.
struct Groups {
  std::vector<std::uint32_t> open;                    ///< not committed
  std::vector<std::vector<std::uint32_t>> committed;  ///< oldest first, those not waited for
  void commit() { committed.push_back(std::move(open)), open.clear(); }
};

struct Thread {
  View view;
  Groups cp_async;
  Groups bulk_reads, bulk_writes;  ///< the two halves of stores
  bool done = false;
};

struct Mbarrier {
  std::string name;            ///< such as "full[0]"
  std::uint32_t arrivals = 1;  ///< of each phase
  std::uint32_t pending = 1;
  std::int64_t bytes = 0;     ///< expected, less those that came
  std::int64_t expected = 0;  ///< in this phase
  std::uint64_t phase = 0;
  Known known = nothing();  ///< of completed phases
  Known fenced = nothing();
  Known arriving = nothing();  ///< of the phase under way
  Known arriving_fenced = nothing();
  Access initialised;
  int expecting_site = -1;  ///< of the last arrival that expects bytes
  int operations = 0;       ///< copies under way that will signal this phase
};

/// An asynchronous copy.
struct Operation {
  enum Kind : std::uint8_t { cp_async, load, store } kind = load;
  enum Stage : std::uint8_t { issued, read, done } stage = issued;  ///< read: stores only
  std::uint32_t number = 0;         ///< of what it does to shared memory
  std::uint32_t tensor_number = 0;  ///< of what it does to the tensor
  Agent issuer = 0;
  int site = -1;
  View view;
  int place = -1;   ///< of the tile
  int tensor = -1;  ///< of the tensor, which is its index, too
  std::vector<Piece> pieces;
  std::vector<std::byte> data;  ///< of a store, between its two halves
  std::int64_t mbarrier = -1;
  std::int64_t bytes = 0;  ///< that the mbarrier counts
};

class Block {
 public:
  /// Without `trace` it records nothing.
  Block(const Program& program, Inputs& inputs, Reporter& reporter, Random& random, int schedule,
        Trace* trace);

  /// Runs the block to its end. Throws Halt where it cannot go on.
  void run(std::int64_t flat, const std::vector<std::int64_t>& indices);

 private:
  struct Issued {
    Agent issuer;
    int site;
    Operation::Kind kind;
  };

  // ---- block.cpp: schedule, barriers, engines ----
  void start(const std::vector<std::int64_t>& indices);
  bool advance();
  void release_barrier();
  void wake_mbarrier_waiters(std::int64_t offset);
  void check_end();
  [[noreturn]] void report_deadlock();
  std::size_t below(std::size_t limit);

  std::uint32_t new_number(Agent issuer, int site, Operation::Kind kind) {
    issued_.push_back({issuer, site, kind});
    return static_cast<std::uint32_t>(issued_.size()) - 1;
  }
  void issue(Operation operation);
  void perform(std::size_t pending);
  void finish(std::uint32_t number);
  void land(Operation& operation);
  void read_source(Operation& operation);
  void write_target(Operation& operation);
  void signal(const Operation& operation);
  void complete_if_due(std::int64_t offset, int site);
  void trace_mbarrier(const Mbarrier& mbarrier);
  void wait_groups(Agent thread, Groups& groups, std::int64_t keep);

  // ---- warp.cpp: steps ----
  void run_warp(Warp& warp, int steps);
  void run_step(Warp& warp, const Step& step);
  void expression(Warp& warp, const Step& step);
  void load(Warp& warp, const Step& step);
  void store(Warp& warp, const Step& step);
  Lanes& slot(Warp& warp, Slot index) { return warp.slots[static_cast<std::size_t>(index)]; }
  void require_written(const Warp& warp, const Lanes& value, Mask mask, int site, const char* what);

  // ---- instructions.cpp: what the rows of the catalogue mean ----
  void instruction(Warp& warp, const Step& step);
  /// Bytes of one access of a thread: a power of two.
  int access_size(Warp& warp, const Operand& operand, int lane, int least, int most, int site);
  void move(Warp& warp, const Step& step, const Instruction& instruction);
  void cp_async(Warp& warp, const Step& step, const Instruction& instruction);
  void matrices(Warp& warp, const Step& step, const Instruction& instruction);
  void bulk(Warp& warp, int lane, const Step& step, const Instruction& instruction);
  void tensor(Warp& warp, int lane, const Step& step, const Instruction& instruction);
  void barrier(Warp& warp, const Step& step);
  void mbarrier_init(Warp& warp, int lane, const Step& step, const Instruction& instruction);
  void expect_tx(Warp& warp, int lane, const Step& step, const Instruction& instruction);
  void mbarrier_wait(Warp& warp, const Step& step, const Instruction& instruction);
  void fence(Agent thread);
  /// What the thread knows, published: it goes on with a new clock.
  void release(Agent thread, Known& known, Known& fenced);
  std::int64_t number(Warp& warp, const Operand& operand, int lane);
  /// The byte offset of an address in its place.
  std::int64_t offset(Warp& warp, const Operand& operand, int lane);
  std::int64_t mbarrier_at(Warp& warp, const Operand& operand, int lane, int site);

  // ---- access.cpp: memory ----
  /// Bytes of a place and whether each was written.
  struct Bytes {
    std::array<std::byte, 32> data;
    std::array<bool, 32> written;
    int count = 0;
  };
  /// By a thread, in the generic proxy. `alignment` is what the address must be a multiple of.
  Bytes read(Warp& warp, int lane, int place, std::int64_t offset, int bytes, int site);
  void write(Warp& warp, int lane, int place, std::int64_t offset, const Bytes& bytes, int site);
  void check_place(const Place& place, std::int64_t offset, std::int64_t bytes, int site,
                   Agent agent);
  void check_aligned(const Place& place, std::int64_t offset, std::int64_t bytes, int site,
                     Agent agent);
  void note_shared(std::int64_t address, std::int64_t bytes, bool writes, const Access& access,
                   const View& view, int place);
  /// Threads address a tile from its own beginning, the swizzle of a tensor copy acts on
  /// addresses of shared memory: reports where the two differ.
  void check_swizzle_base(int place, int site);
  void note_thread(int place, int site) {
    SwizzleUse& use = swizzles_[static_cast<std::size_t>(place)];
    const bool is_new = use.thread_site < 0;
    use.thread_site = site;
    if (is_new || use.copy_site >= 0) check_swizzle_base(place, site);
  }
  void note_tensor(int tensor, std::int64_t offset, std::int64_t bytes, bool writes,
                   const Access& access, const View& view);
  void report_conflict(const Conflict& conflict, bool writes, const Access& access,
                       const std::string& where);
  std::string element_text(const Place& place, std::int64_t offset) const;
  std::string agent_text(Agent agent) const;
  const Site* site(int index) const {
    return index < 0 ? nullptr : &program_.sites[static_cast<std::size_t>(index)];
  }
  const Place& place(int index) const { return program_.places[static_cast<std::size_t>(index)]; }
  Access access_of(Agent thread, int site) const {
    return {thread, threads_[thread].view.clock, site};
  }

  const Program& program_;
  Inputs& inputs_;
  Reporter& reporter_;
  Random& random_;
  Trace* trace_;
  EmulatorReport& counts_;
  std::int64_t flat_ = 0;
  SharedMemory shared_;
  std::vector<Warp> warps_;
  std::vector<Thread> threads_;
  std::unordered_map<std::int64_t, Mbarrier> mbarriers_;  ///< by offset in shared memory
  /// By place: what is known of a tile that does not begin where a swizzle's pattern does.
  struct SwizzleUse {
    int copy_site = -1, thread_site = -1;
    std::int64_t period = 0;  ///< in bytes
  };
  std::vector<SwizzleUse> swizzles_;
  std::vector<Operation> pending_;
  std::vector<Issued> issued_;  ///< by number
  int eagerness_ = 0;           ///< chances in 4 that a copy under way goes on before a warp does
};

}  // namespace tilecopy::emulator
