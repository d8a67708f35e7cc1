-- Scans: reductions whose terms grow with a loop around them. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

-- The loops around an instruction, outer to inner; none where some have tags: those run as they are.
local function loops_around(facts, id)
  local out = {}
  for _, each in ipairs(facts.loops) do
    if facts.instruction[id].around[each.iname] then
      if each.tag then return {} end
      out[#out + 1] = each.iname
    end
  end
  return out
end

-- Whether the bounds of some of the loops name the iname: only then it may be a scan along it.
local function are_bounded_by(knl, loops, iname)
  local function has(text, name) return text:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil end
  for _, domain in ipairs(knl.domains) do
    for _, each in ipairs(loops) do
      if has(domain:match "{ %[(.-)%]" or "", each) and has(domain, iname) then return true end
    end
  end
  return false
end

-- The script in which iterations of that loop add their terms to what those before had; nil where
-- the instruction is no scan along it.
local function in_order(script, id, iname)
  local trial = script:fork()
  local why = ("`%s` is a scan: each `%s` adds its terms to what the one before had")
    :format(id, iname)
  local taken = trial:try(why, "realize_reduction", "id:" .. id,
                          {force_scan = true, force_outer_iname_for_scan = iname})
  return taken and #trial.knl.ids > #script.knl.ids and trial or nil
end

-- The script in which blocks of the loop are added up at the same time; nil where that is refused.
-- `trips`: the loop's length, if known.
local function in_blocks(script, id, iname, how, trips)
  local length = how.size
  while trips and length > 4 and 4*length > trips do length = length//2 end  -- some for each thread
  local trial = script:fork()
  local why = ("`%s` is a scan: blocks of `%s` are added up at the same time, then what is before "
    .. "each of them"):format(id, iname)
  local size = trial:knob(iname .. "_scanned", {length//2, length, 2*length}, length)
  return trial:try(why, "scan_in_blocks", id, iname, {size = size, tag = how.tag}) and trial or nil
end

-- The inames of `after` that `before` lacks.
local function made_by(before, after)
  local known, out = {}, {}
  for _, each in ipairs(before.inames) do known[each] = true end
  for _, each in ipairs(after.inames) do
    if not known[each] then out[#out + 1] = each end
  end
  return out
end

-- `script` with the scans of its kernel, and the loops that need no more, as a set. `how` has
-- `params`; `blocks(iname)`, whether a loop without parallel ones around is to have blocks;
-- `only_blocks`, whether there is to be no other scan outside of parallel loops; `size` of blocks
-- in long loops, and their `tag`; `accepts(knl)`, if given, says whether there is code.
return function(script, facts, how)
  local done = {}
  local function accepted(trial) return not how.accepts or how.accepts(trial.knl) end
  local function take(trial)
    for _, each in ipairs(made_by(script.knl, trial.knl)) do done[each] = true end
    script = trial
    facts = Facts.of(script.knl, how.params)
  end
  local function scan(insn, loops, iname)
    local id = insn.id
    local plain = in_order(script, id, iname)
    if not plain then return false end
    local shared = false  -- other iterations run at the same time
    for _, each in ipairs(loops) do shared = shared or each ~= iname and facts:is_parallel(each) end
    if not shared and #insn.reduction_inames == 1 and how.blocks(iname) then
      local blocked = in_blocks(script, id, iname, how, facts.trips[iname])
      if blocked and accepted(blocked) then
        take(blocked)
        return true
      end
    end
    if (shared or not how.only_blocks) and accepted(plain) then take(plain) end
    return true
  end
  for _, insn in ipairs(script.knl.instructions) do
    if #insn.reduction_inames > 0 then
      local loops = loops_around(facts, insn.id)
      for n = #loops, 1, -1 do
        if are_bounded_by(script.knl, insn.reduction_inames, loops[n])
            and scan(insn, loops, loops[n]) then
          break
        end
      end
    end
  end
  return script, done
end
