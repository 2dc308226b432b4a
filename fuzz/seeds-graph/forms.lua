local R1, R2, R3, R5 = buffer("R1", 64, "input"), buffer("R2", 64, "output"), buffer("R3", 64, "output"), buffer("R5", 64)
blocks("any", {open_ended=true})
set_resources({R1}, {R2})
copy{to=R2, from=R1}
if read(R1, "u32", 0) == 0 then
  set_state{word=3}
  set_resources({R2:bytes(0, 32)}, {R5:bytes(32, 32)})
  fill{view=R5:bytes(32, 32)}
end
local p = pass{name="p", reads={{"a", unit="copy"}}, updates={{"b", unordered=true, bytes_per_block=4}}, state={n=1},
  commands=function(p, v) p:clear{view=v.b}:synchronise() end}
order(p{a=R1, b=R3}, p{a=R1, b=R3, n=2})
execute()
local i = image{name="i", width=8, height=8, layers=2, mips=3, format="f32x4"}
pass{name="q", writes={"i"}, unit="draw", commands=function(p, v) p:fill{view=v.i:mips(1, 1):layers(0), word=0} end}{i=i}
local t = buffer{name="t", bytes=16, origin="temporal"}
set_resources({previous(t)}, {t}) clear{view=t}
