-- Many small systems, one for each work-item. The batches are the fastest axis in memory, so that
-- neighbouring work-items read neighbouring elements.
local systems = lp.to_batched(solve, "nbatch", {"a", "b"}, {axis = "inside", name = "solve_all"})
solve = lp.split_iname(systems, "ibatch", 64, {outer_tag = "g.0", inner_tag = "l.0"})
