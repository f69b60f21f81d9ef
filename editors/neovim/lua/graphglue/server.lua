-- Where the server is: said in setup(), in the Python environment, on PATH, or built in the checkout that this plugin lies in.
local options = require("graphglue.options")

local M = {}

local PROGRAM = "graphglue-lsp"

---@return string the checkout's root, where this folder is part of one
local function checkout()
  local here = vim.fn.resolve(debug.getinfo(1, "S").source:sub(2))
  return vim.fn.fnamemodify(here, ":h:h:h:h:h")
end

--- The folders of PATH.  A relative one means a folder that one happens to be in, which is a workspace's: what lies there is never run.
---@return string[]
local function path_folders()
  return vim.tbl_filter(function(folder)
    return vim.startswith(folder, "/")
  end, vim.split(vim.env.PATH or "", ":"))
end

---@class graphglue.Found
---@field cmd string[]|nil nil: there is none
---@field from string in words
---@field tried string[] places that were looked at in vain

--- cmd: what another configuration says (vim.lsp.config), instead of setup()'s.
---@param cmd string[]|nil
---@return graphglue.Found
function M.find(cmd)
  cmd = cmd or options.get().cmd
  if cmd then -- a setting that leads nowhere is not passed over: its user is told, instead of being given another server
    local program = vim.fn.expand(cmd[1])
    if vim.fn.executable(program) == 1 then
      return { cmd = vim.list_extend({ program }, cmd, 2), from = "the option cmd", tried = {} }
    end
    return { from = "the option cmd", tried = { cmd[1] } }
  end
  local places = {}
  local function place(folder, from)
    if folder and folder ~= "" then
      places[#places + 1] = { program = folder .. "/" .. PROGRAM, from = from }
    end
  end
  local python = options.get().settings.python
  place(python and vim.fn.fnamemodify(vim.fn.expand(python), ":h"), "beside the interpreter of settings.python")
  place(vim.env.VIRTUAL_ENV and vim.env.VIRTUAL_ENV .. "/bin", "$VIRTUAL_ENV")
  place(vim.env.CONDA_PREFIX and vim.env.CONDA_PREFIX .. "/bin", "$CONDA_PREFIX")
  for _, folder in ipairs(path_folders()) do
    place(folder, "$PATH")
  end
  place(checkout() .. "/build/release/bin", "the checkout of this plugin")
  local tried = {}
  for _, p in ipairs(places) do
    if vim.fn.executable(p.program) == 1 then
      return { cmd = { p.program, "--stdio" }, from = p.from, tried = tried }
    end
    local words = p.from == "$PATH" and "$PATH" or p.program
    if not vim.tbl_contains(tried, words) then
      tried[#tried + 1] = words
    end
  end
  return { from = "", tried = tried }
end

--- The command line's program, which is the server's; nil: there is none.
---@param cmd string[]|nil
---@return string|nil
function M.program(cmd)
  local found = M.find(cmd)
  return found.cmd and found.cmd[1]
end

return M
