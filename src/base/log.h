// Messages for people: where they go and how loud they are. TILECOPY_LOG_LEVEL sets the level.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tilecopy {

enum class LogLevel : std::uint8_t { error, warn, info, debug };

std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view name);

using LogSink = std::function<void(LogLevel level, std::string_view text)>;

/// Replaces the sink, which is stderr at first; an empty function brings that back. The sink gets
/// what passes the level, from any thread, several at a time; what it throws is dropped.
void set_log_sink(LogSink sink);

/// Sends one message, without a line end, to the sink if `level` passes TILECOPY_LOG_LEVEL.
void log(LogLevel level, std::string_view text);

inline void warn(std::string_view text) { log(LogLevel::warn, text); }
inline void info(std::string_view text) { log(LogLevel::info, text); }
inline void debug(std::string_view text) { log(LogLevel::debug, text); }

/// Warns unless this process already gave a warning with the same `about`.
void warn_once(const std::string& about, std::string_view text);

}  // namespace tilecopy
