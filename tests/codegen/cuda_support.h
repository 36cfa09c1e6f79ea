// CUDA C++ of kernels that are written in the device level's text form.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/options.h"
#include "codegen/cuda.h"
#include "ir/make.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "language/parse.h"
#include "run/nvrtc.h"

namespace tilecopy::testing_tools {

/// The source of one kernel, whose shared tiles lie one after the other. Tensors in names that
/// begin with B are written.
inline std::string cuda_source(const std::string& text) {
  const auto kernel = language::parse(text, "test.tile");
  ir::verify(*kernel);
  std::map<const ir::BufferNode*, std::int64_t> offsets;
  std::int64_t bytes_used = 0;
  ir::for_each_stmt(kernel->body, [&](const ir::Stmt& s) {
    const auto* alloc = ir::as<ir::Alloc>(s);
    if (!alloc || alloc->buffer.scope() != Scope::shared) return;
    offsets[alloc->buffer.node()] = bytes_used;
    std::int64_t size = bytes(alloc->buffer.dtype());
    for (const Expr& extent : alloc->buffer.shape()) size *= *ir::const_int(extent);
    bytes_used += (size + 1023) / 1024 * 1024;
  });
  codegen::CudaKernel input{kernel.get(), &offsets, bytes_used, "entry", {}};
  for (const ir::Param& param : kernel->params) {
    const auto* buffer = std::get_if<Buffer>(&param);
    if (buffer) input.written.push_back(buffer->name().starts_with("B"));
  }
  return codegen::cuda_source(codegen::cuda_entry(input));
}

/// The function alone.
inline std::string body_of(const std::string& source) {
  return source.substr(source.find("extern \"C\""));
}

/// A kernel of 128 threads with these parameters and statements.
inline std::string device_text(const std::string& params, const std::string& statements) {
  return "device function f(" + params + ") { kernel (bx: 64) threads 128 as thread {\n" +
         statements + "\n} }";
}

/// A tool of the CUDA toolkit, from CUDA_HOME or PATH; empty when there is none.
inline std::string cuda_tool(const std::string& name) {
  const std::filesystem::path home = option_value(Option::cuda_home).value_or("/usr/local/cuda");
  if (std::filesystem::exists(home / "bin" / name)) return (home / "bin" / name).string();
  return std::system(("command -v " + name + " > /dev/null").c_str()) == 0 ? name : "";
}

struct ToolRun {
  int status = 0;
  std::string output;
};

inline ToolRun run_tool(const std::string& command) {
  ToolRun result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    result.output.append(buffer, n);
  }
  result.status = pclose(pipe);
  return result;
}

}  // namespace tilecopy::testing_tools
