-- What the functions of the library share: checks of their arguments, and steps.
local lp = require "moonloop"
local support = {}

-- Raises an error about argument `number` of the library's function `name`, at the line that called
-- it: behind this function, the check, and the library's function.
local function wrong(name, number, reason, ...)
  error(("bad argument #%d to '%s' (%s)"):format(number, name, reason:format(...)), 4)
end

-- What a message calls `value`.
local function shown(value)
  if value == nil then return "no value" end
  if type(value) == "string" then return ("%q"):format(value) end
  return math.type(value) == "integer" and "integer" or type(value)
end

-- The integer that `value` is; a whole number in floating point counts as one, as it does elsewhere.
local function whole(value) return type(value) == "number" and math.tointeger(value) or nil end

local function no_iname(knl, iname)
  return ("kernel '%s' has no iname '%s'; it has %s"):format(
    knl.name, iname, table.concat(knl.inames, ", "))
end

-- Raises the error `reason` unless the condition holds.
function support.check(condition, name, number, reason, ...)
  if not condition then wrong(name, number, reason, ...) end
end

function support.kernel(name, knl)
  if not lp.is_kernel(knl) then wrong(name, 1, "kernel expected, got %s", shown(knl)) end
end

-- An array from `value`, a comma-separated string or an array of strings.
function support.names(name, number, value)
  if type(value) == "string" then
    local out = {}
    for word in value:gmatch "[^,%s]+" do out[#out + 1] = word end
    return out
  end
  if type(value) ~= "table" then
    wrong(name, number, "string or array of strings expected, got %s", shown(value))
  end
  for i, each in ipairs(value) do
    if type(each) ~= "string" then
      wrong(name, number, "element %d is a %s, not a string", i, type(each))
    end
  end
  return value
end

-- The set of the kernel's inames.
function support.iname_set(knl)
  local out = {}
  for _, iname in ipairs(knl.inames) do out[iname] = true end
  return out
end

function support.string(name, number, value)
  if type(value) ~= "string" then wrong(name, number, "string expected, got %s", shown(value)) end
end

-- Checks that `iname` is one of the kernel's.
function support.iname(name, number, knl, iname)
  if type(iname) ~= "string" then wrong(name, number, "string expected, got %s", shown(iname)) end
  if not support.iname_set(knl)[iname] then wrong(name, number, no_iname(knl, iname)) end
end

-- The integer that `value` is, which has to be at least `least` if that is given.
function support.integer(name, number, value, least)
  local integer = whole(value)
  if not integer then wrong(name, number, "integer expected, got %s", shown(value)) end
  if least and integer < least then wrong(name, number, "%d is less than %d", integer, least) end
  return integer
end

-- Checks a table of integers by iname; gives its inames in the kernel's order.
function support.sizes(name, number, knl, sizes)
  if type(sizes) ~= "table" then
    wrong(name, number, "table of integers by iname expected, got %s", shown(sizes))
  end
  local known, out = support.iname_set(knl), {}
  for iname, size in pairs(sizes) do
    if not known[iname] then wrong(name, number, no_iname(knl, iname)) end
    if not whole(size) or size < 1 then
      wrong(name, number, "the size of '%s' is %s, not an integer of at least 1", iname,
            whole(size) or shown(size))
    end
  end
  if not next(sizes) then wrong(name, number, "no iname is given") end
  for _, iname in ipairs(knl.inames) do
    if sizes[iname] then out[#out + 1] = iname end
  end
  return out
end

-- A table of tags by iname, from such a table or from "i:par, j:unr"; each iname has to be in
-- `sizes`.
function support.tags(name, number, tags, sizes)
  if tags == nil then return {} end
  local out = tags
  if type(tags) == "string" then
    out = {}
    for iname, tag in tags:gmatch "([%w_]+)%s*:%s*([%w_.]+)" do out[iname] = tag end
  end
  if type(out) ~= "table" then
    wrong(name, number, "string or table of tags by name expected, got %s", shown(tags))
  end
  for iname in pairs(out) do
    if not sizes[iname] then
      wrong(name, number, "a tag is given for '%s', which is not split", iname)
    end
  end
  return out
end

-- The table of options, or an empty one; each has to stand in `known`, a comma-separated list.
function support.options(name, number, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    wrong(name, number, "table of options expected, got %s", shown(options))
  end
  for option in pairs(options) do
    if not (", " .. known .. ","):find(", " .. tostring(option) .. ",", 1, true) then
      wrong(name, number, "unknown option '%s'; it has %s", option, known)
    end
  end
  return options
end

-- The function of a step: a function, the name of a transform, or `{f, a, b}`, which is called as
-- `f(knl, a, b)`; what goes with the kernel, such as an instruction's id, comes before `a`.
function support.step(name, number, step)
  local f, arguments = step, {}
  if type(step) == "table" then f, arguments = step[1], {table.unpack(step, 2)} end
  if type(f) == "string" then f = rawget(require "moonloop.lib", f) or lp[f] end
  if type(f) ~= "function" then
    wrong(name, number, "step expected (a function, a transform's name, or {f, arguments...}), "
                          .. "got %s", shown(step))
  end
  return function(knl, ...)
    local all = {...}
    table.move(arguments, 1, #arguments, #all + 1, all)
    local result = f(knl, table.unpack(all))
    if not lp.is_kernel(result) then
      wrong(name, number, "the step gave %s, not a kernel", shown(result))
    end
    return result
  end
end

-- The functions of an array of steps.
function support.steps(name, number, steps)
  if type(steps) ~= "table" then
    wrong(name, number, "array of steps expected, got %s", shown(steps))
  end
  local out = {}
  for i, step in ipairs(steps) do out[i] = support.step(name, number, step) end
  return out
end

-- Splits a loop; gives the kernel and the names of the outer and the inner loop.
function support.split(knl, iname, length, options)
  local before, new = support.iname_set(knl), {}
  knl = lp.split_iname(knl, iname, length, options)
  for _, each in ipairs(knl.inames) do
    if not before[each] then new[#new + 1] = each end
  end
  return knl, new[1], new[2]
end

-- The other loops of the instructions in loop `iname`, in the kernel's order.
function support.partners(knl, iname)
  local met, out = {}, {}
  for _, instruction in ipairs(knl.instructions) do
    local inside = false
    for _, list in ipairs{instruction.inames, instruction.reduction_inames} do
      for _, each in ipairs(list) do inside = inside or each == iname end
    end
    if inside then
      for _, list in ipairs{instruction.inames, instruction.reduction_inames} do
        for _, each in ipairs(list) do met[each] = true end
      end
    end
  end
  met[iname] = nil
  for _, each in ipairs(knl.inames) do
    if met[each] then out[#out + 1] = each end
  end
  return out
end

-- The loops as the tree nests them: those around each, outer ones first, and all in the order in
-- which they stand. A loop of a reduction counts as well.
function support.nests(knl)
  local stack, around, order = {}, {}, {}
  for line in knl:tree():gmatch "[^\n]+" do
    local indent, iname = line:match "^(%s*)for ([%w_]+)"
    if iname and not around[iname] then
      local depth = #indent // 2
      around[iname] = table.move(stack, 1, depth, 1, {})
      order[#order + 1] = iname
    end
    if iname then stack[#indent // 2 + 1] = iname end
  end
  return around, order
end

-- `base`, or when the kernel has something of that name, the first of base_0, base_1, ... that is
-- free.
function support.fresh(knl, base)
  local taken = support.iname_set(knl)
  for _, list in ipairs{knl.args, knl.temporaries, knl.rules} do
    for _, each in ipairs(list) do taken[each.name] = true end
  end
  for _, each in ipairs(knl.params) do taken[each] = true end
  local name, n = base, 0
  while taken[name] do name, n = base .. "_" .. n, n + 1 end
  return name
end

return support
