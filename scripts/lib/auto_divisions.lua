-- Divisions by what many iterations divide by: reciprocals, of which products are taken instead. For
-- moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

local Divisions = {}

-- What an expression divides by, if these are elements or scalars, and their arrays' or own names.
local function divisors(text)
  local out, known = {}, {}
  for at in text:gmatch " / ()" do
    local name = text:match("^([%a_][%w_]*)", at)
    local element = name and text:match("^" .. name .. "(%b[])", at)
    local is_call = name and text:match("^" .. name .. "%(", at)
    local whole = name and not is_call and name .. (element or "")
    if whole and not known[whole] then
      known[whole] = true
      out[#out + 1] = {text = whole, name = name}
    end
  end
  return out
end

local function names(text, iname) return (" " .. text .. " "):find("[^%w_]" .. iname .. "[^%w_]") end

-- Takes products in the instructions where they divide by what is the same along `alike`, inames, and
-- nobody in `ids` writes: reciprocals for all of `sweep`, inames, at once, which comes before their loops.
function Divisions.before(device, ids, sweep, alike)
  local written, insns = {}, {}
  for _, insn in ipairs(device.script.knl.instructions) do
    if Facts.contains(ids, insn.id) then
      insns[#insns + 1] = insn
      for _, each in ipairs(insn.writes) do written[each] = true end
    end
  end
  for _, insn in ipairs(insns) do
    for _, each in ipairs(divisors(insn.rhs or "")) do
      local fits = not written[each.name]
      for _, iname in ipairs(alike) do fits = fits and not names(each.text, iname) end
      local along = {}
      for _, iname in ipairs(fits and sweep or {}) do
        if Facts.contains(insn.inames, iname) then along[#along + 1] = iname end
      end
      if fits then
        local name = device:fresh_name(each.name .. "_inverse")
        local why = ("products with the reciprocal of `%s`, rounded twice, in the place of divisions")
          :format(each.text)
        local options = {temporary_name = name .. "_part"}
        if #along > 0 then options.default_tag = "l.auto" end
        device:compute_before(why, name, {"1/" .. each.text, {within = "id:" .. insn.id, divisions = true}},
                              along, options)
      end
    end
  end
end

return Divisions
