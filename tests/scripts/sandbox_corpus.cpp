#include <set>

#include "core/base/memory.h"
#include "tests/scripts/harness.h"

/// Scripts that try to break out of their limits or to use collected objects, combined from parts:
/// actions times places. They are worth most under AddressSanitizer.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

struct Part {
  std::string name, lua;
};

std::string put(std::string place, const std::string& what) {
  for (std::size_t at = place.find('@'); at != std::string::npos;
       at = place.find('@', at + what.size()))
    place.replace(at, 1, what);
  return place;
}

/// The code that a script fails with, or nothing.
std::string outcome(const std::string& lua, const ScriptOptions& options) {
  try {
    run_transform_script(add_source("test.lua", lua), parse(kDouble), options);
  } catch (const Error& e) { return e.diagnostic().code; } catch (const InternalError& e) {
    return std::string("internal-error: ") + e.what();
  }
  return "";
}

/// Where code runs that a limit has to end. Each `@` is a function that never returns.
const Part kPlaces[] = {
    {"main", "local f = @ f()"},
    {"pcall", "local f = @ while true do pcall(f) end"},
    {"xpcall", "local f = @ xpcall(error, f, 1)"},
    {"attempt", "local f = @ while true do pcall(lp.attempt, f) end"},
    {"close", "local f = @ do local x <close> = setmetatable({}, {__close = f}) end"},
    {"close after an error",
     "local f = @ pcall(function() local x <close> = setmetatable({}, {__close = f}) error(1) "
     "end)"},
    {"close after the limit", "local f = @ local x <close> = setmetatable({}, {__close = f}) f()"},
    {"close of a loop",
     "local f = @ for _ in next, {1}, nil, setmetatable({}, {__close = f}) do end"},
    {"coroutine", "local f = @ coroutine.wrap(f)()"},
    {"close in a coroutine after the limit",
     "local f = @ coroutine.wrap(function() local x <close> = setmetatable({}, {__close = f}) f() "
     "end)()"},
    {"close of a coroutine",
     "local f = @ local c = coroutine.create(function() local x <close> = setmetatable({}, "
     "{__close = f}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c)"},
    {"close of a coroutine that met the limit",
     "local f = @ local c = coroutine.create(function() local x <close> = setmetatable({}, "
     "{__close = f}) f() end) pcall(coroutine.resume, c) pcall(coroutine.close, c)"},
    {"many coroutines", "local f = @ while true do pcall(coroutine.wrap(f)) end"},
    {"index", "local f = @ local x = setmetatable({}, {__index = f}).y"},
    {"tostring", "local f = @ tostring(setmetatable({}, {__tostring = f}))"},
    {"tostring of an error", "local f = @ error(setmetatable({}, {__tostring = f}))"},
    {"tostring of strings", "local f = @ getmetatable('').__tostring = f error('x')"},
    {"comparison", "local f = @ local t = setmetatable({}, {__lt = f}) local b = t < t"},
    {"concatenation", "local f = @ local t = setmetatable({}, {__concat = f}) local b = t .. 1"},
    {"length", "local f = @ table.insert(setmetatable({}, {__len = f}), 1)"},
    {"sort", "local f = @ table.sort({3, 2, 1}, f)"},
    {"gsub", "local f = @ (('x'):rep(10)):gsub('x', f)"},
    {"load", "local f = @ load(f)"},
    {"metatable of globals",
     "local f = @ setmetatable(_G, {__index = f, __newindex = f}) local x = nosuch"},
    {"key of a kernel", "local f = @ local x = twice[setmetatable({}, {__tostring = f})]"},
};

