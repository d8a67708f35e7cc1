#include "cli/line_reader.h"

#ifdef MOONLOOP_LIBEDIT
#include <fcntl.h>
#include <histedit.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>

#include "core/base/diagnostic.h"
#include "runtime/file.h"
#include "scripts/interrupt.h"

/// Lines by libedit.
namespace moonloop::cli {
namespace {

constexpr int kMostLines = 1000;  // of history

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (end > from) out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

/// The file of earlier lines. Each line is added in one write, so that sessions side by side do not
/// tear each other's.
class HistoryFile {
 public:
  HistoryFile(std::string path, std::function<void(const std::string&)> warn)
      : path_(std::move(path)), warn_(std::move(warn)) {}

  /// The latest lines; shortens a file that has got long.
  std::vector<std::string> load() {
    std::string text;
    if (path_.empty() || !read_whole(path_, text)) return {};
    std::vector<std::string> lines = lines_of(text);
    if (lines.size() <= kMostLines) return lines;
    lines.erase(lines.begin(), lines.end() - kMostLines);
    try {
      write_file(path_, {fmt::format("{}\n", fmt::join(lines, "\n"))});
    } catch (const Error& e) { complain(e.what()); }
    return lines;
  }

  void add(const std::string& line) {
    if (path_.empty() || failed_) return;
    std::error_code none;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), none);
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string text = line + "\n";
    const bool ok = fd >= 0 && ::write(fd, text.data(), text.size()) == ssize_t(text.size());
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!ok)
      complain(fmt::format("cannot write the history `{}`: {}", path_, std::strerror(error)));
  }

 private:
  void complain(const std::string& why) {
    if (!failed_) warn_(why);
    failed_ = true;
  }

  std::string path_;
  std::function<void(const std::string&)> warn_;
  bool failed_ = false;
};

class EditingReader final : public LineReader {
 public:
  EditingReader(const std::string& history, const std::function<void(const std::string&)>& warn,
                std::function<Completion(const std::string&, std::size_t)> candidates)
      : file_(history, warn), candidates_(std::move(candidates)) {
    edit_ = el_init("moonloop", stdin, stdout, stderr);
    if (!edit_) return;
    history_ = ::history_init();
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, kMostLines);
    ::history(history_, &event, H_SETUNIQUE, 1);
    for (const std::string& line : file_.load()) ::history(history_, &event, H_ENTER, line.c_str());
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &EditingReader::prompt_of);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, ::history, history_);
    el_set(edit_, EL_GETCFN, &EditingReader::next_character);
    el_set(edit_, EL_ADDFN, "moonloop-complete", "completes the word", &EditingReader::on_tab);
    el_set(edit_, EL_BIND, "^I", "moonloop-complete", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);  // the user's own .editrc
  }
  ~EditingReader() override {
    if (edit_) el_end(edit_);
    if (history_) ::history_end(history_);
  }
  bool works() const { return edit_ != nullptr; }

  Read read(const std::string& prompt, std::string& line) override {
    prompt_ = prompt;
    el_resize(edit_);
    int length = 0;
    const char* text = el_gets(edit_, &length);
    if (interrupted()) {
      std::fputs("^C\n", stdout);
      std::fflush(stdout);
      el_reset(edit_);
      return Read::Interrupted;
    }
    if (!text || length <= 0) {
      std::fputs("\n", stdout);
      return Read::End;
    }
    line.assign(text, static_cast<std::size_t>(length));
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(' ') != std::string::npos) {
      HistEvent event;
      ::history(history_, &event, H_ENTER, line.c_str());
      file_.add(line);
    }
    return Read::Line;
  }

 private:
  static EditingReader& of(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<EditingReader*>(data);
  }
  static const char* prompt_of(EditLine* edit) { return of(edit).prompt_.c_str(); }

  /// libedit's own reader goes on after an interrupt; this one gives up the line.
  static int next_character(EditLine*, wchar_t* out) {
    std::mbstate_t state{};
    for (;;) {
      char byte = 0;
      if (!wait_for_input(STDIN_FILENO)) return -1;
      const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n == 0 ? 0 : -1;
      const std::size_t used = std::mbrtowc(out, &byte, 1, &state);
      if (used == static_cast<std::size_t>(-2)) continue;  // more bytes of the same character
      if (used == static_cast<std::size_t>(-1)) {          // none: taken as it is
        *out = static_cast<unsigned char>(byte);
      } else if (used == 0) {
        *out = 0;
      }
      return 1;
    }
  }

  static unsigned char on_tab(EditLine* edit, int) { return of(edit).complete(); }

  /// Inserts what all candidates have in common; when that is nothing more, lists them.
  unsigned char complete() {
    const LineInfo* info = el_line(edit_);
    const std::string line(info->buffer, info->lastchar);
    const auto cursor = static_cast<std::size_t>(info->cursor - info->buffer);
    const Completion found = candidates_(line, cursor);
    if (found.words.empty()) return CC_REFRESH_BEEP;
    std::string common = found.words.front();
    for (const std::string& w : found.words)
      common.resize(std::size_t(
          std::mismatch(common.begin(), common.end(), w.begin(), w.end()).first - common.begin()));
    const std::size_t typed = cursor - found.from;
    if (common.size() > typed) {
      el_insertstr(edit_, common.c_str() + typed);
      return CC_REFRESH;
    }
    if (found.words.size() == 1) return CC_REFRESH;
    list(found.words);
    return CC_REDISPLAY;
  }

  void list(const std::vector<std::string>& words) const {
    constexpr std::size_t kMost = 100;
    int columns = 80;
    if (el_get(edit_, EL_GETTC, "co", &columns, nullptr) != 0 || columns < 20) columns = 80;
    std::size_t width = 0;
    const std::size_t shown = std::min(words.size(), kMost);
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, words[i].size() + 2);
    const std::size_t across = std::max<std::size_t>(1, std::size_t(columns) / width);
    const std::size_t down = (shown + across - 1) / across;
    std::string out = "\n";
    for (std::size_t y = 0; y < down; ++y) {
      std::string row;
      for (std::size_t i = y; i < shown; i += down) row += fmt::format("{:<{}}", words[i], width);
      out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    if (shown < words.size()) out += fmt::format("and {} more\n", words.size() - shown);
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
  }

  HistoryFile file_;
  std::function<Completion(const std::string&, std::size_t)> candidates_;
  EditLine* edit_ = nullptr;
  ::History* history_ = nullptr;
  std::string prompt_;
};

}  // namespace

std::unique_ptr<LineReader> editing_reader(
    const std::string& history, const std::function<void(const std::string&)>& warn,
    const std::function<Completion(const std::string&, std::size_t)>& candidates) {
  const char* terminal = std::getenv("TERM");
  if (!terminal || !*terminal || std::strcmp(terminal, "dumb") == 0) return nullptr;
  // Typing other than ASCII needs a locale that supports it. Numbers stay as they are in C.
  if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  auto out = std::make_unique<EditingReader>(history, warn, candidates);
  if (!out->works()) return nullptr;
  return out;
}

}  // namespace moonloop::cli
#endif
