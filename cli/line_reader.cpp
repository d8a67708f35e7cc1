#include "cli/line_reader.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "scripts/interrupt.h"

namespace moonloop::cli {
namespace {

class PlainReader final : public LineReader {
 public:
  PlainReader() {
    if (terminal_) std::setvbuf(stdin, nullptr, _IONBF, 0);  // no input is held back
  }
  ~PlainReader() override { std::free(buffer_); }
  Read read(const std::string& prompt, std::string& line) override {
    std::fputs(prompt.c_str(), stdout);
    std::fflush(stdout);
    if (terminal_ && !wait_for_input(STDIN_FILENO)) {
      std::fputs("\n", stdout);
      return Read::Interrupted;
    }
    const ssize_t n = getline(&buffer_, &room_, stdin);  // C's buffer: `io.read` reads on from it
    if (n < 0) return Read::End;
    line.assign(buffer_, static_cast<std::size_t>(n));
    if (line.ends_with('\n')) line.pop_back();
    if (line.ends_with('\r')) line.pop_back();
    return Read::Line;
  }

 private:
  const bool terminal_ = isatty(STDIN_FILENO) != 0;
  char* buffer_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace

std::unique_ptr<LineReader> plain_reader() { return std::make_unique<PlainReader>(); }

#ifndef MOONLOOP_LIBEDIT
std::unique_ptr<LineReader> editing_reader(
    const std::string&, const std::function<void(const std::string&)>&,
    const std::function<Completion(const std::string&, std::size_t)>&) {
  return nullptr;
}
#endif

std::string history_path() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state)
    return std::string(state) + "/moonloop/history";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.local/state/moonloop/history";
  return {};
}

}  // namespace moonloop::cli
