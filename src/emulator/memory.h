// Memory as bytes with what is known of each: whether anything was written there, and who accessed
// it last.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/knowledge.h"
#include "tilecopy/tensor.h"

namespace tilecopy::emulator {

/// Two accesses of one place, at least one of them a write, that nothing orders as they need it.
struct Conflict {
  Access before;
  bool before_writes = false;
  bool fence_missing = false;  ///< ordered, but no proxy fence lies between
};

/// The accesses of one place that later ones have to come after.
class History {
 public:
  /// Notes a read or a write by `access`, which comes after what `view` knows.
  std::optional<Conflict> read(const Access& access, const View& view);
  std::optional<Conflict> write(const Access& access, const View& view);

 private:
  Access last_write_;
  Access last_read_;
  std::vector<Access> other_reads_;  ///< since the last write, ordered with none of each other
};

/// The shared memory of a block.
class SharedMemory {
 public:
  explicit SharedMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        writer_(static_cast<std::size_t>(bytes)),
        history_(static_cast<std::size_t>(bytes)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  std::byte* at(std::int64_t offset) { return bytes_.data() + offset; }
  /// Whether a byte holds what was written through this place: what a tile that lay there before
  /// has left counts for nothing.
  bool written(std::int64_t offset, int place) const { return writer_[index(offset)] == place + 1; }
  void set_written(std::int64_t offset, int place, bool written) {
    writer_[index(offset)] = written ? place + 1 : 0;
  }
  History& history(std::int64_t offset) { return history_[index(offset)]; }

 private:
  static std::size_t index(std::int64_t offset) { return static_cast<std::size_t>(offset); }

  std::vector<std::byte> bytes_;
  std::vector<int> writer_;  ///< place and 1, or 0
  std::vector<History> history_;
};

/// A tensor argument in the host's memory, with all blocks' accesses to it.
class TensorMemory {
 public:
  TensorMemory(const TensorView& view, bool written);

  const std::string& text() const { return text_; }
  /// The bytes from the first element to the end of the last, relative to the tensor's address.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + span_; }
  std::byte* at(std::int64_t offset) const { return address_ + offset; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(address_); }
  /// Whether all of the bytes belong to elements.
  bool holds(std::int64_t offset, std::int64_t bytes) const;
  /// The indices of the element at a byte offset, as "3, 17".
  std::string indices(std::int64_t offset) const;

  bool is_written() const { return written_; }
  /// The block, other than this one, that an access conflicts with.
  std::optional<std::int64_t> other_block(std::int64_t offset, std::int64_t block, bool writes);
  /// Histories of this block's accesses alone.
  History& history(std::int64_t offset) { return histories_[offset / element_]; }
  void start_block() { histories_.clear(); }

  void save();
  void restore() const;
  /// The bytes as they are now, of the whole span.
  std::vector<std::byte> contents() const;
  void forget_blocks();

 private:
  struct Blocks {
    std::uint32_t writer = 0, reader = 0;  ///< flat index plus 1; several_blocks for more than one
  };

  std::byte* address_;
  std::vector<std::int64_t> shape_, strides_;  ///< strides in elements
  std::int64_t element_, first_ = 0, span_ = 0;
  bool written_, dense_ = true;
  std::string text_;
  std::vector<bool> elements_;  ///< which places of the span are elements, unless all are
  std::vector<Blocks> blocks_;
  std::unordered_map<std::int64_t, History> histories_;
  std::vector<std::byte> saved_;
};

}  // namespace tilecopy::emulator