const Part kEndless[] = {
    {"loop", "function() while true do end end"},
    {"recursion", "(function() local function g() while true do pcall(g) end end return g end)()"},
    {"garbage", "function() while true do collectgarbage() end end"},
    {"pattern", "function() string.find(('a'):rep(40), ('a?'):rep(40)..('a'):rep(40)..'b') end"},
    {"matches", "function() while true do for _ in ('abc'):gmatch('%w') do end end end"},
    {"substitution", "function() string.gsub(('a'):rep(60), ('a*'):rep(50) .. 'b', '') end"},
    {"balanced", "function() while true do string.match(('('):rep(100), '%b()') end end"},
    {"repetition of nothing", "function() while true do string.rep('', 1 << 62) end end"},
    {"move", "function() table.move({}, 1, math.maxinteger, 1) end"},
    {"move by metamethods in C",
     "function() table.move(setmetatable({}, {__index = table.pack}), 1, math.maxinteger, 1, "
     "setmetatable({}, {__newindex = rawequal})) end"},
    {"insertion into a long nothing",
     "function() table.insert(setmetatable({}, {__len = function() return 1 << 62 end}), 1, 0) "
     "end"},
    {"removal from a long nothing",
     "function() table.remove(setmetatable({}, {__len = function() return 1 << 62 end}), 1) end"},
    {"joining a long nothing",
     "function() table.concat(setmetatable({}, {__index = function() return '' end}), '', 1, "
     "1 << 62) end"},
    {"sorting what is equal",
     "function() table.sort(setmetatable({}, {__index = math.abs and function() return 1 end, "
     "__len = function() return (1 << 31) - 2 end, __newindex = rawequal})) end"},
    {"endless source", "function() load(function() return 'x = 1 ' end) end"},
    {"transforms", "function() while true do lp.split_iname(twice, 'i', 2) end end"},
    {"kernels",
     "function() while true do lp.parse('kernel k(n: int32, a: float64[n])\\ndomain "
     "{[i]: 0 <= i < n}\\na[i] = 1') end end"},
    {"refusals", "function() while true do lp.attempt(lp.split_iname, twice, 'i', 0) end end"},
    {"writing", "function() while true do io.write('') end end"},
};

