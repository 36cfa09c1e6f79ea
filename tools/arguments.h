// The arguments of a launch: what a kernel's parameters are bound to, from files, flags and random
// numbers.
#pragma once

#include <string>
#include <vector>

#include "kernel.h"

namespace tilecopy::tool {

/// A tensor argument and where its elements come from.
struct Array {
  std::string name;
  bool written = false;
  std::string origin;  ///< the path of a file, "random, seed 0" or "zeros"
  Tensor storage;      ///< the elements, and what lies between them when the tensor has strides
  TensorView view;     ///< of the storage

  std::int64_t bytes() const { return view.size() * tilecopy::bytes(view.dtype); }
};

struct Arguments {
  std::vector<Array> arrays;   ///< in the order of the parameters
  std::vector<Argument> list;  ///< all parameters, for CompiledKernel::run

  const Array& array(const std::string& name) const;
  /// Bytes of all tensors: what a kernel that touches each element once reads and writes.
  std::int64_t bytes() const;
};

/// Checks --in, --set and --out against the names of the parameters. E0503, E0603.
void check_names(const Kernel& kernel, const Request& request);

/// Reads the files of --in and makes the other tensors. Those that the kernel writes start as
/// zeros, the others as random data. Takes what `kernel` has loaded. E0503 for a symbol or scalar
/// without a value, E06xx for files, E07xx for shapes.
Arguments make_arguments(Kernel& kernel, const Request& request);

/// Raises E0605 if a file of --out cannot be written, and leaves it as it is. Called before the
/// What --seed says, or 0.
std::uint64_t seed_of(const Request& request);
/// work whose result it is for.
void check_outputs(const Request& request);

/// Writes the files of --out.
void save_outputs(const Arguments& arguments, const Request& request);

}  // namespace tilecopy::tool
