-- Loops that are parallel but for one iteration, which others need or which needs them: cut before and
-- behind that iteration. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

local Parts = {}

-- Reads in one of the parts of what the iteration between them writes, if all iterations of the part
-- read the same: patterns, with the loops of the part that these step along.
local function rows_read(facts, part, written)
  local out, known = {}, {}
  for _, id in ipairs(facts.loop[part].ids) do
    for _, access in ipairs(facts.accesses[id]) do
      local steps, params, index = {}, {}, {}
      for axis, each in ipairs(access.index) do
        local loop = facts.loop[each]
        local is_inside = loop and Facts.contains(loop.around, part)
        params[#params + 1] = is_inside and "x" .. axis or nil
        steps[#steps + 1] = is_inside and each or nil
        index[axis] = is_inside and "x" .. axis or each
      end
      local text = ("%s[%s]"):format(access.variable, table.concat(index, ", "))
      if not access.write and written[access.variable] and #steps > 0 and not known[text]
          and Facts.stride(access, part) == 0 then
        known[text] = true
        out[#out + 1] = {id = id, array = access.variable, text = text, params = params, steps = steps}
      end
    end
  end
  return out
end

-- Copies of the rows that a part reads; gives the loops that copy, or nothing where some step is
-- refused.
local function copy_rows(device, why, rows)
  local loops = {}
  for _, row in ipairs(rows) do
    local name = device:fresh_name(row.array .. "_row")
    local inames = {}
    for axis = 1, #row.params do inames[axis] = device:fresh(("%s_axis_%d"):format(name, axis)) end
    local options = {temporary_name = name .. "_copy", temporary_address_space = "global",
                     default_tag = false, precompute_inames = inames}
    if not device:compute_before(why, name, {row.text, row.params, "id:" .. row.id}, row.steps, options) then
      return nil
    end
    loops[#loops + 1] = inames[1]
  end
  return loops
end

-- Whether all that runs in the loop reads that element alike, and often.
local function is_alike(facts, access, iname, id)
  local often = false
  for _, each in ipairs(facts.loops) do
    if Facts.contains(each.around, iname) and facts.instruction[id].around[each.iname] then
      if Facts.stride(access, each.iname) ~= 0 then return false end
      often = often or facts.trips[each.iname] ~= 1
    end
  end
  return often
end

-- What the work-items of a group read alike of an array that they write, each reads once.
local function read_once(device, iname)
  local facts = device.facts
  for _, id in ipairs(facts.loop[iname].ids) do
    local written, known = {}, {}
    for _, each in ipairs(facts.instruction[id].writes) do written[each] = true end
    for _, access in ipairs(facts.accesses[id]) do
      local text = ("%s[%s]"):format(access.variable, table.concat(access.index, ", "))
      if not access.write and written[access.variable] and #access.index > 0 and not known[text]
          and is_alike(facts, access, iname, id) then
        known[text] = true
        local name = device:fresh_name(access.variable .. "_value")
        local why = ("`%s` is the same for all work-items of a group: read once"):format(text)
        device:compute_before(why, name, {text, {}, "id:" .. id}, {}, {temporary_name = name .. "_copy"})
      end
    end
  end
end

-- The parts before and behind become one loop, so that one launch runs both: what the iteration
-- between them overwrites is copied before, and what it writes, behind it.
local function join(device, parts, place)
  local before, at, behind = table.unpack(parts)
  local facts, written = device.facts, {}
  for _, id in ipairs(facts.loop[at].ids) do
    for _, each in ipairs(facts.instruction[id].writes) do written[each] = true end
  end
  local copies = {}
  local why = ("rows of `%s` as they are before and after it are copied"):format(at)
  for _, part in ipairs{before, behind} do
    local loops = copy_rows(device, why, rows_read(facts, part, written))
    if not loops then return false end
    table.move(loops, 1, #loops, #copies + 1, copies)
  end
  if #copies == 0 then return false end
  if not device.script:try("so that all other iterations are one launch", "fuse_loops", {before, behind}) then
    return false
  end
  device:look()
  for _, each in ipairs(device.facts.inside[before] or {}) do
    local loop = device.facts.loop[each]
    if not loop.par then
      if not Facts.contains(device:places(loop.ids[1], each), place) or not device:cut_at(each, place) then
        return false
      end
    end
  end
  device:look()
  for _, each in ipairs(device.facts.inside[before] or {}) do
    if not device.facts.loop[each].par then return false end
  end
  if not device.facts.loop[before].par then return false end
  device.beside[at] = copies
  device:nest(before)
  device:look()
  if device.facts.loop[before] then read_once(device, before) end  -- a group each
  device:look()
  device:nest(at)
  if device.beside[at] then
    device:look()
    for _, each in ipairs(copies) do device:nest(each) end
  end
  return true
end

-- Cuts a loop before and behind the iteration that the others depend on, or it on them, so that
-- these run at once; then each part is a nest of its own.
function Parts.make(device, nest)
  local ids = nest.loop.ids
  if #nest.rest > 0 or #ids > 1 then return false end
  local own, facts = device.script, device.facts
  local outside = {}
  for _, each in ipairs(nest.loop.around) do outside[each] = true end
  local in_host_loops = true
  for _, v in ipairs(nest.chain) do
    local in_order = not outside[v] and not facts.loop[v].par
    for _, place in ipairs(in_order and device:places(ids[1], v) or {}) do
      if outside[place] then
        device.script = own:fork()
        local parts = device:cut_at(v, place)
        if parts then
          device:look()
          if device.facts.loop[v].par and device.facts.loop[parts[3]].par then
            if in_host_loops and device:attempt(function() return join(device, parts, place) end) then
              return true
            end
            if v ~= nest.loop.iname then parts = {nest.loop.iname} end
            for _, each in ipairs(parts) do device:nest(each) end
            return true
          end
        end
        device.script, device.facts = own, facts
      end
    end
    outside[v] = true
    in_host_loops = in_host_loops and not facts.loop[v].par
  end
  return false
end

return Parts
