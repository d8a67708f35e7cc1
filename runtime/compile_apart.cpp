#include "runtime/compile_apart.h"

#include <cstring>

#include "core/base/diagnostic.h"
#include "runtime/in_child.h"

namespace moonloop {
namespace {

constexpr char kResult = 'r', kError = 'e';  // the first character of the child's text
constexpr char kEnd = '\n';                  // after an error's code

}  // namespace

std::string compile_apart(const std::string& compiler, const std::function<std::string()>& work) {
  const ChildResult child = run_in_child([&] {
    try {
      return kResult + work();
    } catch (const Error& e) { return kError + e.diagnostic().code + kEnd + e.diagnostic().text; }
  });
  if (child.signal != 0)
    fail("compiler-crashed", {}, "{} crashed on the generated code: {}", compiler,
         ::strsignal(child.signal));
  const std::string text = child.text.substr(1);
  if (child.text[0] == kResult) return text;
  const std::size_t end = text.find(kEnd);
  fail(text.substr(0, end), {}, "{}", text.substr(end + 1));
}

}  // namespace moonloop
