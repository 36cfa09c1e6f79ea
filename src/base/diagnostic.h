// Raising errors from the table in errors.def, and rendering them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tilecopy/error.h"

namespace tilecopy {

enum class ErrorCode : int {
#define TILECOPY_ERROR(code, class_, name, headline, advice) code,
#include "base/errors.def"
#undef TILECOPY_ERROR
};

struct ErrorRow {
  ErrorCode id;
  ErrorClass class_;
  std::string_view code, name, headline, advice;
};

/// All rows of errors.def, in order.
std::span<const ErrorRow> error_table();
const ErrorRow& error_row(ErrorCode code);

/// The facts a throw site adds to its row. `help` replaces the row's advice when not empty.
struct Details {
  std::string needed = {};
  std::string found = {};
  std::string help = {};
};

/// Throws the row's class of error.
[[noreturn]] void raise(ErrorCode code, Location where, Details facts = {});

/// Throws InternalError E0901.
[[noreturn]] void raise_internal(std::string found, Location where = {});

/// Inside a handler of `error`: throws it again, with this place unless it has one or this is none.
[[noreturn]] void rethrow_at(const Error& error, Location where);

/// Runs `action`; its errors that know no place get that of the user's call.
template <typename Action>
decltype(auto) at_line(Location where, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    rethrow_at(error, where);
  }
}

}  // namespace tilecopy
