-- Schedules for devices: parallel loops become groups and work-items, neighbours along memory; what
-- work-items of a group share goes through local memory. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local Cpu = require "moonloop.auto_cpu"
local Blocks = require "moonloop.auto_blocks"
local Parts = require "moonloop.auto_parts"
local Recurrence = require "moonloop.auto_recurrence"
local Rows = require "moonloop.auto_rows"
local Shape = require "moonloop.reduction_shape"
local Steps = require "moonloop.auto_steps"
local Units = require "moonloop.auto_units"
local Updates = require "moonloop.auto_updates"
local Wave = require "moonloop.auto_wave"

local Device = setmetatable({}, {__index = Cpu})
Device.__index = Device

-- `options` as for processors.
function Device.schedule(script, options)
  local self = setmetatable({
    script = script,
    params = options.params,
    accepts = options.accepts,
    narrow = options.narrow,  -- nests take half of the local memory at most
    units = options.target == "cuda",
    many_results = true,  -- at once, rather than long sums
    beside = {},  -- by loop that a group runs, others that it runs, too
    totals = {},  -- loops of reductions outside of parallel loops
    left_by_steps = {},  -- loops over what several time steps at a time leave
  }, Device)
  self:look()
  self:inline_calls()
  self:take_scans{
    blocks = function() return true end, only_blocks = true,
    size = 128, tag = "g.0",
  }
  local nests, at = self.facts.inside[""] or {}, 1
  while at <= #nests do
    local following = nests[at + 1]
    if self:attempt(function() return Updates.make(self, nests[at], following) end) then
      at = at + 2
    else
      self:nest(nests[at])
      at = at + 1
    end
  end
  self:share_totals()
  return self.script
end

-- Whether the kernel that is called has arrays for which a work-item has no room.
function Device.is_no_function(callee)
  for _, each in ipairs(callee.temporaries) do
    for _, extent in ipairs(each.shape or {}) do
      if not tonumber(extent) then return true end
    end
  end
  return false
end

-- A launch for each block in each iteration around it would take longer than waves of whole loops.
function Device:blocks_inside() return false end

-- Loops over time stay on the host.
function Device:tiles_in_time() return false end

-- Rows, and loops in order that are too short for launches, before statements come apart.
function Device:nest(iname)
  if self.done[iname] then return end
  local facts, loop = self.facts, self.facts.loop[iname]
  if not facts.reduced[iname] then
    local chain = facts:chain(loop)
    local nest = {loop = loop, chain = chain, deep = facts:deepest(loop),
                  rest = facts:rest(loop, chain)}
    if self:copies_or_blocks(loop)
        or self:attempt(function() return Steps.make(self, loop) end)
        or self:attempt(function() return self:wave_by_wave(loop) end)
        or self:attempt(function() return Rows.one_group(self, loop) end)
        or self:attempt(function() return self:sums_apart(nest) end)
        or self:attempt(function() return Rows.reduce(self, nest) end)
        or self:attempt(function() return Rows.make(self, nest) end)
        or self:attempt(function() return Rows.columns(self, nest) end) then
      return
    end
  end
  Cpu.nest(self, iname)
end

