#include <cctype>

#include "core/base/memory.h"
#include "scripts/box.h"

namespace moonloop::lua {
namespace {

constexpr const char* kErrorType = "moonloop.error";
constexpr int kMostCallers = 5;
constexpr int kDeepestLevel = 200;           // reaching a level costs as many steps as it is deep
constexpr std::size_t kLongest = 16 * 1024;  // of a text in a message

/// The text of a diagnostic as one line.
std::string message(const ErrorBox& box) {
  std::string out;
  for (const Diagnostic& d : box.all) {
    if (!out.empty()) out += "\n";
    out += d.text;
    if (!d.hint.empty()) out += "; " + d.hint;
  }
  return out;
}

bool same_line(const Span& a, const Span& b) { return a.source == b.source && a.line == b.line; }

/// Notes for the Lua functions that called the one at `from`.
void add_callers(lua_State* L, const Span& from, Diagnostic& d) {
  lua_Debug ar;
  const State& state = State::of(L);
  bool seen = false;
  int added = 0;
  Span last = from;
  for (int level = 0; added < kMostCallers && level < kDeepestLevel && lua_getstack(L, level, &ar);
       ++level) {
    lua_getinfo(L, "Sl", &ar);
    const Source* source = ar.currentline > 0 ? state.find_chunk(ar.source) : nullptr;
    if (!source) continue;
    const Span at = line_span(source, ar.currentline);
    if (same_line(at, from)) seen = true;
    if (!seen || same_line(at, last)) continue;
    d.notes.push_back({at, "called from here"});
    last = at;
    ++added;
  }
}

struct Placed {
  Span at;
  std::string text;
};

/// Takes the `file:line: ` off a Lua message. A line of the library does not count as a place.
Placed split_place(const State& state, const std::string& text) {
  for (std::size_t colon = text.find(':'); colon != std::string::npos;
       colon = text.find(':', colon + 1)) {
    std::size_t end = colon + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (end == colon + 1 || end - colon > 9 || text.compare(end, 2, ": ") != 0) continue;
    const Source* source = state.find_chunk(text.substr(0, colon));
    if (!source && text.starts_with(kLibrary)) return {{}, text.substr(end + 2)};
    if (!source) continue;
    return {line_span(source, std::stoi(text.substr(colon + 1, end - colon - 1))),
            text.substr(end + 2)};
  }
  return {{}, text};
}

Diagnostic from_string(const State& state, const std::string& text) {
  Placed placed = split_place(state, text);
  const bool argument = placed.text.rfind("bad argument #", 0) == 0;
  return {argument ? "bad-argument" : "script-error", placed.text, {placed.at, {}}, {}, {}};
}

/// A way on where a script uses a global that nobody has set, or a module that nobody has.
std::string hint_on_missing(lua_State* L, std::string_view text) {
  const auto quoted_after = [&](std::string_view before) -> std::string_view {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = text.substr(at + before.size());
    return rest.substr(0, rest.find('\''));
  };
  if (quoted_after("nil value (global '") == "lib" || quoted_after("module '") == "lib")
    return "`local lib = require \"moonloop.lib\"` loads the library";
  if (quoted_after("attempt to index a nil value (global '").empty()) return {};
  std::vector<std::string> names;
  for (const auto& [name, k] : global_kernels(L)) names.push_back(name);
  return names.empty() ? "" : fmt::format("kernels here: {}", fmt::join(names, ", "));
}

int error_tostring(lua_State* L, State&) {
  const ErrorBox& box = check_box<ErrorBox>(L, 1, kErrorType);
  std::string out = message(box);
  Span at;  // the innermost place in the script
  const Diagnostic& d = box.all.front();
  if (d.where.at && State::of(L).find_chunk("@" + d.where.at.source->name)) at = d.where.at;
  for (const Label& note : d.notes)
    if (!at && note.at && State::of(L).find_chunk("@" + note.at.source->name)) at = note.at;
  if (at) out = at.source->name + ":" + std::to_string(at.line) + ": " + out;
  push_string(L, out);
  return 1;
}

int error_index(lua_State* L, State&) {
  const ErrorBox& box = check_box<ErrorBox>(L, 1, kErrorType);
  const Diagnostic& d = box.all.front();
  const std::string_view key = luaL_checkstring(L, 2);
  if (key == "code") {
    push_string(L, d.code);
  } else if (key == "message") {
    push_string(L, d.text);
  } else if (key == "hint") {
    push_string(L, d.hint);
  } else if (key == "refused") {
    lua_pushboolean(L, box.refused);
  } else if (key == "notes") {
    std::vector<std::string> notes;
    for (const Label& n : d.notes) notes.push_back(n.at ? n.at.str() + ": " + n.text : n.text);
    push_strings(L, notes);
  } else if (key == "file" || key == "line") {
    if (!d.where.at)
      lua_pushnil(L);
    else if (key == "line")
      lua_pushinteger(L, d.where.at.line);
    else
      push_string(L, d.where.at.source->name);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

void clip(std::string& text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
}

/// A script may raise texts of any length, and put them in diagnostics of a kernel.
void clip(std::vector<Diagnostic>& all) {
  for (Diagnostic& d : all) {
    clip(d.text);
    clip(d.hint);
    for (Label& n : d.notes) clip(n.text);
  }
}

}  // namespace

Span line_span(const Source* source, int number, const std::string& focus) {
  const std::string_view line = source->line(number);
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {source, number, 1, 1};
  if (const auto at = focus.empty() ? std::string_view::npos : line.find(focus);
      at != std::string_view::npos && line.find(focus, at + 1) == std::string_view::npos)
    return {source, number, static_cast<int>(at) + 1, static_cast<int>(focus.size())};
  const auto last = line.find_last_not_of(" \t");
  return {source, number, static_cast<int>(first) + 1, static_cast<int>(last - first) + 1};
}

Span where(lua_State* L, int level, const std::string& focus) {
  lua_Debug ar;
  for (; lua_getstack(L, level, &ar); ++level) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0) continue;
    if (const Source* source = State::of(L).find_chunk(ar.source))
      return line_span(source, ar.currentline, focus);
  }
  return {};
}

/// The name by which the running function was called, if the script has one for it.
static std::string called_name(lua_State* L) {
  lua_Debug ar;
  return lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && ar.name ? ar.name : "";
}

void push_error(lua_State* L, ErrorBox box, const std::string& focus) {
  const Span at = where(L, 0, focus.empty() ? called_name(L) : focus);
  if (at && !box.all.empty()) {
    Diagnostic& d = box.all.front();
    if (!d.where.at) {
      d.where.at = at;
    } else if (!same_line(d.where.at, at)) {
      d.notes.push_back({at, fmt::format("in script at {}:{}", at.source->name, at.line)});
    }
    add_callers(L, at, d);
  }
  clip(box.all);
  push_box(L, kErrorType, std::move(box));
}

ErrorBox* to_error(lua_State* L, int index) { return to_box<ErrorBox>(L, index, kErrorType); }

static ErrorBox box_of_exception() {
  try {
    throw;
  } catch (const RefusedByCounterexample& e) {
    return {e.diagnostics(), true, false, e.counterexample()};
  } catch (const Refused& e) { return {e.diagnostics(), true}; } catch (const Error& e) {
    return {e.diagnostics()};
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& e) {
    return {{{"internal-error",
              std::string("internal error: ") + e.what(),
              {},
              {},
              "please report this with the script and the kernel"}}};
  }
}

void push_exception(lua_State* L) {
  try {
    push_error(L, box_of_exception());
  } catch (const std::bad_alloc&) {
    const memory::Unlimited small;
    push_error(L, {{{"script-memory", "not enough memory", {}, {}, {}}}});
  }
  memory::rearm();
}

void raise(lua_State* L, const std::string& code, const std::string& text,
           const std::string& focus) {
  push_error(L, {{{code, text, {}, {}, {}}}, false, false}, focus);
  lua_error(L);
  throw InternalError("lua_error returned");
}

std::vector<Diagnostic> diagnostics_of(lua_State* L, State& state, int status) {
  if (const ErrorBox* box = to_error(L, -1)) return box->all;
  // Nothing of the script's is called any more, such as `__tostring` of strings.
  std::size_t size = 0;
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : nullptr;
  const std::string copy =
      text ? std::string(text, std::min(size, kLongest)) : "an error without a message";
  if (status == LUA_ERRMEM) return {{"script-memory", copy, {}, {}, {}}};
  return {from_string(state, copy)};
}

int message_handler(lua_State* L) {
  if (to_error(L, 1)) return 1;
  std::size_t size = 0;
  const char* s = nullptr;
  if (lua_type(L, 1) == LUA_TSTRING)
    s = lua_tolstring(L, 1, &size);
  else if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL)
    s = luaL_tolstring(L, 1, &size);
  const memory::Unlimited small;
  const std::string text =
      s ? std::string(s, std::min(size, kLongest))
        : fmt::format("the script raised a {} value as its error", luaL_typename(L, 1));
  Diagnostic d = from_string(State::of(L), text);
  d.hint = hint_on_missing(L, d.text);
  if (!d.where.at) d.where.at = where(L, 1);
  if (d.where.at) add_callers(L, d.where.at, d);
  push_box<ErrorBox>(L, kErrorType, {{std::move(d)}});
  return 1;
}

void install_error_type(lua_State* L) {
  luaL_newmetatable(L, kErrorType);
  lua_pushcfunction(L, collect_box<ErrorBox>);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, guarded<error_tostring>);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, guarded<error_index>);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "error");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

}  // namespace moonloop::lua
