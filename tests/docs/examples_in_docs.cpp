#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

/// Runs the examples of the documentation. A page is played from top to bottom in a folder of its
/// own:
///
///     ```loop fill.loop      a block with a file name is written to that file
///     ```console             lines that begin with `$ ` are run by sh with `moonloop` on the path;
///                            the lines below, up to the next `$ `, are all that it prints
///     ```lua fragment        is a part of something, and not run
///     ```repl fill.loop      is a session of `moonloop repl fill.loop`: the text after a prompt
///                            (`fill> `, `>> `) is typed, the other lines are all that it prints;
///                            a line `...` stands for any lines
///
/// Other languages than loop, lua, c, json, fortran, console and repl are ignored.

namespace fs = std::filesystem;

namespace {

struct Fence {
  std::string language, file, text;
  int line = 0;
};

std::vector<Fence> blocks_of(const fs::path& page) {
  std::ifstream in(page);
  std::vector<Fence> out;
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.rfind("```", 0) == 0) {
      if (inside) {
        inside = false;
        continue;
      }
      std::istringstream info(line.substr(3));
      Fence b;
      info >> b.language >> b.file;
      b.line = number;
      out.push_back(b);
      inside = true;
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "moonloop-docs-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    fs::create_directory_symlink(fs::path(MOONLOOP_SOURCE_DIR) / "examples", path_ / "examples");
    fs::create_symlink(fs::canonical(MOONLOOP_BINARY), path_ / "moonloop");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  std::string run(const std::string& command, const std::string& input = {}) const {
    std::ofstream(path_ / ".input") << input;
    std::ofstream(path_ / ".command.sh") << "cd '" << path_.string() << "'\nPATH=\"$PWD:$PATH\"\n"
                                         << command << "\n";
    FILE* p = popen(("sh '" + (path_ / ".command.sh").string() + "' 2>&1 <'" +
                     (path_ / ".input").string() + "'")
                        .c_str(),
                    "r");
    REQUIRE(p);
    std::string out;
    std::array<char, 4096> chunk;
    while (const std::size_t n = fread(chunk.data(), 1, chunk.size(), p))
      out.append(chunk.data(), n);
    pclose(p);
    return out;
  }

 private:
  fs::path path_;
};

void play_console(const Folder& folder, const Fence& block) {
  std::istringstream in(block.text);
  std::string line, command, expected;
  int ran = 0;
  const auto finish = [&] {
    if (command.empty()) return;
    CAPTURE(command);
    CHECK(folder.run(command) == expected);
    ++ran;
  };
  while (std::getline(in, line)) {
    if (line.rfind("$ ", 0) == 0) {
      finish();
      command = line.substr(2);
      expected.clear();
    } else {
      expected += line + "\n";
    }
  }
  finish();
  CHECK(ran > 0);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// Whether `found` from line `j` on matches `expected` from line `i` on.
bool matches(const std::vector<std::string>& expected, std::size_t i,
             const std::vector<std::string>& found, std::size_t j) {
  if (i == expected.size()) return j == found.size();
  if (expected[i] == "...")
    return matches(expected, i + 1, found, j) ||
           (j < found.size() && matches(expected, i, found, j + 1));
  return j < found.size() && expected[i] == found[j] && matches(expected, i + 1, found, j + 1);
}

void play_repl(const Folder& folder, const Fence& block) {
  std::string typed;
  std::vector<std::string> expected;
  for (const std::string& line : lines_of(block.text)) {
    const auto prompt = line.find("> ");
    const bool name = line.find_first_of(" :([{") > prompt;  // nothing but a name before it
    if (prompt != std::string::npos && name)
      typed += line.substr(prompt + 2) + "\n";
    else
      expected.push_back(line);
  }
  REQUIRE(!typed.empty());
  const std::string found = folder.run("moonloop repl '" + block.file + "'", typed);
  CAPTURE(found);
  CHECK(matches(expected, 0, lines_of(found), 0));
}

void play(const fs::path& page) {
  const Folder folder;
  for (const Fence& b : blocks_of(page)) {
    CAPTURE(page.filename().string());
    CAPTURE(b.line);
    if (b.language == "console") {
      play_console(folder, b);
    } else if (b.language == "repl") {
      play_repl(folder, b);
    } else if (b.language == "loop" || b.language == "lua" || b.language == "c" ||
               b.language == "json" || b.language == "fortran") {
      REQUIRE_MESSAGE(!b.file.empty(), "the block has neither a file name nor the word `fragment`");
      if (b.file != "fragment") std::ofstream(folder.path() / b.file) << b.text;
    }
  }
}

}  // namespace

TEST_CASE("docs: the examples of each page do what the page says") {
  const fs::path source = MOONLOOP_SOURCE_DIR;
  std::vector<fs::path> pages{source / "README.md"};
  for (const auto& entry : fs::directory_iterator(source / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  CHECK(pages.size() > 1);
  for (const fs::path& page : pages) play(page);
}
