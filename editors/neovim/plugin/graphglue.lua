-- Commands and <Plug> mappings; what they do is loaded at the first use.
if vim.g.loaded_graphglue then
  return
end
vim.g.loaded_graphglue = true

---@param name string of the user command, and of the mapping <Plug>(graphglue-…)
---@param does string function of graphglue.commands
---@param desc string
---@param given table|nil options, and `arguments`: what the function is called with
local function command(name, does, desc, given)
  local arguments = given and given.arguments or function() end
  vim.api.nvim_create_user_command("Graphglue" .. name, function(called)
    require("graphglue.commands")[does](arguments(called))
  end, vim.tbl_extend("force", { desc = "graphglue: " .. desc }, given and given.options or {}))
  vim.keymap.set("n", ("<Plug>(graphglue-%s)"):format(does:gsub("_", "-")), ("<Cmd>Graphglue%s<CR>"):format(name))
end

command("Analyze", "analyze", "look for graph breaks in this buffer now")
command("Distrust", "distrust", "no longer run the code of this buffer's project")
command("Doctor", "doctor", "say which Python, torch and CUDA are used")
command("Explain", "explain", "explain the break at the cursor, or an id", {
  options = { nargs = "?" },
  arguments = function(called)
    return called.args
  end,
})
command("Glue", "glue", "mend the break at the cursor")
command("GlueAll", "glue_all", "mend all of this buffer that can be proved")
command("Record", "record", "run this file, or a program, and keep example inputs", {
  options = { nargs = "*", complete = "file" },
  arguments = function(called)
    return called.fargs
  end,
})
command("RepairLog", "show_repair_log", "show what a language model was asked and answered")
command("Restart", "restart", "end the server and start it anew")
command("ShowGraph", "show_graph", "show the graphs that were captured; with !, as a picture", {
  options = { bang = true },
  arguments = function(called)
    return called.bang
  end,
})
command("Trust", "trust", "run the code of this buffer's project, now and in later sessions")
command("WriteInputs", "write_inputs", "write example inputs into this buffer")
