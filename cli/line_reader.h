#pragma once
#include <functional>
#include <memory>
#include <string>

#include "scripts/complete.h"

/// Lines from standard input.
namespace moonloop::cli {

enum class Read { Line, End, Interrupted };

class LineReader {
 public:
  virtual ~LineReader() = default;
  /// The next line, without its end, into `line`. An interrupt gives up the line begun.
  virtual Read read(const std::string& prompt, std::string& line) = 0;
};

/// Prints prompts when there are any; the terminal's own line editing.
std::unique_ptr<LineReader> plain_reader();

/// With editing, history and completion by Tab; null where the build has no libedit or the terminal
/// is too simple. `history` is a file: lines of earlier sessions, to which each line is added as it
/// is read. When that fails, `warn` is called once. `candidates` completes a line at a cursor.
std::unique_ptr<LineReader> editing_reader(
    const std::string& history, const std::function<void(const std::string&)>& warn,
    const std::function<Completion(const std::string&, std::size_t)>& candidates);

/// `$XDG_STATE_HOME/moonloop/history`, or below `~/.local/state`; empty without a home.
std::string history_path();

}  // namespace moonloop::cli
