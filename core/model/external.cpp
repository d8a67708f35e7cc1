#include "core/model/external.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/diagnostic.h"

namespace moonloop {

void drop_unused_externals(Kernel& k) {
  std::set<std::string> called;
  for (const InsnPtr& i : k.instructions)
    if (const Call* c = external_call(k, *i)) called.insert(c->name);
  const auto unused = [&](const auto& f) { return called.count(f.first) == 0; };
  std::erase_if(k.externals, unused);
  std::erase_if(k.callees, unused);
}

bool is_passed_to(const Call& call, const std::string& array) {
  return std::any_of(call.args.begin(), call.args.end(), [&](const Expr& e) {
    const Exprs* a = as_address(e);
    return a && (*a)[0].as<Var>()->name == array;
  });
}

bool is_passed_to(const Kernel& k, const Instruction& insn, const std::string& array) {
  const Call* c = external_call(k, insn);
  return c && is_passed_to(*c, array);
}

bool stands_for_elsewhere(const Kernel& k, const Instruction& insn, const std::string& name) {
  const Call* c = external_call(k, insn);
  if (!c || is_passed_to(k, insn, name)) return false;
  const std::size_t given = k.externals.at(c->name) ? 1 : 0;  // the value, not one of these
  return std::any_of(
      insn.lhs.begin() + static_cast<std::ptrdiff_t>(std::min(given, insn.lhs.size())),
      insn.lhs.end(), [&](const Expr& l) {
        return written_name(l) == name &&
               std::none_of(c->args.begin(), c->args.end(), [&](const Expr& a) {
                 const Exprs* text = as_letters(a);
                 return equal(text && text->size() == 1 ? text->front() : a, l);
               });
      });
}

void require_not_passed(const Kernel& k, const std::string& array) {
  if (k.externals.empty()) return;
  for (const InsnPtr& insn : k.instructions)
    if (is_passed_to(k, *insn, array))
      fail("passed-array", insn->at,
           "`{}` gets the address of `{}`, whose elements have to stay where they are",
           external_call(k, *insn)->name, array);
}

std::string fortran_name(const std::string& before, const std::string& name,
                         const std::string& after) {
  constexpr std::size_t kMost = 63;
  if (before.size() + name.size() + after.size() <= kMost) return before + name + after;
  std::uint32_t number = 2166136261u;  // FNV-1a: the same on every machine
  for (const unsigned char c : name) number = (number ^ c) * 16777619u;
  const std::string instead = fmt::format("_{:08x}", number);
  return before + name.substr(0, kMost - before.size() - instead.size() - after.size()) + instead +
         after;
}

std::string stop_name(const std::string& kernel) { return fortran_name("stop_in_", kernel); }

const Call* external_call(const Kernel& k, const Instruction& insn) {
  if (k.externals.empty() || !insn.rhs) return nullptr;
  const auto* c = insn.rhs.as<Call>();
  return c && k.externals.count(c->name) ? c : nullptr;
}

const CalledKernel* called_kernel(const Kernel& k, const Instruction& insn) {
  if (k.callees.empty()) return nullptr;
  const Call* c = external_call(k, insn);
  const auto it = c ? k.callees.find(c->name) : k.callees.end();
  return it == k.callees.end() ? nullptr : it->second.get();
}

}  // namespace moonloop
