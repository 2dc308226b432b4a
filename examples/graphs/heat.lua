-- Heat in a rod until it hardly changes any more: what the device computed decides how many graphs there are.
--   raddle graph run examples/graphs/heat.lua --param n=1024 --report
local n = param("n", 1024)
local steps = param("steps", 8)          -- between two looks at the change
local limit = param("limit", 1e-3)
local diffuse, largest_change = kernel("heat.ptx", "diffuse"), kernel("heat.ptx", "largest_change")
local grid = (n + 255) // 256

-- The first form: definitions, invoked with arguments.
local step = pass{name="step", reads={"from"}, writes={"to"}, state={rate=0.25},
  commands=function(p, a) p:dispatch{kernel=diffuse, grid=grid, block=256, args={a.to, a.from, n, a.rate}} end}
local start = pass{name="start", writes={"change"}, commands=function(p, a) p:clear{view=a.change} end}
local measure = pass{name="measure", reads={"one", "other"}, updates={"change"},
  commands=function(p, a) p:dispatch{kernel=largest_change, grid=grid, block=256, args={a.change, a.one, a.other, n}} end}

local rod = buffer("rod", 4 * n, "in_out")
local change = buffer("change", 4, "in_out")
write(rod, "f32", {100})                 -- the hot end
local rounds, last = 0
repeat
  local from = rod
  for i = 1, steps do
    local to = i == steps and rod or buffer("step " .. i, 4 * n)
    step{from=from, to=to}
    if i == steps - 1 then last = to end
    from = to
  end
  start{change=change}
  measure{one=last, other=rod, change=change}
  execute()
  rounds = rounds + 1
until read(change, "f32", 0) < limit or rounds == param("rounds", 100)
print(rounds, string.format("%.4f", read(change, "f32", 0)), string.format("%.2f", read(rod, "f32", 1)))
