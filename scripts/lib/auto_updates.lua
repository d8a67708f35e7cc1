-- An update of a matrix, and sums down its columns: one pass over memory instead of two. For
-- moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

local Updates = {}

local kFewResults = 1 << 17  -- of sums whose terms work-items share
local kShort = 64

-- The statement of a nest of two parallel loops that writes the element of its iteration.
local function update_of(facts, loop)
  if not loop.par or #loop.ids ~= 1 then return end
  local id = loop.ids[1]
  local inames = facts:chain(loop)
  if #inames ~= 2 or #facts:rest(loop, inames) > 0 or not facts.loop[inames[2]].par then return end
  for _, access in ipairs(facts.accesses[id]) do
    if access.write then
      if table.concat(access.index, ",") ~= table.concat(inames, ",") then return end
      return {id = id, array = access.variable, rows = inames[1], columns = inames[2]}
    end
  end
end

-- The statement of a loop that sums down the columns of the array, which it reads once.
local function sum_of(facts, loop, array)
  if not loop.par or #loop.ids ~= 1 or facts.reduced[loop.iname] then return end
  local id, inside = loop.ids[1], facts.inside[loop.iname] or {}
  if #inside ~= 1 or not facts.reduced[inside[1]] or #(facts.inside[inside[1]] or {}) > 0 then return end
  local r, found = inside[1], nil
  for _, access in ipairs(facts.accesses[id]) do
    if access.variable == array then
      if found or access.write or table.concat(access.index, ",") ~= r .. "," .. loop.iname then return end
      found = access
    end
  end
  if found and Facts.stride(found, loop.iname) == 1 then return {id = id, columns = loop.iname, rows = r} end
end

-- Work-items share the rows of a block of columns; each updates the elements whose terms it adds.
function Updates.make(device, iname, following)
  local facts = device.facts
  local update = update_of(facts, facts.loop[iname])
  local sum = update and following and sum_of(facts, facts.loop[following], update.array)
  if not sum then return false end
  local rows, columns = facts.trips[sum.rows] or kFewResults, facts.trips[sum.columns] or kFewResults
  if columns >= kFewResults or rows < kShort then return false end
  local script = device.script
  local why = ("one pass: each element of `%s` is a term as soon as it is updated"):format(update.array)
  local width = script:knob(sum.columns .. "_items", {16, 32, 64}, 32)
  local items = script:knob(sum.rows .. "_items", {4, 8, 16, 32}, 16)
  local each = script:knob(sum.rows .. "_each", {1, 2, 4}, 1)
  local function fresh(name) return device:fresh(name) end
  local outer = {fresh(sum.rows .. "_blocks"), fresh(update.rows .. "_blocks")}
  local inner = {fresh(sum.rows .. "_rows"), fresh(update.rows .. "_rows")}
  local block, column, lane = fresh(sum.columns .. "_block"), fresh(sum.columns .. "_in"), fresh(sum.rows .. "_in")
  local part, value = device:fresh_name("part_of_" .. sum.id), device:fresh_name(update.array .. "_value")
  local step = script.product(items, each)
  local values = {storage_axes = {}, temporary_address_space = "private", default_tag = false}
  local loads = "several elements are loaded before the first of them is stored"
  local along = ("neighbours along `%s` access neighbouring memory"):format(sum.columns)
  local rhs = facts.instruction[update.id].rhs
  return script:try(loads, "extract_subst", value, rhs, {update.rows, update.columns}, "id:" .. update.id)
    and script:try(why, "split_iname", sum.rows, step, {outer_iname = outer[1], inner_iname = inner[1]})
    and script:try(why, "split_iname", update.rows, step, {outer_iname = outer[2], inner_iname = inner[2]})
    and script:try(why, "stage_reduction", inner[1], "id:" .. sum.id, {temporary_name = part})
    and script:try(why, "realize_reduction", "writes:" .. part)
    and script:try(why, "fuse_loops", {sum.columns, update.columns})
    and script:try(why, "fuse_loops", inner)
    and script:try(why, "fuse_loops", outer)
    and script:try(along, "split_iname", sum.columns, width, {outer_iname = block, inner_iname = column})
    and script:try(loads, "precompute", value, {}, values)
    and script:try(along, "privatize_temporaries_with_inames", column, part)
    and script:try(why, "split_iname", inner[1], items,
                   {outer_iname = fresh(inner[1] .. "_each"), inner_iname = lane, inner_tag = "l.1", outer_tag = "ilp"})
    and script:try(along, "tag_inames", {[block] = "g.0", [column] = "l.0"})
end

return Updates
