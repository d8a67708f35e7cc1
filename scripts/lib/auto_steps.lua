-- Loops over time whose steps fill two arrays from each other by turns, such as Jacobi's: three such
-- half steps at a time go through memory once. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

local Steps = {}

local kTogether = 3  -- half steps in one launch: an odd number ends in the array that it does not read

-- Loops outside of all others begin at `low` and end before `high`, where the domain says so plainly.
local function range_of(knl, iname)
  for _, each in ipairs(knl.domains) do
    local low, high = each:match("%[" .. iname .. "%] : ([%w_]+) <= " .. iname .. " < ([%w_]+) }")
    if low then return low, high end
  end
end

-- The array that the instruction writes, if all that it reads of arrays that the loop writes is of
-- one other array, near the place that it writes.
local function arrays_of(facts, id, written)
  local to, from
  for _, access in ipairs(facts.accesses[id]) do
    if access.write then
      if to then return end
      to = access.variable
    elseif written[access.variable] then
      if from and from ~= access.variable then return end
      from = access.variable
    end
  end
  if to ~= from then return to, from end
end

-- The two statements of the loop, in order, each with its two parallel loops: {id =, to =, from =, rows =,
-- columns =}.
local function half_steps(facts, loop)
  if loop.par or #loop.around > 0 or #loop.ids ~= 2 then return end
  local written, out = {}, {}
  for _, id in ipairs(loop.ids) do
    for _, each in ipairs(facts.instruction[id].writes) do written[each] = true end
  end
  for at, id in ipairs(loop.ids) do
    local inside = {}
    for _, each in ipairs(facts.loops) do
      if each.has[id] and each ~= loop then
        if not each.par or #each.ids > 1 then return end
        inside[#inside + 1] = each.iname
      end
    end
    local to, from = arrays_of(facts, id, written)
    if not to or not from or #inside ~= 2 then return end
    for _, access in ipairs(facts.accesses[id]) do
      if access.write and (Facts.stride(access, inside[2]) ~= 1
                           or table.concat(access.index, ",") ~= table.concat(inside, ",")) then
        return
      end
    end
    out[at] = {id = id, to = to, from = from, rows = inside[1], columns = inside[2]}
  end
  if out[1].to == out[2].from and out[2].to == out[1].from then return out end
end

-- What computes at least so many elements at a time pays for the redundant ones.
local kElements = 1 << 18

local function are_many(facts, half)
  local rows, columns = facts.trips[half.rows], facts.trips[half.columns]
  return not rows or not columns or rows*columns >= kElements
end

-- Cuts the loop: iterations three by three, and one to three that are left, so that whatever the last
-- of the others computes is overwritten. Gives the instructions of the three, in order, and the loop
-- over the rest.
local function cut(device, t)
  local script = device.script
  local low, high = range_of(script.knl, t)
  if not low then return nil end
  local rest, threes = device:fresh(t .. "_rest"), device:fresh(t .. "_three")
  local why = ("three iterations of `%s` at a time; one to three are left for its end"):format(t)
  local span = low == "0" and high .. " - 1" or ("%s - 1 - %s"):format(high, low)
  local place = ("%s - 1 - (%s) %% %d"):format(high, span, kTogether)
  local names = {}
  for i = 1, kTogether do names[i] = device:fresh(("%s_%d"):format(t, i)) end
  if not script:try(why, "split_at", t, place, {from_iname = rest})
      or not script:try(why, "split_iname", t, kTogether, {outer_iname = threes, inner_iname = names[1]}) then
    return nil
  end
  for i = 2, kTogether do
    local low_of_part = tostring(i - 1)
    if not script:try(why, "split_at", names[i - 1], low_of_part, {from_iname = names[i]}) then return nil end
  end
  local out = {}
  for i, name in ipairs(names) do
    for _, each in ipairs(Facts.instructions_in(script.knl, name)) do out[#out + 1] = each end
    local value = "{ [%s] -> [%s] : %s = %s - %d }"
    local own = device:fresh(name .. "_part")
    if i > 1 then
      if not script:try(why, "map_domain", value:format(name, own, own, name, i - 1)) then return nil end
      names[i] = own
    end
  end
  if not script:try(why, "fuse_loops", names) then return nil end
  return out, rest
end

-- Tiles of one launch: rows and columns of `inames`, after the values of `rules`, the first of which is
-- used first, around them.
local function tile(device, inames, rules)
  local script = device.script
  local rows = script:knob(inames[1] .. "_rows", {16, 32, 64}, 16)
  local width = script:knob(inames[2] .. "_items", {32, 64, 128}, 64)
  local items = script:knob(inames[1] .. "_items", {2, 4, 8}, 4)
  local halo = 2*#rules
  local outer = {device:fresh(inames[1] .. "_tile"), device:fresh(inames[2] .. "_tile")}
  local inner = {device:fresh(inames[1] .. "_in"), device:fresh(inames[2] .. "_in")}
  local why = "tiles, each with what it needs of the half steps before: some of it twice, none through memory"
  local columns = script.computed("%s - " .. halo, {width}, function(w) return w - halo end)
  if not script:try_splits(why, {
    {inames[2], columns,
     {outer_iname = outer[2], inner_iname = inner[2], inner_tag = "l.0", outer_tag = "g.0"}},
    {inames[1], rows, {outer_iname = outer[1], inner_iname = inner[1], outer_tag = "g.1"}},
  }) then
    return false
  end
  local swept, all = inner, {{inner[1], 0}}
  local tags = {}
  for i, rule in ipairs(rules) do
    local own = {device:fresh(inner[1] .. "_" .. i), device:fresh(inner[2] .. "_" .. i)}
    local options = {precompute_inames = own, default_tag = false, temporary_address_space = "local",
                     fetch_bounding_box = true}
    if not script:try(why, "precompute", rule, swept, options) then return false end
    swept, all[#all + 1], tags[own[2]] = own, {own[1], 2*i}, "l.0"
  end
  local each = "a work-item computes neighbouring rows"
  local splits = {}
  for i, pair in ipairs(all) do
    local more = pair[2]
    local size = script.computed(("(%%s + %d + %%s - 1)//%%s"):format(more), {rows, items, items},
                                 function(r, n) return (r + more + n - 1)//n end)
    splits[i] = {pair[1], size, {outer_tag = "l.1", inner_tag = "unr"}}
  end
  return script:try_splits(each, splits, tags)
end

-- Values that no later half step finds in memory become rules; gives for each launch the statement that is
-- left of it, and its rules, the one that it calls first.
local function separate(device, insns)
  local script, launches, names = device.script, {}, {}
  local why = "half steps whose values nothing needs in memory"
  for at, insn in ipairs(insns) do
    local launch = (at - 1)//kTogether + 1
    launches[launch] = launches[launch] or {rules = {}}
    if at % kTogether == 0 then
      launches[launch].id = insn.id
    else
      local name = device:fresh_name(("%s_%d"):format(insn.writes[1], at))
      if not script:try(why, "separate_values", insn.id, name) then return nil end
      names[#names + 1] = name
      table.insert(launches[launch].rules, 1, "value_of_" .. name)
    end
  end
  for _, name in ipairs(names) do
    if not script:try(why, "assignment_to_subst", name) then return nil end
  end
  return launches
end

-- Takes three half steps at a time where the loop has two that fill two arrays by turns.
function Steps.make(device, loop)
  local facts, left = device.facts, device.left_by_steps
  if left[loop.iname] or device.narrow or (facts.trips[loop.iname] or math.huge) < 3*kTogether then
    return false
  end
  local halves = half_steps(facts, loop)
  if not halves or not are_many(facts, halves[1]) then return false end
  local insns, rest = cut(device, loop.iname)
  local launches = insns and #insns == 2*kTogether and separate(device, insns)
  if not launches then return false end
  for _, launch in ipairs(launches) do
    local inames
    for _, access in ipairs(device.script.knl:accesses()) do
      if access.statement == launch.id and access.write then inames = access.index end
    end
    if not tile(device, inames, launch.rules) then return false end
  end
  left[rest] = true
  device.facts = Facts.of(device.script.knl, device.params, rest)
  device:nest(rest)
  device.facts = facts
  return true
end

return Steps
