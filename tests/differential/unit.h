#pragma once
#include <array>
#include <set>
#include <string>
#include <vector>

#include "runtime/runner.h"

namespace moonloop::differential {

/// One translation unit of many programs: their common parts are in it once.
class Unit {
 public:
  void add(const Program& p) {
    std::string rest = p.source;
    std::size_t at = 0;
    while (at < rest.size()) {
      std::size_t end = rest.find('\n', at);
      end = end == std::string::npos ? rest.size() : end + 1;
      if (rest.compare(at, 5, "enum ") == 0) {  // of a type that stands before it each time
        if (common_.insert(rest.substr(at, end - at)).second)
          at = end;
        else
          rest.erase(at, end - at);
        continue;
      }
      if (rest.compare(at, 6, "static") == 0) {
        const std::size_t close = rest.find("\n}\n", at);
        if (close != std::string::npos) end = close + 3;
      } else if (rest[at] != '#') {
        at = end;
        continue;
      }
      const std::string piece = rest.substr(at, end - at);
      if (piece[0] == '#' && piece.find("#include") != 0) {
        at = end;
        continue;
      }
      if (common_.insert(piece).second) text_ += piece;
      rest.erase(at, end - at);
    }
    text_ += rest + uniform_entry(p);
  }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> common_;
  std::string text_;
};

inline void call(const Executable& f, const Program& p, const std::vector<ScalarArgument>& scalars,
                 std::vector<Buffer>& buffers) {
  std::vector<std::array<std::byte, 16>> values(p.params.size());
  std::vector<void*> args;
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    for (const ScalarArgument& s : scalars)
      if (s.name == p.params[i].name) store_value(s.type.scalar, s.value, values[i].data());
    void* at = values[i].data();
    for (const Buffer& b : buffers)
      if (b.layout().name == p.params[i].name) at = b.data();
    args.push_back(at);
  }
  f(args.data());
}

}  // namespace moonloop::differential
