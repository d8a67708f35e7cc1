-- The grid's points in tiles of 64 by 4, one work-item each; the directives meant threads.
for _, k in ipairs{"k", "k_1", "k_2"} do
  hydro = lp.untag_inames(hydro, k, "par")
end
for _, loops in ipairs{{"k", "j"}, {"k_1", "j_1"}, {"k_2", "j_2"}, {"e", "e_1"}, {"e_2", "e_3"}} do
  hydro = lp.split_iname(hydro, loops[1], 4, {outer_tag = "g.1", inner_tag = "l.1"})
  hydro = lp.split_iname(hydro, loops[2], 64, {outer_tag = "g.0", inner_tag = "l.0"})
end