/// Code that takes more memory than there is; values are kept in `keep`.
const Part kHungry[] = {
    {"strings", "local s = 'x' while true do s = s .. s end"},
    {"repetition", "string.rep('x', 1 << 30)"},
    {"repetition with separators", "string.rep('x', 1 << 62, 'yy')"},
    {"tables", "while true do keep[#keep + 1] = {} end"},
    {"closures", "while true do keep[#keep + 1] = function() return keep end end"},
    {"coroutines",
     "while true do local c = coroutine.create(function() coroutine.yield() end) "
     "coroutine.resume(c) keep[#keep + 1] = c end"},
    {"substitution", "local s = ('x'):rep(10000) s:gsub('x', s)"},
    {"joining", "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(100000) end table.concat(t)"},
    {"formats",
     "local s = ('x'):rep(1 << 22) string.format(('%s'):rep(50), table.unpack((function() "
     "local t = {} for i = 1, 50 do t[i] = s end return t end)()))"},
    {"packing",
     "string.pack(('!8s8'):rep(20), table.unpack((function() local t = {} for i = 1, 20 "
     "do t[i] = ('x'):rep(1 << 22) end return t end)()))"},
    {"source text", "load(('x = 1 '):rep(3000000))"},
    {"constants",
     "assert(load('return {' .. ('\"' .. ('x'):rep(50) .. '\", '):rep(200000) .. '}'))"},
    {"kernels", "while true do keep[#keep + 1] = twice:split_iname('i', 2) end"},
    {"renamed kernels",
     "local k = twice while true do k = k:tag_inames{i = 'unr'} keep[#keep + 1] = k end"},
    {"counts", "while true do keep[#keep + 1] = twice:op_counts() end"},
    {"errors",
     "while true do keep[#keep + 1] = select(2, pcall(lp.split_iname, twice, 'i', 0)) end"},
    {"expressions",
     "local s = 'kernel k(n: int32, a: float64[n])\\ndomain {[i]: 0 <= i < n}\\na[i] = a[i]' .. "
     "(' + a[i]*a[i]'):rep(3000) .. '\\n' while true do keep[#keep + 1] = lp.parse(s) end"},
    {"instructions",
     "local s = 'kernel k(n: int32, a: float64[n])\\ndomain {[i]: 0 <= i < n}\\n' .. "
     "('a[i] = a[i] + 1\\n'):rep(2000) while true do keep[#keep + 1] = lp.parse(s) end"},
    {"sources",
     "local s = 'kernel k(n: int32, a: float64[n])\\ndomain {[i]: 0 <= i < n}\\na[i] = 1\\n#' .. "
     "('x'):rep(1000000) .. '\\n' for i = 1, 100 do lp.parse(s) end"},
    {"arguments",
     "local s, t = ('x'):rep(100000), {} for i = 1, 10000 do t[i] = s end "
     "lp.prioritize_loops(twice, t)"},
    {"shared arguments",
     "local t = {'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'} for d = 1, 9 do local u = {} "
     "for i = 1, 10 do u[i] = t end t = u end lp.prioritize_loops(twice, t)"},
    {"shared options",
     "local t = {a = 'x', b = 'x', c = 'x', d = 'x'} for d = 1, 15 do "
     "t = {a = t, b = t, c = t, d = t} end lp.split_iname(twice, 'i', 2, t)"},
    {"printing",
     "local s, t = ('x'):rep(1000000), {} for i = 1, 500 do t[i] = s end print(table.unpack(t))"},
    {"lines of a kernel",
     "local s, t = 'a[i] = 1 #' .. ('x'):rep(100000), {} for i = 1, 2000 do t[i] = s end "
     "lp.make_kernel('{[i]: 0 <= i < n}', t)"},
    {"names of a kernel",
     "local s = ('x'):rep(1000000) for i = 1, 100 do keep[i] = lp.parse('kernel ' .. s .. "
     "'(n: int32, a: float64[n])\\ndomain {[i]: 0 <= i < n}\\na[i] = 1\\n') end"},
};

/// An object that may be gone by the time it is used.
const Part kObjects[] = {
    {"kernel", "lp.split_iname(twice, 'i', 2)"},
    {"parsed kernel",
     "(lp.parse('kernel k(n: int32, a: float64[n])\\ndomain {[i]: 0 <= i < n}\\na[i] = 1'))"},
    {"count", "twice:op_counts():sum()"},
    {"map of counts", "twice:op_counts()"},
    {"error", "select(2, lp.attempt(lp.split_iname, twice, 'i', 0))"},
    {"raised error", "select(2, pcall(lp.split_iname, twice, 'nosuch', 2))"},
    {"iterator", "(pairs(twice:op_counts()))"},
    {"file", "io.open('/dev/null')"},
};

