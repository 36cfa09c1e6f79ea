// Accesses to memory by threads and engines: bounds, alignment, what was written, what is ordered.
#include <fmt/format.h>

#include "emulator/block.h"

namespace tilecopy::emulator {

std::string Block::agent_text(Agent agent) const {
  if (!is_operation(agent)) return fmt::format("thread {}", agent);
  const Issued& issued = issued_[operation_number(agent)];
  const char* kind = issued.kind == Operation::cp_async ? "a cp.async"
                     : issued.kind == Operation::load   ? "an asynchronous load"
                                                        : "an asynchronous store";
  return fmt::format("{} of thread {}", kind, issued.issuer);
}

std::string Block::element_text(const Place& place, std::int64_t offset) const {
  const std::int64_t size = bytes(place.buffer.dtype());
  if (place.buffer.scope() == Scope::global) {
    return fmt::format("{}[{}]", place.buffer.name(),
                       inputs_.tensors[static_cast<std::size_t>(place.tensor)].indices(offset));
  }
  return fmt::format("{}, element {} of its memory", place.buffer.name(), offset / size);
}

void Block::check_place(const Place& place, std::int64_t offset, std::int64_t bytes, int site,
                        Agent agent) {
  const bool global = place.buffer.scope() == Scope::global;
  const TensorMemory* tensor =
      global ? &inputs_.tensors[static_cast<std::size_t>(place.tensor)] : nullptr;
  const bool inside =
      global ? tensor->holds(offset, bytes) : offset >= 0 && offset <= place.bytes - bytes;
  if (inside) return;
  reporter_.halt(Fault::out_of_bounds, this->site(site),
                 fmt::format("{} accesses {} bytes at byte {} of {}, which has {}",
                             agent_text(agent), bytes, offset, place.buffer.name(),
                             global ? tensor->text() : fmt::format("{} bytes", place.bytes)));
}

void Block::check_aligned(const Place& place, std::int64_t offset, std::int64_t bytes, int site,
                          Agent agent) {
  std::uint64_t address = static_cast<std::uint64_t>(place.offset + offset);
  if (place.buffer.scope() == Scope::global) {
    const TensorMemory& tensor = inputs_.tensors[static_cast<std::size_t>(place.tensor)];
    address = tensor.address() + static_cast<std::uint64_t>(offset);
  }
  if (address % static_cast<std::uint64_t>(bytes) == 0) return;
  reporter_.halt(Fault::misaligned, this->site(site),
                 fmt::format("{} accesses {} bytes at {}, byte {}, which is no multiple of that",
                             agent_text(agent), bytes, element_text(place, offset), offset));
}

void Block::report_conflict(const Conflict& conflict, bool writes, const Access& access,
                            const std::string& where) {
  if (reporter_.ignores(conflict.fence_missing ? Fault::missing_fence : Fault::race)) return;
  const Agent before = conflict.before.agent;
  std::string text = fmt::format(
      "{} {} {}, which {} {}, and {}", agent_text(access.agent), writes ? "writes" : "reads", where,
      agent_text(before), conflict.before_writes ? "wrote" : "read",
      conflict.fence_missing ? "no proxy fence lies between" : "nothing orders the two");
  std::string help;
  if (is_operation(before) && !conflict.fence_missing) {
    switch (issued_[operation_number(before)].kind) {
      case Operation::cp_async:
        help = "wait with cuda.cp_async_wait in the thread that issued it, then at a barrier";
        break;
      case Operation::load: help = "wait for the mbarrier that the load signals"; break;
      case Operation::store:
        help = "wait with cuda.bulk_wait_read in the thread that issued it, then at a barrier";
        break;
    }
  }
  reporter_.add(conflict.fence_missing ? Fault::missing_fence : Fault::race, site(access.site),
                text, site(conflict.before.site), help);
}

void Block::check_swizzle_base(int index, int site_index) {
  const SwizzleUse& use = swizzles_[static_cast<std::size_t>(index)];
  if (use.copy_site < 0 || use.thread_site < 0) return;
  reporter_.add(
      Fault::swizzle_base, site(site_index),
      fmt::format("{} begins at byte {} of shared memory, which is no multiple of {}, "
                  "where the pattern of a {}-byte swizzle begins",
                  place(index).buffer.name(), place(index).offset, use.period, use.period / 8),
      site(site_index == use.copy_site ? use.thread_site : use.copy_site));
}

void Block::note_shared(std::int64_t address, std::int64_t bytes, bool writes, const Access& access,
                        const View& view, int place_index) {
  ++counts_.accesses;
  for (std::int64_t b = address; b < address + bytes; ++b) {
    History& history = shared_.history(b);
    auto conflict = writes ? history.write(access, view) : history.read(access, view);
    if (!conflict) continue;
    const Place& place = this->place(place_index);
    report_conflict(*conflict, writes, access, element_text(place, b - place.offset));
    return;
  }
}

void Block::note_tensor(int index, std::int64_t offset, std::int64_t bytes, bool writes,
                        const Access& access, const View& view) {
  ++counts_.accesses;
  TensorMemory& tensor = inputs_.tensors[static_cast<std::size_t>(index)];
  if (!tensor.is_written()) return;
  const Place& place = this->place(index);
  const std::int64_t element = tilecopy::bytes(place.buffer.dtype());
  for (std::int64_t b = offset; b < offset + bytes; b += element) {
    if (auto other = tensor.other_block(b, flat_, writes);
        other && !reporter_.ignores(Fault::race)) {
      reporter_.add(
          Fault::race, site(access.site),
          fmt::format("{} {} {}, which {} accesses too, and blocks run in any order",
                      agent_text(access.agent), writes ? "writes" : "reads", element_text(place, b),
                      *other < 0 ? "other blocks" : fmt::format("block {}", *other)),
          nullptr, "let each block write elements of its own");
    }
    History& history = tensor.history(b);
    auto conflict = writes ? history.write(access, view) : history.read(access, view);
    if (conflict) return report_conflict(*conflict, writes, access, element_text(place, b));
  }
}

Block::Bytes Block::read(Warp& warp, int lane, int index, std::int64_t offset, int count,
                         int site) {
  const Place& place = this->place(index);
  const Agent thread = static_cast<Agent>(warp.first_thread + lane);
  Bytes result;
  result.count = count;
  auto size = static_cast<std::size_t>(count);
  check_place(place, offset, count, site, thread);
  check_aligned(place, offset, count, site, thread);
  switch (place.buffer.scope()) {
    case Scope::global: {
      note_tensor(place.tensor, offset, count, false, access_of(thread, site),
                  threads_[thread].view);
      std::memcpy(result.data.data(),
                  inputs_.tensors[static_cast<std::size_t>(place.tensor)].at(offset), size);
      result.written.fill(true);
      break;
    }
    case Scope::shared: {
      const std::int64_t address = place.offset + offset;
      note_thread(index, site);
      note_shared(address, count, false, access_of(thread, site), threads_[thread].view, index);
      std::memcpy(result.data.data(), shared_.at(address), size);
      for (std::size_t b = 0; b < size; ++b) {
        result.written[b] = shared_.written(address + static_cast<std::int64_t>(b), index);
      }
      break;
    }
    case Scope::fragment:
    case Scope::local: {
      const auto at =
          static_cast<std::size_t>(lane * program_.register_bytes + place.offset + offset);
      std::memcpy(result.data.data(), warp.registers.data() + at, size);
      for (std::size_t b = 0; b < size; ++b) result.written[b] = warp.written[at + b] != 0;
      break;
    }
  }
  return result;
}

void Block::write(Warp& warp, int lane, int index, std::int64_t offset, const Bytes& bytes,
                  int site) {
  const Place& place = this->place(index);
  const Agent thread = static_cast<Agent>(warp.first_thread + lane);
  auto size = static_cast<std::size_t>(bytes.count);
  check_place(place, offset, bytes.count, site, thread);
  check_aligned(place, offset, bytes.count, site, thread);
  switch (place.buffer.scope()) {
    case Scope::global: {
      note_tensor(place.tensor, offset, bytes.count, true, access_of(thread, site),
                  threads_[thread].view);
      std::memcpy(inputs_.tensors[static_cast<std::size_t>(place.tensor)].at(offset),
                  bytes.data.data(), size);
      for (std::size_t b = 0; b < size && !reporter_.ignores(Fault::unwritten); ++b) {
        if (bytes.written[b]) continue;
        reporter_.add(Fault::unwritten, this->site(site),
                      fmt::format("{} stores to {} what was never written", agent_text(thread),
                                  element_text(place, offset + static_cast<std::int64_t>(b))));
        break;
      }
      break;
    }
    case Scope::shared: {
      const std::int64_t address = place.offset + offset;
      note_thread(index, site);
      note_shared(address, bytes.count, true, access_of(thread, site), threads_[thread].view,
                  index);
      std::memcpy(shared_.at(address), bytes.data.data(), size);
      for (std::size_t b = 0; b < size; ++b) {
        shared_.set_written(address + static_cast<std::int64_t>(b), index, bytes.written[b]);
      }
      break;
    }
    case Scope::fragment:
    case Scope::local: {
      const auto at =
          static_cast<std::size_t>(lane * program_.register_bytes + place.offset + offset);
      std::memcpy(warp.registers.data() + at, bytes.data.data(), size);
      for (std::size_t b = 0; b < size; ++b) warp.written[at + b] = bytes.written[b];
      break;
    }
  }
}

}  // namespace tilecopy::emulator
