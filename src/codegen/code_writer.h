// Lines of code with indentation.
#pragma once

#include <string>
#include <string_view>

namespace tilecopy::codegen {

class CodeWriter {
 public:
  void line(std::string_view text) {
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    out_.append(text);
    out_ += '\n';
  }
  /// A line at the left margin, for preprocessor directives.
  void directive(std::string_view text) {
    out_.append(text);
    out_ += '\n';
  }
  void blank() { out_ += '\n'; }
  void open(std::string_view text) {
    line(text);
    ++depth_;
  }
  /// Indents what follows a line that was closed with an opening brace.
  void indent() { ++depth_; }
  void close(std::string_view text = "}") {
    --depth_;
    line(text);
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  int depth_ = 0;
};

}  // namespace tilecopy::codegen
