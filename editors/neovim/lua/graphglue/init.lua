-- graphglue-lsp in Neovim: setup(), and what a configuration may call.  :help graphglue
local M = {}

--- Sets options and starts the server for Python buffers.
---@param given table|nil see graphglue.Options
function M.setup(given)
  local client = require("graphglue.client")
  require("graphglue.options").set(given)
  if vim.lsp.config ~= nil and vim.lsp.enable ~= nil then
    vim.lsp.config("graphglue", client.config())
  end
  client.start()
end

--- The client's configuration, as vim.lsp.config and vim.lsp.start_client take it.
---@return table
function M.config()
  return require("graphglue.client").config()
end

--- For a status line: "2 breaks", "starting torch", …; "" where the server does not run.
---@param buffer integer|nil
---@return string
function M.status(buffer)
  return require("graphglue.status").words(buffer or vim.api.nvim_get_current_buf())
end

--- May the code of this folder be run?
---@param root string
---@return boolean
function M.is_trusted(root)
  return require("graphglue.project").is_trusted(root)
end

return M
