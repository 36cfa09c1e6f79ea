// A small model of the TMA unit: it executes what a method lowered to, for one block, and moves the
// elements of each box in order. It shares nothing with the planner that it judges.
// Facts: PTX ISA, cp.async.bulk.tensor; measured on an H200 (docs/hardware-facts.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "copy/method.h"
#include "ir/evaluate.h"

namespace tilecopy::test {

/// What a byte of shared memory holds: byte `b` of the element with number `id` is id * 16 + b.
inline constexpr std::int64_t untouched = -1;
inline constexpr std::int64_t zero_byte = -2;
/// An element of a tensor that a store overwrote outside of the tensor.
inline constexpr std::int64_t destroyed = -3;

class TmaModel {
 public:
  /// The tile starts at byte `base` of shared memory.
  TmaModel(const planner::Plan& plan, const Buffer& tile, std::int64_t base, std::int64_t bytes);

  /// Runs for thread 0. `values` are those of symbols and block indices.
  void run(const ir::Stmt& body, const ir::test::Assignment& values);

  /// Broken rules of the hardware, one a line; empty when all is well.
  const std::string& faults() const { return faults_; }

  std::vector<std::int64_t> shared;             ///< by byte
  std::map<std::int64_t, std::int64_t> global;  ///< by element: its number, and what stores wrote
  std::int64_t boxes = 0;
  std::int64_t expected_bytes = 0, loaded_bytes = 0;
  std::int64_t commits = 0;

 private:
  struct Map {
    const ir::TensorMap* node;
    std::vector<std::int64_t> dims, strides;  // strides in elements, of all dimensions
    std::int64_t element;
  };

  struct Element {
    std::int64_t offset = 0;  // in the tensor
    bool inside = true, destroyed = false;
  };

  void statement(const ir::Stmt& s);
  void instr(const ir::Instr& instr);
  void tiled(const ir::Instr& instr, bool load);
  void im2col(const ir::Instr& instr);
  std::vector<std::int64_t> start_of(const ir::Instr& instr, const Map& map, bool load);
  static Element element_of(const Map& map, const std::vector<std::int64_t>& at, std::int64_t i,
                            bool load);
  std::int64_t value(const ir::InstrOperand& operand) const;
  std::int64_t address(const ir::InstrOperand& operand);
  Map map(const ir::InstrOperand& operand);
  void check_map(const Map& map);
  /// The address of byte `byte` of row `row` of a box.
  static std::int64_t place(std::int64_t start, std::int64_t row, std::int64_t row_bytes,
                            std::int64_t byte, int swizzle);
  void put(std::int64_t at, std::int64_t element, bool inside, std::int64_t offset);
  void take(std::int64_t at, std::int64_t element, std::int64_t offset);
  void require(bool ok, const std::string& what);

  const planner::Plan& plan_;
  Buffer tile_;
  std::int64_t base_;
  ir::test::Assignment values_;
  std::string faults_;
};

}  // namespace tilecopy::test