-- Long sums along few columns, one of which reads another's result, get loops of their own, so that
-- groups can share each: what they hand on is kept in memory.
function Device:sums_apart(nest)
  local facts, loop, first = self.facts, nest.loop, nil
  if not loop.par or #loop.ids < 2 or #nest.rest < 2 then return false end
  for _, each in ipairs(nest.rest) do
    if not facts.reduced[each] then return false end
  end
  local temporary, written, handed_on = {}, {}, {}
  for _, each in ipairs(self.script.knl.temporaries) do temporary[each.name] = true end
  for _, id in ipairs(loop.ids) do
    local insn = facts.instruction[id]
    first = first or #insn.reduction_inames > 0 and insn or nil
    for _, each in ipairs(insn.writes) do
      if temporary[each] and not written[each] then handed_on[#handed_on + 1] = each end
      written[each] = true
    end
  end
  local s = Shape.of(self.script.knl, {first}, self.params)
  if s.by_rows or #handed_on == 0 or Shape.strategy(s, 256) ~= "two_stage" then return false end
  local why = ("few columns: each sum is in loops of its own, and `%s` in memory"):format(
    table.concat(handed_on, "`, `"))
  if not self.script:try(why, "privatize_temporaries_with_inames", nest.chain, handed_on) then
    return false
  end
  for _, each in ipairs(handed_on) do
    if not self.script:try(why, "set_temporary_address_space", each, "global") then return false end
  end
  self:look()
  return Cpu.distribute(self, self.facts.loop[loop.iname])
end

-- A reduction outside of all parallel loops is shared once all else has its place.
function Device:total(loop) self.totals[#self.totals + 1] = loop.iname end

-- Takes steps that share reductions along the loops; gives whether there is code for the result.
function Device:share(totals)
  local own = self.script
  self.script = own:fork()
  local done = true
  for _, iname in ipairs(totals) do
    local why = ("work-items share the terms along `%s`"):format(iname)
    done = done and self.script:try(why, "tag_inames", {[iname] = "par"})
  end
  if done then
    local size = self.script:knob("group", {64, 128, 256}, 128)
    done = self.script:try("groups add up parts, and one group adds up these", "work_items",
                           {size = size})
  end
  if done and (not self.accepts or self.accepts(self.script.knl)) then return true end
  self.script = own
  return false
end

-- All of them at once, or else those with which it works.
function Device:share_totals()
  if #self.totals == 0 or self:share(self.totals) then return end
  for _, iname in ipairs(self.totals) do self:share{iname} end
end

function Device:ways(loop)
  local facts = self.facts
  local nest = {loop = loop, chain = facts:chain(loop), deep = facts:deepest(loop)}
  nest.rest = facts:rest(loop, nest.chain)
  local parallel, best = {}, nil
  for _, iname in ipairs(nest.chain) do
    if facts.loop[iname].par and facts.trips[iname] ~= 1 then
      parallel[#parallel + 1] = iname
      local cost = 0
      for _, access in ipairs(nest.deep) do
        local s = Facts.stride(access, iname)
        cost = cost + (s == 0 and 1 or s == 1 and 2 or 8)
      end
      if not best or cost <= best.cost then best = {iname = iname, cost = cost} end
    end
  end
  local out = {}
  if not best or not self.steps_through_memory(nest, best.iname) then
    out[#out + 1] = {take = function() return Parts.make(self, nest) end}
  end
  if best then
    local block = Blocks.of(self.facts, nest, parallel, best.iname)
    if block and self.units and block.size == 8 then
      out[#out + 1] = {take = function() return Units.make(self, block, true) end}
      out[#out + 1] = {take = function() return Units.make(self, block, false) end}
    end
    for _, tag in ipairs(block and {"vec", "ilp"} or {}) do
      out[#out + 1] = {take = function() return Blocks.make(self, block, tag) end}
    end
    out[#out + 1] = {take = function() return Rows.share_terms(self, nest, parallel, best.iname) end}
    out[#out + 1] = {take = function() return Rows.in_local(self, nest, best.iname) end}
    out[#out + 1] = {take = function() return Rows.share_sums(self, nest, best.iname) end}
    out[#out + 1] = {take = function() return self:make_grid(nest, parallel, best.iname) end}
  end
  if not best then out[#out + 1] = {take = function() return self:make_waves(nest) end} end
  out[#out + 1] = {take = function() return self:keep(nest) end}
  return out
end

-- Whether neighbouring iterations access neighbouring memory somewhere.
function Device.steps_through_memory(nest, iname)
  for _, access in ipairs(nest.deep) do
    if Facts.stride(access, iname) == 1 then return true end
  end
  return false
end

-- Elements of arrays that iterations may get copies of.
local kCopies = 1 << 26

-- Arrays that each iteration of parallel loops computes for itself.
function Device:own_arrays(loop, inames)
  local out, written = {}, {}
  for _, id in ipairs(loop.ids) do
    for _, each in ipairs(self.facts.instruction[id].writes) do written[each] = true end
  end
  local copies = 1
  for _, each in ipairs(inames) do copies = copies*(self.facts.trips[each] or 1) end
  for _, each in ipairs(self.script.knl.temporaries) do
    if written[each.name] and each.shape and #each.shape > 0 and copies <= kCopies then
      out[#out + 1] = each.name
    end
  end
  return out
end

-- Where a loop's statements hand on an array in each iteration, all of these arrays are kept: then
-- each statement can have loops of its own.
function Device:distribute(loop)
  if Cpu.distribute(self, loop) then return true end
  if not loop.par or #loop.ids < 2 then return false end
  local inames = {}
  for _, each in ipairs(self.facts:chain(loop)) do
    if self.facts.loop[each].par then inames[#inames + 1] = each end
  end
  local arrays = self:own_arrays(loop, inames)
  local own, facts = self.script, self.facts
  local trial = own:fork()
  local why = ("each iteration of `%s` keeps what it computes, for statements in loops of their own")
    :format(table.concat(inames, "`, `"))
  local kept = #arrays > 0 and trial:try(why, "privatize_temporaries_with_inames", inames, arrays)
  for _, each in ipairs(arrays) do
    kept = kept and trial:try(why, "set_temporary_address_space", each, "global")
  end
  if kept then
    self.script = trial
    self:look()
    if Cpu.distribute(self, self.facts.loop[loop.iname])
        and (not self.accepts or self.accepts(self.script.knl)) then
      return true
    end
  end
  self.script, self.facts = own, facts
  return false
end

-- One group runs waves of a loop whose sums read its results: in each wave, all terms of one result.
function Device:wave_by_wave(loop)
  if loop.par or not Recurrence.reads_its_results(self.facts, loop, 1) then return false end
  local around = self.facts
  if not self:unfold(loop) then return false end
  loop = self.facts.loop[loop.iname]
  local first = Recurrence.along_terms(self, loop)
  local trial, inside, wave = Wave.make(self.script, self.facts, loop, self.params, first)
  if not trial then return false end
  local same = inside.loop[loop.iname]
  if same and #same.ids > 1 and same.par
      and trial:try("in a wave, one statement after the other", "distribute_loops", loop.iname) then
    inside = Facts.of(trial.knl, self.params, wave)
  end
  self.script, self.facts = trial, inside
  local runs, name = Rows.one_group(self, inside.loop[wave])
  local done = runs and Rows.keep_in_local(self, wave, name)
  self.facts = around
  return done
end

-- Sums in a loop become loops like others; then only what is in the loop is known.
function Device:unfold(loop)
  local why = ("terms are added one by one: `%s` may go inside"):format(loop.iname)
  if not self.script:try(why, "unfold_reduction", "id:" .. table.concat(loop.ids, " or id:")) then
    return false
  end
  if #Facts.instructions_in(self.script.knl, loop.iname) == 0 then return false end
  self.facts = Facts.of(self.script.knl, self.params, loop.iname)
  return true
end

-- Runs what is in the waves of a loop on the device, unless its loops do anyway.
function Device:make_waves(nest)
  if Wave.run_at_once(self.facts, nest.loop.ids, nest.loop.iname) then return false end
  local own, facts = self.script, self.facts
  self.script = own:fork()
  if self:unfold(nest.loop) and self:take_waves(self.facts.loop[nest.loop.iname]) then
    self.facts = facts
    return true
  end
  self.script, self.facts = own, facts
  local done = self:take_waves(nest.loop)
  self.facts = facts
  return done
end

function Device:take_waves(loop)
  local trial, inside, wave = Wave.make(self.script, self.facts, loop, self.params)
  if not trial then return false end
  self.script, self.facts = trial, inside
  for _, each in ipairs(inside.inside[wave]) do self:nest(each) end
  return true
end

-- Makes a rule of an expression, `extract` as extract_subst takes it, and computes it before the loops
-- `sweep`, with these options of precompute; gives whether both is legal, else nothing changes.
function Device:compute_before(why, name, extract, sweep, options)
  local trial = self.script:fork()
  if not trial:try(why, "extract_subst", name, table.unpack(extract))
      or not trial:try(why, "precompute", name, sweep, options) then
    return false
  end
  self.script = trial
  return true
end

-- Loops in it are looked at one by one, on the host; short ones that follow each other together.
function Device:keep(nest)
  local last = nest.chain[#nest.chain]
  local inside = self.facts.inside[last] or {}
  local at = 1
  while at <= #inside do
    local run = {}
    while inside[at + #run] and Rows.is_short(self.facts, inside[at + #run]) do
      run[#run + 1] = inside[at + #run]
    end
    local together = #run > 1
      and self:attempt(function() return Rows.one_after_the_other(self, run) end)
    if together then
      at = at + #run
    else
      local each = inside[at]
      if self.facts.reduced[each] then
        self:total(self.facts.loop[each])
      else
        self:nest(each)
      end
      at = at + 1
    end
  end
  if #inside > 0 then
    self:note_what_stays(nest)
  else
    self.script:note(Cpu.why_in_order(self.facts.loop[last]))
  end
  return true
end

-- The largest of `sizes` that is no longer than the loop, where its length is known.
function Device:fitting(iname, sizes, size)
  local trips = self.facts.trips[iname]
  while trips and size > sizes[1] and size // 2 >= trips do size = size // 2 end
  return size
end

local kNeighbours = {1, 2, 4}   -- iterations of a work-item
local kWorkItems = 1 << 19      -- that a device needs to be busy
local kRows = 4                 -- work-items of a group along its second axis
local kGroupsOfAxis = 65535     -- of axes other than the first

-- Whether neighbouring iterations of `u` read the same elements: of one array at three places that
-- differ along it alone. Two in the first cache are no worse than more work for fewer work-items.
function Device.shares_reads(nest, u)
  local seen = {}
  for _, access in ipairs(nest.deep) do
    local along, rest = nil, {access.variable}
    for _, index in ipairs(access.write and {} or access.index) do
      local is_along = (" " .. index .. " "):find("[^%w_]" .. u .. "[^%w_]")
      along = along or is_along and index
      rest[#rest + 1] = is_along and "" or index
    end
    local key = table.concat(rest, ",")
    local places = seen[key] or {}
    if along and not Facts.contains(places, along) then places[#places + 1] = along end
    if #places > 2 then return true end
    seen[key] = places
  end
  return false
end

-- How many neighbours along `u` a work-item computes, which reads what they share once; nothing where
-- they share nothing, or one each leaves none idle.
function Device:neighbours(nest, parallel, u)
  if not self.shares_reads(nest, u) then return nil end
  local all = 1
  for _, each in ipairs(parallel) do all = all*(self.facts.trips[each] or math.huge) end
  local count = kNeighbours[#kNeighbours]
  while count > 1 and all < count*kWorkItems do count = count // 2 end
  return count > 1 and self.script:knob(u .. "_each", kNeighbours, count) or nil
end

-- `v` is along memory: neighbouring work-items.
function Device:make_grid(nest, parallel, v)
  local script, facts = self.script, self.facts
  local outside, inside, started = {}, {}, false
  for _, each in ipairs(nest.chain) do
    local is_parallel = Facts.contains(parallel, each)
    started = started or is_parallel
    if not is_parallel then table.insert(started and inside or outside, each) end
  end
  local order = {table.unpack(outside)}
  for _, each in ipairs(Facts.without(parallel, v)) do order[#order + 1] = each end
  order[#order + 1] = v
  table.move(inside, 1, #inside, #order + 1, order)
  if table.concat(order, ",") ~= table.concat(nest.chain, ",") then
    local why = ("neighbours along `%s` access neighbouring memory"):format(v)
    if not script:try(why, "prioritize_loops", order) then
      if #inside > 0 then return false end
    end
  end
  local sizes = {32, 64, 128, 256}
  local rest = Facts.without(parallel, v)
  local length = self:fitting(v, sizes, #rest > 0 and 64 or 128)
  while #rest == 0 and length > sizes[1] and (facts.trips[v] or math.huge) < Blocks.kGroups*length do
    length = length // 2  -- groups for all of the device
  end
  local size = script:knob(v .. "_items", sizes, length)
  local why = ("a grid of work-items: neighbours along `%s`"):format(v)
  -- A longer loop gets the first axis of groups where the second has too few.
  local groups_of_rows = rest[1] and (facts.trips[rest[#rest]] or 0)/kRows or 0
  local long = groups_of_rows > math.max(kGroupsOfAxis, (facts.trips[v] or 0)/length)
  local tags = {outer_tag = long and "g.1" or "g.0", inner_tag = "l.0"}
  if not self:split(why, v, size, tags) then return false end
  for axis = 1, math.min(2, #rest) do
    local u = rest[#rest + 1 - axis]
    local count = axis == math.min(2, #rest) and self:neighbours(nest, parallel, u)
    local each = u
    if count then
      local shared = ("a work-item computes neighbours along `%s`, which read the same elements"):format(u)
      each = self:fresh(u .. "_some")
      if not self:split(shared, u, count, {inner_tag = "ilp", outer_iname = each}) then return false end
    end
    if axis == 1 then
      local items = script:knob(u .. "_items", {1, 2, 4, 8}, self:fitting(u, {1, 2, 4, 8}, kRows))
      local groups = {outer_tag = long and "g.0" or "g.1", inner_tag = "l.1"}
      if not self:split(why, each, items, groups) then return false end
    elseif not script:try(why, "tag_inames", {[each] = "g.2"}) then
      return false
    end
  end
  return true
end

return Device
