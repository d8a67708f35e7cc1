-- What was found out of kernels in one call of moonloop.auto: schedules that are tried one after the
-- other begin alike, and a kernel is a value that never changes. For moonloop.auto alone.
local Memory = {}

local known  -- by kernel, by what was asked

-- Remembers until the result, a variable with `<close>`, goes out of scope. A call within another one
-- has a memory of its own.
function Memory.open()
  local outer = known
  known = {}
  return setmetatable({}, {__close = function() known = outer end})
end

-- What `make(knl)` gave for that question about the kernel before, else what it gives. `question` has
-- all that the answer depends on beside the kernel.
function Memory.of(knl, question, make)
  if not known then return make(knl) end
  local answers = known[knl]
  if not answers then
    answers = {}
    known[knl] = answers
  end
  local answer = answers[question]
  if not answer then
    answer = table.pack(make(knl))
    answers[question] = answer
  end
  return table.unpack(answer, 1, answer.n)
end

-- A value as a part of a question: equal texts are equal values. Nothing where it is neither a number,
-- a string or a boolean, nor a table of these.
function Memory.text(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then
    local kind = math.type(value) or type(value)
    if kind ~= "integer" and kind ~= "float" and kind ~= "boolean" and kind ~= "nil" then return nil end
    return ("%s %s"):format(kind, value)
  end
  local parts = {}
  for key, each in pairs(value) do
    local name, text = Memory.text(key), Memory.text(each)
    if not name or not text then return nil end
    parts[#parts + 1] = ("[%s] = %s"):format(name, text)
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

return Memory
