#include "emulator/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilecopy::emulator {
namespace {

constexpr std::uint32_t several_blocks = 0xffffffffu;

std::optional<Conflict> check(const Access& before, bool before_writes, const Access& access,
                              const View& view) {
  if (before.agent == nobody) return std::nullopt;
  if (!view.knows(before)) return Conflict{before, before_writes, false};
  // What threads and cp.async write reaches the async proxy through a fence only. PTX ISA, async
  // proxy.
  bool crosses = is_async_proxy(access.agent) && !is_async_proxy(before.agent);
  if (crosses && before_writes && !view.has_fenced(before)) return Conflict{before, true, true};
  return std::nullopt;
}

}  // namespace

std::optional<Conflict> History::read(const Access& access, const View& view) {
  auto conflict = check(last_write_, true, access, view);
  if (last_read_.agent == nobody || view.knows(last_read_)) {
    last_read_ = access;
  } else {
    // Only what later writes could be unordered with is kept.
    std::erase_if(other_reads_, [&](const Access& other) { return view.knows(other); });
    other_reads_.push_back(access);
  }
  return conflict;
}

std::optional<Conflict> History::write(const Access& access, const View& view) {
  auto conflict = check(last_write_, true, access, view);
  if (!conflict) conflict = check(last_read_, false, access, view);
  for (const Access& other : other_reads_) {
    if (!conflict) conflict = check(other, false, access, view);
  }
  last_write_ = access;
  last_read_ = {};
  other_reads_.clear();
  return conflict;
}

TensorMemory::TensorMemory(const TensorView& view, bool written)
    : address_(static_cast<std::byte*>(view.data)),
      shape_(view.shape),
      strides_(view.strides),
      element_(bytes(view.dtype)),
      written_(written) {
  text_ = fmt::format("{}({})", to_string(view.dtype), fmt::join(shape_, ", "));
  if (strides_.empty()) {
    strides_.assign(shape_.size(), 1);
    for (std::size_t d = shape_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * shape_[d];
  }
  std::int64_t count = 1, last = 0;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    count *= shape_[d];
    std::int64_t reach = (shape_[d] - 1) * strides_[d];
    (reach < 0 ? first_ : last) += reach * element_;
  }
  if (count <= 0) return;
  span_ = last - first_ + element_;
  dense_ = span_ == count * element_;
  if (!dense_) {
    elements_.resize(static_cast<std::size_t>(span_ / element_));
    std::vector<std::int64_t> at(shape_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, offset = -first_ / element_;
      for (std::size_t d = shape_.size(); d-- > 0;) {
        offset += rest % shape_[d] * strides_[d];
        rest /= shape_[d];
      }
      elements_[static_cast<std::size_t>(offset)] = true;
    }
  }
  if (written_) blocks_.resize(static_cast<std::size_t>(span_ / element_));
}

bool TensorMemory::holds(std::int64_t offset, std::int64_t bytes) const {
  if (offset < first_ || offset > end() - bytes) return false;
  if (dense_) return true;
  for (std::int64_t b = offset; b < offset + bytes; ++b) {
    if (!elements_[static_cast<std::size_t>((b - first_) / element_)]) return false;
  }
  return true;
}

std::string TensorMemory::indices(std::int64_t offset) const {
  std::int64_t rest = offset / element_;
  std::vector<std::int64_t> at(shape_.size());
  // Largest strides first: right for tensors whose dimensions do not overlap.
  std::vector<std::size_t> order(shape_.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides_[a] > strides_[b]; });
  for (std::size_t d : order) {
    if (strides_[d] <= 0) continue;
    at[d] = rest / strides_[d];
    rest -= at[d] * strides_[d];
  }
  return fmt::format("{}", fmt::join(at, ", "));
}

std::optional<std::int64_t> TensorMemory::other_block(std::int64_t offset, std::int64_t block,
                                                      bool writes) {
  if (!written_) return std::nullopt;
  Blocks& blocks = blocks_[static_cast<std::size_t>((offset - first_) / element_)];
  const auto self = static_cast<std::uint32_t>(block + 1);
  std::optional<std::int64_t> other;
  if (blocks.writer != 0 && blocks.writer != self) other = blocks.writer - std::int64_t{1};
  if (writes && blocks.reader != 0 && blocks.reader != self) {
    other = blocks.reader == several_blocks ? std::int64_t{-1} : blocks.reader - std::int64_t{1};
  }
  if (writes) {
    blocks.writer = self;
  } else {
    blocks.reader = blocks.reader == 0 || blocks.reader == self ? self : several_blocks;
  }
  return other;
}

void TensorMemory::save() { saved_ = contents(); }

void TensorMemory::restore() const {
  if (!saved_.empty()) std::memcpy(at(first_), saved_.data(), saved_.size());
}

std::vector<std::byte> TensorMemory::contents() const {
  if (span_ == 0) return {};
  return {at(first_), at(first_) + span_};
}

void TensorMemory::forget_blocks() { std::fill(blocks_.begin(), blocks_.end(), Blocks{}); }

}  // namespace tilecopy::emulator
