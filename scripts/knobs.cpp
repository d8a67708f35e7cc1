#include "scripts/knobs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/expr/expr.h"
#include "scripts/state.h"

namespace moonloop {
namespace {

std::vector<std::string> knob_texts(const std::vector<Value>& all) {
  std::vector<std::string> out;
  for (const Value& v : all) out.push_back(knob_text(v));
  return out;
}

bool same_declaration(const Knob& a, const Knob& b) {
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    same_knob_value) &&
         same_knob_value(a.fallback, b.fallback);
}

}  // namespace

std::string to_string(KnobOrigin from) {
  switch (from) {
    case KnobOrigin::CommandLine: return "command line";
    case KnobOrigin::Database: return "database";
    case KnobOrigin::Default: return "default";
  }
  throw InternalError("unknown origin of a knob's value");
}

Knobs::Knobs(Given given, Tuned tuned) : given_(std::move(given)), tuned_(std::move(tuned)) {
  std::map<std::string, std::string> seen;
  for (const auto& [name, value] : given_)
    if (const auto [it, fresh] = seen.emplace(name, value); !fresh)
      fail("repeated-parameter", {}, "knob `{}` is given twice, as {} and {}", name, it->second,
           value);
}

void Knobs::choose(Knob& k) {
  k.chosen = k.fallback;
  k.from = KnobOrigin::Default;
  for (const auto& [name, text] : given_) {
    if (name != k.name) continue;
    const auto it = std::find_if(k.values.begin(), k.values.end(),
                                 [&](const Value& v) { return knob_text(v) == text; });
    if (it == k.values.end()) {
      const std::vector<std::string> all = knob_texts(k.values);
      std::string hint =
          did_you_mean(text, knob_type(k.fallback) == "integer" ? std::vector<std::string>{} : all);
      fail("unlisted-value", k.at, "`{}` is not a value of knob `{}`; it has {}{}", text, name,
           quoted_list(all), hint);
    }
    k.chosen = *it;
    k.from = KnobOrigin::CommandLine;
    return;
  }
  if (!tuned_values_) tuned_values_.emplace(tuned_ ? tuned_() : std::nullopt);
  if (!*tuned_values_) return;
  const auto tuned = (*tuned_values_)->find(k.name);
  if (tuned == (*tuned_values_)->end()) return;
  if (std::none_of(k.values.begin(), k.values.end(),
                   [&](const Value& v) { return same_knob_value(v, tuned->second); })) {
    unlisted_.insert(*tuned);
    return;
  }
  k.chosen = tuned->second;
  k.from = KnobOrigin::Database;
}

Value Knobs::declare(Knob k) {
  const auto before = std::find_if(all_.begin(), all_.end(),
                                   [&](const Knob& other) { return other.name == k.name; });
  if (before == all_.end()) {
    choose(k);
    all_.push_back(std::move(k));
    return all_.back().chosen;
  }
  if (same_declaration(*before, k)) return before->chosen;
  if (static_cast<std::size_t>(before - all_.begin()) >= current_)
    throw Error(Diagnostic{
        "knob-redeclared",
        fmt::format("knob `{}` has the values {} with default {} here, and {} with default {} "
                    "where it was declared before",
                    k.name, quoted_list(knob_texts(k.values)), knob_text(k.fallback),
                    quoted_list(knob_texts(before->values)), knob_text(before->fallback)),
        {k.at, {}},
        {{before->at, "it was declared here"}},
        "give one of them another name"});
  choose(k);
  all_.erase(before);  // of an earlier run
  --current_;
  all_.push_back(std::move(k));
  return all_.back().chosen;
}

void Knobs::require_declared() const {
  std::vector<std::string> names;
  for (const Knob& k : all_) names.push_back(k.name);
  for (const auto& [name, value] : given_)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("unknown-knob", {}, "no script declares a knob `{}`, which `--knob {}={}` gives; {}{}",
           name, name, value,
           names.empty() ? "they declare none" : "they declare " + quoted_list(names),
           did_you_mean(name, names));
}

std::string knob_comments(const Knobs& knobs) {
  std::string out;
  for (const Knob& k : knobs.all()) {
    std::vector<std::string> values;
    for (const Value& v : k.values) values.push_back(to_lua(v));
    out += fmt::format("-- knob {} = {} (of {}; {})\n", k.name, to_lua(k.chosen),
                       fmt::join(values, ", "), to_string(k.from));
  }
  return out;
}

// ---- lp.knob ------------------------------------------------------------------------------------

namespace lua {
namespace {

/// The values of the table at `index`; raises a bad argument.
std::vector<Value> knob_values_at(lua_State* L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  const Value given = to_value(L, index);
  const auto* list = given.as<ValueList>();
  const auto bad = [&](const std::string& why) { luaL_argerror(L, index, why.c_str()); };
  if (!list) bad("the values are an array, such as {16, 32, 64}");
  if (list->empty()) bad("a knob has at least one value");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value& v = (*list)[i];
    if (knob_type(v).empty())
      bad(fmt::format("value {} is {}; integers, strings or booleans expected", i + 1, to_lua(v)));
    if (knob_type(v) != knob_type(list->front()))
      bad(fmt::format("value {} is of type {}, and value 1 of type {}", i + 1, knob_type(v),
                      knob_type(list->front())));
    if (!seen.insert(knob_text(v)).second) bad(fmt::format("{} is there twice", to_lua(v)));
  }
  return *list;
}

/// The value of option `default`, null when it is not told; raises a bad argument.
Value knob_default_at(lua_State* L, int index, const std::vector<Value>& values) {
  if (lua_isnoneornil(L, index)) return {};
  luaL_checktype(L, index, LUA_TTABLE);
  Value out;
  const auto bad = [&](const std::string& why) { luaL_argerror(L, index, why.c_str()); };
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) bad("options go by name, such as {default = 32}");
    const std::string name = lua_tostring(L, -2);
    if (name != "default") {
      std::string hint = did_you_mean(name, {"default"});
      std::replace(hint.begin(), hint.end(), '`', '\'');
      bad(fmt::format("unknown option '{}'{}", name, hint.empty() ? "; it has default" : hint));
    }
    out = to_value(L, -1);
    if (std::none_of(values.begin(), values.end(),
                     [&](const Value& v) { return same_knob_value(v, out); }))
      bad(fmt::format("the default {} is not one of the values", to_lua(out)));
  }
  return out;
}

}  // namespace

int knob_function(lua_State* L, State& s) {
  lua_settop(L, 3);
  std::size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  Knob k;
  k.name.assign(text, size);
  if (!is_knob_name(k.name))
    luaL_argerror(L, 1, "the name of a knob consists of letters, digits and _, no digit first");
  k.values = knob_values_at(L, 2);
  k.fallback = knob_default_at(L, 3, k.values);
  if (k.fallback.is_nil()) k.fallback = k.values.front();
  k.at = where(L, 0, "knob");
  const State::Pause pause(s);  // it may look into the database
  push_value(L, s.options().knobs->declare(std::move(k)));
  return 1;
}

}  // namespace lua
}  // namespace moonloop
