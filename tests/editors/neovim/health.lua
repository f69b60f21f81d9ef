-- :checkhealth where something is missing.
return function(T)
  local seen = T.seen
  vim.env.PATH = "/usr/bin:/bin"
  local options = require("graphglue.options")
  options.set({ cmd = { "/nowhere/graphglue-lsp", "--stdio" } })
  seen.no_server = T.health()
  options.set({ cmd = { vim.env.SERVER, "--stdio", "--test" }, settings = { python = vim.env.BARE }, trusted = true })
  seen.no_torch = T.health()
  options.set({ settings = { python = vim.env.PYTHON } })
  seen.not_started = T.health()
end
