#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

/// Runs the program as a user does.
namespace moonloop::test {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline const std::filesystem::path kRoot = MOONLOOP_SOURCE_DIR;

/// A new folder that is removed again.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "moonloop-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string read(const std::string& name) const { return read_file(path_ / name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::size_t count() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }
  std::string str() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int status = -1;  // exit status, or 128 + the signal
  std::string out, err;
};

/// Runs a command of the shell in `folder`.
inline Outcome shell(const std::string& command, const std::string& folder = ".",
                     const std::string& input = {}) {
  const Folder streams;
  const std::string in = streams.write("in", input);
  const std::string whole = "cd '" + folder + "' && " + command + " <'" + in + "' >'" +
                            (streams / "out") + "' 2>'" + (streams / "err") + "'";
  const int status = std::system(whole.c_str());
  Outcome o;
  o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  o.out = streams.read("out");
  o.err = streams.read("err");
  return o;
}

/// Runs `moonloop ARGUMENTS`. Arguments with blanks come quoted.
inline Outcome tool(const std::string& arguments, const std::string& folder = ".",
                    const std::string& input = {}) {
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  return shell("'" + binary + "' " + arguments, folder, input);
}

/// The same where standard output is a device that is full.
inline Outcome tool_on_full_device(const std::string& arguments, const std::string& folder = ".",
                                   const std::string& input = {}) {
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  return shell("('" + binary + "' " + arguments + " > /dev/full)", folder, input);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline const char* const kDouble =
    "kernel twice(n: int32, a: float64[n], b: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "b[i] = 2*a[i]   {id=double}\n";
inline const char* const kRecurrence =
    "kernel recur(n: int32, a: float64[n])\n"
    "domain {[i]: 1 <= i < n}\n"
    "a[i] = a[i-1] + 1   {id=step}\n";

/// Builds a folder of examples/ with plain CMake, in `build` of `folder`, around the tool unless
/// `options` tell otherwise.
inline void build_example(const std::string& name, const Folder& folder,
                          const std::string& options = {}) {
  const auto quoted = [](const std::string& s) { return "'" + s + "'"; };
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  for (const std::string& step : {"cmake -S " + quoted((kRoot / "examples" / name).string()) +
                                      " -B build -DCMAKE_BUILD_TYPE=Release " +
                                      (options.empty() ? "-DMOONLOOP=" + quoted(binary) : options),
                                  std::string("cmake --build build")}) {
    const Outcome done = shell(step, folder.str());
    CHECK(done.status == 0);
    if (done.status != 0) MESSAGE(done.out << done.err);
  }
}

}  // namespace moonloop::test