/// Containers that keep it; `@` makes it, and `use` uses it.
const Part kKeepers[] = {
    {"weak keys",
     "local w = setmetatable({}, {__mode = 'k'}) w[@] = true collectgarbage() "
     "for x in pairs(w) do use(x) end collectgarbage() for x in pairs(w) do use(x) end"},
    {"weak keys and values",
     "local w = setmetatable({}, {__mode = 'kv'}) w[@] = {} "
     "collectgarbage() for x in pairs(w) do use(x) end"},
    {"weak values",
     "local w = setmetatable({}, {__mode = 'v'}) w[1] = @ collectgarbage() use(w[1])"},
    {"key that keeps itself",
     "local w = setmetatable({}, {__mode = 'k'}) do local x = @ w[x] = {x} end collectgarbage() "
     "for x, y in pairs(w) do use(x) use(y[1]) end"},
    {"chain of weak keys",
     "local w = setmetatable({}, {__mode = 'k'}) do local x, y = @, @ w[x] = y w[y] = x end "
     "collectgarbage() for x, y in pairs(w) do use(x) use(y) end"},
    {"finalizer",
     "local ok = pcall(setmetatable, {@}, {__gc = function(s) use(s[1]) end}) "
     "assert(not ok) collectgarbage()"},
    {"finalizer put in later",
     "local m = {} setmetatable({@}, m) m.__gc = function(s) error('run') end collectgarbage()"},
    {"finalizer at the end",
     "local m = {} X = setmetatable({@}, m) m.__gc = function(s) use(s[1]) end"},
    {"close", "do local x <close> = setmetatable({@}, {__close = function(s) use(s[1]) end}) end"},
    {"close after an error",
     "pcall(function() local x <close> = setmetatable({@}, {__close = "
     "function(s) use(s[1]) end}) error('x') end)"},
    {"coroutine left open",
     "K = coroutine.wrap(function() local x <close> = setmetatable({@}, "
     "{__close = function(s) use(s[1]) end}) coroutine.yield() end) K()"},
    {"coroutine collected",
     "coroutine.wrap(function() local x <close> = setmetatable({@}, {__close = function(s) "
     "use(s[1]) end}) coroutine.yield() end)() collectgarbage() collectgarbage()"},
    {"closure", "local f do local x = @ f = function() use(x) end end collectgarbage() f()"},
    {"error value", "local ok, e = pcall(error, @) collectgarbage() use(e)"},
    {"global", "X = @ collectgarbage() use(X)"},
};

const char* const kUse = R"(
local function use(x)
  local function try(f, ...) pcall(f, ...) end
  try(tostring, x) try(function() return #x end) try(function() return x == x end)
  for _, key in ipairs{"name", "inames", "instructions", "args", "code", "message", "notes", "exact",
                       "params", "fields", "count", 1} do try(function() return tostring(x[key]) end) end
  try(function() return x:split_iname("i", 4):code() end)
  try(function() return x:op_counts() end)
  try(function() return x:eval{n = 3} end)
  try(function() return x:sum() end)
  try(function() return x + x end)
  try(function() return x:read(1) end)
  try(function() for a, b in pairs(x) do tostring(b) end end)
  try(x)
  try(lp.fuse_kernels, {x, x})
  try(lp.is_kernel, x)
end
)";

}  // namespace

TEST_CASE("sandbox corpus: what never ends, ends, wherever it runs") {
  ScriptOptions o;
  o.instructions = 40'000;
  for (const Part& place : kPlaces)
    for (const Part& what : kEndless) {
      CAPTURE(place.name);
      CAPTURE(what.name);
      const std::string code = outcome(put(place.lua, what.lua), o);
      // `load` takes a reader's first result, and an error that is caught may end the script
      CHECK_MESSAGE((code == "script-limit" || code == "script-error"), code);
    }
}

TEST_CASE("sandbox corpus: what takes all memory is refused more") {
  ScriptOptions o;
  o.memory = 8 << 20;
  o.seconds = 0.5;  // ends those that catch the error again and again
  for (const std::string place : {"@", "pcall(function() @ end) pcall(function() @ end) error('')",
                                  "coroutine.wrap(function() @ end)()"})
    for (const Part& what : kHungry) {
      CAPTURE(what.name);
      CAPTURE(place);
      const std::int64_t before = memory::held();
      const std::string code = outcome(put("local keep = {} " + place, what.lua), o);
      CHECK_MESSAGE((code == "script-memory" || code == "script-limit" || code == "script-error"),
                    code);
      CHECK(memory::held() - before < std::int64_t{16} << 20);  // texts stay, for messages
    }
}

TEST_CASE("sandbox corpus: nothing is used that is gone") {
  for (const Part& object : kObjects)
    for (const Part& keeper : kKeepers) {
      CAPTURE(object.name);
      CAPTURE(keeper.name);
      CHECK(outcome(kUse + put(keeper.lua, object.lua), {}) == "");
    }
}
