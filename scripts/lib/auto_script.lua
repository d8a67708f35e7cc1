-- A kernel and the script that makes it: each step is taken at once, and written down with its
-- reason. For moonloop.auto alone.
local lp = require "moonloop"
local Memory = require "moonloop.auto_memory"

local Script = {}
Script.__index = Script

local kKeywords = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat "
  .. "return then true until while"):gmatch "%a+" do kKeywords[word] = true end

-- The global variable of this name as Lua text.
local function global(name)
  if name:match "^[%a_][%w_]*$" and not kKeywords[name] then return name end
  return ("_G[%q]"):format(name)
end

local function sorted_keys(t)
  local out = {}
  for key in pairs(t) do out[#out + 1] = key end
  table.sort(out, function(a, b) return tostring(a) < tostring(b) end)
  return out
end

-- A value as Lua text; knobs by their names.
local function shown(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  if value.knob then return value.knob end
  if value.format then
    local names = {}
    for i, each in ipairs(value.knobs) do names[i] = shown(each) end
    return value.format:format(table.unpack(names))
  end
  local parts = {}
  if #value > 0 then
    for i, each in ipairs(value) do parts[i] = shown(each) end
  else
    for _, key in ipairs(sorted_keys(value)) do
      local name = global(key) == key and key or ("[%q]"):format(key)
      parts[#parts + 1] = name .. " = " .. shown(value[key])
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- The value as steps take it: of a knob, what `of` says, by default the knob's default.
local function plain(value, of)
  if type(value) ~= "table" then return value end
  if value.knob then
    if of then return of[value.knob] end
    return value.default
  end
  if value.format then
    local values = {}
    for i, each in ipairs(value.knobs) do values[i] = plain(each, of) end
    return value.of(table.unpack(values))
  end
  local out = {}
  for key, each in pairs(value) do out[key] = plain(each, of) end
  return out
end

-- The kernel after the step.
local function taken(knl, step, of)
  local f = step.of_library and rawget(require "moonloop.lib", step.name) or lp[step.name]
  local values = {}
  for i = 1, #step.arguments do values[i] = plain(step.arguments[i], of) end
  return f(knl, table.unpack(values))
end

-- `prefix` begins the names of knobs.
function Script.of(knl, prefix)
  return setmetatable({first = knl, knl = knl, prefix = prefix, steps = {}, knobs = {}, names = {}},
                      Script)
end

-- A copy that goes its own way.
function Script:fork()
  local out = Script.of(self.knl, self.prefix)
  out.first = self.first
  table.move(self.steps, 1, #self.steps, 1, out.steps)
  table.move(self.knobs, 1, #self.knobs, 1, out.knobs)
  for name in pairs(self.names) do out.names[name] = true end
  return out
end

-- A knob whose name begins with `base`. It is one of the script's once a step has taken it.
function Script:knob(base, values, default)
  base = self.prefix .. base
  local name, n = base, 1
  while self.names[name] do
    n = n + 1
    name = base .. "_" .. n
  end
  self.names[name] = true
  return {knob = name, values = values, default = default}
end

-- A value that is computed from knobs: as Lua text by `format`, with `%s` for each of them, and by `of`.
function Script.computed(format, knobs, of) return {format = format, knobs = knobs, of = of} end

function Script.product(...)
  local knobs = {...}
  return Script.computed(("%s*"):rep(#knobs - 1) .. "%s", knobs, function(...)
    local out = 1
    for _, each in ipairs{...} do out = out*each end
    return out
  end)
end

function Script:declare(value)
  if type(value) ~= "table" then return end
  if not value.knob then
    for _, key in ipairs(sorted_keys(value.knobs or value)) do
      self:declare((value.knobs or value)[key])
    end
    return
  end
  for _, each in ipairs(self.knobs) do
    if each == value then return end
  end
  self.knobs[#self.knobs + 1] = value
  self.names[value.knob] = true  -- another script may have made it, for this one
end

-- Takes a step of `lp`, or else of the library, if it is legal; else gives false. `why` is for who
-- reads the script.
function Script:try(why, name, ...)
  local of_library = rawget(lp, name) == nil and rawget(require "moonloop.lib", name) ~= nil
  local step = {why = why, name = name, arguments = {...}, of_library = of_library}
  local function attempt(knl) return lp.if_legal(taken, knl, step) end
  local question = Memory.text(plain(step.arguments))
  local result
  if question then
    result = Memory.of(self.knl, name .. question, attempt)
  else
    result = attempt(self.knl)
  end
  if not result then return false end
  self.knl = result
  for _, each in ipairs(step.arguments) do self:declare(each) end
  self.steps[#self.steps + 1] = step
  return true
end

-- Splits loops one after the other, each as `{iname, size, options}` with a `why` of its own or not,
-- and then tags their parts, and what `tags` has, by one step: it is proved once, where splits with tags
-- are a proof each.
function Script:try_splits(why, splits, tags)
  tags = tags or {}
  for _, each in ipairs(splits) do
    local iname, size, options = table.unpack(each)
    local names, known = {}, {}
    for key, value in pairs(options) do
      if not key:match "_tag$" then names[key] = value end
    end
    for _, name in ipairs(self.knl.inames) do known[name] = true end
    if not self:try(each.why or why, "split_iname", iname, size, next(names) and names) then
      return false
    end
    for _, part in ipairs{"outer", "inner"} do
      local name = names[part .. "_iname"]
      for _, new in ipairs(self.knl.inames) do
        if not known[new] and new:sub(1, #iname + 6) == iname .. "_" .. part then name = name or new end
      end
      tags[name] = options[part .. "_tag"]
    end
  end
  return self:try(why, "tag_inames", tags)
end

-- Writes down what no step says.
function Script:note(text) self.steps[#self.steps + 1] = {why = text} end

-- The kernel with the values that `lp.knob` gives its knobs: this script's steps, once more where
-- some value is not the default.
function Script:tuned()
  local of, same = {}, true
  for _, knob in ipairs(self.knobs) do
    of[knob.knob] = lp.knob(knob.knob, knob.values, {default = knob.default})
    same = same and of[knob.knob] == knob.default
  end
  if same then return self.knl end
  local knl = self.first
  for _, step in ipairs(self.steps) do
    if step.name then knl = taken(knl, step, of) end
  end
  return knl
end

local kWidth = 100

-- `text` as comments of at most that many columns.
local function comment(out, text)
  local line = "--"
  for word in text:gmatch "%S+" do
    if #line + 1 + #word > kWidth and line ~= "--" then
      out[#out + 1] = line
      line = "--"
    end
    line = line .. " " .. word
  end
  out[#out + 1] = line
end

function Script:text(head)
  local out, of_library = {}, false
  for _, step in ipairs(self.steps) do of_library = of_library or step.of_library end
  comment(out, head)
  if of_library then out[#out + 1] = 'local lib = require "moonloop.lib"' end
  for _, knob in ipairs(self.knobs) do
    out[#out + 1] = ("local %s = lp.knob(%q, %s, {default = %s})"):format(
      knob.knob, knob.knob, shown(knob.values), shown(knob.default))
  end
  local name, why = global(self.knl.name), nil
  for _, step in ipairs(self.steps) do
    if step.why and step.why ~= why then comment(out, step.why) end
    why = step.why
    if step.name then
      local words = {name}
      for _, each in ipairs(step.arguments) do words[#words + 1] = shown(each) end
      out[#out + 1] = ("%s = %s.%s(%s)"):format(name, step.of_library and "lib" or "lp", step.name,
                                                table.concat(words, ", "))
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return Script
