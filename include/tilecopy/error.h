// The exceptions of tilecopy. The text of every one has the same shape: what is wrong, the user's
// line, the rule with what was needed and what was found, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>

#include "tilecopy/types.h"

namespace tilecopy {

/// Whose fault an error is: the user's program or arguments, something the machine lacks or a tool
/// that failed, or tilecopy itself.
enum class ErrorClass : std::uint8_t { user, tool, internal };

/// What an error says, in parts; `Error::what()` is the rendered text.
struct ErrorReport {
  std::string code;      ///< stable, such as "E0101"; listed in docs/errors.md
  std::string name;      ///< the code's name, such as "copy.extents"; also the rule's id
  std::string headline;  ///< one sentence in lower case
  std::string needed;    ///< the value or form the rule asks for; may be empty
  std::string found;     ///< what was there instead; may be empty
  std::string help;      ///< what to do; may be empty
  Location where;        ///< the user's line, when there is one
};

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorReport report);

  const ErrorReport& report() const { return report_; }
  const std::string& code() const { return report_.code; }
  Location where() const { return report_.where; }

 private:
  ErrorReport report_;
};

/// The program, its hints or its arguments break a rule; fix them and try again.
class UserError : public Error {
  using Error::Error;
};

/// The machine lacks something (a compiler, disk space, memory) or a tool failed.
class ToolError : public Error {
  using Error::Error;
};

/// tilecopy broke one of its own rules; please report it with the text of the error.
class InternalError : public Error {
  using Error::Error;
};

}  // namespace tilecopy
