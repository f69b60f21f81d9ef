-- :checkhealth where something is missing, and where nothing is.
return function(T)
  local seen = T.seen
  local cmd = { vim.env.SERVER, "--stdio", "--test" }
  vim.env.PATH = "/usr/bin:/bin"
  vim.env.VIRTUAL_ENV, vim.env.CONDA_PREFIX = nil, nil
  local options = require("graphglue.options")
  options.set({ cmd = { "/nowhere/graphglue-lsp", "--stdio" } })
  seen.no_server = T.health()
  options.set({ cmd = cmd, settings = { python = vim.env.BARE }, trusted = true })
  seen.no_torch = T.health()
  require("graphglue").setup({ cmd = cmd, settings = { python = vim.env.PYTHON } })
  vim.cmd("edit model.py")
  T.wait_for_client()
  T.sync()
  seen.healthy = T.health()
  T.finish()
end
