-- What a schedule is decided by: loops, how they depend on each other, and the strides of accesses.
-- For moonloop.auto alone.
local lp = require "moonloop"
local Memory = require "moonloop.auto_memory"

local Facts = {}
Facts.__index = Facts

local function set_of(list)
  local out = {}
  for _, each in ipairs(list) do out[each] = true end
  return out
end

-- By id, those of instructions in that loop, or all.
local function accesses_of(knl, within)
  return Memory.of(knl, "accesses within " .. (within or ""), function()
    local out = {}
    for _, each in ipairs(knl:accesses(nil, within)) do
      out[each.statement] = out[each.statement] or {}
      table.insert(out[each.statement], each)
    end
    return out
  end)
end

local function facts_of(knl, params, within)
  local self = setmetatable({
    instruction = {},  -- by id
    accesses = {},     -- by id, a list of what knl:accesses() gives, once asked for
    loop = {},         -- by iname, what lp.parallelism gives, with `ids` of instructions
    loops = {},        -- the same as a list, each before those in it
    inside = {},       -- by iname, the loops right in it; "" has the outermost ones
    reduced = {},      -- inames of reductions
    -- by iname, how often it runs at most, if that is known
    trips = setmetatable({}, {__index = function(trips, iname)
      if not iname then return nil end
      local most = knl:trips(params, iname)
      rawset(trips, iname, most or false)
      return most
    end}),
  }, Facts)
  for _, each in ipairs(knl.instructions) do
    self.instruction[each.id] = each
    each.around = set_of(each.inames)
    for _, iname in ipairs(each.reduction_inames) do self.reduced[iname] = true end
  end
  setmetatable(self.accesses, {__index = function(accesses, id)
    local insn = self.instruction[id]
    if not insn then return nil end
    local is_in = within and (insn.around[within] or Facts.contains(insn.reduction_inames, within))
    for other, list in pairs(accesses_of(knl, is_in and within or nil)) do accesses[other] = list end
    if not rawget(accesses, id) then accesses[id] = {} end
    return accesses[id]
  end})
  self.loops = lp.parallelism(knl, {brief = true, reasons = false, within = within}).loops
  for _, loop in ipairs(self.loops) do
    self.loop[loop.iname] = setmetatable(loop, {__index = function(_, key)
      if key ~= "why" or loop.par then return nil end
      local one = lp.parallelism(knl, {brief = true, within = loop.iname}).by_iname[loop.iname]
      rawset(loop, "why", one.why)
      return one.why
    end})
    loop.ids, loop.has = {}, {}
    for _, statement in ipairs(loop.statements) do
      local id = self:instruction_of(statement, loop.iname)
      if not loop.has[id] then
        loop.has[id] = true
        loop.ids[#loop.ids + 1] = id
      end
    end
    local parent = loop.around[#loop.around] or ""
    self.inside[parent] = self.inside[parent] or {}
    table.insert(self.inside[parent], loop.iname)
  end
  return self
end

-- `params`: values of parameters, perhaps not of all, the same ones in all of a schedule; `within`:
-- only of that loop and those in it. Nobody changes what this gives.
function Facts.of(knl, params, within)
  return Memory.of(knl, "facts within " .. (within or ""),
                   function() return facts_of(knl, params, within) end)
end

-- isl's schedule of what is in the loop; nothing where it has none, or would take long.
function Facts.schedule(knl, iname)
  return Memory.of(knl, "schedule of " .. iname, function()
    local ok, schedule = pcall(lp.affine_schedule, knl, iname)
    return ok and schedule or nil
  end)
end

-- The instruction in the loop whose reductions, written out, have the statement: `add_update` is of
-- `add`, unless there is one of that name.
function Facts:instruction_of(statement, iname)
  local best
  for id, insn in pairs(self.instruction) do
    local is_it = id == statement or statement:sub(1, #id + 1) == id .. "_"
    local is_in = insn.around[iname] or Facts.contains(insn.reduction_inames, iname)
    if is_it and is_in and (not best or #id > #best) then best = id end
  end
  return assert(best, "a statement of no instruction: " .. statement)
end

function Facts.contains(list, name)
  for _, each in ipairs(list) do
    if each == name then return true end
  end
  return false
end

-- Whether the loop is known to be parallel: of those around what was looked at, nothing is known.
function Facts:is_parallel(iname)
  local loop = self.loop[iname]
  return loop ~= nil and loop.par
end

-- The instructions that a loop is around, in order.
function Facts.instructions_in(knl, iname)
  local out = {}
  for _, each in ipairs(knl.instructions) do
    if Facts.contains(each.inames, iname) then out[#out + 1] = each end
  end
  return out
end

-- The list without that name.
function Facts.without(list, name)
  local out = {}
  for _, each in ipairs(list) do
    if each ~= name then out[#out + 1] = each end
  end
  return out
end

-- How far apart neighbouring iterations of the loop access: 0, 1, or "far".
function Facts.stride(access, iname)
  local s = access.strides[iname]
  if s == nil then return 0 end
  if s == 1 or s == -1 then return 1 end
  return "far"
end

-- The loops around all instructions of a loop, from that loop on, outer to inner.
function Facts:chain(loop)
  local out = {}
  for _, each in ipairs(self.loops) do
    local common = each == loop or Facts.contains(each.around, loop.iname)
    for _, id in ipairs(loop.ids) do
      common = common and self.instruction[id].around[each.iname]
    end
    if common then out[#out + 1] = each.iname end
  end
  return out
end

-- The loops in a loop that are not of its chain: those of reductions, and those around some of its
-- instructions.
function Facts:rest(loop, chain)
  local out = {}
  for _, each in ipairs(self.loops) do
    if Facts.contains(each.around, loop.iname) and not Facts.contains(chain, each.iname) then
      out[#out + 1] = each.iname
    end
  end
  return out
end

-- The accesses in a loop that happen most often.
function Facts:deepest(loop)
  local out, depth = {}, 0
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(self.accesses[id]) do
      if #access.inames > depth then out, depth = {}, #access.inames end
      if #access.inames == depth then out[#out + 1] = access end
    end
  end
  return out
end

return Facts
